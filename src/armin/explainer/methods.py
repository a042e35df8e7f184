"""The methods, by the paper's names."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy, deepcopy
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.actions import Grid
from armin.costs import Cost
from armin.errors import DataError, ParameterError
from armin.explainer.answer import Sample
from armin.explainer.base import Explainer, check_whole
from armin.explainer.calibrating import Missingness, masks_from, rejected_people, run_trials
from armin.impute import Imputer, NativeMissing, Sampler, as_imputer
from armin.problem import Problem, Solution
from armin.promise import Calibration, choose_level
from armin.promise.calibration import check_share
from armin.schema import Schema
from armin.solve import stopped
from armin.solve.robust import solve_robust
from armin.words import Message

__all__ = ["ARMIN", "ImputationAR", "RobustAR"]

Pattern = tuple[tuple[str, ...] | None, tuple[str, ...]]
"""What a calibration is for: the blanks (None: as the missingness model makes them) and the locked features."""


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
    confidence : the share of completions that must be accepted, in (0, 1]; not used where there is a promise
    promise : the share of *real people* with the same blanks who must be accepted when they follow their plan, in
        (0, 1). The confidence is then chosen by a test on held-out people, once for each pattern of blanks
    assurance : the probability with which the promise is kept, over the choice of these people
    missingness : how the held-out people get their blanks: None for the blanks of the row at hand, or a function from
        a frame to the frame with blanks, such as ``functools.partial(armin.datasets.mcar, n_missing=2)``
    n_people : test on at most so many held-out people
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
        promise: float | None = None,
        assurance: float = 0.9,
        missingness: Missingness | None = None,
        n_people: int = 200,
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
        self.promise = promise
        self.assurance = assurance
        self.missingness = missingness
        self.n_people = n_people

    @property
    def _asked(self) -> float:
        return float(self.confidence)

    def fit(self, X: pd.DataFrame | NDArray[Any], y: object = None, *, people: pd.DataFrame | None = None) -> Self:
        """Learn costs and completions from training data.

        Parameters
        ----------
        X : the training data, without labels; blanks are fine
        y : ignored
        people : with ``promise``: complete rows that neither the classifier nor ``X`` has seen, to test on. Without
            it a quarter of ``X`` is set aside, which keeps the promise only if the classifier has not learned it
            by heart

        Returns
        -------
        self
        """
        if people is not None and self.promise is None:
            raise ParameterError("'people' are for testing a promise. Set promise=0.9, or leave 'people' out.")
        self.calibrations_: dict[Pattern, Calibration] = {}
        self.held_out_ = people is not None
        if self.promise is None or people is not None:
            super().fit(X, y)
            others = None if people is None else self.schema.encode(people, clip=True)
        else:
            self._check_parameters()
            frame = self.schema.frame(X)
            aside = np.random.default_rng(self.random_state).permutation(len(frame)) < len(frame) // 4
            super().fit(frame[~aside] if isinstance(X, pd.DataFrame) else np.asarray(X)[~aside], y)
            others = self.schema.encode(frame[aside], clip=True)
        if others is not None:
            self.people_ = rejected_people(self, others, self.n_people, np.random.default_rng(self.random_state))
        return self

    def calibrate(
        self,
        people: pd.DataFrame | None = None,
        *,
        blanks: Collection[str] | None = None,
        locked: Collection[str] = (),
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Calibration:
        """Find the confidence that keeps the promise, by testing on real people; :meth:`explain` does so by itself.

        Parameters
        ----------
        people : complete held-out rows; None for those that ``fit`` was given or set aside
        blanks : the features to hide; None for the ``missingness`` model
        locked : features that nobody may change
        n_jobs, progress : as in :meth:`explain_many`

        Returns
        -------
        Calibration
            Kept for every later row with these blanks.

        Examples
        --------
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> half = len(loans.X) // 2
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved", promise=0.8, n_people=60)
        >>> explainer = explainer.fit(loans.X[:half], people=loans.X[half:])
        >>> explainer.calibrate(blanks=["Income"]).kept
        True
        """
        self._check_fitted()
        if self.promise is None:
            raise ParameterError("calibrate needs a promise to keep. Set it: ARMIN(..., promise=0.9).")
        if people is not None:
            rng = np.random.default_rng(self.random_state)
            self.people_ = rejected_people(self, self.schema.encode(people, clip=True), self.n_people, rng)
            self.held_out_, self.calibrations_ = True, {}
        if blanks is None and self.missingness is None:
            raise ParameterError(
                "calibrate must know which values are blank. Name them with blanks=[...], or set 'missingness'."
            )
        return self._calibration(None if blanks is None else tuple(blanks), tuple(locked), n_jobs, progress)

    def asking(self, confidence: float) -> ARMIN:
        """The same fitted explainer with another confidence, and no promise; nothing is learned again.

        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> explainer.asking(0.95).explain(loans.applicant).confidence
        0.95
        """
        other = copy(self)
        other.confidence, other.promise = confidence, None
        other._check_parameters()
        return other

    def _at(self, level: float) -> ARMIN:
        return self if self.promise is None else self.asking(level)

    def _level(self, codes: NDArray[np.float64], locked: Collection[str]) -> tuple[float, Calibration | None]:
        blanks = tuple(name for name, code in zip(self.schema.names, codes, strict=True) if np.isnan(code))
        if self.promise is None or not blanks:
            return self._asked, None
        found = self._calibration(None if self.missingness is not None else blanks, tuple(locked), None, False)
        return found.used_level, found

    def _calibration(
        self, blanks: tuple[str, ...] | None, locked: tuple[str, ...], n_jobs: int | None, progress: bool
    ) -> Calibration:
        """The calibration for a pattern of blanks (None: the missingness model), found once."""
        key = (None if blanks is None else tuple(sorted(blanks)), tuple(sorted(locked)))
        if key in self.calibrations_:
            return self.calibrations_[key]
        people = getattr(self, "people_", None)
        if people is None or people.shape[0] == 0:
            raise DataError(
                f"promise={self.promise} needs complete held-out rows that the model rejects. Got none. "
                "Give some: fit(X, people=frame) or calibrate(frame), or ask for a confidence instead."
            )
        masks = np.zeros(people.shape, dtype=bool)
        words = "model"
        if blanks is not None:
            masks[:, [self.schema.position(name) for name in blanks]] = True
            words = "same"
        elif self.missingness is not None:
            masks = masks_from(self, people, self.missingness)
        trials = run_trials(self, people, masks, locked=locked, n_jobs=n_jobs, progress=progress)
        assert self.promise is not None  # noqa: S101  checked by both callers
        found = choose_level(trials, self.promise, self.assurance, masks=words, held_out=self.held_out_)
        if not stopped():  # a test that was cut short says too little to be kept
            self.calibrations_[key] = found
        return found

    def _check_parameters(self) -> None:
        super()._check_parameters()
        given = self.confidence
        if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not 0 < given <= 1:
            raise ParameterError(
                f"The 'confidence' parameter of ARMIN must be in (0, 1]. Got {given!r} instead. "
                "0.75 asks that three of four plausible completions are accepted."
            )
        if self.promise is not None:
            check_share("promise", self.promise)
        check_share("assurance", self.assurance)
        check_whole("ARMIN", "n_people", self.n_people, 1)
        if self.missingness is not None and not callable(self.missingness):
            raise ParameterError(
                f"The 'missingness' parameter of ARMIN must be a function from a frame to the frame with blanks. "
                f"Got {self.missingness!r} instead."
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
        return Sample(filled[None, :], np.ones(1), notes=(Message("draws.once"),))
