"""What the three methods share as scikit-learn estimators: parameters, ``fit``, and one method per question."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone

from armin.arrays import FloatArray
from armin.costs import Cost, as_cost, personal
from armin.errors import DataError, NotFittedError, ParameterError
from armin.explain.advise import advise, advise_others, advise_path, pose
from armin.explain.ask import AskOrAct, ask_or_act
from armin.explain.compare import Comparison, compare, sampled_by
from armin.explain.evidence import evidence_of
from armin.explain.fitted import Fitted
from armin.explain.many import TableRows, each_row, foreseen, question_of, stored, tracked
from armin.explain.parameters import (
    AnswerParameters,
    ExpertOptions,
    Parameters,
    check_parameters,
    check_whole,
    parameter_names,
    with_options,
)
from armin.explain.reading import read_or_ask
from armin.explain.reasons import chosen_people
from armin.explain.recheck import recheck
from armin.explain.region import Region, region_of
from armin.explain.settings import Settings, Solving
from armin.explain.stress import Kind, StressTest, stress_test
from armin.explain.threads import in_one_thread, one_thread
from armin.explain.verify import SurrogateMismatch, solve_all_then_verify
from armin.explain.why import Whys
from armin.models.fills import filled_positions
from armin.models.oracle import Oracle
from armin.problem import Problem
from armin.promise import Calibration
from armin.recourse import Failure, Plans, Recourse, RecoursePath, Recourses
from armin.recourse.origin import Origin
from armin.recourse.recheck import Recheck
from armin.sampling import AutoSampler, Imputer, NativeMissing, Sampler, as_sampler
from armin.schema import Carried, Rows, Schema, is_foreign
from armin.schema.frames import as_frame, types_of
from armin.words import Message

__all__ = ["Explainer"]


@dataclass(eq=False, repr=False)
class Explainer(Whys, Parameters, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """The grammar of all methods; see :class:`armin.ARMIN` for the parameters."""

    learned: ClassVar[tuple[str, ...]] = ("classifier", "schema", "desired", "threshold", "cost", "sampler")
    """The parameters that ``fit`` learns from; changing one afterwards needs another ``fit``."""
    _checked = tuple[Any, ...]()

    @classmethod
    def from_settings(cls, classifier: Any, schema: Schema, **settings: Any) -> Self:
        """An explainer whose parameters and experts' options are all given by name, as a configuration file has them.

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN.from_settings(loans.classifier, loans.schema, desired="approved", time_limit=5.0)
        >>> explainer.options.time_limit
        5.0
        """
        known = parameter_names(cls)
        for name in settings:
            if name not in known and name != "options":
                raise ParameterError(f"{cls.__name__} has no parameter {name!r}. It has {', '.join(known)}.")
        expert = {one.name: settings.pop(one.name) for one in fields(ExpertOptions) if one.name in settings}
        options = replace(settings.pop("options", ExpertOptions()), **expert)
        return cls(classifier, schema, options=options, **settings)

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``options__time_limit=5`` sets one of the experts' options."""
        prefix = "options__"
        expert = {name.removeprefix(prefix): params.pop(name) for name in list(params) if name.startswith(prefix)}
        super().set_params(**params)
        if expert:
            self.options = with_options(self.options, expert)
        return self

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """What it explains, and which parameters are not the usual ones; scikit-learn's own prints all that is inside.

        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> ARMIN(loans.classifier, loans.schema, desired="approved", confidence=0.9).fit(loans.X)
        ARMIN, fitted
          classifier: Pipeline of ColumnTransformer, LogisticRegression; read as LinearModel
          schema: 5 features (Age, Income, Purpose, Education, ExistingLoans)
          desired: 'approved'
          confidence: 0.9
        """
        fitted = getattr(self, "fitted_", None)
        steps = [type(step).__name__ for _, step in getattr(self.classifier, "steps", ())]
        made = f"{type(self.classifier).__name__}{' of ' * bool(steps)}{', '.join(steps)}"
        lines = [
            f"{type(self).__name__}, {'not fitted' if fitted is None else 'fitted'}",
            f"classifier: {made}" + (f"; read as {type(fitted.read.model).__name__}" if fitted else ""),
            f"schema: {repr(self.schema).removeprefix('<Schema: ').removesuffix('>')}",
            f"desired: {self.desired!r}",
        ]
        for group in (self, self.options):
            for one in fields(group):
                value = getattr(group, one.name)
                if one.default is not MISSING and one.name != "options" and not _same(value, one.default):
                    lines.append(f"{one.name}: {value!r}")
        flat = [" ".join(line.split()) for line in lines]
        return "\n  ".join(line if len(line) <= 120 else f"{line[:119]}…" for line in flat)

    def __sklearn_clone__(self) -> Self:
        """A copy that is not fitted, around the same fitted classifier: that is what is explained."""
        kept = {"classifier", "schema"}
        given = self.get_params(deep=False)
        return type(self)(**{n: value if n in kept else clone(value, safe=False) for n, value in given.items()})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def _more_tags(self) -> dict[str, Any]:  # scikit-learn before 1.6
        return {"allow_nan": True, "X_types": ["2darray", "string", "categorical"]}

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
        self.check()
        rows = as_frame(X) if is_foreign(X) else X
        frame = self.schema.frame(rows)
        along = self.schema.carried_by(frame.head(64)) if self.schema.carried else None
        like = types_of(rows, original=X) if isinstance(rows, pd.DataFrame) else None
        self._learn(self.schema.encode(frame, clip=True), like, along)
        return self

    def _learn(self, codes: FloatArray, like: pd.DataFrame | None, along: Carried | None) -> None:
        """Learn from training codes; ``like`` and ``along`` as in :meth:`bind`."""
        cost = deepcopy(as_cost(self.cost)).fit(codes, self.schema)
        spec = self.sampler.judge if isinstance(self.sampler, NativeMissing) else self.sampler
        # many small regressions
        with one_thread():
            sampler = deepcopy(as_sampler(spec)).fit(codes, self.schema)
        if isinstance(sampler, AutoSampler):
            logging.getLogger("armin").info("%s", sampler.message)
        blank_columns = [self.schema.names[i] for i in np.flatnonzero(np.isnan(codes).any(axis=0)).tolist()]
        self.bind(like, cost=cost, sampler=sampler, along=along, blank_columns=blank_columns)
        self.background_ = chosen_people(codes)

    @property
    def sampler_(self) -> Sampler:
        """The fitted sampler; with ``sampler="auto"`` it shows which one was taken, and its ``message`` says why.

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> ARMIN(loans.classifier, loans.schema, desired="approved", sampler="donors").fit(loans.X).sampler_
        NearestDonors()
        """
        if not hasattr(self, "fitted_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted. Call fit(X_train) with the training data first."
            )
        return self.fitted_.sampler

    def bind(
        self,
        like: pd.DataFrame | None,
        *,
        cost: Cost,
        sampler: Sampler,
        imputer: Imputer | None = None,
        origin: Origin | None = None,
        along: Carried | None = None,
        blank_columns: Collection[str] | None = None,
    ) -> Self:
        """Put a classifier and what was learned before together, without learning anything.

        Parameters
        ----------
        like : an empty frame with the columns of the training data; None if it was an array
        cost, sampler, imputer : fitted
        origin : the fingerprints of the bundle that all this comes from, if it does
        along : what training rows have in the columns that are carried along
        blank_columns : the columns in which training rows had blanks; None if that is not known

        Returns
        -------
        self
            Fitted.
        """
        self.check()
        decision = Oracle(self.classifier, self.schema, like, self.desired, self.threshold, along=along)
        oracle = decision.stricter(self.options.margin) if self.options.margin else decision
        read = read_or_ask(oracle, self.options.method, self.options.max_options)
        self.fitted_ = Fitted(
            self.schema, tuple(decision.target.labels), like, decision, oracle, read, cost, sampler, self._settings(),
            imputer, isinstance(self.sampler, NativeMissing), oracle is not decision,
            origin=origin or Origin.of(self.schema), blank_columns=self._known_blanks(decision, blank_columns),
        )  # fmt: skip
        if blank_columns is not None:
            self.blank_columns_ = list(blank_columns)
        if along is not None:
            self.along_ = along
        self._checked = ()
        self._bound = self._learned_with()
        self.n_features_in_ = len(self.schema)
        self.feature_names_in_ = np.array(self.schema.names, dtype=object)
        return self

    def _known_blanks(self, decision: Oracle, learned: Collection[str] | None) -> frozenset[str] | None:
        """The columns in which the model knows blanks: training rows had some, or a step of its own fills them."""
        if learned is None:
            return None
        filled = filled_positions(self.classifier, len(decision.taken))
        return frozenset(learned) | {decision.taken[i] for i in filled}

    def check(self) -> None:
        """Refuse parameters that cannot be meant; ``fit`` does so by itself."""
        check_parameters(type(self), self.get_params(deep=False))
        check_parameters(type(self), vars(self.options))

    def _learned_with(self) -> dict[str, Any]:
        """The parameters that ``fit`` learns from, by name; of the method only whether the model is a black box."""
        named = {name: getattr(self, name) for name in self.learned}
        return named | {"margin": self.options.margin, "method": self.options.method == "blackbox"}

    def _settings(self) -> Settings:
        varied = {one.name: getattr(self, one.name) for one in fields(AnswerParameters)}
        options = self.options
        solving = Solving(options.method, options.solver, time_limit=options.time_limit)
        return Settings(type(self).__name__, solving=solving, **varied)

    @property
    def current(self) -> Fitted:
        """What was learned, under the settings as they are now.

        Parameters that need no learning may be changed after ``fit``; a change of others is refused here.
        """
        name = type(self).__name__
        if not hasattr(self, "fitted_"):
            raise NotFittedError(f"This {name} is not fitted. Call fit(X_train) with the training data first.")
        given = tuple(vars(self).get(parameter) for parameter in self._parameters())
        # nothing was set since the last time; what is the same object need not be looked at again
        if len(given) == len(self._checked) and all(a is b for a, b in zip(given, self._checked, strict=True)):
            return replace(self.fitted_, settings=self._settings())
        self.check()
        for parameter, now in self._learned_with().items():
            bound = self._bound[parameter]
            if now is not bound and not _same(now, bound):
                raise ParameterError(
                    f"The {parameter!r} parameter of {name} was changed after fit, which learned with another one. "
                    "Call fit(X_train) again."
                )
        self._checked = given
        return replace(self.fitted_, settings=self._settings())

    @classmethod
    @cache
    def _parameters(cls) -> tuple[str, ...]:
        return tuple(cls._get_param_names())

    @in_one_thread
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
        fitted, codes = self.current.at(row, locked)
        return self._explain(fitted, codes, locked)

    @in_one_thread
    def recheck(self, plan: Recourse, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> Recheck:
        """Whether a plan that was kept, perhaps one of an older model, still holds.

        Parameters
        ----------
        plan : the plan, such as ``Recourse.from_json(text, schema)``
        row : the row as it was submitted; a kept plan does not hold it
        locked : features that this person cannot change, on top of the schema

        Returns
        -------
        Recheck
            Judged by this explainer's model, on fresh completions as it draws them.

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> explainer.recheck(explainer.explain(loans.applicant), loans.applicant).verdict
        'holds'
        """
        fitted, codes = self.current.at(row, locked)
        return recheck(fitted, plan, codes, locked)

    @in_one_thread
    def region(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> Region:
        """What the plan for a row leaves open: for each change, the values that do as well, all together or alone.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        Region
            A box in which every point is accepted for the share that was asked for; not always the largest one. For
            linear scores and trees with two classes; a number that a rule ties to others stays as planned.

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved", confidence=0.3).fit(loans.X)
        >>> print(explainer.region(loans.applicant))
        Every combination of these values is accepted for as many ways to fill the blanks as was asked for:
          the number of existing loans: 1 or less
        """
        fitted, codes = self.current.at(row, locked)
        return region_of(fitted, self._explain(fitted, codes, locked), codes, locked)

    def evidence(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> dict[str, Any]:
        """A plan with all that ``armin/verify.py``, which needs NumPy only, checks without this library.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        dict
            Plain data for JSON; for linear models and trees whose inputs have one column each, and the library's costs.

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> from armin.verify import verify
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> evidence = explainer.evidence(loans.applicant)
        >>> verify(evidence)
        >>> evidence["changes"][0]["sentence"]
        'Lower the number of existing loans from 2 to 0.'
        """
        fitted, codes = self.current.at(row, locked)
        return evidence_of(fitted, self._explain(fitted, codes, locked), codes, locked)

    def _explain(self, fitted: Fitted, codes: FloatArray, locked: Collection[str]) -> Recourse:
        return advise(fitted, codes, locked)

    @in_one_thread
    def alternatives(self, row: Rows | pd.Series[Any], count: int = 3, *, locked: Collection[str] = ()) -> Plans:
        """Several plans to choose from, cheapest first.

        None after the first changes all that another plan changes, so each is another way. One that costs more than
        another and is no surer is only among them if there are too few others, and its notes say so.

        Parameters
        ----------
        row, locked : as in :meth:`explain`
        count : how many; fewer come back if there are no more

        Returns
        -------
        Plans
            A tuple of Recourse. Empty if no plan exists or time ran out; then :meth:`explain` says which.
        """
        check_whole("alternatives", "count", count, 1)
        fitted, codes = self.current.at(row, locked)
        level, calibration = self._level(fitted, codes, locked)
        plans = advise_others(fitted.varied(confidence=level), codes, count, locked, calibration)
        note = self._untested(level, codes, locked) if calibration is None else ()
        return Plans(replace(plan, notes=(*note, *plan.notes)) for plan in plans)

    @in_one_thread
    def ask(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = (), n_values: int = 24) -> AskOrAct:
        """Ask or act: what telling each blank would be worth, and whether a blank matters at all.

        Each plausible value is told in turn, and the row explained anew, exactly as the person would get it.

        Parameters
        ----------
        row, locked : as in :meth:`explain`
        n_values : try at most this many values of each blank; numbers are cut into groups of equal chance

        Returns
        -------
        AskOrAct
            What is known so far if :func:`armin.solve.stop_when` says stop.

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> answer = explainer.ask(loans.applicant, n_values=6)
        >>> [question.feature.name for question in answer.questions], answer.questions[0].matters
        (['Income'], True)
        """
        check_whole("ask", "n_values", n_values, 2)
        fitted, codes = self.current.at(row, locked)
        return ask_or_act(
            fitted, codes, tuple(locked), n_values,
            lambda: self._explain(fitted, codes, locked), lambda told: self._level(fitted, told, locked)[1],
        )  # fmt: skip

    @in_one_thread
    def stress(
        self,
        row: Rows | pd.Series[Any],
        *,
        locked: Collection[str] = (),
        features: Sequence[str] | None = None,
        tilts: ArrayLike | None = None,
        plan: Recourse | None = None,
        kind: Kind = "tilt",
    ) -> StressTest:
        """Over which range of informative missingness a plan keeps its validity.

        Parameters
        ----------
        row, locked : as in :meth:`explain`
        features : the blanks to test; None for all
        tilts : increasing numbers with 0 among them; 17 from -2 to 2 if None
        plan : the plan to test; the explainer's own if None
        kind : "tilt" weighs the draws, "shift" moves ordered values by spreads and leaves categories alone

        Returns
        -------
        StressTest

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> test = explainer.stress(loans.applicant)
        >>> test.curves[0].label, len(test.curves[0].points)
        ('Income', 17)
        """
        fitted, codes = self.current.at(row, locked)
        return stress_test(
            fitted, codes, lambda: self._explain(fitted, codes, locked) if plan is None else plan, features, tilts, kind
        )

    @in_one_thread
    def with_difficulty(self, difficulty: Mapping[str, float | str]) -> Self:
        r"""The same fitted explainer for a person who finds some changes harder, or easier, than usual.

        A promise was tested with the usual costs, so it is not made here; its highest level of confidence is kept.

        Parameters
        ----------
        difficulty : by feature a positive factor on the cost, or "easy", "usual", "hard" or "very hard"

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> print(*explainer.with_difficulty({"ExistingLoans": "very hard"}).explain(loans.applicant).changes, sep="\n")
        Lower the number of existing loans from 2 to 1.
        Change the purpose from “NewCar” to “Repairs”.
        """
        fitted = self.current
        other = copy(self)
        other.fitted_ = replace(self.fitted_, cost=personal(fitted.cost, difficulty, self.schema))
        return other

    def compare_samplers(
        self,
        row: Rows | pd.Series[Any],
        X: pd.DataFrame | NDArray[Any],
        samplers: Sequence[str] | Mapping[str, str | Sampler] | None = None,
        *,
        locked: Collection[str] = (),
    ) -> Comparison:
        """Explain one row with several ways to fill its blanks; only the samplers are fitted, nothing else.

        Parameters
        ----------
        row, locked : as in :meth:`explain`
        X : the training data to fit the samplers on
        samplers : their names, or samplers by a name of your own; None for those that are compared by default

        Examples
        --------
        >>> from armin import ARMIN
        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> list(explainer.compare_samplers(loans.applicant, loans.X, ("donors", "marginal")).plans)
        ['donors', 'marginal']
        """
        fitted, codes = self.current.at(row, locked)
        ways = sampled_by(fitted, self.schema.encode(self.schema.frame(X), clip=True), samplers)
        plans = {name: self._explain(way, codes, locked) for name, way in ways.items()}
        return compare(ways, codes, plans)

    @in_one_thread
    def problem(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> Problem:
        """The optimisation problem behind a row, as plain data for :func:`armin.solve.solve`.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        Problem
        """
        fitted, codes = self.current.at(row, locked)
        return pose(fitted, codes, locked, self._level(fitted, codes, locked)[0]).stated.problem

    @in_one_thread
    def path(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> RecoursePath:
        """The cheapest action for every confidence: where more certainty starts to cost more.

        Parameters
        ----------
        row, locked : as in :meth:`explain`

        Returns
        -------
        RecoursePath
        """
        fitted, codes = self.current.at(row, locked)
        level, calibration = self._level(fitted, codes, locked)
        path = advise_path(fitted, codes, locked, level)
        note = self._untested(level, codes, locked) if calibration is None else ()
        points = tuple(replace(point, notes=(*note, *point.notes)) for point in path)
        return replace(path, points=points) if note else path

    def explain_many(
        self,
        frame: pd.DataFrame,
        *,
        locked: Collection[str] = (),
        n_jobs: int | None = None,
        progress: bool = False,
        store: str | Path | None = None,
    ) -> Recourses:
        """What many people should change, in their order. One row that fails does not lose the others.

        Parameters
        ----------
        frame : the rows
        locked : features that none of them can change
        n_jobs : how many rows at once, as in joblib; the answers do not depend on it. A process that dies loses
            nothing: the rows that it held are explained again
        progress : whether to show a progress bar
        store : a folder to which answers are written as they come, in part files. If it is there, the rows that it
            holds are not explained again; it must be of the same question. Such answers are as
            :meth:`Recourse.from_dict` says

        Returns
        -------
        Recourses
        """
        fitted = self.current
        if isinstance(frame, Mapping | pd.Series):
            raise DataError(f"explain_many takes a table. Got a {type(frame).__name__}; one row goes to explain(row).")
        table = fitted.schema.frame(frame)
        rows = TableRows(table)
        self._prepare_many(fitted, (row for _, row in rows), locked)
        answers_to = partial(each_row, partial(self._explain_block, locked=tuple(locked)), rows, n_jobs)

        found: Iterable[tuple[int, Recourse | Failure]]
        if store is None:
            found = answers_to(range(len(rows)))
        else:
            question = question_of(self.classifier, fitted, rows, locked)
            found = stored(answers_to, store, question, table.index, fitted.schema)
        every = dict(tracked(found, len(rows)) if progress else found)
        return Recourses(tuple(every[number] for number in range(len(rows))), tuple(table.index))

    @in_one_thread
    def _explain_block(
        self, rows: Sequence[tuple[Any, Mapping[str, Any]]], locked: tuple[str, ...]
    ) -> list[Recourse | Failure]:
        """What some people should change, each as :meth:`explain` says; the model is asked about all at once.

        Whatever a row makes the model raise belongs to that row.
        """
        fitted = self.current
        answers: dict[int, Recourse | Failure] = {}
        tasks: dict[int, tuple[Fitted, Callable[[Fitted], Recourse | Failure]]] = {}
        for i, (label, row) in enumerate(rows):
            try:
                one, codes = fitted.at(row, locked)
            except Exception as error:
                answers[i] = Failure(label, foreseen(error))
            else:
                tasks[i] = one, partial(self._explain_or_fail, label=label, codes=codes, locked=locked)
        every = tasks.values()
        found = solve_all_then_verify(every) if self._verifies_blocks else [work(one) for one, work in every]
        answers.update(zip(tasks, found, strict=True))
        return [answers[i] for i in range(len(rows))]

    def _explain_or_fail(
        self, fitted: Fitted, label: Any, codes: FloatArray, locked: tuple[str, ...]
    ) -> Recourse | Failure:
        try:
            return self._explain(fitted, codes, locked)
        except SurrogateMismatch:
            raise
        except Exception as error:
            return Failure(label, foreseen(error))

    @property
    def _verifies_blocks(self) -> bool:
        """Whether rows may be explained by the surrogate and verified together."""
        return True

    def _prepare_many(self, fitted: Fitted, rows: Iterable[Mapping[str, Any]], locked: Collection[str]) -> None:
        """What is found out once for many rows, before they are shared out."""

    def _untested(self, level: float, codes: FloatArray, locked: Collection[str]) -> tuple[Message, ...]:
        """The note that nothing is promised to a row, where a promise was wanted."""
        return ()

    def _level(self, fitted: Fitted, codes: FloatArray, locked: Collection[str]) -> tuple[float, Calibration | None]:
        """The confidence to ask for, and the test on real people that chose it, if there was one."""
        return fitted.settings.confidence, None


def _same(one: Any, other: Any) -> bool:
    """Whether two parameters are the same; arrays and frames within them count as changed."""
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # whatever the == of a user's object does
        return False
