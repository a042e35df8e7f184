"""The first second: CPU seconds of whole commands, from the start of Python to its end.

    python -m lab.benchmarks.start                        # this version
    python -m lab.benchmarks.start --against TREE         # and another one, in turn

Compiled files are there already: each command is run once before it is measured.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd

from armin import ARMIN
from armin.bundle import save_bundle
from armin.datasets import make_loans
from lab.trees import sources as sources_of

COMMANDS = {
    "import armin": ["-c", "import armin"],
    "armin --help": ["-m", "armin", "--help"],
    "armin inspect": ["-m", "armin", "inspect", "loans.armin"],
    "armin explain, one row": ["-m", "armin", "explain", "ada.csv", "--bundle", "loans.armin"],
    "armin path, one row": ["-m", "armin", "path", "ada.csv", "--bundle", "loans.armin"],
    "armin letter, one row": ["-m", "armin", "letter", "ada.csv", "--bundle", "loans.armin"],
    "the libraries alone": ["-c", "import pandas, sklearn.linear_model"],
}


def seconds(words: list[str], folder: str, source: str | None) -> float:
    """CPU seconds of one process."""
    env = os.environ | ({} if source is None else {"PYTHONPATH": source})
    before = os.times()
    command = [sys.executable, *words]
    subprocess.run(command, cwd=folder, env=env, stdout=subprocess.DEVNULL, check=True)  # noqa: S603  our own words
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", metavar="TREE", help="the tree of another version")
    parser.add_argument("--runs", type=int, default=7)
    given = parser.parse_args()
    sources: list[str | None] = [None]
    if given.against is not None:
        sources.insert(0, os.pathsep.join(map(str, sources_of(Path(given.against).resolve()))))
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    with tempfile.TemporaryDirectory() as folder:
        save_bundle(Path(folder) / "loans.armin", explainer)
        pd.DataFrame([loans.applicant]).to_csv(Path(folder) / "ada.csv", index=False)
        print("| command |" + " before, s |" * (len(sources) - 1) + " CPU s |")
        print("|---|" + "---|" * len(sources))
        for name, words in COMMANDS.items():
            for source in sources:
                seconds(words, folder, source)
            runs = [[seconds(words, folder, source) for source in sources] for _ in range(given.runs)]
            found = [f"{statistics.median(one):.2f}" for one in zip(*runs, strict=True)]
            print(f"| {name} | {' | '.join(found)} |", flush=True)


if __name__ == "__main__":
    main()
