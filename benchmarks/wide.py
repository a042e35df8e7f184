"""Wide tables: CPU seconds of ``fit`` and of answers, by the number of columns. ``python -m benchmarks.wide``.

A synthetic table (a factor model with categories) of each width is learnt by an explainer with its default sampler,
which draws hidden values of held-out rows, and explains four rows for a logistic regression: the first, and the median
of three more. Up to ``--all-up-to`` columns the sampler is also fitted with every column as a predictor of every other
("all"). Seconds are those of the process, in one thread. ``--auto`` shows instead what the sampler "auto" takes on the
shared data sets.
"""

from __future__ import annotations

import argparse
import os
import resource

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import numpy as np
import pandas as pd
from experiments.data import load
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import ARMIN, Feature, Schema
from armin.impute import AutoSampler, ChainedEquations, Marginal
from armin.impute.assess import Assessment, assess
from benchmarks.samplers import split

DATASETS = ("FICO", "Attrition", "Student", "WineQuality", "GiveMeCredit", "Adult")
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


def judged(sampler: object, held: np.ndarray, schema: Schema) -> Assessment:
    """The sampler on held-out codes."""
    return assess(sampler, held, schema=schema, hide=3, n_draws=100, n_rows=300)


def explained(X: pd.DataFrame, schema: Schema) -> tuple[object, float, float, float]:
    """The fitted sampler, and CPU seconds of fitting, of the first answer, and the median of three more."""
    numbers = [f.name for f in schema if f.is_number]
    others = [f.name for f in schema if not f.is_number]
    score = X[numbers].rank(pct=True).fillna(0.5).mean(axis=1)
    y = (score > score.median()).astype(int)
    known = X.fillna({f.name: f.categories[0] if f.categories else float(f.low_code) for f in schema})
    steps = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), others))
    model = make_pipeline(steps, LogisticRegression(max_iter=300)).fit(known, y)
    start = time.process_time()
    explainer = ARMIN(model, schema, desired=1).fit(X)
    taken = [time.process_time() - start]
    rows = known[model.predict(known) == 0].iloc[:4].astype(object)
    rows.iloc[:, [1, 4]] = np.nan
    for i in range(4):
        start = time.process_time()
        explainer.explain(rows.iloc[[i]])
        taken.append(time.process_time() - start)
    return explainer.sampler_, taken[0], taken[1], float(np.median(taken[2:]))


def run(columns: int, args: argparse.Namespace) -> str:
    """One line of the table."""
    X, schema = factor_table(columns, args.rows + 300, blank=args.blank, seed=args.seed)
    codes = schema.encode(X)
    rows, held = codes[: args.rows], codes[args.rows :]
    sampler, fit, first, more = explained(X[: args.rows], schema)
    new = judged(sampler, held, schema)
    before = old = ""
    if columns <= args.all_up_to:
        start = time.process_time()
        every = ChainedEquations(predictors=None).fit(rows, schema)
        before = f"{time.process_time() - start:.1f}"
        found = judged(every, held, schema)
        gap = new.energies - found.energies
        old = f"{found.overall['energy']:.3f} ({gap.mean():+.4f} ± {gap.std() / np.sqrt(gap.size):.4f})"
    least = judged(Marginal().fit(rows, schema), held, schema).overall["energy"]
    cover = " / ".join(f"{100 * new.overall[f'cover_{q}']:.0f}" for q in (50, 80, 90))
    return (
        f"| {columns} | {before} | {fit:.1f} | {first:.1f} | {more:.2f} | {least:.3f} | {old} "
        f"| {new.overall['energy']:.3f} | {cover} |"
    )


def show_auto(args: argparse.Namespace) -> None:
    """What "auto" takes on the shared data sets, and what it costs."""
    print("| data set | auto takes | its scores while choosing | chained | auto | chained fit s | auto fit s |")
    print("|---|---|---|---|---|---|---|")
    for name in DATASETS:
        data = load(name)
        schema = data.schema.widened(data.X)
        rows, held = split(data.X, schema, 5000, args.seed)
        seconds, found = [], []
        for sampler in (ChainedEquations(), auto := AutoSampler()):
            start = time.process_time()
            sampler.fit(rows, schema)
            seconds.append(time.process_time() - start)
            found.append(assess(sampler, held, schema=schema, n_draws=100, n_rows=200).overall["energy"])
        scores = ", ".join(f"{one} {score:.3f}" for one, score in auto.scores_.items())
        energies, taken = " | ".join(f"{one:.3f}" for one in found), " | ".join(f"{one:.1f}" for one in seconds)
        print(f"| {name} | {auto.taken_} | {scores} | {energies} | {taken} |", flush=True)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--columns", type=int, nargs="+", default=[13, 33, 53, 93, 200, 1000])
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--blank", type=float, default=0.0, help="share of training values that are blank")
    parser.add_argument("--all-up-to", type=int, default=93, help="widest table for regressions on all columns")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--auto", action="store_true", help='what "auto" takes on the shared data sets')
    args = parser.parse_args(argv)
    if args.auto:
        show_auto(args)
        return
    heads = ("columns", "all: fit s", "fit s", "first answer s", "more s", "marginal", "all (default less all)")
    print(f"| {' | '.join(heads)} | energy | 50 / 80 / 90 % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for columns in args.columns:
        print(run(columns, args), flush=True)
    print(f"{args.rows:,} rows, {args.blank:.0%} blank, seed {args.seed}; peak memory "
          f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB")  # fmt: skip


if __name__ == "__main__":
    main()
