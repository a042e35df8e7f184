"""Every Python block of the README and the docs runs; a text block behind it is what it prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "lab" / "pages").glob("*.md"))]
BLOCK = re.compile(r"```python\n(?P<code>.*?)```(?:\s*```text\n(?P<output>.*?)```)?", re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def loosely(text: str) -> re.Pattern[str]:
    """The text as a pattern in which "..." is anything and white space is any white space."""
    words = [re.escape(word).replace(r"\.\.\.", ".*?") for word in text.split()]
    return re.compile(r"\s+".join(words), re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_code_on_the_page_runs_and_prints_what_it_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {"__name__": "page"}
    for block in BLOCK.finditer(page.read_text(encoding="utf-8")):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], str(page), "exec"), space)  # noqa: S102  our own documentation
        if block["output"]:
            assert loosely(block["output"]).search(printed.getvalue()), printed.getvalue()


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
