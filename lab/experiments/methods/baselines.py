"""The paper's baselines: one imputation, all completions, and a model's own branch for blanks."""

from __future__ import annotations

from typing import Self

import pandas as pd

from armin import ARMIN
from armin.baselines import ImputationAR, RobustAR
from armin.errors import SolverError
from armin.sampling import NativeMissing
from lab.experiments.methods import Context, Outcome, register


class _Imputation:
    label = "ImputationAR"
    clocked = False
    imputer = "mean"

    def fit(self, context: Context) -> Self:
        self.explainer_ = ImputationAR.from_settings(
            context.classifier, context.schema, imputer=self.imputer, sampler=context.sampler("marginal"),
            **context.common,
        ).fit(context.train)  # fmt: skip
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        return Outcome.of(self.explainer_.explain(row))


@register("mean")
class Mean(_Imputation):
    """Blanks become the mean."""

    label = "ImputationAR (mean)"


@register("knn")
class NearestRows(_Imputation):
    """Blanks become the mean of the nearest rows."""

    label = "ImputationAR (k-NN)"
    imputer = "knn"


@register("mice")
class Mice(_Imputation):
    """Blanks become their conditional means."""

    label = "ImputationAR (MICE)"
    imputer = "mice"


@register("robust")
class Robust:
    """Works for every one of the N plain completions."""

    label = "RobustAR"
    clocked = False

    def fit(self, context: Context) -> Self:
        self.explainer_ = RobustAR.from_settings(
            context.classifier, context.schema, sampler=context.sampler("chained"),
            n_samples=context.settings.n_samples, **context.common | {"decision": None},
        ).fit(context.train)  # fmt: skip
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        return Outcome.of(self.explainer_.explain(row))


@register("native")
class Native:
    """The optimum for the row as the model itself treats its blanks."""

    label = "the model's own branch"
    clocked = False

    def fit(self, context: Context) -> Self:
        self.explainer_ = ARMIN.from_settings(
            context.classifier, context.schema, sampler=NativeMissing(judge=context.sampler("marginal")),
            **context.common,
        ).fit(context.train)  # fmt: skip
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        return Outcome.of(self.explainer_.explain(row))


@register("optimal")
class Optimal:
    """The cheapest action of a complete row, by the exact search."""

    label = "optimum (nothing missing)"
    clocked = False
    solving = "search"

    def fit(self, context: Context) -> Self:
        self.explainer_ = ARMIN.from_settings(
            context.classifier, context.schema, method=self.solving, sampler=context.sampler("marginal"),
            **context.common,
        ).fit(context.train)  # fmt: skip
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        return Outcome.of(self.explainer_.explain(row))


@register("milo")
class Milo(Optimal):
    """The same by a MILO solver; time cuts it off."""

    label = "MILO (HiGHS)"
    clocked = True
    solving = "milo"

    def fit(self, context: Context) -> Self:
        super().fit(context)
        self.explainer_.set_params(options__time_limit=context.settings.milo_limit)
        return self


@register("brute")
class Brute(Optimal):
    """The same by brute force, where all choices can be listed."""

    label = "brute force"
    clocked = True
    solving = "enumerate"

    def fit(self, context: Context) -> Self:
        super().fit(context)
        self.explainer_.set_params(options__time_limit=context.settings.milo_limit)
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        try:
            return super().explain(row)
        except SolverError:
            return Outcome("skipped", note="too many choices to list")
