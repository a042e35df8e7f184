"""Are the samplers good, and fast? ``python -m lab.benchmarks.samplers``, or with ``--help``.

Known values of held-out rows are hidden, two per row, and drawn by every named sampler of armin and by scikit-learn's
IterativeImputer(sample_posterior=True): same training rows, same hidden values, same run. The imputer works as the
paper's authors use it: on the encoded matrix, the largest column of a one-hot block wins, whole numbers are rounded.
All copies of a row go through one call of ``transform``, which is its fastest way. Coverage needs many values to be
known to a point or two, so for the default sampler it is counted over ``--cover-rows`` instead of ``--rows``; rows come
up again with other values hidden where the data are few.
"""

from __future__ import annotations

import argparse
import inspect
import json
import platform
import time
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  turns IterativeImputer on
from sklearn.impute import IterativeImputer

from armin import ARMIN, Schema
from armin.datasets import make_loans
from armin.errors import ArminError
from armin.sampling import SAMPLERS, as_sampler
from armin.sampling.assess import LEVELS, Assessment, assess
from armin.sampling.base import Draws
from armin.sampling.legal import nearest_legal
from lab.experiments.data import FILES, load

DATASETS = tuple(FILES)
OTHER = "IterativeImputer"
WIDE = 48
COVER_SLACK = 0.03
SPEED = 10.0
TIMED = 40


class StackedIterativeImputer:
    """scikit-learn's imputer as a sampler: 100 draws are 100 copies of the row in one call."""

    def fit(self, X: np.ndarray, schema: Schema) -> Self:
        self.schema_ = schema
        self.blocks_, stop = [], 0
        for feature in schema:
            start, stop = stop, stop + (1 if _one_column(feature) else len(feature.categories))
            self.blocks_.append(slice(start, stop))
        self.n_columns_ = stop
        self.imputer_ = IterativeImputer(sample_posterior=True, random_state=0, keep_empty_features=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.imputer_.fit(self.encode(X))
        return self

    def encode(self, X: np.ndarray) -> np.ndarray:
        out = np.empty((len(X), self.n_columns_))
        for d, block in enumerate(self.blocks_):
            wide = block.stop - block.start > 1
            out[:, block] = X[:, [d]] == np.arange(block.stop - block.start) if wide else X[:, [d]]
            out[np.isnan(X[:, d]), block] = np.nan
        return out

    def sample(self, row: np.ndarray, n: int, rng: np.random.Generator) -> Draws:
        values = np.repeat(row[None, :], n, axis=0)
        self.imputer_.random_state_ = np.random.RandomState(int(rng.integers(2**32)))
        filled = self.imputer_.transform(np.repeat(self.encode(row[None, :]), n, axis=0))
        for d in np.flatnonzero(np.isnan(row)):
            block = filled[:, self.blocks_[d]]
            best = block.argmax(axis=1).astype(np.float64) if block.shape[1] > 1 else block[:, 0]
            values[:, d] = nearest_legal(self.schema_[int(d)], best)
        return Draws.equal(values)


def _one_column(feature: Any) -> bool:
    """Numbers, ranks and no/yes are one column, as in the paper's matrices; other categories one column each."""
    return bool(feature.is_number or feature.kind == "ordinal" or feature.categories in (("no", "yes"), ("No", "Yes")))


@dataclass(frozen=True)
class Record:
    """One sampler on one data set; the keys of the JSON."""

    dataset: str
    sampler: str
    default: bool
    columns: int
    encoded_columns: int
    hidden: int
    energy: float
    energy_minus_other: float
    paired_se: float
    cover: tuple[float, ...]
    cover_se: tuple[float, ...]
    cover_hidden: int
    log_score: float
    calibrated: bool | None
    ms_per_100: float
    time_ratio: float
    fit_seconds: float


def default_sampler() -> str:
    """What ARMIN uses if nobody says otherwise."""
    return str(inspect.signature(ARMIN).parameters["sampler"].default)


def split(X: pd.DataFrame, schema: Schema, cap: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes to fit on, at most ``cap`` rows, and codes to judge on."""
    codes = schema.widened(X).encode(X)
    order = np.random.default_rng([seed, 7]).permutation(len(codes))
    cut = int(0.75 * len(codes))
    return codes[order[:cut][:cap]], codes[order[cut:]]


def run(name: str, args: argparse.Namespace) -> list[Record]:
    """Every sampler on one data set."""
    data = make_loans() if name == "Synthetic" else load(name)
    schema = data.schema.widened(data.X)
    train, test = split(data.X, schema, args.fit_rows, args.seed)
    other = StackedIterativeImputer()
    ways = {n: as_sampler(n) for n in (default_sampler(), *SAMPLERS.all())} | {OTHER: other}
    found: dict[str, tuple[Assessment, dict[str, Any], float]] = {}
    for way, sampler in ways.items():
        start = time.perf_counter()
        sampler.fit(train, schema)
        seconds = time.perf_counter() - start
        judged = assess(
            sampler, test, schema=schema, hide=args.hide, n_draws=args.draws, n_rows=args.rows, random_state=args.seed
        )
        many = judged
        if way == default_sampler():
            again = np.tile(test, (-(-args.cover_rows // len(test)), 1))
            many = assess(
                sampler, again, schema=schema, hide=args.hide, n_draws=args.draws, n_rows=args.cover_rows,
                random_state=args.seed + 1,
            )  # fmt: skip
        found[way] = judged, many.overall, seconds
    theirs = found[OTHER][0]
    ms = milliseconds(ways, test, args)
    records = []
    for way, (judged, many, seconds) in found.items():
        gap = judged.energies - theirs.energies
        overall = judged.overall
        records.append(
            Record(
                dataset=name, sampler=way, default=way == default_sampler(), columns=len(schema),
                encoded_columns=other.n_columns_, hidden=overall["hidden"], energy=overall["energy"],
                energy_minus_other=float(gap.mean()), paired_se=float(gap.std(ddof=1) / np.sqrt(gap.size)),
                cover=tuple(many[f"cover_{q * 100:.0f}"] for q in LEVELS),
                cover_se=tuple(many[f"se_{q * 100:.0f}"] for q in LEVELS),
                log_score=overall["log_score"],
                cover_hidden=many["hidden"], calibrated=many["calibrated"], ms_per_100=ms[way],
                time_ratio=ms[OTHER] / ms[way], fit_seconds=seconds,
            )
        )  # fmt: skip
    return records


def milliseconds(ways: dict[str, Any], test: np.ndarray, args: argparse.Namespace) -> dict[str, float]:
    """Median time of 100 draws for one row; the samplers take turns, so that a busy machine slows all alike."""
    rng = np.random.default_rng([args.seed, 9])
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    for row in test[: TIMED + 1].copy():
        known = np.flatnonzero(~np.isnan(row))
        row[rng.choice(known, min(args.hide, known.size), replace=False)] = np.nan
        for way, sampler in ways.items():
            start = time.perf_counter()
            sampler.sample(row, 100, rng)
            seconds[way].append(time.perf_counter() - start)
    return {way: float(np.median(taken[1:]) * 1000) for way, taken in seconds.items()}


def print_table(records: list[Record]) -> None:
    first = records[0]
    print(
        f"\n{first.dataset}: {first.columns} columns ({first.encoded_columns} encoded), {first.hidden} hidden values\n"
        f"  {'sampler':<20}{'energy':>8}  {'less than theirs by':>20}   {'in 50 %':>8}{'in 80 %':>8}{'in 90 %':>8}"
        f"{'ms':>8}{'faster':>9}{'fit s':>7}"
    )
    for r in sorted(records, key=lambda r: r.energy):
        gap = "" if r.sampler == OTHER else f"{-r.energy_minus_other:+.4f} ± {r.paired_se:.4f}"
        cover = "".join(f"{share * 100:8.1f}" for share in r.cover)
        speed = "" if r.sampler == OTHER else f"{r.time_ratio:.1f} x"
        name = r.sampler + (" (default)" if r.default else "")
        print(f"  {name:<20}{r.energy:8.4f}  {gap:>20}   {cover}{r.ms_per_100:8.2f}{speed:>9}{r.fit_seconds:7.1f}")


def verdicts(records: list[Record]) -> list[dict[str, Any]]:
    """What must be shown of the default sampler, on each data set."""
    out = []
    for r in (r for r in records if r.default):
        gaps = [share - level for share, level in zip(r.cover, LEVELS, strict=True)]
        gap = r.energy_minus_other
        energy = "pass" if gap <= 0 else "pass (tie)" if gap <= 2 * r.paired_se else "miss"
        cover = "pass" if max(map(abs, gaps)) <= COVER_SLACK + 1e-9 else "miss"
        speed = "pass" if r.time_ratio >= SPEED else "miss"
        asked = r.encoded_columns == WIDE
        out.append(
            {
                "dataset": r.dataset, "energy": energy, "coverage": cover, "speed": speed, "speed_is_asked": asked,
                "worst_coverage_gap": max(gaps, key=abs), "time_ratio": r.time_ratio,
            }
        )  # fmt: skip
    return out


def print_verdicts(shown: list[dict[str, Any]], records: list[Record]) -> None:
    noise = {r.dataset: max(r.cover_se) * 100 for r in records if r.default}
    print(f"\nMust show, for the default sampler {default_sampler()!r} against {OTHER}")
    print(f"  {'data set':<14}{'energy <= theirs':<18}{'intervals within 3 points':<38}{'100 draws in a tenth'}")
    for v in shown:
        cover = f"{v['coverage']} (worst {v['worst_coverage_gap'] * 100:+.1f}, noise ±{noise[v['dataset']]:.1f})"
        speed = (
            f"{v['speed']} ({v['time_ratio']:.1f} x)" if v["speed_is_asked"] else f"not asked ({v['time_ratio']:.1f} x)"
        )
        print(f"  {v['dataset']:<14}{v['energy']:<18}{cover:<38}{speed}")


def parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m lab.benchmarks.samplers", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), choices=[*DATASETS, "Synthetic"])
    parser.add_argument("--rows", type=int, default=200, help="held-out rows to judge on, per data set")
    parser.add_argument(
        "--cover-rows", type=int, default=1000, help="the same, for the coverage of the default sampler"
    )
    parser.add_argument("--hide", type=int, default=2, help="values hidden per row")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--fit-rows", type=int, default=5000, help="training rows, the same for every sampler")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="fewer rows, to see that it runs")
    parser.add_argument("--json", type=Path, help="write the results here too")
    args = parser.parse_args(argv)
    if args.quick:
        args.rows, args.cover_rows, args.fit_rows = (
            min(args.rows, 40),
            min(args.cover_rows, 100),
            min(args.fit_rows, 500),
        )
    return args


def main(argv: list[str] | None = None) -> None:
    args = parse(argv)
    start = time.perf_counter()
    print(
        f"{args.hide} values hidden in each of up to {args.rows} held-out rows; {args.draws} draws each; "
        f"fitted on up to {args.fit_rows:,} rows; seed {args.seed}.\n"
        "energy: distance of the draws from the truth, lower is better. less than theirs: how much lower than "
        f"{OTHER}'s,\n± one standard error of the paired difference. in 50 %: how often the 50 % interval held the "
        f"truth, in percent (default: over {args.cover_rows:,} rows).\n"
        "ms: 100 draws for one row. faster: their time over ours."
    )
    records: list[Record] = []
    skipped: dict[str, str] = {}
    for name in args.datasets:
        try:
            found = run(name, args)
        except (ArminError, OSError) as error:
            skipped[name] = str(error).splitlines()[0]
            print(f"\n{name}: left out. {skipped[name]}")
            continue
        records += found
        print_table(found)
    if not records:
        print("\nNo data set is at hand, so a synthetic one stands in.")
        records = run("Synthetic", args)
        print_table(records)
    shown = verdicts(records)
    print_verdicts(shown, records)
    seconds = time.perf_counter() - start
    print(f"\n{seconds:.0f} s, Python {platform.python_version()}, scikit-learn {sklearn.__version__}")
    if args.json:
        settings = {key: str(value) if isinstance(value, Path) else value for key, value in vars(args).items()}
        payload = {"settings": settings, "seconds": seconds, "skipped": skipped, "must_show": shown,
                   "records": [asdict(r) for r in records]}  # fmt: skip
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(payload, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
