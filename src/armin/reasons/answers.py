"""The answer to "why": weights, where somebody stands, and the reasons in sentences."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import expit

from armin.arrays import FloatArray
from armin.errors import ParameterError
from armin.reasons.people import People, Reference
from armin.reasons.pooled import interval, pool, ranks_first
from armin.reasons.stand import Standing, said_weight
from armin.reasons.statements import MOST_STATEMENTS, Exchange, Kind, Statement, order_of, proxies, sentence_of
from armin.report.plot_reasons import plot_reasons
from armin.report.reasons import reasons_html, reasons_text
from armin.schema import Feature, Value
from armin.words import Message, Name, Printable

__all__ = ["Method", "Reasons", "Weight"]

Method = Literal["shapley", "lime"]
FORMAT = "armin.reasons/1"
_COMPARED = {
    "average": "why.average", "accepted": "why.accepted_people", "nearest": "why.nearest",
    "threshold": "why.threshold",
}  # fmt: skip


@dataclass(frozen=True)
class Weight:
    """What one feature weighed.

    Attributes
    ----------
    feature : the feature
    value : what the row says; None if it is blank
    weight : the mean over the plausible ways to fill the blanks, in units of the score; positive is for the person
    low, high : between these lies the weight for the real person, with the probability that the answer states
    within : the squared standard error in one completion; 0 where nothing was sampled
    between : the variance between completions; 0 where nothing is blank
    total : both, by Rubin's rules
    top : the share of completions in which the feature is among the first of those that speak for the decision
    untold : what not telling the value weighs by itself, on average, where the model has decided about the row with its
        blanks; 0 if it was told, and None where no such decision is known
    """

    feature: Feature
    value: Value | None
    weight: float
    low: float
    high: float
    within: float
    between: float
    total: float
    top: float
    untold: float | None

    @property
    def blank(self) -> bool:
        """Whether the value was not given."""
        return self.value is None

    def to_dict(self) -> dict[str, Any]:
        """The weight as plain data."""
        names = ("weight", "low", "high", "within", "between", "total", "top", "untold")
        return {
            "feature": self.feature.name, "label": self.feature.title, "value": self.value, "blank": self.blank,
            "protected": self.feature.protected, **{name: getattr(self, name) for name in names},
        }  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class Reasons(Printable):
    """Why a decision fell as it did. Print it, show it in a notebook, ``plot`` it, or take ``to_dict``.

    Attributes
    ----------
    accepted : whether the decision is the desired one
    wanted : what the desired decisions are called
    standing : score, threshold, and the range that blanks leave open
    reference : "average", "accepted", "nearest" or "threshold": with whom the row is compared
    people : those of whom the reference is made
    compared : how many of them the reference is
    method : "shapley" or "lime"
    how : "linear", "trees" or "coalitions", which are exact; "orders" or "lime", which are sampled
    level : the probability of the intervals
    most : how many features count as the first
    row : codes (D,), NaN for blanks
    each : the weights (N, D) for each completion
    variance : the squared standard errors of these
    not_told : the weights of not telling (N, D) for each completion; None where these are not known
    scores : of the completions (N,)
    completions : their weights (N,)
    exchange : what the score would gain with the values of people who are accepted
    notes : what a careful reader should know
    """

    accepted: bool
    wanted: tuple[Name, ...]
    standing: Standing
    reference: Reference
    people: People = field(repr=False)
    compared: int
    method: Method
    how: str
    level: float
    most: int
    row: FloatArray = field(repr=False)
    each: FloatArray = field(repr=False)
    variance: FloatArray = field(repr=False)
    not_told: FloatArray | None = field(repr=False)
    scores: FloatArray = field(repr=False)
    completions: FloatArray = field(repr=False)
    exchange: Exchange = field(repr=False)
    notes: tuple[Message, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the weights for each completion are exact."""
        return self.how not in ("orders", "lime")

    @property
    def _sign(self) -> float:
        """Reasons are what speaks for the decision that fell."""
        return 1.0 if self.accepted else -1.0

    @property
    def chance(self) -> Standing:
        """Where somebody stands, as a probability where the score is log odds: for people rather than for models."""
        here = self.standing
        if here.unit != "log-odds":
            return here
        share = self.completions / self.completions.sum()
        return replace(
            here, unit="probability", score=float(share @ expit(self.scores)), low=float(expit(here.low)),
            high=float(expit(here.high)), threshold=_chance(here.threshold), submitted=_chance(here.submitted),
            reference=float(expit(here.reference)),  # of the mean log odds
        )  # fmt: skip

    @cached_property
    def weights(self) -> tuple[Weight, ...]:
        """What each feature weighed, in the order of the schema; what is only carried along is left out."""
        pooled = pool(self.each, self.variance, self.completions)
        low, high = interval(self.each, pooled.within, self.completions, self.level)
        share = self.completions / self.completions.sum()
        top = share @ ranks_first(self._sign * self.each, self.most)
        untold = None if self.not_told is None else share @ self.not_told
        return tuple(
            Weight(
                feature, feature.value(float(self.row[i])), float(pooled.mean[i]), float(low[i]), float(high[i]),
                float(pooled.within[i]), float(pooled.between[i]), float(pooled.total[i]), min(1.0, float(top[i])),
                None if untold is None else float(untold[i]),
            )
            for i, feature in enumerate(self.people.schema)
            if not feature.is_carried
        )  # fmt: skip

    @cached_property
    def all_statements(self) -> tuple[Statement, ...]:
        """Every reason that a comparison makes one, protected ones among them, the weightiest first."""
        schema = self.people.schema
        d, n = len(schema), self.each.shape[0]
        beside = np.zeros((n, d)) if self.not_told is None else self.not_told
        values = self._sign * np.concatenate([self.each, beside], axis=1)
        variance = np.concatenate([self.variance, np.zeros((n, d))], axis=1)
        order, tied = order_of(values, variance, self.completions)
        mean = (self.completions / self.completions.sum()) @ values
        top = {weight.feature.name: weight.top for weight in self.weights}
        way = "for" if self.accepted else "against"
        found = []
        for k in order:
            i = k % d
            feature = schema.features[i]
            if feature.is_carried:
                continue
            value = feature.value(float(self.row[i]))
            kind: Kind = "untold" if k >= d else "blank" if value is None else "value"
            share = top[feature.name]
            sentence = sentence_of(feature, i, kind, value, self.people, self.exchange, share, way)
            if sentence is None:
                continue
            found.append(
                Statement(
                    feature, kind, sentence,
                    self._sign * float(mean[k]), share,
                    tuple(dict.fromkeys(schema.features[j % d].named for j in tied.get(k, ()) if j % d != i)),
                    proxies(self.people, i),
                )
            )  # fmt: skip
        return tuple(found)

    def statements(self, most: int = MOST_STATEMENTS, *, protected: bool = False) -> tuple[Statement, ...]:
        """The reasons that may be told, the weightiest first.

        Parameters
        ----------
        most : so many at most; from 1 to 4
        protected : whether to state protected traits too, which is for the bank to insist on
        """
        if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_STATEMENTS:
            raise ParameterError(f"'most' must be a whole number from 1 to {MOST_STATEMENTS}. Got {most!r} instead.")
        told = tuple(one for one in self.all_statements if protected or not one.protected)
        shown = [one.feature.name for one in told[:most]]
        # ties are said once, by the later of two; who is not stated is counted and not named, as it may be protected
        return tuple(
            replace(
                one, tied=tuple(name for name in one.tied if name.key in shown[:i]),
                unnamed=sum(name.key not in shown for name in one.tied),
            )
            for i, one in enumerate(told[:most])
        )  # fmt: skip

    @property
    def withheld(self) -> tuple[Statement, ...]:
        """The reasons that a letter does not state, since they are about protected traits."""
        return tuple(one for one in self.all_statements if one.protected)

    @property
    def unknown(self) -> tuple[Feature, ...]:
        """The blanks of which it cannot be known whether they are among the first without telling them."""
        return tuple(w.feature for w in self.weights if w.blank and 0.05 < w.top < 0.95)

    @property
    def headline(self) -> Message:
        """What the answer is about, in one sentence."""
        code = "why.accepted" if self.accepted else "why.rejected"
        return Message(code, desired=self.wanted, reference=Message(_COMPARED[self.reference], n=self.compared))

    @property
    def messages(self) -> tuple[Message, ...]:
        """What stands below the reasons."""
        found = []
        blank = [weight for weight in self.weights if weight.blank]
        told = [s for s in self.statements() if blank and s.kind == "value" and s.top > 0.5]
        if told:
            found.append(Message("why.share", label=told[0].feature.named, share=told[0].top, most=self.most))
        if self.unknown:
            found.append(Message("why.unknown", labels=tuple(f.named for f in self.unknown), most=self.most))
        if self.withheld:
            found.append(Message("why.withheld", labels=tuple(dict.fromkeys(s.feature.named for s in self.withheld))))
        if not self.all_statements:
            found.append(Message("why.nothing"))
        if not self.exact:
            error = float(np.sqrt(max((weight.within for weight in self.weights), default=0.0)))
            found.append(Message("why.sampled", error=said_weight(error, self.standing.unit)))
        return (*found, *self.notes)

    def _said(self) -> tuple[Message, tuple[Message, ...], list[tuple[tuple[Message, ...], Message]]]:
        unit = self.standing.unit
        reasons = [(one.messages, said_weight(one.weight, unit)) for one in self.statements()]
        return self.headline, self.standing.messages, reasons

    def text(self, language: str = "en") -> str:
        """The answer as text in a language, such as "de"; ``print`` shows it in English."""
        return reasons_text(*self._said(), self.messages, self.standing.picture(), language)

    def html(self, language: str = "en") -> str:
        """The answer as HTML, as notebooks show it."""
        return reasons_html(*self._said(), self.messages, self.standing.to_dict(), language)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data; ``docs/reasons.md`` describes the keys."""
        return {
            "format": FORMAT,
            "accepted": self.accepted,
            "desired": [name.text for name in self.wanted],
            "standing": self.standing.to_dict(),
            "reference": {"name": self.reference, "people": self.compared, "score": self.standing.reference},
            "method": self.method,
            "how": self.how,
            "exact": self.exact,
            "unit": self.standing.unit,
            "level": self.level,
            "most": self.most,
            "completions": int(self.each.shape[0]),
            "weights": [weight.to_dict() for weight in self.weights],
            "statements": [one.to_dict() for one in self.statements()],
            "withheld": [one.feature.name for one in self.withheld],
            "unknown": [feature.name for feature in self.unknown],
            "headline": str(self.headline),
            "notes": [str(message) for message in self.messages],
        }

    def to_json(self, indent: int | None = 2) -> str:
        """The answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, default=str)

    def to_frame(self) -> pd.DataFrame:
        """One line per feature, the weightiest first."""
        frame = pd.DataFrame([weight.to_dict() for weight in self.weights]).set_index("feature")
        return frame.sort_values("weight", key=np.abs, ascending=False)

    def plot(self, ax: Any = None, language: str = "en") -> Any:
        """Draw what each feature weighs, with what the blanks leave open; returns the matplotlib Axes."""
        shown = sorted(self.weights, key=lambda weight: -abs(weight.weight))[:12]
        rows = [(one.feature.named, one.weight, one.low, one.high) for one in shown]
        return plot_reasons(self.headline, rows, self.standing.unit, ax, language)


def _chance(log_odds: float | None) -> float | None:
    return None if log_odds is None else float(expit(log_odds))
