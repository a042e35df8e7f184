"""What the three methods share: fit once, then row by row sample, state, solve, judge, answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from copy import copy, deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from armin.actions import Grid, build_grid
from armin.arrays import FloatArray
from armin.costs import Cost, as_cost
from armin.errors import ArminError, DataError, ModelError, NotFittedError, ParameterError
from armin.explainer.answer import Origin, Sample, fresh_validity, make_recourse
from armin.explainer.checks import check_common, check_whole
from armin.explainer.drawing import draw_sample, row_streams
from armin.explainer.judging import Judged, MisreadError, accepted_by_all, judge, judge_path
from armin.impute import NativeMissing, Sampler, as_sampler
from armin.models.encoding import Oracle, read_classifier
from armin.models.kinds import BlackBox
from armin.problem import Problem, Solution, Status, required_weight
from armin.problem.stated import Case, build_case
from armin.promise import Calibration
from armin.recourse import Failure, Recourse, RecoursePath, Recourses
from armin.schema import Rows, Schema
from armin.solve import solve
from armin.solve.path import solve_path
from armin.words import Message

if TYPE_CHECKING:
    from armin.explainer.ask import AskOrAct
    from armin.explainer.stress import StressTest

__all__ = ["Explainer", "check_whole"]

Answer = TypeVar("Answer")


class Explainer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The grammar of all methods; see :class:`armin.ARMIN` for the parameters."""

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
        self.classifier = classifier
        self.schema = schema
        self.desired = desired
        self.threshold = threshold
        self.margin = margin
        self.cost = cost
        self.sampler = sampler
        self.n_samples = n_samples
        self.max_changes = max_changes
        self.max_options = max_options
        self.grid = grid
        self.condition_on_decision = condition_on_decision
        self.method = method
        self.solver = solver
        self.time_limit = time_limit
        self.n_fresh = n_fresh
        self.random_state = random_state

    @property
    def _asked(self) -> float:
        """The share of completions that must be accepted."""
        return 1.0

    @property
    def _stated(self) -> float | None:
        """The confidence that the answer may state."""
        return self._asked

    def fit(self, X: pd.DataFrame | NDArray[Any], y: object = None) -> Self:
        """Learn costs and completions from training data.

        Parameters
        ----------
        X : the training data, without labels; blanks are fine
        y : ignored

        Returns
        -------
        self
        """
        self._check_parameters()
        frame = self.schema.frame(X)
        self._bind(frame.iloc[:0] if isinstance(X, pd.DataFrame) else None)
        self._learn(self.schema.encode(frame, clip=True))
        return self

    def _bind(self, like: pd.DataFrame | None) -> None:
        """What follows from the classifier alone; ``like`` is an empty frame with the training data's types."""
        self.decision_ = Oracle(self.classifier, self.schema, like, self.desired, self.threshold)
        self.oracle_ = self.decision_.stricter(self.margin) if self.margin else self.decision_
        self.read_ = read_classifier(self.oracle_, blackbox=self.method == "blackbox")
        self.n_features_in_ = len(self.schema)
        self.feature_names_in_ = np.array(self.schema.names, dtype=object)

    def _learn(self, codes: FloatArray) -> None:
        """What is learned from the training data: ``cost_`` and ``sampler_``."""
        self.cost_ = deepcopy(as_cost(self.cost)).fit(codes, self.schema)
        spec = self.sampler.judge if isinstance(self.sampler, NativeMissing) else self.sampler
        # many small regressions: threads of linear algebra would only wait for each other
        with threadpool_limits(1):
            self.sampler_ = deepcopy(as_sampler(spec)).fit(codes, self.schema)

    def explain(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> Recourse:
        """What one person should change.

        Parameters
        ----------
        row : one row, as a dict, Series, one-row DataFrame or array; NaN, None, ``pd.NA`` and "" are blanks
        locked : features that this person cannot change, on top of the schema

        Returns
        -------
        Recourse
        """
        return self._carefully(lambda explainer: explainer._explain(row, locked))

    def _explain(self, row: Rows | pd.Series[Any], locked: Collection[str]) -> Recourse:
        codes = self._one_row(row, locked)
        level, calibration = self._level(codes, locked)
        start = time.perf_counter()
        sample, fresh = self._samples(codes)
        sampled = time.perf_counter()
        case = self._case(codes, sample, locked, level)
        built = time.perf_counter()
        judged = self._judge(case, case.problem, fresh) if calibration is None else self._from_path(case, level, fresh)
        steps = {
            "sampling": sampled - start,
            "building": built - sampled,
            "solving": time.perf_counter() - built,
        }
        stated = level if calibration is not None else self._stated
        return self._answer(case, judged, sample, fresh, stated, locked, steps, calibration)

    def alternatives(
        self, row: Rows | pd.Series[Any], count: int = 3, *, locked: Collection[str] = ()
    ) -> tuple[Recourse, ...]:
        """Several plans to choose from: the cheapest ones that change different sets of features, cheapest first.

        Parameters
        ----------
        row, locked : as in :meth:`explain`
        count : how many; fewer come back if there are no more

        Returns
        -------
        tuple of Recourse
            Empty if no plan exists or time ran out; then :meth:`explain` says which.
        """
        check_whole("alternatives", "count", count, 1)
        return self._carefully(lambda explainer: explainer._alternatives(row, count, locked))

    def _alternatives(self, row: Rows | pd.Series[Any], count: int, locked: Collection[str]) -> tuple[Recourse, ...]:
        codes = self._one_row(row, locked)
        level, calibration = self._level(codes, locked)
        sample, fresh = self._samples(codes)
        case = self._case(codes, sample, locked, level)
        stated = level if calibration is not None else self._stated
        plans: list[Recourse] = []
        problem = case.problem
        while len(plans) < count:
            judged = self._judge(case, problem, fresh)
            if judged.solution.choice is None:
                break
            plan = self._answer(case, judged, sample, fresh, stated, locked, {})
            plans.append(plan.ranked(len(plans) + 1))
            problem = problem.without_set(judged.solution.choice)
        return tuple(plans)

    def ask(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> AskOrAct:
        """Ask or act: what telling each blank would be worth, and whether a blank matters at all.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        AskOrAct
        """
        from armin.explainer.ask import ask_or_act

        codes = self._one_row(row, locked)
        return ask_or_act(self._at(self._level(codes, locked)[0]), row, locked=locked)

    def stress(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> StressTest:
        """How informative a blank may be before the plan loses its validity; see :func:`armin.stress_test`.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        StressTest
        """
        from armin.explainer.stress import stress_test

        return stress_test(self, row, locked=locked)

    def _at(self, level: float) -> Explainer:
        """This explainer at a fixed confidence."""
        return self

    def problem(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> Problem:
        """The optimisation problem behind a row, as plain data for :func:`armin.solve`.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        Problem
        """
        codes = self._one_row(row, locked)
        return self._case(codes, self._samples(codes)[0], locked, self._level(codes, locked)[0]).problem

    def explain_many(
        self, frame: pd.DataFrame, *, locked: Collection[str] = (), n_jobs: int | None = None, progress: bool = False
    ) -> Recourses:
        """What many people should change, in their order. One row that fails does not lose the others.

        Parameters
        ----------
        frame : the rows
        locked : features that none of them can change
        n_jobs : how many rows at once, as in joblib; the answers do not depend on it
        progress : whether to show a progress bar

        Returns
        -------
        Recourses
        """
        from joblib import Parallel, delayed

        self._check_fitted()
        table = self.schema.frame(frame)
        # small arguments: what a cluster ships by itself is not lost with the worker that holds it
        rows = table.astype(object).to_dict("records")
        tasks = (delayed(_explain_one)(self, i, row, tuple(locked)) for i, row in zip(table.index, rows, strict=True))
        answers = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
        if progress:
            from rich.console import Console
            from rich.progress import track

            console = Console(stderr=True)
            answers = track(answers, description="Explaining", total=len(rows), transient=True, console=console)
        return Recourses(tuple(answers), tuple(table.index))

    def path(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> RecoursePath:
        """The cheapest action for every confidence: where more certainty starts to cost more.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        RecoursePath
        """
        return self._carefully(lambda explainer: explainer._path(row, locked))

    def _path(self, row: Rows | pd.Series[Any], locked: Collection[str]) -> RecoursePath:
        codes = self._one_row(row, locked)
        level, _ = self._level(codes, locked)
        sample, fresh = self._samples(codes)
        case = self._case(codes, sample, locked, level)
        judged, end = self._judged_path(case)
        if fresh is not None:
            choices = [point.solution.choice for point in judged if point.solution.choice is not None]
            after = [case.grid.apply_to_others(choice, fresh.values) for choice in choices]
            verdicts = accepted_by_all(self.oracle_, after)
            judged = [replace(point, fresh=verdict) for point, verdict in zip(judged, verdicts, strict=True)]
        total = case.problem.weights.sum()
        shares = [float(case.problem.weights[point.accepted].sum() / total) for point in judged]
        points = [
            self._answer(case, point, sample, fresh, share, locked, {})
            for point, share in zip(judged, shares, strict=True)
        ]
        return RecoursePath(tuple(points), level, end)

    def _judge(self, case: Case, problem: Problem, fresh: Sample | None) -> Judged:
        others = None if fresh is None else fresh.values
        rejected = self._reads and self.condition_on_decision and case.conditioned
        return judge(self.oracle_, case, problem, self._solve, fresh=others, rejected=rejected)

    def _judged_path(self, case: Case) -> tuple[list[Judged], Status]:
        """Every point of a row's path that buys more confidence for more cost, and why the path ends."""
        found = solve_path(case.problem, self._solving, solver=self.solver, time_limit=self.time_limit)
        last = found[-1].solution.status
        end = last if last in (Status.INFEASIBLE, Status.UNKNOWN) else Status.OPTIMAL
        rejected = self._reads and self.condition_on_decision and case.conditioned
        return judge_path(self.oracle_, case, found, self._solve, rejected=rejected), end

    def _from_path(self, case: Case, level: float, fresh: Sample | None) -> Judged:
        """The cheapest point of the path that reaches a level: what calibration has tested, to the letter."""
        start = time.perf_counter()
        judged, end = self._judged_path(case)
        needed = case.problem.demanding(required_weight(level, float(case.problem.weights.sum())))
        for point in judged:
            if needed.enough(float(case.problem.weights[point.accepted].sum())):
                choice, verdict = point.solution.choice, None
                if fresh is not None and choice is not None:
                    verdict = self.oracle_.accepts(case.grid.apply_to_others(choice, fresh.values))
                return Judged(replace(point.solution, seconds=time.perf_counter() - start), point.accepted, verdict)
        status = Status.INFEASIBLE if end is not Status.UNKNOWN else Status.UNKNOWN
        bound = float("inf") if status is Status.INFEASIBLE else 0.0
        nothing = Solution(status, None, None, bound, time.perf_counter() - start, "path")
        return Judged(nothing, np.zeros(case.problem.n_candidates, dtype=bool))

    def _carefully(self, work: Callable[[Explainer], Answer]) -> Answer:
        """Do the work with the model as it was read; where the model itself disagrees, again with the model alone."""
        try:
            return work(self)
        except MisreadError:
            careful = copy(self)
            careful._trusting = False
            return work(careful)

    _trusting = True

    @property
    def _reads(self) -> bool:
        """Whether the reading of the model, rather than the model, says which completions are rejected."""
        return self._trusting and not self.margin and not isinstance(self.read_.model, BlackBox)

    def _level(self, codes: FloatArray, locked: Collection[str]) -> tuple[float, Calibration | None]:
        """The confidence to ask for, and the test on real people that chose it, if there was one."""
        return self._asked, None

    @property
    def _solving(self) -> str:
        """The method for ``solve``: a black box is a kind of model, not a way to solve."""
        return "auto" if self.method == "blackbox" else self.method

    def _solve(self, problem: Problem) -> Solution:
        return solve(problem, self._solving, solver=self.solver, time_limit=self.time_limit)

    def _one_row(self, row: Rows | pd.Series[Any], locked: Collection[str]) -> FloatArray:
        self._check_fitted()
        if isinstance(locked, str):
            raise ParameterError(f"'locked' must be a list of column names. Got the text {locked!r} instead.")
        for name in locked:
            self.schema.position(name)
        codes = self.schema.encode(row)
        if codes.shape[0] != 1:
            raise DataError(f"explain takes one row. Got {codes.shape[0]} instead; use explain_many(frame).")
        if np.isnan(codes).all():
            raise DataError(
                "The row is all blanks, so there is nobody to advise. Give at least one value; the others may be blank."
            )
        one: FloatArray = codes[0]
        return one

    def _streams(self, codes: FloatArray) -> tuple[np.random.Generator, np.random.Generator]:
        """Two generators that depend on the seed and the row only, so that order and jobs do not matter."""
        return row_streams(self.random_state, codes)

    def _samples(self, codes: FloatArray) -> tuple[Sample, Sample | None]:
        """The completions to optimise over, and fresh ones to judge by."""
        fresh = None
        if self.n_fresh and np.isnan(codes).any():
            fresh = self._draw(codes, self.n_fresh, self._streams(codes)[1])
        return self._sample(codes), fresh

    def _sample(self, codes: FloatArray) -> Sample:
        """The completions to optimise over; the row itself where nothing is blank."""
        if not np.isnan(codes).any():
            return Sample(codes[None, :].copy(), np.ones(1))
        return self._candidates(codes, self._streams(codes)[0])

    def _candidates(self, codes: FloatArray, rng: np.random.Generator) -> Sample:
        """The completions to optimise over."""
        if isinstance(self.sampler, NativeMissing):
            self._check_native(codes)
            return Sample(codes[None, :].copy(), np.ones(1), notes=(Message("draws.native"),))
        return self._draw(codes, self.n_samples, rng)

    def _draw(self, codes: FloatArray, n: int, rng: np.random.Generator) -> Sample:
        """Completions that agree with what is known: the rules between features and, on request, the rejection."""
        asked = self.condition_on_decision or bool(self.schema.rules)
        return draw_sample(self.sampler_, codes, n, rng, self._contradicts if asked else None)

    def _contradicts(self, completions: FloatArray) -> NDArray[np.bool_]:
        broken = ~self.schema.plausible(completions)
        if not self.condition_on_decision:
            return broken
        if self._reads:
            return broken | self.read_.model.accepts(self.read_.encode(completions))
        return broken | self.decision_.accepts(completions)

    def _check_native(self, codes: FloatArray) -> None:
        try:
            self.oracle_.accepts(codes[None, :])
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"NativeMissing needs a classifier that accepts blanks; {type(self.classifier).__name__} does not: "
                f"{str(error).splitlines()[0]} Use a sampler instead, such as sampler='chained'."
            ) from None

    def _case(self, codes: FloatArray, sample: Sample, locked: Collection[str], level: float | None = None) -> Case:
        frozen = set(locked)
        if isinstance(self.sampler, NativeMissing):
            frozen |= {f.name for f, code in zip(self.schema.features, codes, strict=True) if np.isnan(code)}
        grid = build_grid(
            self.schema, codes, sample.values, max_options=self.max_options, grid=self.grid, frozen=frozenset(frozen)
        )
        required = required_weight(self._asked if level is None else level, float(sample.weights.sum()))
        case = build_case(
            codes, sample.values, sample.weights, grid, self.read_, self.cost_, required, self.max_changes
        )
        return replace(case, conditioned=bool(sample.kept))

    def _answer(
        self,
        case: Case,
        judged: Judged,
        sample: Sample,
        fresh: Sample | None,
        confidence: float | None,
        locked: Collection[str],
        steps: dict[str, float],
        calibration: Calibration | None = None,
    ) -> Recourse:
        checked = None if fresh is None or judged.fresh is None else fresh_validity(fresh, judged.fresh)
        return make_recourse(
            self._origin, self.oracle_, case, judged.solution, judged.accepted, sample, checked,
            confidence=confidence, locked=locked, steps=steps, calibration=calibration,
        )  # fmt: skip

    @property
    def _origin(self) -> Origin:
        seed = None if self.random_state is None else int(self.random_state)
        return Origin(type(self).__name__, repr(self.sampler_), seed)

    def _check_fitted(self) -> None:
        if not hasattr(self, "oracle_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted. Call fit(X_train) with the training data first.")

    def _check_parameters(self) -> None:
        check_common(self)


def _explain_one(explainer: Explainer, label: Any, row: dict[str, Any], locked: tuple[str, ...]) -> Recourse | Failure:
    try:
        return explainer.explain(row, locked=locked)
    except ArminError as error:
        return Failure(label, error)
