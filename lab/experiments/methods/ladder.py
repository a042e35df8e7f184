"""Rung by rung from the published method to ours; each class changes one thing of the one before.

The settings of the experiment are the published ones: cost, grid, bounds of the training rows, and a score beyond the
cut. The first three rungs are in ``published.py``. Each subproblem is solved to optimality, where the authors' had a
minute on Gurobi.
"""

from __future__ import annotations

from functools import partial
from inspect import signature
from typing import Any, Self

import numpy as np
import pandas as pd

from armin import ARMIN, Schema
from armin.explain.advise import Posed, pose
from armin.problem import Choice, Problem, required_weight
from armin.solve import solve
from lab.experiments.config import Settings
from lab.experiments.methods import Context, Outcome, register
from lab.experiments.methods.armin import N_SUB, REPEATS, by_heuristic
from lab.experiments.methods.context import Apply
from lab.experiments.methods.imputers import PosteriorDraws

LINEAR = "LogisticRegression"


def by_mean_probability(problem: Problem, final: Any, desired: int, settings: Settings) -> Choice:
    """The choice of the published heuristic by the rule of the published code.

    Of the choices of ten subsamples, the cheapest (for its own subsample) after which the *mean probability* of all
    completions reaches the confidence; if none does, the one with the largest.
    """
    rng, tried = np.random.default_rng(0), []
    for _ in range(REPEATS):
        rows = np.sort(rng.choice(problem.n_candidates, N_SUB, replace=False))
        part = problem.among(rows, required=required_weight(settings.confidence, float(N_SUB)))
        found = solve(part, "search", time_limit=settings.time_limit)
        choice = problem.keep if found.choice is None else found.choice
        sure = float(final.predict_proba(problem.inputs(choice))[:, desired].mean())
        enough = sure >= settings.confidence
        tried.append((not enough, problem.cost(choice) if enough else -sure, choice))
    return min(tried)[2]


class _Rung:
    label = ""
    clocked = False
    exact = False
    sampler: Any = PosteriorDraws()
    conditioned = False
    cost: str | None = None

    def fit(self, context: Context) -> Self:
        settings, common = context.settings, dict(context.common)
        common["decision"] = "complete" if self.conditioned else None
        if self.cost is not None:
            common["cost"] = context.cost_named(self.cost)
        final = context.classifier[-1]
        self.linear_ = isinstance_named(final, LINEAR)
        if not self.exact and not self.linear_:
            common["method"] = partial(by_heuristic, time_limit=settings.time_limit)
        self.explainer_ = ARMIN.from_settings(
            context.classifier, context.schema, sampler=context.sampler(self.sampler), confidence=settings.confidence,
            n_samples=settings.n_samples, checks=False, **common,
        ).fit(context.train)  # fmt: skip
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        return Outcome.of(self.explainer_.explain(row), self.explainer_.schema)


def apply_choice(posed: Posed, schema: Schema, choice: Choice) -> Apply:
    """What complete rows become by a choice, which no judge has looked at."""

    def apply(rows: pd.DataFrame) -> pd.DataFrame:
        codes = posed.stated.grid.apply_to_others(choice, schema.encode(rows, clip=True))
        return schema.decode(codes, like=rows).set_index(rows.index)

    return apply


def isinstance_named(estimator: Any, name: str) -> bool:
    """Whether an estimator is of a class of this name, or of one that inherits from it."""
    return any(cls.__name__ == name for cls in type(estimator).__mro__)


@register("rung-options")
class OptionsRung(_Rung):
    """Options of our own: one grid for all completions, also for forests, and a blank category may be set."""

    label = "+ our options"

    def fit(self, context: Context) -> Self:
        super().fit(context)
        self.context_ = context
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        if self.linear_:
            return super().explain(row)
        context, settings = self.context_, self.context_.settings
        final = context.classifier[-1]
        posed = pose(self.explainer_.current, context.schema.encode(row)[0], (), settings.confidence)
        choice = by_mean_probability(
            posed.stated.problem, final, list(final.classes_).index(context.desired), settings
        )  # fmt: skip
        cost = posed.stated.cost_of(choice)
        return Outcome("feasible", apply_choice(posed, context.schema, choice), cost)


@register("rung-rule")
class RuleRung(_Rung):
    """The rule of the paper's text: the share of completions that are accepted."""

    label = "+ the paper's rule"


@register("rung-exact")
class ExactRung(RuleRung):
    """All completions at once, by the exact search."""

    label = "+ exact search"
    exact = True


@register("rung-sampler")
class SamplerRung(ExactRung):
    """Our completions."""

    label = "+ our sampler"
    sampler = signature(ARMIN).parameters["sampler"].default


@register("rung-conditioned")
class ConditionedRung(SamplerRung):
    """Completions that agree with the rejection."""

    label = "+ conditioning"
    conditioned = True


@register("rung-cost")
class CostRung(ConditionedRung):
    """Our cost is minimised."""

    label = "+ our cost"
    cost = "tlps"
