"""The method of the paper."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray
from armin.costs import Cost
from armin.errors import DataError, ParameterError
from armin.explain.advise import advise
from armin.explain.calibrate import ENOUGH, calibrate, check_held_out, masks_from, numbered, pick, tested_people
from armin.explain.estimator import Explainer
from armin.explain.fitted import Fitted
from armin.explain.parameters import positive_share
from armin.explain.settings import Settings
from armin.explain.threads import in_one_thread
from armin.explain.world import find_world
from armin.promise import Calibration, Pattern, Promise
from armin.recourse import Recourse
from armin.recourse.origin import Origin
from armin.sampling import Imputer, Sampler
from armin.schema import Carried, Rows, is_foreign
from armin.schema.frames import as_frame
from armin.solve import stopped
from armin.words import Message

__all__ = ["ARMIN", "UntestedError"]

MORE_PEOPLE, MOST_PEOPLE = 10, 5000
"""People set aside for each one to be tested, and at least so many if there are: blanks decide who is rejected."""


@dataclass(eq=False, repr=False)
class ARMIN(Explainer):
    """Recourse with multiple imputation: the cheapest action that works for most plausible completions.

    Parameters
    ----------
    classifier : a fitted classifier, or a pipeline that ends in one
    schema : what the columns hold and what may change
    desired : the label, or labels, that the person wants
    threshold : accept when the desired labels' probability is at least this; None for what ``predict`` says
    cost : "tlps", "mps", "l1", "l2", "changes", a function, or a cost object
    sampler : "chained", "copula", "donors", "forest", "marginal", "uniform", a function, or a sampler
    confidence : the share of completions that must be accepted, in (0, 1]
    promise : the share of *real people* with the same blanks who must be accepted when each follows their own plan, in
        (0, 1), or a :class:`~armin.promise.Promise`. The confidence is then chosen by a test on held-out people, once
        for each pattern of blanks, and is never below ``confidence``
    decision : what has been decided. "complete": the complete person was rejected, and the adviser does not see
        everything. "blank": the model has decided about the row with its blanks. None: nothing yet. "auto":
        "blank" if the model can decide about the row as it stands, else "complete"
    reapply : who judges after the plan. "disclosed": the values will be known then. "blank": the model decides about
        the row with the blanks that are left. "either": the plan must work both ways
    max_changes : how many features may change; None for no limit
    random_state : the seed; the same row gets the same answer
    options : what few need to set, such as a time limit; see :class:`~armin.ExpertOptions`

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> explainer.explain(loans.applicant).outcome
    'plan'
    """

    confidence: float = field(default=0.75, metadata=positive_share())
    promise: float | Promise | None = None

    def _settings(self) -> Settings:
        return replace(super()._settings(), confidence=float(self.confidence))

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
        if self.promise is None or people is not None:
            super().fit(X, y)
            others = None if people is None else self.schema.frame(people)
            if others is not None:
                known = self.schema.encode(self.schema.frame(X), clip=True)
                check_held_out(self.schema.encode(others, clip=True), known)
        else:
            self.check()
            frame = self.schema.frame(X)
            aside = np.random.default_rng(self.random_state).permutation(len(frame)) < len(frame) // 4
            rows = as_frame(X) if isinstance(X, pd.DataFrame) or is_foreign(X) else frame.to_numpy()
            super().fit(rows[~aside], y)
            others = frame[aside]
        self.held_out_ = people is not None
        if others is not None:
            self._keep_people(others)
        return self

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
        super().bind(
            like, cost=cost, sampler=sampler, imputer=imputer, origin=origin, along=along, blank_columns=blank_columns
        )
        self.calibrations_: dict[Pattern, Calibration] = {}
        self.held_out_ = False
        return self

    @property
    def _verifies_blocks(self) -> bool:
        return self.promise is None  # a test on real people is the model's own

    def _keep_people(self, frame: pd.DataFrame) -> None:
        """Keep the complete rows that a promise may be tested on: rejected ones, and others who may be with blanks."""
        promise = Promise.of(self.promise)
        assert promise is not None  # noqa: S101  people are for a promise
        codes, book = numbered(self.schema, frame)
        fitted = self.current.carrying(book)
        complete = codes[~np.isnan(codes).any(axis=1)]
        rejected = complete[~fitted.decision.accepts(complete)] if len(complete) else complete
        self.people_ = pick(rejected, promise.n_people, np.random.default_rng(self.random_state))
        self.others_ = complete[:0]
        if self.decision != "complete" or promise.missingness is not None:
            most = max(MOST_PEOPLE, MORE_PEOPLE * promise.n_people)
            self.others_ = pick(complete, most, np.random.default_rng(self.random_state))
        if self.schema.carried:
            # nothing is kept of those who are not
            along = [self.schema.position(name) for name in self.schema.carried]
            used = np.unique(np.concatenate([self.people_[:, along[0]], self.others_[:, along[0]]]))
            for rows in (self.people_, self.others_):
                rows[:, along] = np.searchsorted(used, rows[:, along])
            self.carried_ = dict(book.only(used.astype(np.intp)).values)

    @in_one_thread
    def calibrate(
        self,
        people: pd.DataFrame | None = None,
        *,
        submitted: pd.DataFrame | None = None,
        blanks: Collection[str] | None = None,
        locked: Collection[str] = (),
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> Calibration:
        """Find the confidence that keeps the promise, by testing on real people; :meth:`explain` does so by itself.

        Parameters
        ----------
        people : complete held-out rows; None for those that ``fit`` was given or set aside
        submitted : the same people as they came, with the blanks that they really left: the promise is then about
            those who hide, and not about everybody with these blanks
        blanks : the features to hide; None for the promise's ``missingness`` model, or what ``submitted`` shows
        locked : features that nobody may change
        n_jobs, progress : as in :meth:`explain_many`

        Returns
        -------
        Calibration
            Kept for every later row with these blanks.

        Examples
        --------
        >>> from armin.datasets import make_loans
        >>> from armin.promise import Promise
        >>> loans = make_loans()
        >>> half = len(loans.X) // 2
        >>> promise = Promise(0.8, n_people=60)
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved", promise=promise)
        >>> explainer = explainer.fit(loans.X[:half], people=loans.X[half:])
        >>> explainer.calibrate(blanks=["Income"]).kept
        True
        """
        fitted, promise = self.current, Promise.of(self.promise)
        if promise is None:
            raise ParameterError("calibrate needs a promise to keep. Set it: ARMIN(..., promise=0.9).")
        if submitted is not None:
            return self._calibrate_hidden(fitted, promise, people, submitted, locked, n_jobs, progress)
        if people is not None:
            self._keep_people(self.schema.frame(people))
            self.held_out_, self.calibrations_ = True, {}
        if blanks is None and promise.missingness is None:
            raise ParameterError(
                "calibrate must know which values are blank. Name them with blanks=[...], or set the promise's "
                "'missingness'."
            )
        for name in set(blanks or ()) & set(self.schema.carried):
            raise ParameterError(
                f"'blanks' names {name!r}, which is carried along as it is: whether it is blank is no question of a "
                "promise. Leave it out."
            )
        names = None if blanks is None else tuple(blanks)
        return self._calibration(fitted, promise, names, tuple(locked), n_jobs, progress)

    def _calibrate_hidden(
        self,
        fitted: Fitted,
        promise: Promise,
        people: pd.DataFrame | None,
        submitted: pd.DataFrame,
        locked: Collection[str],
        n_jobs: int | None,
        progress: bool,
    ) -> Calibration:
        """Test on people who really left blanks and became known later; each pattern of theirs is kept."""
        if people is None or len(people) != len(submitted):
            raise ParameterError("'submitted' must be the same people as 'people', row by row, with their blanks.")
        complete, book = numbered(self.schema, self.schema.frame(people))
        fitted = fitted.carrying(book)
        masks = np.isnan(self.schema.encode(submitted, clip=True))
        patterns = np.unique(masks[masks.any(axis=1)], axis=0)
        if not len(patterns):
            raise DataError("'submitted' must have blanks. Got complete rows only.")
        found: Calibration | None = None
        for mask in sorted(patterns, key=lambda mask: -int((masks == mask).all(axis=1).sum())):
            rows = (masks == mask).all(axis=1)
            if not tested_people(fitted, complete[rows], masks[rows]).any():
                continue  # nobody with these blanks is rejected: they stay untested
            tested = calibrate(
                fitted, promise, complete[rows], masks[rows], words="hidden", locked=locked, n_jobs=n_jobs,
                progress=progress,
            )  # fmt: skip
            key = self._pattern(fitted, np.where(mask, np.nan, complete[rows][0]), locked)
            self.calibrations_[key] = tested
            found = found or tested
        if found is None:
            raise DataError(
                "Nobody in 'submitted' is rejected by the model with their blanks, so nothing can be tested."
            )
        return found

    def at(self, confidence: float) -> ARMIN:
        """The same fitted explainer with another confidence, and no promise; nothing is learned again.

        >>> from armin.datasets import make_loans
        >>> loans = make_loans()
        >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
        >>> explainer.at(0.95).explain(loans.applicant).confidence
        0.95
        """
        other: ARMIN = copy(self).set_params(confidence=confidence, promise=None)
        other.check()
        return other

    def with_difficulty(self, difficulty: Mapping[str, float | str]) -> Self:
        """As every explainer; the level that a promise was tested at is kept, and the promise is not made."""
        other = super().with_difficulty(difficulty)
        if difficulty and self.promise is not None:
            other.set_params(promise=None, confidence=max([self.confidence, *self.tested_levels()]))
        return other

    def without_testing(self) -> ARMIN:
        """The same fitted explainer, which keeps the promises that were tested and starts no test by itself.

        For a service that must answer at once: a test takes minutes. Rows whose blanks were not tested get a plan at
        the highest confidence that any test chose, without a promise, and its notes say so.
        """
        other: ARMIN = copy(self)
        other.may_test = False
        return other

    may_test = True

    def tested(self, row: Rows | pd.Series[Any], *, locked: Collection[str] = ()) -> Calibration | None:
        """The test on real people that a promise to this row would rest on, if it was made already.

        Parameters
        ----------
        row, locked : as in :meth:`explain`
        """
        fitted, codes = self.current.at(row, locked)
        key = self._pattern(fitted, codes, locked)
        return self.calibrations_.get(key) or self.calibrations_.get(replace(key, blanks=None))

    def _explain(self, fitted: Fitted, codes: FloatArray, locked: Collection[str]) -> Recourse:
        level, calibration = self._level(fitted, codes, locked)
        asked = fitted if level == fitted.settings.confidence else fitted.varied(confidence=level)
        answer = advise(asked, codes, locked, calibration)
        note = self._untested(level, codes, locked) if calibration is None and not answer.world.accepted else ()
        return replace(answer, notes=(*note, *answer.notes)) if note else answer

    def _untested(self, level: float, codes: FloatArray, locked: Collection[str]) -> tuple[Message, ...]:
        if self.promise is None or not np.isnan(codes).any():
            return ()
        return (Message("notes.untested_locked" if locked else "notes.untested", share=level),)

    def _level(self, fitted: Fitted, codes: FloatArray, locked: Collection[str]) -> tuple[float, Calibration | None]:
        promise = Promise.of(self.promise)
        if promise is None or not np.isnan(codes).any() or find_world(fitted, codes).accepted:
            return fitted.settings.confidence, None
        found = self.calibrations_.get(self._pattern(fitted, codes, locked))
        if found is None and not self.may_test:
            known = self.tested_levels()
            pooled = self.calibrations_.get(replace(self._pattern(fitted, codes, locked), blanks=None))
            if pooled is not None:
                return pooled.used_level, pooled
            return max(fitted.settings.confidence, *known) if known else fitted.settings.confidence, None
        if found is None:
            names = tuple(n for n, code in zip(self.schema.names, codes, strict=True) if np.isnan(code))
            try:
                found = self._calibration(fitted, promise, names, tuple(locked), None, False)
            except UntestedError:
                return fitted.settings.confidence, None
        return found.used_level, found

    def tested_levels(self) -> list[float]:
        """The levels of confidence that tests have chosen so far."""
        return [found.used_level for found in self.calibrations_.values()]

    def _pattern(self, fitted: Fitted, codes: FloatArray, locked: Collection[str]) -> Pattern:
        names = tuple(sorted(n for n, code in zip(self.schema.names, codes, strict=True) if np.isnan(code)))
        world = find_world(fitted, codes)
        return Pattern(names, tuple(sorted(locked)), world.decision, world.reapply)

    def _calibration(
        self,
        fitted: Fitted,
        promise: Promise,
        blanks: tuple[str, ...] | None,
        locked: tuple[str, ...],
        n_jobs: int | None,
        progress: bool,
    ) -> Calibration:
        """The calibration for a pattern of blanks (None: whatever the missingness model makes), found once."""
        fitted = fitted.carrying(Carried(getattr(self, "carried_", {})))
        people, masks, words = self._tested_on(fitted, promise, blanks)
        key = self._pattern(fitted, np.where(masks[0], np.nan, people[0]), locked)
        if words != "same":
            # fewer than enough people have this very pattern: all who got a blank stand for it
            key = replace(key, blanks=None)
        if key in self.calibrations_:
            return self.calibrations_[key]
        found = calibrate(
            fitted, promise, people, masks, words=words, locked=locked, held_out=self.held_out_, n_jobs=n_jobs,
            progress=progress,
        )  # fmt: skip
        if not stopped():  # a test that was cut short says too little to be kept
            self.calibrations_[key] = found
        return found

    def _tested_on(
        self, fitted: Fitted, promise: Promise, blanks: tuple[str, ...] | None
    ) -> tuple[FloatArray, BoolArray, str]:
        """The people to test on, their blanks, and how these came about, as a code of the catalogue."""
        people = self._candidates(fitted)
        mask = np.zeros(people.shape[1], dtype=bool)
        if blanks is not None:
            mask[[self.schema.position(name) for name in blanks]] = True
        if promise.missingness is None:
            return people, np.repeat(mask[None, :], len(people), axis=0), "same"
        made = masks_from(fitted, people, promise.missingness)
        if blanks is not None:
            alike = (made == mask).all(axis=1)
            if not alike.any():
                raise UntestedError(
                    f"The missingness model never leaves {', '.join(blanks)} blank, and nothing else: a promise to "
                    "such rows cannot be tested."
                )
            if int((alike & tested_people(fitted, people, made)).sum()) >= ENOUGH:
                return people[alike], made[alike], "same"
        some = made.any(axis=1)
        if not some.any():
            raise DataError("The missingness model makes no blank in the held-out people, so nothing can be tested.")
        return people[some], made[some], "model"

    def _candidates(self, fitted: Fitted) -> FloatArray:
        """The complete held-out rows among which the tested people are."""
        complete = self.decision == "complete" and Promise.of(self.promise).missingness is None  # type: ignore[union-attr]
        people: FloatArray | None = getattr(self, "people_" if complete else "others_", None)
        if people is None or people.shape[0] == 0:
            raise DataError(
                f"promise={self.promise} needs complete held-out rows that the model rejects. Got none. "
                "Give some: fit(X, people=frame) or calibrate(frame), or ask for a confidence instead."
            )
        return people

    def _prepare_many(self, fitted: Fitted, rows: Iterable[Mapping[str, Any]], locked: Collection[str]) -> None:
        """Calibrate once for each pattern of blanks, so that no process does so again for every row."""
        if self.promise is None:
            return
        seen: set[tuple[bool, ...]] = set()
        for row in rows:
            with suppress(Exception):  # belongs to the row, and is raised there again
                one, codes = fitted.at(dict(row), locked)
                pattern = tuple(np.isnan(codes).tolist())
                if pattern not in seen:
                    self._level(one, codes, locked)
                seen.add(pattern)


class UntestedError(DataError):
    """No real people can be found on whom a promise to such a row could be tested."""
