"""The first hour, by the clock: from an empty environment and a CSV to a plan, a bundle, a desk and a letter.

    python -m lab.benchmarks.first_hour                     # GiveMeCredit, the first 10,000 rows as they are published
    python -m lab.benchmarks.first_hour --csv FILE --label COLUMN --desired VALUE

A wheel of this checkout is built and installed into a new virtual environment with everything it needs. Then only what
is installed there is used: a short script trains a pipeline on the CSV, and the command line does the rest. Nothing is
compiled before. Seconds are of the clock and, after a stroke, CPU seconds of all that a step started.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

HOME = Path(__file__).parents[2]
PORT = 8765
TRAIN = """
import sys
import joblib
import pandas as pd
from sklearn.compose import make_column_selector as columns, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

label, desired = sys.argv[1:]
frame = pd.read_csv("own.csv")
X, y = frame.drop(columns=label), frame[label]
model = make_pipeline(
    make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), columns(dtype_include="number")),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
         columns(dtype_exclude="number")),
    ),
    LogisticRegression(class_weight="balanced", max_iter=1000),
).fit(X, y)
joblib.dump(model, "model.joblib")
rejected = X[model.predict(X).astype(str) != desired]
rejected[rejected.isna().any(axis=1)].head(3).to_csv("people.csv", index=False)
"""


class Way:
    """The steps that were taken, and what each took."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "env" / "bin" / "python"
        kept = ("HOME", "PATH", "LANG", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
        self.env = {name: os.environ[name] for name in os.environ if name in kept or name.startswith("PIP_")}
        self.env |= {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(folder / "cache")}
        self.taken: dict[str, list[float]] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Measure a step."""
        start, before = time.perf_counter(), os.times()
        yield
        after = os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        self.taken[name] = [round(time.perf_counter() - start, 2), round(cpu, 2)]
        print(f"{name}: {self.taken[name][0]:.1f} s", flush=True)

    def run(self, *words: str, output: str | None = None, codes: tuple[int, ...] = (0,)) -> str:
        """A program in the folder of the data; ``output`` names a file for what it says."""
        done = subprocess.run(  # noqa: S603  our own words
            words, cwd=self.folder, env=self.env, capture_output=True, text=True, check=False
        )
        if done.returncode not in codes:
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
        if output is not None:
            (self.folder / output).write_text(done.stdout, encoding="utf-8")
        return done.stdout

    def armin(self, *words: str, **said: Any) -> str:
        """A command of what was installed."""
        return self.run(str(self.python), "-m", "armin", *words, **said)


def write_csv(args: argparse.Namespace, target: Path) -> None:
    """The user's file: some rows of a table, as they are."""
    opened = gzip.open if args.csv.suffix == ".gz" else open
    with opened(args.csv, "rt", encoding="utf-8", newline="") as source, target.open("w", newline="") as file:
        csv.writer(file).writerows(islice(csv.reader(source), args.rows + 1))


def ask_desk(way: Way) -> None:
    """Start the desk, wait until it is healthy, put one question to it, and stop it."""
    words = [str(way.python), "-m", "armin", "serve", "own.armin", "--port", str(PORT)]
    base = f"http://127.0.0.1:{PORT}"
    with way.step("`armin serve`: start, health, stop"):
        desk = subprocess.Popen(words, cwd=way.folder, env=way.env, stdout=subprocess.DEVNULL)  # noqa: S603
        try:
            while True:
                if desk.poll() is not None:
                    raise SystemExit("The desk ended before it answered.")
                try:
                    urllib.request.urlopen(f"{base}/healthz", timeout=5).read()  # noqa: S310  our own desk
                    break
                except (urllib.error.URLError, ConnectionError, TimeoutError):
                    time.sleep(0.1)
            row = json.loads(way.folder.joinpath("first.json").read_text())
            body = json.dumps({"row": row}).encode()
            question = urllib.request.Request(  # noqa: S310
                f"{base}/api/v1/recourse", body, {"Content-Type": "application/json"}
            )
            start = time.perf_counter()
            try:
                answer = json.loads(urllib.request.urlopen(question, timeout=120).read())  # noqa: S310
            except urllib.error.HTTPError as error:
                raise SystemExit(f"The desk refused: {error.read().decode()}") from None
            asked = time.perf_counter() - start
        finally:
            desk.send_signal(signal.SIGINT)
            desk.wait(60)
    way.taken["one answer over HTTP (within the step before)"] = [round(asked, 2)]
    print(f"The desk said: {answer['outcome']} after {asked:.2f} s.", flush=True)


def first_row(folder: Path) -> None:
    """The first person, as a page would send them; the column that only numbers rows is carried along."""
    with (folder / "people.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    told = {name: None if value == "" else _number(value) for name, value in row.items()}
    (folder / "first.json").write_text(json.dumps(told))


def _number(text: str) -> object:
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value.is_integer() else value


def walk(args: argparse.Namespace, folder: Path) -> Way:
    """The whole way."""
    way = Way(folder)
    write_csv(args, folder / "own.csv")
    with way.step("build the wheels (once, by whoever publishes them)"):
        places = (str(HOME), str(HOME / "desk"))
        way.run(sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), *places)
    wheels = sorted(map(str, folder.glob("armin*.whl")))
    with way.step("a new environment: `python -m venv`"):
        way.run(sys.executable, "-m", "venv", "env")
    with way.step("`pip install armin-desk`"):
        way.run(str(way.python), "-m", "pip", "install", "-q", *wheels)
    with way.step("your own script: train a pipeline on the CSV"):
        way.run(str(way.python), "-c", TRAIN, args.label, args.desired)
    first_row(folder)
    with way.step("`armin schema`"):
        way.armin("schema", "own.csv", "--label-column", args.label, output="schema.toml")
    with way.step("`armin pack`"):
        way.armin(
            "pack", "--model", "model.joblib", "--trust", "--train", "own.csv", "--label-column", args.label,
            "--schema", "schema.toml", "--desired", args.desired, "--output", "own.armin",
        )  # fmt: skip
    with way.step("`armin inspect`"):
        way.armin("inspect", "own.armin")
    for name in ("`armin explain`, three people, compiling", "`armin explain` again"):
        with way.step(name):
            said = way.armin("explain", "people.csv", "--bundle", "own.armin", codes=(0, 1))
    print(said)
    ask_desk(way)
    with way.step("`armin letter`, three letters"):
        way.armin("letter", "people.csv", "--bundle", "own.armin", "--output", "letters", codes=(0, 1))
    letters = list((folder / "letters").glob("*"))
    if not letters:
        raise SystemExit("No letter was written.")
    return way


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    shared = Path(os.environ.get("ARMIN_DATA", "data")) / "givemecredit" / "cs-training.csv.gz"
    parser.add_argument("--csv", type=Path, default=shared, help="your table; may be gzipped")
    parser.add_argument("--label", default="SeriousDlqin2yrs", help="the column with the decision")
    parser.add_argument("--desired", default="0", help="the decision that people want")
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--json", type=Path, help="also write what was measured to this file")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        way = walk(args, Path(folder))
    print("| step | seconds / CPU seconds |\n|---|---|")
    for name, taken in way.taken.items():
        print(f"| {name} | {' / '.join(f'{one:.1f}' if one >= 1 else f'{one:.2f}' for one in taken)} |")
    total = [sum(one) for one in zip(*(taken for taken in way.taken.values() if len(taken) == 2), strict=True)]
    print(f"| all of it | {' / '.join(f'{one:.0f}' for one in total)} |")
    if args.json is not None:
        args.json.write_text(json.dumps(way.taken, indent=1) + "\n")


if __name__ == "__main__":
    main()
