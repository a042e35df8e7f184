"""ARMIN: exact, with and without conditioning on the decision, and by the paper's heuristic."""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import Any, Self

import pandas as pd

from armin import ARMIN
from armin.problem import Problem, Solution
from armin.recourse import RecoursePath
from armin.solve.subsample import solve_by_subsampling
from lab.experiments.methods import Context, Outcome, register

N_SUB, REPEATS = 10, 10
"""The paper's N' and P."""


def by_heuristic(problem: Problem, *, time_limit: float | None) -> Solution:
    """The published heuristic, each subproblem solved to optimality by the exact search."""
    return solve_by_subsampling(problem, N_SUB, REPEATS, time_limit=time_limit, method="search")


class _Armin:
    label = "ARMIN"
    clocked = False
    heuristic = False
    conditioned = True
    sampler: Any = signature(ARMIN).parameters["sampler"].default

    def fit(self, context: Context) -> Self:
        settings = context.settings
        common = context.common | {"decision": "complete" if self.conditioned else None}
        if self.heuristic:
            common["method"] = partial(by_heuristic, time_limit=settings.time_limit)
        self.explainer_ = ARMIN.from_settings(
            context.classifier,
            context.schema,
            sampler=context.sampler(self.sampler),
            confidence=settings.confidence,
            n_samples=settings.n_samples,
            **common,
        ).fit(context.train)
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        return Outcome.of(self.explainer_.explain(row))

    def path(self, row: pd.DataFrame) -> RecoursePath:
        return self.explainer_.path(row)


@register("exact")
class Exact(_Armin):
    """The exact search over completions that agree with the rejection."""

    label = "ARMIN, exact"


@register("exact-plain")
class ExactPlain(_Armin):
    """The exact search over the completions of the published method: the two differ in the solver only."""

    label = "ARMIN, exact, unconditioned"
    conditioned = False
    sampler = "chained"


@register("published")
class Published(_Armin):
    """The paper's heuristic with our cost, options and draws: N' = 10, P = 10, each subproblem solved to optimality."""

    label = "ARMIN, paper's heuristic"
    heuristic = True
    conditioned = False
    sampler = "chained"


@register("published-milo")
class PublishedMilo(_Armin):
    """The same on a MILO solver, for its time. Time cuts it off, so its answer depends on the machine."""

    label = "ARMIN, paper's heuristic, MILO"
    clocked = True
    conditioned = False
    sampler = "chained"

    def fit(self, context: Context) -> Self:
        super().fit(context)
        self.explainer_.set_params(
            options__method="subsample", options__time_limit=REPEATS * context.settings.sub_limit
        )
        return self
