"""Wide tables: seconds of ``fit`` and of answers, by the number of columns. ``python -m lab.benchmarks.wide``.

A synthetic table (a factor model with categories) of each width is learnt by an explainer with its default sampler,
which draws hidden values of held-out rows, and explains four rows for a logistic regression: the first, and the median
of three more. Up to ``--all-up-to`` columns the sampler is also fitted with every column as a predictor of every other
("all"). Seconds are of the clock and, after a stroke, CPU seconds of the process, in one thread. ``--auto`` shows
instead what the sampler "auto" takes on the shared data sets, beside what it could have taken; "choosing" is what its
``fit`` takes beyond that of the sampler that it took.

``--json FILE`` adds what was measured to a file, so that a table can be made in pieces; ``--show`` prints the file.
"""

from __future__ import annotations

import argparse
import json
import os
import resource

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import ARMIN, Feature, Schema
from armin.sampling import AutoSampler, ChainedEquations, Marginal, as_sampler
from armin.sampling.assess import Assessment, assess
from lab.benchmarks.samplers import split
from lab.experiments.data import load

DATASETS = ("FICO", "Attrition", "Student", "WineQuality", "GiveMeCredit", "Adult")
CANDIDATES = ("chained", "forest", "copula", "donors")
TRIED = (*CANDIDATES, "auto")
KINDS = ("continuous", "continuous", "integer", "categorical", "binary", "ordinal")


def factor_table(columns: int, rows: int, *, blank: float = 0.0, seed: int = 0) -> tuple[pd.DataFrame, Schema]:
    """A factor model with categories: a few hidden traits, each column a noisy reading of one to three of them."""
    rng = np.random.default_rng([seed, columns])
    traits = max(3, columns // 12)
    hidden = rng.standard_normal((rows, traits))
    data: dict[str, object] = {}
    features = []
    for d in range(columns):
        name, kind = f"c{d}", KINDS[d % len(KINDS)]
        loads = rng.choice(traits, rng.integers(1, 4), replace=False)
        signal = hidden[:, loads] @ rng.normal(size=loads.size)
        signal /= signal.std()
        z = 0.8 * signal + 0.6 * rng.standard_normal(rows)
        if d % 7 == 0:
            z = np.abs(z) + 0.3 * z  # relations that bend
        if kind == "continuous":
            values: np.ndarray = np.round(z, 3)
            features.append(Feature(name, "continuous", lower=float(values.min()), upper=float(values.max())))
        elif kind == "integer":
            values = np.floor(np.exp(0.5 * z) * 10).astype(int)
            features.append(Feature(name, "integer", lower=int(values.min()), upper=int(values.max())))
        else:
            levels = 2 if kind == "binary" else 4
            cuts = np.quantile(z, np.linspace(0, 1, levels + 1)[1:-1])
            at = np.searchsorted(cuts, z)
            if kind == "categorical":
                at = rng.permutation(levels)[at]
            names = tuple("abcd"[:levels])
            values = np.array(names, dtype=object)[at]
            features.append(Feature(name, kind, categories=names))
        data[name] = values
    frame = pd.DataFrame(data)
    if blank:
        frame = frame.mask(rng.random(frame.shape) < blank)
    return frame, Schema(tuple(features))


def judged(sampler: object, held: np.ndarray, schema: Schema, rows: int) -> Assessment:
    """The sampler on held-out codes."""
    return assess(sampler, held, schema=schema, hide=3, n_draws=100, n_rows=rows)


class Watch:
    """Seconds of the clock and of the process since it was made."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def read(self) -> list[float]:
        return [round(time.perf_counter() - self._start[0], 3), round(time.process_time() - self._start[1], 3)]


def explained(X: pd.DataFrame, schema: Schema) -> tuple[Any, list[list[float]]]:
    """The fitted sampler, and what fitting, the first answer and each of three more took."""
    numbers = [f.name for f in schema if f.is_number]
    others = [f.name for f in schema if not f.is_number]
    score = X[numbers].rank(pct=True).fillna(0.5).mean(axis=1)
    y = (score > score.median()).astype(int)
    known = X.fillna({f.name: f.categories[0] if f.categories else float(f.low_code) for f in schema})
    steps = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), others))
    model = make_pipeline(steps, LogisticRegression(max_iter=300)).fit(known, y)
    watch = Watch()
    explainer = ARMIN(model, schema, desired=1).fit(X)
    taken = [watch.read()]
    rows = known[model.predict(known) == 0].iloc[:4].astype(object)
    rows.iloc[:, [1, 4]] = np.nan
    for i in range(4):
        watch = Watch()
        explainer.explain(rows.iloc[[i]])
        taken.append(watch.read())
    return explainer.sampler_, taken


def run(columns: int, args: argparse.Namespace) -> dict[str, Any]:
    """What one width takes, and how good the draws are."""
    X, schema = factor_table(columns, args.rows + args.held, blank=args.blank, seed=args.seed)
    codes = schema.encode(X)
    rows, held = codes[: args.rows], codes[args.rows :]
    sampler, taken = explained(X[: args.rows], schema)
    new = judged(sampler, held, schema, args.held)
    found: dict[str, Any] = {
        "columns": columns, "rows": args.rows, "blank": args.blank, "seed": args.seed, "held": args.held,
        "fit": taken[0], "first": taken[1], "more": np.median(taken[2:], axis=0).round(3).tolist(),
        "energy": new.overall["energy"], "covers": [new.overall[f"cover_{q}"] for q in (50, 80, 90)],
        "marginal": judged(Marginal().fit(rows, schema), held, schema, args.held).overall["energy"],
    }  # fmt: skip
    if columns <= args.all_up_to:
        watch = Watch()
        every = ChainedEquations(predictors=None).fit(rows, schema)
        found["all_fit"] = watch.read()
        old = judged(every, held, schema, args.held)
        gap = new.energies - old.energies
        found |= {
            "all_energy": old.overall["energy"], "gap": float(gap.mean()), "gap_error": float(gap.std() / gap.size**0.5)
        }  # fmt: skip
    found["peak_gb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return found


def show(measured: list[dict[str, Any]]) -> None:
    """All widths as a table."""
    heads = (
        "columns",
        "all: fit s",
        "fit s",
        "first answer s",
        "more s",
        "marginal",
        "all",
        "default",
        "default − all",
    )
    print(f"| {' | '.join(heads)} | 50 / 80 / 90 % |")
    print("|" + "---|" * (len(heads) + 1))
    for one in sorted(measured, key=lambda one: (one["blank"], one["columns"])):
        old = one.get("all_fit")
        cells = [
            str(one["columns"]) + (f" ({one['blank']:.0%} blank)" if one["blank"] else ""),
            "" if old is None else _seconds(old),
            *(_seconds(one[name]) for name in ("fit", "first", "more")),
            f"{one['marginal']:.3f}",
            "" if old is None else f"{one['all_energy']:.3f}",
            f"{one['energy']:.3f}",
            "" if old is None else f"{one['gap']:+.4f} ± {one['gap_error']:.4f}",
            " / ".join(f"{100 * cover:.0f}" for cover in one["covers"]),
        ]
        print(f"| {' | '.join(cells)} |")


def _seconds(taken: list[float]) -> str:
    return " / ".join(f"{one:.2f}" if one < 1 else f"{one:.1f}" for one in taken)


def run_auto(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """What "auto" takes on one of the shared data sets, what it costs, and how good it is beside its candidates."""
    data = load(name)
    schema = data.schema.widened(data.X)
    rows, held = split(data.X, schema, 5000, args.seed)
    found: dict[str, Any] = {"name": name, "rows": rows.shape[0], "columns": rows.shape[1], "held": held.shape[0]}
    for alias in TRIED:
        sampler = as_sampler(alias)
        watch = Watch()
        sampler.fit(rows, schema)
        taken = watch.read()
        scores = assess(sampler, held, schema=schema, n_draws=100, n_rows=args.held, random_state=args.seed)
        found[alias] = {"fit": taken, "energy": scores.overall["energy"]}
        if isinstance(sampler, AutoSampler):
            found["took"], found["scores"], found["judged"] = sampler.taken_, sampler.scores_, sampler.judged_
            known = found[sampler.taken_]["fit"]
            found["choosing"] = [round(mine - theirs, 3) for mine, theirs in zip(taken, known, strict=True)]
    return found


def show_auto(measured: list[dict[str, Any]]) -> None:
    """All data sets as a table."""
    heads = ("data set", "rows × columns", "auto takes", *TRIED, "fit: taken", "choosing", "scores while choosing")
    print(f"| {' | '.join(heads)} |")
    print("|" + "---|" * len(heads))
    for one in measured:
        scores = ", ".join(f"{name} {score:.3f}" for name, score in one["scores"].items())
        cells = [one["name"], f"{one['rows']:,} × {one['columns']}", one["took"]]
        cells += [f"{one[alias]['energy']:.3f}" for alias in TRIED]
        cells += [_seconds(one[one["took"]]["fit"]), _seconds(one["choosing"]), f"{scores} ({one['judged']} rows)"]
        print(f"| {' | '.join(cells)} |")


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks.wide", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[13, 33, 53, 93, 200, 1000])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--held", type=int, default=300, help="held-out rows that the draws are judged on")
    parser.add_argument("--blank", type=float, default=0.0, help="share of training values that are blank")
    parser.add_argument("--all-up-to", type=int, default=93, help="widest table for regressions on all columns")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--auto", action="store_true", help='what "auto" takes on the shared data sets')
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS), help="for --auto")
    parser.add_argument("--json", type=Path, help="add what is measured to this file")
    parser.add_argument("--show", action="store_true", help="only print what is in the file")
    args = parser.parse_args(argv)
    if args.show and args.json is None:
        parser.error("--show prints a file. Say which one with --json FILE.")
    measured = json.loads(args.json.read_text()) if args.json is not None and args.json.exists() else []
    for one in () if args.show else args.datasets if args.auto else args.columns:
        measured.append(run_auto(one, args) if args.auto else run(one, args))
        if args.json is not None:
            args.json.write_text(json.dumps(measured, indent=1) + "\n")
        print(f"{one}: done", flush=True)
    (show_auto if args.auto else show)(measured)


if __name__ == "__main__":
    main()
