"""From weights to sentences: what spoke against somebody, in the words of the schema, each of them true."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from armin.arrays import FloatArray
from armin.reasons.people import People
from armin.reasons.pooled import apart
from armin.schema import Feature, Value
from armin.words import Message, Name, Printable

__all__ = ["MOST_STATEMENTS", "Exchange", "Statement", "order_of", "proxies", "sentence_of"]

MOST_STATEMENTS = 4
"""Reasons that are stated, at most: more tell nobody anything."""
LITTLE = 0.02
"""The share of all that speaks against somebody below which something is no reason."""
MOST = 0.5
"""A reason sets somebody apart from more than this share of the people who are accepted."""
FEWEST = 5
"""People with a category, and without it, from which on their shares of acceptance are compared."""
_MOST_EXCHANGES = 6000
_COMPLETIONS = 3
_DUST = 1e-9
TELLS = 0.5
"""The correlation from which on a column tells much about a protected trait."""
_BINS = 5

Kind = Literal["value", "blank", "untold"]


@dataclass(frozen=True, repr=False)
class Statement(Printable):
    """One reason.

    Attributes
    ----------
    feature : what it is about
    kind : "value" (the value weighs), "blank" (it was not told; its plausible values weigh) or "untold" (not telling it
        weighs by itself)
    message : the sentence
    weight : what it weighs, in units of the score
    top : the share of plausible cases in which it is among the first
    tied : features from whose weight it cannot be told apart
    unnamed : how many more of these are not named, since they are not among the reasons that are stated
    tells : protected features about which its feature tells much

    Examples
    --------
    >>> debt = Feature("debt", "integer", lower=0, upper=9, reason="R07")
    >>> said = Message("reason.high", label=debt.named, value=debt.said(4), tenths=9)
    >>> one = Statement(debt, "value", said, -1.0, 1.0)
    >>> one.code, str(one)
    ('R07', 'Debt is 4, which is higher than for 9 in 10 people who are accepted.')
    """

    feature: Feature
    kind: Kind
    message: Message
    weight: float
    top: float
    tied: tuple[Name, ...] = ()
    tells: tuple[Name, ...] = ()
    unnamed: int = 0

    @property
    def code(self) -> str:
        """The company's own code for this reason; empty if it has none."""
        return self.feature.reason

    @property
    def protected(self) -> bool:
        """Whether it is about a trait that advice must not touch."""
        return self.feature.protected

    @property
    def messages(self) -> tuple[Message, ...]:
        """The sentence, and what must be said with it."""
        found = [self.message]
        if self.tied:
            found.append(Message("reason.tied", labels=self.tied))
        if self.unnamed:
            found.append(Message("reason.tied_unnamed", n=self.unnamed))
        if self.tells:
            found.append(Message("reason.tells", label=self.feature.named, labels=self.tells))
        return tuple(found)

    @property
    def in_letters(self) -> tuple[Message, ...]:
        """The sentence, and reasons that weigh as much: nothing from which a trait that is not named can be guessed."""
        return (self.message, *([Message("reason.tied", labels=self.tied)] if self.tied else []))

    def text(self, language: str = "en") -> str:
        """The reason in a language."""
        return " ".join(message.text(language) for message in self.messages)

    def to_dict(self) -> dict[str, Any]:
        """The reason as plain data."""
        return {
            "feature": self.feature.name, "label": self.feature.title, "kind": self.kind, "code": self.code,
            "weight": self.weight, "top": self.top, "protected": self.protected,
            "tied": [one.key for one in self.tied], "unnamed": self.unnamed,
            "tells": [one.key for one in self.tells], "sentence": str(self),
            "messages": [message.to_dict() for message in self.messages],
        }  # fmt: skip


def order_of(
    values: FloatArray, variance: FloatArray, weights: FloatArray
) -> tuple[list[int], dict[int, tuple[int, ...]]]:
    """Which columns of ``values`` (N, K), all of them against somebody, count most; and which cannot be told apart.

    Neighbours that cannot be told apart stand in the order of the columns, which no seed changes.

    >>> order_of(np.array([[1.0, 5.0, 3.0], [2.0, 5.0, 3.1]]), np.zeros((2, 3)), np.ones(2))
    ([1, 2, 0], {})
    """
    mean = (weights / weights.sum()) @ values
    large = LITTLE * float(np.maximum(mean, 0.0).sum())
    order = [int(k) for k in np.argsort(-mean, kind="stable") if mean[k] > max(large, 0.0)]
    same = {(a, b) for i, a in enumerate(order) for b in order[i + 1 :] if not apart(values, variance, weights, a, b)}
    for end in range(len(order) - 1, 0, -1):
        for i in range(end):
            one, next_ = order[i], order[i + 1]
            if one > next_ and ((one, next_) in same or (next_, one) in same):
                order[i], order[i + 1] = next_, one
    tied: dict[int, tuple[int, ...]] = {}
    for k in order:
        others = tuple(j for j in order if (k, j) in same or (j, k) in same)
        if others:
            tied[k] = others
    return order, tied


@dataclass(frozen=True, eq=False)
class Exchange:
    """What the score would gain if a value were that of somebody who is accepted, all else as it is.

    Attributes
    ----------
    codes : the codes (A, D) of people who are accepted
    gains : (A, D) by whose value it is and by feature, over plausible ways to fill the blanks
    """

    codes: FloatArray
    gains: FloatArray

    @classmethod
    def of(cls, score: Callable[[FloatArray], FloatArray], row: FloatArray, drawn: FloatArray, people: People) -> Self:
        """The exchanges of a row (D,) that was completed in some ways (N, D) with the values of these people."""
        told = [i for i, f in enumerate(people.schema) if not (f.is_carried or np.isnan(row[i]))]
        few, usual = drawn[:_COMPLETIONS], people.usual
        usual = usual[:: max(1, usual.shape[0] * len(told) * few.shape[0] // _MOST_EXCHANGES)]
        gains = np.zeros(usual.shape)
        if not usual.size:
            return cls(usual, gains)
        before = score(few)
        for i in told:
            theirs, which = np.unique(usual[:, i], return_inverse=True)
            changed = np.repeat(few[None], theirs.size, axis=0)
            changed[:, :, i] = theirs[:, None]
            after = score(changed.reshape(-1, few.shape[1])).reshape(theirs.size, few.shape[0])
            gains[:, i] = (after - before).mean(axis=1)[which]
        return cls(usual, gains)

    def better(self, position: int) -> float:
        """The share of these people whose value the model rates higher here."""
        gains, dust = self.gains[:, position], _DUST * max(1.0, float(np.abs(self.gains).max(initial=0.0)))
        return float((gains > dust).mean()) if gains.size else 0.0

    def direction(self, position: int, code: float) -> int:
        """1 where a higher value would be better for the score here, -1 where a lower one would, 0 where neither is."""
        theirs, gains = self.codes[:, position], self.gains[:, position]
        up, down = gains[theirs > code].sum(), gains[theirs < code].sum()
        return 0 if max(up, down) <= 0.0 else 1 if up >= down else -1


def sentence_of(
    feature: Feature, position: int, kind: Kind, value: Value | None, people: People, exchange: Exchange, top: float,
    way: str,
) -> Message | None:  # fmt: skip
    """What is said about one feature; ``way`` is "against" or "for". None where no comparison makes it a reason."""
    label = feature.named
    if kind == "untold":
        return Message(f"reason.untold_{way}", label=label)
    if kind == "blank" or value is None:
        return Message(f"reason.blank_{way}", label=label, share=top)
    said = {"label": label, "value": feature.quoted(value)}
    if way == "for":
        return Message("reason.value_for", **said)
    compared = _compared(feature, position, feature.code(value), people, exchange, said)
    if compared is None and feature.protected:  # whether it is stated is for others to say, and not to be overlooked
        return Message("reason.value_against", **said)
    return compared


def _compared(
    feature: Feature, position: int, code: float, people: People, exchange: Exchange, said: dict[str, Any]
) -> Message | None:
    """The comparison with people who are accepted, or None where most of them are no better placed."""
    if feature.is_ordered and feature.kind != "binary":
        better = exchange.direction(position, code)
        usual = people.usual[:, position]
        share = float((usual > code if better > 0 else usual < code).mean()) if better and usual.size else 0.0
        if share > MOST:
            way = "low" if better > 0 else "high"
            if share == 1.0:
                return Message(f"reason.{way}_all", n=usual.size, **said)
            return Message(f"reason.{way}", tenths=int(10 * share + 1e-9), **said)
    else:
        same = people.codes[:, position] == code
        if min(same.sum(), (~same).sum()) >= FEWEST:
            here, elsewhere = float(people.accepted[same].mean()), float(people.accepted[~same].mean())
            if here < elsewhere:
                return Message("reason.category", share=here, others=elsewhere, **said)
    share = exchange.better(position)
    return Message("reason.together", share=share, **said) if share > MOST else None


def proxies(people: People, position: int) -> tuple[Name, ...]:
    """The protected features about which the column at ``position`` tells much, among these people."""
    features = people.schema.features
    if features[position].protected or features[position].is_carried:
        return ()
    groups = _groups(people, position)
    found = []
    for i, feature in enumerate(features):
        if feature.protected and not feature.is_carried and _told(groups, people.codes[:, i], feature) >= TELLS:
            found.append(feature.named)
    return tuple(found)


def _groups(people: People, position: int) -> FloatArray:
    """Each person's group: a category, or a fifth of the numbers."""
    codes = people.codes[:, position]
    if np.unique(codes).size <= _BINS:
        return codes
    cuts = np.unique(np.quantile(codes, np.linspace(0, 1, _BINS + 1)[1:-1]))
    return np.searchsorted(cuts, codes).astype(np.float64)


def _told(groups: FloatArray, trait: FloatArray, feature: Feature) -> float:
    """How much the groups tell about a trait: the correlation ratio, of the likeliest of its categories if unordered.

    What as many groups would tell by chance is taken off.
    """
    n = trait.size
    columns = [trait] if feature.is_ordered else [(trait == code).astype(float) for code in np.unique(trait)]
    names = np.unique(groups)
    best = 0.0
    for column in columns:
        whole = float(((column - column.mean()) ** 2).sum())
        if whole <= 0.0 or n <= names.size:
            continue
        parts = (column[groups == name] for name in names)
        inside = sum(float(((part - part.mean()) ** 2).sum()) for part in parts)
        best = max(best, 1.0 - (inside / (n - names.size)) / (whole / (n - 1)))
    return float(np.sqrt(max(0.0, best)))
