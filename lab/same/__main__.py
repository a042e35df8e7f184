"""Whether all answers are still the same, to the last digit.

``python -m lab.same record [COMMIT]`` runs a commit, HEAD by default, and keeps what it answers on this machine;
``python -m lab.same`` runs the tree at hand and lists what differs, and ends with 1 if anything does. The frozen
problems come with their answers, so they need no record.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from lab.same.differ import Difference, compare, read_reasons
from lab.trees import HERE, OUT, commit_of, environment, worktree

PARTS = ("problems", "cells", "desk", "letters")
KEPT = OUT / "same"
RECORD = KEPT / "before"
NOW = KEPT / "now"
REASONS = Path(__file__).parent / "reasons.toml"
MOST_SHOWN = 40


def run(tree: Path, part: str, out: Path) -> dict[str, Any]:
    """All answers of one part by the code of ``tree``."""
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "lab.same.run", part, str(out)]
    done = subprocess.run(command, cwd=tree, env=environment(tree), check=False)  # noqa: S603  ourselves
    if done.returncode or not out.exists():
        return {"seconds": 0.0, "answers": {"all": {"error": f"{part} ended with {done.returncode}"}}}
    found: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return found


def record(reference: str, parts: list[str]) -> None:
    """Keep what a commit answers, but for the frozen problems."""
    commit, tree = commit_of(reference), worktree(reference)
    for part in parts:
        if part == "problems":
            continue
        found = run(tree, part, RECORD / f"{part}.json")
        if "error" in found["answers"].get("all", {}):
            raise SystemExit(f"{commit[:7]} has no answers: {found['answers']['all']['error']}")
        print(f"{part}: {len(found['answers']):,} answers of {commit[:7]}, {found['seconds']} s", flush=True)
        (RECORD / f"{part}.commit").write_text(commit, encoding="utf-8")


def before(part: str) -> tuple[str, dict[str, Any]]:
    """What was answered before, and by whom."""
    if part == "problems":
        from lab.same.frozen_answers import frozen_answers

        return "frozen", frozen_answers()
    file = RECORD / f"{part}.json"
    if not file.exists():
        raise SystemExit(f"There is no record of the part '{part}'. Make one first: make same-record REF=<commit>")
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["answers"]
    return (RECORD / f"{part}.commit").read_text(encoding="utf-8")[:7], found


def report(differences: list[Difference]) -> None:
    """Print the first differences of each part and kind."""
    shown: Counter[tuple[str, str]] = Counter()
    for each in differences:
        shown[each.part, each.kind] += 1
        if shown[each.part, each.kind] <= MOST_SHOWN:
            print(each)
    for (part, kind), count in shown.items():
        if count > MOST_SHOWN:
            print(f"{kind:8}  {part}  and {count - MOST_SHOWN:,} more: out/same/differences.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", nargs="?", choices=["compare", "record"], default="compare")
    parser.add_argument("reference", nargs="?", default="HEAD", help="the commit to record")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    if asked.action == "record":
        record(asked.reference, asked.parts)
        return 0
    reasons, every, rows = read_reasons(REASONS), list[Difference](), list[str]()
    for part in asked.parts:
        source, old = before(part)
        found = run(HERE, part, NOW / f"{part}.json")
        differences = list(compare(part, old, found["answers"], reasons))
        counts = {kind: len({d.name for d in differences if d.kind == kind}) for kind in ("differs", "tie", "accepted")}
        cells = [part, source, f"{len(found['answers']):,}", *map(str, counts.values()), f"{found['seconds']:.0f}"]
        rows.append(f"| {' | '.join(cells)} |")
        every += differences
    report(every)
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "differences.json").write_text(json.dumps([vars(d) for d in every], indent=1), encoding="utf-8")
    print("\n| part | before | answers | differ | tie | accepted | CPU s |\n|---|---|---|---|---|---|---|")
    print("\n".join(rows))
    return int(any(each.kind == "differs" for each in every))


if __name__ == "__main__":
    sys.exit(main())
