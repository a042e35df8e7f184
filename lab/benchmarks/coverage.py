"""How often the interval beside a share holds the true share, in a Gaussian world where that is known.

    python -m lab.benchmarks.coverage --people 40

Rows are normal with known means and covariance, so the values that are hidden have a known distribution given the rest
and the rejection. Each person is advised by the default settings. The true share of the plan is found from draws of the
true distribution; it is compared with the interval that the answer states, which knows the error of the draws only, and
with one that also knows how much samplers differ that were fitted on other rows: ``REFITS`` bootstrap tables.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from scipy.stats import t
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, Recourse, Schema
from armin.explain.draw import draw
from armin.explain.fitted import Fitted
from armin.explain.world import find_world
from armin.sampling import ChainedEquations
from lab.benchmarks.tables import markdown

REFITS = 8
NAMES = ["a", "b", "c", "d", "e"]
HIDDEN = ["c", "d", "e"]
"""Columns that may be blank; nobody acts on them, so that what they hide decides whether a plan works."""
TRUE_DRAWS = 20_000
MODELS = {
    "LR": lambda: LogisticRegression(),
    "RF": lambda: RandomForestClassifier(100, min_samples_leaf=5, random_state=0),
}


@dataclass(frozen=True)
class Interval:
    """What is stated about one plan, and the truth."""

    low: float
    high: float
    truth: float

    @property
    def holds(self) -> bool:
        return self.low <= self.truth <= self.high


def covariance() -> np.ndarray:
    """Of the five columns; neighbours are alike."""
    apart = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    return np.asarray(0.6**apart)


def rows(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """People of the world."""
    return pd.DataFrame(rng.multivariate_normal(np.zeros(5), covariance(), n), columns=NAMES).clip(-4, 4)


def true_completions(row: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws of the hidden values given the others."""
    hidden, cov = np.isnan(row), covariance()
    weights = cov[np.ix_(hidden, ~hidden)] @ np.linalg.inv(cov[np.ix_(~hidden, ~hidden)])
    spread = cov[np.ix_(hidden, hidden)] - weights @ cov[np.ix_(~hidden, hidden)]
    found = np.repeat(row[None, :], TRUE_DRAWS, axis=0)
    found[:, hidden] = rng.multivariate_normal(weights @ row[~hidden], spread, TRUE_DRAWS).clip(-4, 4)
    return found


def true_share(fitted: Fitted, plan: Recourse, row: np.ndarray, rng: np.random.Generator) -> float:
    """The share of people like this one, rejected as complete people, for whom the plan works."""
    people = true_completions(row, rng)
    people = people[~fitted.decision.accepts(people)]
    return float(fitted.decision.accepts(plan.apply_codes(fitted.schema, people)).mean()) if len(people) else np.nan


def refitted_interval(
    refits: list[Fitted], plan: Recourse, row: np.ndarray, share: float, n: int
) -> tuple[float, float]:
    """A 95 % interval on the scale of log odds: the error of the draws, and how much the refitted samplers differ."""
    shares = []
    each = n // len(refits)
    for b, one in enumerate(refits):
        sample = draw(one, find_world(one, row), row, each, np.random.default_rng(b))
        works = one.decision.accepts(plan.apply_codes(one.schema, sample.values))
        shares.append((sample.weights[works].sum() + 0.5) / (sample.weights.sum() + 1))
    values = np.array(shares)
    own = float(np.mean(1 / (each * values * (1 - values))))
    between = max(0.0, float(np.var(logit(values), ddof=1)) - own)
    middle = (share * n + 0.5) / (n + 1)
    error = np.sqrt(1 / (n * middle * (1 - middle)) + (1 + 1 / len(refits)) * between)
    reach = t.ppf(0.975, len(refits) - 1) * error
    low, high = float(expit(logit(middle) - reach)), float(expit(logit(middle) + reach))
    return (0.0 if share == 0.0 else low), (1.0 if share == 1.0 else high)


def cell(kind: str, size: int, hidden: int, people: int) -> dict[str, object]:
    """One model, table and number of blanks."""
    rng = np.random.default_rng([size, hidden])
    X, others = rows(size, rng), rows(20 * people, rng)
    score = X.sum(axis=1) + rng.normal(0, 1, size)
    model = MODELS[kind]().fit(X, np.where(score > 1, "yes", "no"))
    schema = Schema.infer(rows(4000, np.random.default_rng(0)), immutable=HIDDEN)
    explainer = ARMIN(model, schema, desired="yes").fit(X)
    fitted, codes = explainer.current, schema.encode(X, clip=True)
    refits = [
        replace(fitted, sampler=ChainedEquations().fit(codes[rng.integers(size, size=size)], schema), ready=None)
        for _ in range(REFITS)
    ]
    stated, wider, n = [], [], fitted.settings.options.n_fresh
    for row in schema.encode(others[model.predict(others) == "no"].head(people), clip=True):
        row[rng.permutation([NAMES.index(name) for name in HIDDEN])[:hidden]] = np.nan
        plan = explainer.explain(dict(zip(NAMES, row.tolist(), strict=True)))
        if not plan.changes or plan.fresh is None:
            continue
        truth = true_share(fitted, plan, row, rng)
        if np.isnan(truth):
            continue
        stated.append(Interval(*plan.fresh.interval(), truth))
        wider.append(Interval(*refitted_interval(refits, plan, row, plan.fresh.share, n), truth))
    return {
        "model": kind, "rows": size, "blanks": hidden, "plans": len(stated),
        "draws only: holds": np.mean([one.holds for one in stated]),
        "width": np.median([one.high - one.low for one in stated]),
        "with refits: holds": np.mean([one.holds for one in wider]),
        "width ": np.median([one.high - one.low for one in wider]),
        "true share below 0.75": np.mean([one.truth < 0.75 for one in stated]),
        "below, refits' low end above": np.mean([one.truth < 0.75 <= one.low for one in wider]),
    }  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 4000])
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--blanks", type=int, nargs="+", default=[1, 2])
    given = parser.parse_args()
    lines = [cell(kind, n, k, given.people) for kind in given.models for n in given.rows for k in given.blanks]
    print(markdown(lines))
