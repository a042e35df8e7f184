"""The methods, by the paper's names."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.actions import Grid
from armin.costs import Cost
from armin.errors import ParameterError
from armin.explainer.answer import Sample
from armin.explainer.base import Explainer
from armin.impute import Imputer, NativeMissing, Sampler, as_imputer
from armin.problem import Problem, Solution
from armin.schema import Schema
from armin.solve.robust import solve_robust

__all__ = ["ARMIN", "ImputationAR", "RobustAR"]


class ARMIN(Explainer):
    """Recourse with multiple imputation: the cheapest action that works for most plausible completions.

    Parameters
    ----------
    classifier : a fitted classifier, or a pipeline that ends in one
    schema : what the columns hold and what may change
    desired : the label, or labels, that the person wants
    threshold : accept when the desired labels' probability is at least this; None for what ``predict`` says
    margin : a safety distance: ask for this much more probability than the decision needs
    cost : "tlps", "mps", "l1", "l2", "changes", a function, or a cost object
    sampler : "chained", "donors", "marginal", "uniform", a function, a sampler object, or
        :class:`~armin.impute.NativeMissing` to explain the row as the model itself treats its blanks
    confidence : the share of completions that must be accepted, in (0, 1]
    n_samples : how many completions to draw
    max_changes : how many features may change; None for no limit
    max_options : at most this many options per feature
    grid : "human" for round numbers, "paper" for equal steps from the person's value
    condition_on_decision : draw only completions that the model rejects, since that is known
    method : "auto", "search", "milo", "enumerate", "subsample" (the paper's heuristic) or "blackbox"
    solver : "highs", "gurobi" or "scip", where a MILO is solved
    time_limit : seconds for one solve; None for no limit
    n_fresh : how many fresh completions to judge the action by; 0 for none
    random_state : the seed; the same row gets the same answer

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> explainer.explain(loans.applicant).outcome
    'plan'
    """

    def __init__(
        self,
        classifier: Any,
        schema: Schema,
        *,
        desired: Any,
        threshold: float | None = None,
        margin: float = 0.0,
        cost: str | Cost | Callable[..., float] = "tlps",
        sampler: str | Sampler | NativeMissing | Callable[..., Any] = "chained",
        confidence: float = 0.75,
        n_samples: int = 100,
        max_changes: int | None = 4,
        max_options: int = 100,
        grid: Grid = "human",
        condition_on_decision: bool = True,
        method: str = "auto",
        solver: Literal["highs", "gurobi", "scip"] = "highs",
        time_limit: float | None = 60.0,
        n_fresh: int = 1000,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            classifier, schema, desired=desired, threshold=threshold, margin=margin, cost=cost, sampler=sampler,
            n_samples=n_samples, max_changes=max_changes, max_options=max_options, grid=grid,
            condition_on_decision=condition_on_decision,
            method=method, solver=solver, time_limit=time_limit, n_fresh=n_fresh, random_state=random_state,
        )  # fmt: skip
        self.confidence = confidence

    @property
    def _asked(self) -> float:
        return float(self.confidence)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.confidence
        if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not 0 < given <= 1:
            raise ParameterError(
                f"The 'confidence' parameter of ARMIN must be in (0, 1]. Got {given!r} instead. "
                "0.75 asks that three of four plausible completions are accepted."
            )


class RobustAR(Explainer):
    """Recourse that works for every drawn completion: the paper's dear baseline, by constraint generation.

    Parameters are those of :class:`ARMIN`, without ``confidence``.

    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> robust = RobustAR(loans.classifier, loans.schema, desired="approved", n_samples=20).fit(loans.X)
    >>> robust.explain(loans.applicant).validity.share
    1.0
    """

    def _solve(self, problem: Problem) -> Solution:
        return solve_robust(problem, self._solving, solver=self.solver, time_limit=self.time_limit)


class ImputationAR(Explainer):
    """Recourse for one way to fill the blanks: what people do today, and the paper's cheap baseline.

    The answer's ``fresh`` validity says for how many plausible people the advice really works.

    Parameters
    ----------
    imputer : "mean", "knn", "mice", or an imputer object
    sampler : only used to judge the advice
    classifier, schema, desired, threshold, cost, max_changes, max_options, grid, condition_on_decision, method : as in
        :class:`ARMIN`
    solver, time_limit, n_fresh, random_state : as in :class:`ARMIN`

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> naive = ImputationAR(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> naive.explain(loans.applicant).fresh.share < 0.75
    True
    """

    def __init__(
        self,
        classifier: Any,
        schema: Schema,
        *,
        desired: Any,
        threshold: float | None = None,
        margin: float = 0.0,
        cost: str | Cost | Callable[..., float] = "tlps",
        imputer: str | Imputer = "mean",
        sampler: str | Sampler | NativeMissing | Callable[..., Any] = "chained",
        max_changes: int | None = 4,
        max_options: int = 100,
        grid: Grid = "human",
        condition_on_decision: bool = True,
        method: str = "auto",
        solver: Literal["highs", "gurobi", "scip"] = "highs",
        time_limit: float | None = 60.0,
        n_fresh: int = 1000,
        random_state: int | None = 0,
    ) -> None:
        super().__init__(
            classifier, schema, desired=desired, threshold=threshold, margin=margin, cost=cost, sampler=sampler,
            n_samples=1, max_changes=max_changes, max_options=max_options, grid=grid,
            condition_on_decision=condition_on_decision,
            method=method, solver=solver, time_limit=time_limit, n_fresh=n_fresh, random_state=random_state,
        )  # fmt: skip
        self.imputer = imputer

    @property
    def _stated(self) -> None:
        return None

    def fit(self, X: pd.DataFrame | NDArray[Any], y: object = None) -> Self:
        """Learn costs and the imputer from training data."""
        super().fit(X, y)
        self.imputer_ = deepcopy(as_imputer(self.imputer)).fit(self.schema.encode(X, clip=True), self.schema)
        return self

    def _candidates(self, codes: NDArray[np.float64], rng: np.random.Generator) -> Sample:
        filled = self.imputer_.impute(codes)
        return Sample(filled[None, :], np.ones(1), notes=("Optimised for one way to fill the blanks only.",))
