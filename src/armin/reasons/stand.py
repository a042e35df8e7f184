"""Where somebody stands: score, threshold, and the range that blanks leave open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from armin.arrays import FloatArray
from armin.reasons.pooled import interval
from armin.reasons.score import Unit
from armin.words import Message, Printable, Quantity

__all__ = ["Standing", "said_score", "said_weight", "standing"]

WIDTH = 41
"""Signs of the picture in text."""
_DUST = 1e-6  # a threshold so small beside the scores is zero, made in single precision or by a strict rule
_MOST_DIGITS = 6


@dataclass(frozen=True, repr=False)
class Standing(Printable):
    """A score beside its threshold.

    Attributes
    ----------
    score : of the row, or the mean over the plausible ways to fill its blanks
    low, high : between these lies the score of the real person, with probability ``level``
    level : that probability
    threshold : from here on the decision is the desired one; None where no one number says so
    reference : the mean score of the people with whom the row is compared
    submitted : the score of the row with its blanks, where the model decides about these; else None
    unit : "log-odds", "probability", "points" or "decision"
    share : how much of the plausible ways to fill the blanks is at the threshold or beyond

    Examples
    --------
    >>> print(Standing(0.3, 0.2, 0.6, 0.9, 0.5, 0.7, None, "probability", 0.1))
    Your score is 30 %; 50 % is needed. Depending on what you left blank, it lies between 20 % and 60 %.
    """

    score: float
    low: float
    high: float
    level: float
    threshold: float | None
    reference: float
    submitted: float | None
    unit: Unit
    share: float

    @property
    def distance(self) -> float | None:
        """What is missing to the threshold; negative if the score is beyond it."""
        return None if self.threshold is None else self.threshold - self.decided

    @property
    def decided(self) -> float:
        """The score that was decided about: that of the row with its blanks where the model took these."""
        return self.score if self.submitted is None else self.submitted

    @property
    def open(self) -> bool:
        """Whether blanks leave the score open."""
        return self.high > self.low

    @property
    def messages(self) -> tuple[Message, ...]:
        """Where somebody stands, to be said in any language."""
        if self.unit == "decision":
            return (Message("stand.decision"),)
        found = [self._beside_threshold]
        if self.open:
            low, high = (_written(end, self.unit) for end in (self.low, self.high))
            if str(low) != str(high):
                found.append(Message("stand.open" if self.submitted is None else "stand.told", low=low, high=high))
        return tuple(found)

    @property
    def _beside_threshold(self) -> Message:
        """The score and what is needed, with as many digits as tell the two apart."""
        if self.threshold is None:
            return Message("stand.score", score=said_score(self.decided, self.unit))
        largest = max(abs(self.decided), abs(self.low), abs(self.high))
        needed = 0.0 if abs(self.threshold) <= _DUST * largest else self.threshold
        more = 0
        while more < _MOST_DIGITS and self.decided != needed and _same(self.decided, needed, self.unit, more):
            more += 1
        score, threshold = said_score(self.decided, self.unit, more), _written(needed, self.unit, more)
        return Message("stand.needed", score=score, threshold=threshold)

    def picture(self) -> str:
        """A line of text: the range, the score (o) and the threshold (|); nothing where there is no score."""
        if self.unit == "decision":
            return ""
        points = [self.low, self.high, self.decided] + ([] if self.threshold is None else [self.threshold])
        least, most = min(points), max(points)
        wide = (most - least) or 1.0

        def place(number: float) -> int:
            return round((number - least) / wide * (WIDTH - 1))

        line = ["·"] * WIDTH
        for i in range(place(self.low), place(self.high) + 1):
            line[i] = "─"
        if self.threshold is not None:
            line[place(self.threshold)] = "|"
        line[place(self.decided)] = "o"
        return "".join(line)

    def text(self, language: str = "en") -> str:
        """Where somebody stands, in a language."""
        return " ".join(message.text(language) for message in self.messages)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data."""
        return {
            "score": self.score, "low": self.low, "high": self.high, "level": self.level, "unit": self.unit,
            "threshold": self.threshold, "distance": self.distance, "reference": self.reference,
            "submitted": self.submitted, "share": self.share, "sentence": str(self),
            "messages": [message.to_dict() for message in self.messages],
        }  # fmt: skip


def standing(
    scores: FloatArray,
    weights: FloatArray,
    accepted: FloatArray,
    level: float,
    *,
    threshold: float | None,
    reference: float,
    submitted: float | None,
    unit: Unit,
) -> Standing:
    """Where somebody stands, by the scores (N,) of completions with weights and whether these are ``accepted``."""
    share = weights / weights.sum()
    low, high = interval(scores[:, None], np.zeros(1), weights, level)
    return Standing(
        float(share @ scores), float(low[0]), float(high[0]), level, threshold, reference, submitted, unit,
        min(1.0, float(share @ accepted)),
    )  # fmt: skip


def said_score(score: float, unit: Unit, more: int = 0) -> Message:
    """A score with its unit, for a message; ``more`` digits than usual."""
    written = _written(score, unit, more)
    return written if isinstance(written, Message) else Message(f"stand.{unit.replace('-', '_')}", score=written)


def said_weight(weight: float, unit: Unit) -> Message:
    """What a feature weighs, for a message."""
    if unit in ("probability", "decision"):
        return Message("stand.percent_points", points=Quantity(round(100.0 * weight, 1) + 0.0, step=0.1))
    return Message(f"stand.{unit.replace('-', '_')}", score=_rounded(weight))


def _written(score: float, unit: Unit, more: int = 0) -> Message | Quantity:
    """A score without the name of its unit."""
    if unit not in ("probability", "decision"):
        return _rounded(score, more)
    share = min(1.0, max(0.0, score))
    if not more:
        return Message("stand.share", share=share)
    return Message("language.percent", number=Quantity(round(100.0 * share, more) + 0.0, step=10.0**-more))


def _same(one: float, other: float, unit: Unit, more: int) -> bool:
    """Whether two scores read the same."""
    return str(said_score(one, unit, more)) == str(said_score(other, unit, more))


def _rounded(number: float, more: int = 0) -> Quantity:
    """Two decimals and ``more``, and as many digits of what is smaller."""
    digits = 2 + more
    if number == 0.0 or abs(number) >= 0.095:
        return Quantity(round(number, digits) + 0.0, step=10.0**-digits)
    return Quantity(float(f"{number:.{digits}g}"))
