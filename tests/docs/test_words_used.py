"""One word, one meaning: words that the project has replaced do not come back."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAY = {
    "ask_trace": "probe_dependencies",
    "carefully": "solve_then_verify",
    "dear": "expensive",
    "dearer": "more expensive, or: costs more",
    "dearest": "most expensive, or max_cost",
    "for_somebody": "with_difficulty",
    "guessed_wrong": "mismatched",
    "GuessingJudge": "SurrogateJudge",
    "MisreadError": "SurrogateMismatch",
    "read_asked": "parse_request",
    "register_reader": "register_model",
    "the reading of the model": "the surrogate",
    "without its estimator's clothes": "the immutable state of a fitted explainer",
}
"""What not to say, and what to say instead."""
KERNELS = {"dear", "dearer", "dearest"}
"""Words that the compiled search and the pages on it still have."""
PAGES = ("CONTRIBUTING.md", "README.md")


def pages() -> list[Path]:
    """Everything that is shipped or read, but for the history of changes."""
    folders = ("src/armin", "desk/src", "docs")
    kinds = {".py", ".md", ".toml", ".js", ".html", ".pyi"}
    found = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.suffix in kinds]
    return sorted(found + [ROOT / name for name in PAGES])


@pytest.mark.parametrize("word", SAY)
def test_words_that_were_replaced_stay_away(word: str) -> None:
    pattern = re.compile(rf"\b{re.escape(word)}\b")
    kernels = (ROOT / "src/armin/solve/search", ROOT / "docs/dev")
    seen = []
    for page in pages():
        if word in KERNELS and any(folder in page.parents for folder in kernels):
            continue
        lines = page.read_text(encoding="utf-8").splitlines()
        seen += [
            f"{page.relative_to(ROOT)}:{n}: {line.strip()}" for n, line in enumerate(lines, 1) if pattern.search(line)
        ]
    assert not seen, f"say {SAY[word]!r} instead of {word!r}:\n" + "\n".join(seen)
