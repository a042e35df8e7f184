"""From what happened to real people to a confidence that may be promised: fixed-sequence testing over the path.

People whose complete row is known are given blanks, advised at every level of confidence, and judged by the model as
they really are. The theorem and its assumptions are in ``docs/promise.md``.

>>> import numpy as np
>>> works = np.tile(LEVELS >= 0.6, (100, 1))  # 100 people for whom advice at 60 % or more works
>>> found = choose_level(Trials(LEVELS, np.ones_like(works), works), promise=0.9)
>>> found.level, found.kept
(0.6, True)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta, binom

from armin.arrays import BoolArray, FloatArray
from armin.errors import ParameterError
from armin.promise.tilt import Tilt
from armin.words import Message, Printable

__all__ = ["LEVELS", "STARTS", "Calibration", "LevelTest", "Trials", "check_share", "choose_level"]


LEVELS: FloatArray = np.arange(1, 101) / 100
"""The confidences that are tried."""

STARTS = {1.0: 0.5, 0.9: 0.25, 0.75: 0.25}
"""Where a sequence of tests starts, and its share of the error that is allowed. The first is the natural one; the
others serve where hardly anybody has a plan that works for every completion."""

FORMAT = "armin.calibration/2"
MASKS = ("same", "model", "hidden")


@dataclass(frozen=True, eq=False)
class Trials:
    """What happened to n real people at each of L levels of confidence.

    Attributes
    ----------
    levels : increasing confidences (L,)
    planned : whether there was a plan (n, L)
    worked : whether the plan was valid for the person as they really are (n, L)

    Examples
    --------
    >>> Trials(np.array([0.5, 1.0]), np.ones((3, 2), bool), np.zeros((3, 2), bool)).without(0).people
    2
    """

    levels: FloatArray
    planned: BoolArray
    worked: BoolArray

    def __post_init__(self) -> None:
        if self.planned.shape != self.worked.shape or self.planned.shape[1:] != self.levels.shape:
            raise ParameterError(
                "Trials need 'planned' and 'worked' of shape (people, levels). "
                f"Got {self.planned.shape}, {self.worked.shape} and {self.levels.size} levels instead."
            )

    @property
    def people(self) -> int:
        """How many people were tried."""
        return int(self.planned.shape[0])

    def without(self, person: int) -> Trials:
        """The trials of everybody else."""
        keep = np.arange(self.people) != person
        return Trials(self.levels, self.planned[keep], self.worked[keep])


@dataclass(frozen=True)
class LevelTest:
    """One level of confidence, tested.

    Attributes
    ----------
    level : the confidence asked of the completions
    plans, failures : how many people got a plan, and for how many of these it did not work
    p_value : how likely so few failures are if more people than promised fail
    """

    level: float
    plans: int
    failures: int
    p_value: float

    @property
    def share(self) -> float:
        """The share of plans that worked."""
        return math.nan if self.plans == 0 else 1 - self.failures / self.plans


@dataclass(frozen=True, repr=False)
class Calibration(Printable):
    """The smallest confidence that keeps a promise, and the evidence.

    Attributes
    ----------
    promise : the share of real people who get a plan and must be accepted when they follow it
    assurance : the probability with which the promise is kept, over the draw of the people it was tested on
    level : the confidence to ask of the completions; None if no level keeps the promise
    best : the largest share that can be promised with the same assurance, at ``best_level``
    best_level : the level for ``best``
    people : how many real people were tried
    masks : how their blanks were made: "same" as the person's, by a "model", or as a text says
    tests : every level that somebody had a plan for
    held_out : whether the people were named as held out by the user; if not, they were set aside from the training
        data, and the classifier may have seen them
    decision, reapply : the world in which they were tested; see :class:`armin.ARMIN`
    tilts : how unlike these people those who hide a value may be before the promise is lost

    Examples
    --------
    >>> works = np.tile(LEVELS >= 0.8, (60, 1))
    >>> print(choose_level(Trials(LEVELS, np.ones_like(works), works), promise=0.9).sentence)
    Tested on 60 real people with the same blanks, rejected as complete people: of 60 plans at 80 % confidence all worked. So at least 90 % of such people are accepted when each follows their own plan (assurance 90 %).
    """  # noqa: E501

    promise: float
    assurance: float
    level: float | None
    best: float
    best_level: float
    people: int
    masks: str
    tests: tuple[LevelTest, ...]
    held_out: bool = True
    decision: str | None = "complete"
    reapply: str = "disclosed"
    tilts: tuple[Tilt, ...] = ()

    @property
    def planned(self) -> float:
        """The share of the tested people who get a plan at all."""
        test = self.test_at(self.used_level)
        return 0.0 if test is None or not self.people else test.plans / self.people

    @property
    def kept(self) -> bool:
        """Whether the promise can be kept."""
        return self.level is not None

    @property
    def used_level(self) -> float:
        """The confidence to ask for: the calibrated one, or the best there is."""
        return self.best_level if self.level is None else self.level

    def test_at(self, level: float) -> LevelTest | None:
        """The evidence for one level."""
        return next((test for test in self.tests if abs(test.level - level) < 1e-9), None)

    @property
    def message(self) -> Message:
        """What was tested and what follows, to be said."""
        test = self.test_at(self.used_level)
        masks = Message(f"calibration.{self.masks}") if self.masks in MASKS else self.masks
        who = Message(f"calibration.{self.decision or 'anybody'}")
        common: dict[str, Any] = {"people": self.people, "masks": masks, "who": who}
        if test is None:
            return Message("calibration.nobody", **common)
        found = {"plans": test.plans, "level": test.level, "worked": test.plans - test.failures}
        common |= {
            "found": Message("calibration.some" if test.failures else "calibration.all", **found),
            "promise": self.promise,
            "best": self.best,
            "assurance": self.assurance,
            "seen": "" if self.held_out else Message("calibration.seen"),
        }
        return Message(f"calibration.{'kept' if self.kept else 'best' if self.best > 0 else 'little'}", **common)

    @property
    def asides(self) -> tuple[Message, ...]:
        """What stands beside a promise: how many people get a plan at all, and when it is lost."""
        said = [Message("calibration.planned", planned=self.planned)]
        for tilt in self.tilts:
            if tilt.delta:
                code = "calibration.lost_up" if tilt.delta > 0 else "calibration.lost_down"
                said.append(Message(code, label=tilt.feature, factor=math.exp(abs(tilt.delta))))
        return tuple(said)

    @property
    def sentence(self) -> str:
        """What was tested and what follows, in English."""
        return self.text()

    def summary(self) -> dict[str, Any]:
        """The calibration as plain data, without the evidence level by level."""
        return {
            "format": FORMAT, "promise": self.promise, "assurance": self.assurance, "kept": self.kept,
            "level": self.level, "best": self.best, "best_level": self.best_level, "people": self.people,
            "masks": self.masks, "held_out": self.held_out, "decision": self.decision, "reapply": self.reapply,
            "planned": self.planned, "tilts": [[tilt.feature, tilt.delta] for tilt in self.tilts],
            "sentence": self.sentence,
        }  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """The calibration as plain data, from which :meth:`from_dict` makes it again."""
        tests = [[test.level, test.plans, test.failures, test.p_value] for test in self.tests]
        return self.summary() | {"tests": tests}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Calibration:
        """The calibration that :meth:`to_dict` described."""
        if data.get("format") != FORMAT:
            raise ParameterError(f"A calibration must have the format {FORMAT!r}. Got {data.get('format')!r} instead.")
        tests = tuple(LevelTest(float(a), int(b), int(c), float(p)) for a, b, c, p in data["tests"])
        return cls(
            data["promise"], data["assurance"], data["level"], data["best"], data["best_level"], data["people"],
            data["masks"], tests, data["held_out"], data["decision"], data["reapply"],
            tuple(Tilt(str(name), delta) for name, delta in data["tilts"]),
        )  # fmt: skip

    def text(self, language: str = "en") -> str:
        """What was tested and what follows, in a language."""
        return self.message.text(language)


def choose_level(
    trials: Trials,
    promise: float,
    assurance: float = 0.9,
    *,
    least: float = 0.0,
    masks: str = "same",
    held_out: bool = True,
    decision: str | None = "complete",
    reapply: str = "disclosed",
) -> Calibration:
    """The smallest level of confidence at which at most ``1 - promise`` of all plans fail, by fixed-sequence testing.

    From each start, levels are tested downward with the exact binomial test of "more than 1 - promise of the people
    who get a plan fail" until one is not rejected. The last one that was is safe: with probability ``assurance`` the
    failure rate at the chosen level is at most 1 - promise.

    Parameters
    ----------
    trials : what happened to real people
    promise : the share of plans that must work, in (0, 1)
    assurance : 1 - δ, in (0, 1)
    least : no level below this is chosen, for a promise that is kept or for the best that can be promised. Where a
        sequence starts is fixed before anybody is tested, so the theorem holds
    masks : how the blanks were made, see :class:`Calibration`
    held_out, decision, reapply : see :class:`Calibration`

    Returns
    -------
    Calibration
    """
    check_share("promise", promise)
    check_share("assurance", assurance)
    plans = trials.planned.sum(axis=0)
    failures = (trials.planned & ~trials.worked).sum(axis=0)
    # P(Bin(plans, 1 - promise) <= failures): small where so few failures would be a wonder
    p_values = np.where(plans > 0, binom.cdf(failures, plans, 1 - promise), 1.0)
    level: float | None = None
    best, best_level = -1.0, float(trials.levels[-1])
    for start, part in STARTS.items():
        allowed = (1 - assurance) * part
        # a sequence that would start below what is allowed starts there
        at = int(np.searchsorted(trials.levels, max(start, least) - 1e-9))
        low = _at_least(int(plans[at]), int(failures[at]), allowed)
        if low > best:
            best, best_level = low, float(trials.levels[at])
        while at >= 0 and p_values[at] <= allowed and trials.levels[at] >= least - 1e-9:
            reached = float(trials.levels[at])
            level = reached if level is None else min(level, reached)
            at -= 1
    tests = tuple(
        LevelTest(float(lv), int(n), int(k), float(p))
        for lv, n, k, p in zip(trials.levels, plans, failures, p_values, strict=True)
        if n
    )
    return Calibration(
        promise, assurance, level, best, best_level, trials.people, masks, tests, held_out, decision, reapply
    )


def _at_least(plans: int, failures: int, allowed: float) -> float:
    """The exact lower bound of the share that works, wrong with probability at most ``allowed``."""
    if plans == 0 or failures == plans:
        return 0.0
    return float(beta.ppf(allowed, plans - failures, failures + 1))


def check_share(name: str, value: object) -> float:
    """A number strictly between 0 and 1, or a refusal.

    >>> check_share("promise", 0.9)
    0.9
    """
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 < float(value) < 1:
        raise ParameterError(
            f"'{name}' must be a share strictly between 0 and 1. Got {value!r} instead. "
            "No finite test can promise 100 %."
        )
    return float(value)
