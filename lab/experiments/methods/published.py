"""The authors' methods as their code runs them: its options, its imputers, its rule, its constraint generation.

What nobody can do counts as their code counts it: a row without a solution keeps everything at no cost and is not
valid, and an action that would take the person beyond a bound is not valid either (``legal``).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from armin import ARMIN
from armin.arrays import FloatArray
from armin.explain.draw import candidates_of
from armin.explain.fitted import Fitted
from armin.explain.world import find_world
from armin.problem.stated import state_problem
from armin.solve import solve
from lab.experiments.methods import Context, Outcome, register
from lab.experiments.methods.armin import N_SUB, REPEATS
from lab.experiments.methods.choices import Action, PublishedOptions
from lab.experiments.methods.imputers import PosteriorDraws, ScikitImputer

__all__ = ["AsPublished"]

MOST_ROUNDS = 100
"""Rounds of RobustAR's constraint generation."""


class AsPublished:
    """What the authors' methods share."""

    label = ""
    clocked = False
    centred = False
    clipped = False

    def fit(self, context: Context) -> Self:
        context = context.raw or context
        self.context_, settings = context, context.settings
        sampler = PosteriorDraws(centred=self.centred, clipped=self.clipped)
        self.explainer_ = ARMIN.from_settings(
            context.classifier, context.schema, sampler=context.sampler(sampler), confidence=settings.confidence,
            n_samples=settings.n_samples, checks=False, **context.common | {"decision": None},
        ).fit(context.train)  # fmt: skip
        self.options_: PublishedOptions = context.remember(
            ("options", settings.max_options), lambda: PublishedOptions(context)
        )
        self.final_: Any = context.classifier[-1]
        self.desired_ = list(self.final_.classes_).index(context.desired)
        return self

    def explain(self, row: pd.DataFrame) -> Outcome:
        """Advise one person."""
        fitted, codes = self.explainer_.current.at(row)
        action = self._chosen(fitted, codes)
        if action is None:
            return self._outcome("infeasible", Action((), self.options_.low, self.options_.high, fitted.schema))
        return self._outcome("feasible", action)

    def _chosen(self, fitted: Fitted, codes: FloatArray) -> Action | None:
        raise NotImplementedError

    def _completions(self, fitted: Fitted, codes: FloatArray) -> FloatArray:
        return candidates_of(fitted, find_world(fitted, codes), codes).values

    def _best(self, fitted: Fitted, codes: FloatArray, people: FloatArray, confidence: float) -> Action | None:
        """The cheapest action for these completions (n, D), of which the published share must be accepted."""
        n, settings = people.shape[0], self.context_.settings
        stated = state_problem(
            codes, people, np.ones(n), self.options_.grid(codes, people), fitted.read, fitted.cost,
            float(n - int(n * (1 - confidence))), settings.max_changes,
        )  # fmt: skip
        found = solve(stated.problem, "search", time_limit=settings.time_limit)
        if found.choice is None:
            return None
        return self.options_.action(stated.grid, found.choice, stated.cost_of(found.choice))

    def _chances(self, fitted: Fitted, people: FloatArray) -> FloatArray:
        """The probabilities (n,) of the desired answer; a category that an amount has led astray stays at its end."""
        codes = people.copy()
        for i, feature in enumerate(fitted.schema.features):
            if not feature.is_number:
                codes[:, i] = np.clip(codes[:, i], feature.low_code, feature.high_code)
        found: FloatArray = self.final_.predict_proba(fitted.read.encode(codes))[:, self.desired_]
        return found

    def _outcome(self, status: str, action: Action) -> Outcome:
        schema = self.context_.schema

        def apply(rows: pd.DataFrame) -> pd.DataFrame:
            codes = action.on(schema.encode(rows, clip=True))
            low, high = [f.low_code for f in schema], [f.high_code for f in schema]
            return schema.decode(np.clip(codes, low, high), like=rows).set_index(rows.index)

        return Outcome(status, apply, action.cost, legal=None if status == "infeasible" else action.legal)


class _Imputation(AsPublished):
    which = "mean"

    def fit(self, context: Context) -> Self:
        super().fit(context)
        context = self.context_
        self.imputer_: ScikitImputer = context.remember(
            ("imputer", self.which), lambda: ScikitImputer(self.which, clipped=False).fit(context.codes, context.schema)
        )
        return self

    def _chosen(self, fitted: Fitted, codes: FloatArray) -> Action | None:
        return self._best(fitted, codes, self.imputer_.impute(codes)[None, :], 1.0)


@register("mean-published")
class PublishedMean(_Imputation):
    """scikit-learn's means."""

    label = "ImputationAR (mean), as published"


@register("knn-published")
class PublishedKnn(_Imputation):
    """scikit-learn's nearest neighbours."""

    label = "ImputationAR (k-NN), as published"
    which = "knn"


@register("mice-published")
class PublishedMice(_Imputation):
    """scikit-learn's iterated Bayesian ridges."""

    label = "ImputationAR (MICE), as published"
    which = "mice"


@register("optimal-published")
class PublishedOptimum(AsPublished):
    """The cheapest action of a complete row among the published options."""

    label = "optimum among the published options"

    def _chosen(self, fitted: Fitted, codes: FloatArray) -> Action | None:
        return self._best(fitted, codes, codes[None, :].copy(), 1.0)

    def explain(self, row: pd.DataFrame) -> Outcome:
        """The same, but nobody is told to keep everything where there is no action."""
        found = super().explain(row)
        return Outcome(found.status) if found.status == "infeasible" else found


@register("robust-published")
class PublishedRobust(AsPublished):
    """RobustAR by constraint generation: from the first completion on, always the one that is least accepted."""

    label = "RobustAR, as published"

    def _chosen(self, fitted: Fitted, codes: FloatArray) -> Action | None:
        people = self._completions(fitted, codes)
        others, held = list(range(1, len(people))), [0]
        best: Action | None = None
        chances = np.zeros(len(people))
        for _ in range(MOST_ROUNDS):
            found = self._best(fitted, codes, people[held], 1.0)
            if found is not None:
                best, chances = found, self._chances(fitted, found.on(people))
            else:
                held.pop()
                if not held:
                    break
            worst = min(others, key=lambda n: chances[n], default=None)
            if worst is None or chances[worst] >= 0.5:
                break
            others.remove(worst)
            held.append(worst)
        return best


@register("rung-published")
class FirstRung(AsPublished):
    """ARMIN: all completions at once for linear models; the heuristic with the mean probability as its rule else."""

    label = "published code"

    def _chosen(self, fitted: Fitted, codes: FloatArray) -> Action | None:
        people, confidence = self._completions(fitted, codes), self.context_.settings.confidence
        if hasattr(self.final_, "coef_"):
            return self._best(fitted, codes, people, confidence)
        rng, tried = np.random.default_rng(0), []
        nothing = Action((), self.options_.low, self.options_.high, fitted.schema)
        for k in range(REPEATS):
            part = people[np.sort(rng.choice(len(people), min(N_SUB, len(people)), replace=False))]
            action = self._best(fitted, codes, part, confidence) or nothing
            sure = float(self._chances(fitted, action.on(people)).mean())
            enough = sure >= confidence
            tried.append((not enough, action.cost if enough else -sure, k, action))
        return min(tried, key=lambda one: one[:3])[3]


@register("rung-library")
class LibraryRung(FirstRung):
    """Completions as today's scikit-learn draws them."""

    label = "+ today's scikit-learn"
    centred = True


@register("rung-bounds")
class BoundsRung(LibraryRung):
    """Completions within the bounds."""

    label = "+ completions within bounds"
    clipped = True
