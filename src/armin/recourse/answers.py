"""The answer: what to change, what it costs, for how many plausible people it works, and what is proved."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from armin.actions import outcome
from armin.arrays import FloatArray
from armin.errors import ArminError
from armin.problem import Status
from armin.recourse.certificate import Certificate, Claim, Scope, Validity, claim_of
from armin.recourse.kept import certificate_from, checked, message_from, parsed, validity_from, world_from
from armin.recourse.world import COMPLETE, World
from armin.report.html import many_html, recourse_html
from armin.report.plot import plot_recourse
from armin.report.text import many_text, recourse_text
from armin.report.words import details, headline
from armin.schema import Feature, Schema, Value
from armin.schema.cast import decode_column
from armin.schema.columns import after_change
from armin.words import Message, Name, Printable

__all__ = ["Change", "Failure", "Outcome", "Plans", "Recourse", "Recourses", "Validity"]

Outcome = Literal["plan", "best_so_far", "falls_short", "tell", "already_accepted", "no_recourse", "out_of_time"]
FORMAT = "armin.recourse/1"


@dataclass(frozen=True, repr=False)
class Change(Printable):
    """One change, in the user's words and units.

    Attributes
    ----------
    feature : the feature that changes
    mode : "observed", "shift" or "reach"
    before : the value now, or None if it was not given
    after : the target, or None for a shift
    amount : the amount of a shift or of an observed number's change, else None
    cost : what this change costs
    sense : for a target of a blank: 1 if it means "at least", -1 "at most", 0 "exactly"; as the feature's direction
        says if left out
    raw : the cost as the solver adds it up
    """

    feature: Feature
    mode: Literal["observed", "shift", "reach"]
    before: Value | None
    after: Value | None
    amount: float | None
    cost: float
    sense: int = 0
    raw: float = field(default=0.0, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.mode == "reach" and self.sense == 0:
            object.__setattr__(self, "sense", {"increase": 1, "decrease": -1}.get(self.feature.direction, 0))

    @property
    def direction(self) -> Literal["up", "down", "to"]:
        """Which way the value goes; "to" where up and down mean nothing or are not known."""
        if self.feature.kind == "binary" and self.mode != "shift":
            return "to"
        if self.mode == "reach":
            return "up" if self.sense > 0 else "down" if self.sense < 0 else "to"
        if self.amount is None:
            return "to"
        return "up" if self.amount > 0 else "down"

    def moved(self, codes: FloatArray) -> FloatArray:
        """What codes of the feature become: do as told. A shift that would leave the bounds stops at the bound."""
        target = self.amount if self.mode == "shift" else self.feature.code(self.after)
        return outcome(self.feature, self.mode, codes, float(target or 0.0), self.sense)

    @property
    def message(self) -> Message:
        """What to do, to be said in any language.

        >>> Change(Feature("Income", "integer", lower=0, upper=100), "shift", None, None, 5.0, 1.0).message.text("de")
        'Erhöhen Sie „Income“ um 5, gleich wie hoch der Wert jetzt ist.'
        """
        feature = self.feature
        values: dict[str, Any] = {"label": feature.named}
        if self.mode == "shift":
            code = "raise_by" if self.direction == "up" else "lower_by"
            return Message(f"change.{code}", amount=feature.said_amount(self.amount or 0.0), **values)
        values["after"] = feature.quoted(self.after)
        if self.mode == "reach":
            up, down = ("at_least", "at_most") if feature.is_number else ("level_up", "level_down")
            return Message(f"change.{ {'up': up, 'down': down}.get(self._bound, 'make_sure') }", **values)
        code = {"up": "raise", "down": "lower"}.get(self.direction, "change")
        return Message(f"change.{code}", before=feature.quoted(self.before), **values)

    @property
    def short_message(self) -> Message:
        """The change in a few words, to be said in any language."""
        feature, label = self.feature, self.feature.named
        if self.mode == "shift":
            code = "raise_by" if self.direction == "up" else "lower_by"
            return Message(f"short.{code}", label=label, amount=feature.said_amount(self.amount or 0.0))
        sign = self._bound if self.mode == "reach" else "to"
        code = {"up": "at_least", "down": "at_most"}.get(sign, "to")
        return Message(f"short.{code}", label=label, after=feature.said(self.after))

    @property
    def _bound(self) -> str:
        """Which side of a target is as good as the target: none beyond the first or last of ordered categories."""
        last = {"up": -1, "down": 0}.get(self.direction)
        if last is None or (not self.feature.is_number and self.after == self.feature.categories[last]):
            return "to"
        return self.direction

    def to_dict(self) -> dict[str, Any]:
        """The change as plain data, with its sentence."""
        feature, message = self.feature, self.message
        return {
            "feature": feature.name,
            "label": feature.title,
            "kind": feature.kind,
            "mode": self.mode,
            "direction": self.direction,
            "before": self.before,
            "after": self.after,
            "amount": self.amount,
            "sense": self.sense,
            "before_text": feature.show(self.before),
            "after_text": None if self.after is None else feature.show(self.after),
            "amount_text": None if self.amount is None else feature.show_amount(self.amount),
            "cost": self.cost,
            "sentence": str(message),
            "message": message.to_dict(),
        }

    def text(self, language: str = "en") -> str:
        """The change in a language."""
        return self.message.text(language)

    @property
    def short(self) -> str:
        """The change in a few words.

        >>> income = Feature("Income", "integer", lower=0, upper=100)
        >>> Change(income, "shift", None, None, 5.0, 1.0).short
        'Income +5'
        """
        return str(self.short_message)


@dataclass(frozen=True, repr=False)
class Recourse(Printable):
    """The answer for one row. Print it, show it in a notebook, ``plot`` it, or take ``to_dict``.

    Attributes
    ----------
    method : "ARMIN", "ImputationAR" or "RobustAR"
    status : how the solve ended
    desired : the labels that count as accepted
    changes : what to change; empty if nothing is to be done or nothing can be done
    cost : what it costs, or None without an action
    cost_name : the cost's name
    cost_range : (min, median, max) over the candidates, or None
    confidence : the share of completions that was asked for; None where blanks were guessed once
    validity : on the sample that was optimised over, judged by the user's own model
    fresh : on a fresh sample, or None
    blanks : the features that were not given
    bound : no valid action costs less
    scope : "domain" if that holds for all values that the schema allows, "list" for those that were listed
    tolerance : by how much of the bound a plan with round numbers may exceed it
    seconds, solver, nodes : how it was found
    conditioned : share of drawn completions that agree with the known rejection; None if not used
    notes : what a careful reader should know, as messages; ``str`` says one in English
    seconds_by_step : where the time went
    certificate : every ground on which the answer stands
    rank : 1 for the cheapest plan; 2, 3, ... for alternatives that change other features
    world : what has been decided about the row, and who will judge afterwards
    resubmitted : whether the model accepts the row after the plan with the blanks that are left, also if the person
        has, and gives, any plausible value beyond what is to be reached; None if it takes no blanks
    decisions : what people call the labels of the model, by the label as a text

    Two answers are equal if they say the same; how long they took does not count.
    """

    method: str
    status: Status
    desired: tuple[Any, ...]
    changes: tuple[Change, ...]
    cost: float | None
    cost_name: str
    cost_range: tuple[float, float, float] | None
    confidence: float | None
    validity: Validity | None
    fresh: Validity | None
    blanks: tuple[Feature, ...]
    bound: float
    seconds: float = field(compare=False)
    solver: str
    nodes: int = 0
    conditioned: float | None = None
    notes: tuple[Message, ...] = ()
    seconds_by_step: dict[str, float] = field(default_factory=dict, compare=False)
    certificate: Certificate | None = None
    rank: int = 1
    world: World = COMPLETE
    resubmitted: bool | None = None
    scope: Scope = "domain"
    tolerance: float = 0.0
    decisions: dict[str, str] = field(default_factory=dict, hash=False)
    schema: Schema | None = field(default=None, repr=False, compare=False)

    @property
    def wanted(self) -> tuple[Name, ...]:
        """What the desired decisions are called, for a message."""
        labels = [str(label) for label in self.desired]
        return tuple(Name("decisions", label, self.decisions.get(label, label)) for label in labels)

    @property
    def outcome(self) -> Outcome:
        """What the answer is, in one word."""
        if self.status is Status.INFEASIBLE:
            return "no_recourse"
        if self.status is Status.UNKNOWN:
            return "out_of_time"
        if not self.changes:
            # rejected because of the blanks: telling them is what there is to do
            return "tell" if self.world.submitted is False and self.world.reapply == "disclosed" else "already_accepted"
        if self.falls_short:
            return "falls_short"
        return "plan" if self.status is Status.OPTIMAL else "best_so_far"

    @property
    def falls_short(self) -> bool:
        """Whether the changes work for fewer completions, as judged, than was asked for; no promise may hold then."""
        asked, share = self.confidence, self.share
        if not self.changes or asked is None or asked == 1.0 or share is None:
            return False
        tested = None if self.certificate is None else self.certificate.calibration
        return share < asked - 1e-9 and not (tested is not None and tested.kept)

    @property
    def exact(self) -> bool:
        """Whether the model decides about one row, the same whatever its blanks hide, so that nothing is estimated."""
        return self.world.reapply == "blank" and all(change.mode != "reach" for change in self.changes)

    def ranked(self, rank: int) -> Recourse:
        """The same plan as number ``rank`` of several to choose from."""
        certificate = None if self.certificate is None else replace(self.certificate, rank=rank)
        return replace(self, rank=rank, certificate=certificate)

    @property
    def found(self) -> bool:
        """Whether there is an action to take (an empty one if already accepted)."""
        return self.status.has_choice

    @property
    def share(self) -> float | None:
        """The one share that is stated: of fresh completions, which know nothing of the plan, where there are any.

        Where the model decides about a row that is the same whatever its blanks hide, its word is meant: 1.0 if it
        accepts.
        """
        found = self.validity if self.world.accepted else self.fresh or self.validity
        return None if found is None else found.share

    def stating(self, confidence: float) -> Recourse:
        """The same plan, with another share as the one that was asked for."""
        certificate = None if self.certificate is None else replace(self.certificate, confidence=confidence)
        return replace(self, confidence=confidence, certificate=certificate)

    @property
    def gap(self) -> float | None:
        """How much cheaper, relative to the cost, another action could be; None without an action."""
        if self.cost is None:
            return None
        gap = 0.0 if self.cost <= 0 else (self.cost - self.bound) / self.cost
        return gap if gap > 5e-9 else 0.0

    @property
    def claim(self) -> Claim:
        """What is said of cheaper plans, where one is proved the cheapest."""
        return claim_of(self.scope, self.gap)

    def apply(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Do as told: what complete rows become after the changes, in user units.

        A shift that would leave the bounds stops at the bound. Rows that already meet an "at least" or "at most" stay.

        Parameters
        ----------
        rows : complete rows, such as other completions of this person

        Returns
        -------
        DataFrame
            A copy of ``rows`` with the changes.
        """
        after = rows.copy()
        if self.schema is not None and (self.schema.derived or self.schema.columns != self.schema.names):
            schema = self.schema
            told = schema.carried_by(rows) if schema.carried else None
            codes = schema.encode(rows)
            moved = self.apply_codes(schema, codes)
            columns = schema.decode(moved, like=rows, carried=told).set_axis(rows.index)
            for i in np.flatnonzero((moved != codes).any(axis=0)).tolist():
                for name in schema.features[i].columns or (schema.names[i],):
                    after[name] = columns[name]
            return after
        for change in self.changes:
            feature = change.feature
            codes = feature.codes(rows[feature.name])
            after[feature.name] = decode_column(feature, change.moved(codes), rows[feature.name].dtype).set_axis(
                rows.index
            )
        return after

    def apply_codes(self, schema: Schema, codes: FloatArray) -> FloatArray:
        """The same for completions as codes (n, D)."""
        after = codes.copy()
        for change in self.changes:
            position = schema.position(change.feature.name)
            after[:, position] = change.moved(codes[:, position])
        return after_change(schema, after, [schema.position(change.feature.name) for change in self.changes])

    def submitted(self, schema: Schema, row: FloatArray, completions: FloatArray) -> FloatArray:
        """The row (D,) as each of some completions (n, D) submits it after the changes.

        Who is told to reach a value gives it, or the own one where that is beyond it; other blanks stay.
        """
        after = np.repeat(row[None, :], completions.shape[0], axis=0)
        for change in self.changes:
            position = schema.position(change.feature.name)
            if not np.isnan(row[position]) or change.mode == "reach":
                after[:, position] = change.moved(completions[:, position])
        return after_change(schema, after, [schema.position(change.feature.name) for change in self.changes])

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain data; ``docs/recourse.md`` describes the keys."""
        fresh: dict[str, Any] | None = None
        if self.fresh is not None:
            fresh = {
                "accepted": self.fresh.accepted, "of": self.fresh.of, "share": self.fresh.share,
                "interval": list(self.fresh.interval()), "level": 0.95,
            }  # fmt: skip
        low, middle, high = self.cost_range or (None, None, None)
        summary: dict[str, Any] = {
            "format": FORMAT,
            "method": self.method,
            "status": self.status.value,
            "outcome": self.outcome,
            "rank": self.rank,
            "desired": [_plain(label) for label in self.desired],
            "changes": [change.to_dict() for change in self.changes],
            "cost": {"name": self.cost_name, "value": self.cost, "min": low, "median": middle, "max": high},
            "confidence": {"asked": self.confidence},
            "share": self.share,
            "validity": None if self.validity is None else {
                "accepted": self.validity.accepted, "of": self.validity.of, "share": self.validity.share,
            },
            "fresh": fresh,
            "blanks": [{"feature": f.name, "label": f.title, "mode": f.blank_mode} for f in self.blanks],
            "conditioned": self.conditioned,
            "proof": {
                "bound": self.bound if math.isfinite(self.bound) else None, "gap": self.gap, "scope": self.scope,
                "tolerance": self.tolerance, "claim": self.claim, "solver": self.solver, "seconds": self.seconds,
                "nodes": self.nodes, "steps": dict(self.seconds_by_step),
            },
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "world": self.world.to_dict() | {"resubmitted": self.resubmitted},
            "notes": [str(note) for note in self.notes],
        }  # fmt: skip
        if self.decisions:
            summary["decisions"] = dict(self.decisions)
        first = headline(summary)
        notes = [note.to_dict() if isinstance(note, Message) else None for note in self.notes]
        return summary | {"headline": str(first), "messages": {"headline": first.to_dict(), "notes": notes}}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], schema: Schema) -> Recourse:
        """The answer behind :meth:`to_dict`; its own dictionary is the same again, but for a promise.

        Parameters
        ----------
        data : the dictionary; other keys, such as the "row" of the command line, do not matter
        schema : the schema by which the answer was made, or one that has its features

        Returns
        -------
        Recourse
            Names in its notes are texts, and the test on real people behind a promise is left out.
        """
        return checked(data, FORMAT, lambda: cls(**_kept(data, schema), schema=schema))

    @classmethod
    def from_json(cls, text: str, schema: Schema) -> Recourse:
        """The answer behind :meth:`to_json`."""
        return cls.from_dict(parsed(text, FORMAT), schema)

    def under(self, schema: Schema) -> Recourse:
        """The same plan with the features of another schema; refused if it cannot hold a value of the plan."""
        changes = tuple(replace(change, feature=schema[change.feature.name]) for change in self.changes)
        for change in changes:
            if change.after is not None:
                change.feature.code(change.after)
        return replace(self, changes=changes, schema=schema)

    def to_json(self, indent: int | None = 2) -> str:
        """The answer as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, default=_plain)

    @property
    def headline(self) -> Message:
        """What the answer says, in one sentence."""
        return headline(self.to_dict())

    def _messages(self) -> tuple[Message, list[Message], list[Message]]:
        """Headline, changes, and what stands below them."""
        summary = self.to_dict()
        tested = None if self.certificate is None else self.certificate.calibration
        asides = () if tested is None else tested.asides
        below = details(summary, self.world.message, None if tested is None else tested.message, (*asides, *self.notes))
        return headline(summary), [change.message for change in self.changes], below

    def text(self, language: str = "en") -> str:
        """The answer as text in a language, such as "de"; ``print`` shows it in English."""
        return recourse_text(*self._messages(), language)

    def html(self, language: str = "en") -> str:
        """The answer as HTML in a language; notebooks show it in English."""
        return recourse_html(self.outcome, *self._messages(), language)

    def plot(self, ax: Any = None, language: str = "en") -> Any:
        """Draw what each change costs, in a language; returns the matplotlib Axes."""
        changes = [change.message for change in self.changes]
        return plot_recourse(self.headline, changes, [change.cost for change in self.changes], ax, language)


class Plans(Printable, tuple[Recourse, ...]):
    """Several plans to choose from. Print them, or show them in a notebook; else a tuple.

    Examples
    --------
    >>> print(Plans())
    No plan.
    """

    __slots__ = ()

    def text(self, language: str = "en") -> str:
        """The plans as text in a language, one after the other."""
        if not self:
            return Message("others.none").text(language)
        return "\n\n".join(f"{place}. {plan.text(language)}" for place, plan in enumerate(self, 1))

    def html(self, language: str = "en") -> str:
        """The plans as HTML in a language, one after the other."""
        return "".join(plan.html(language) for plan in self) or super().html(language)


@dataclass(frozen=True, repr=False)
class Failure(Printable):
    """A row that could not be explained, and why."""

    index: Any
    error: ArminError

    found = False

    def text(self, language: str = "en") -> str:
        """What failed, in a language; the error itself is English."""
        return Message("failure.row", index=repr(self.index), error=str(self.error)).text(language)


@dataclass(frozen=True, repr=False)
class Recourses(Printable, Sequence["Recourse | Failure"]):
    """The answers for many rows, in their order; a row that failed holds a :class:`Failure`."""

    items: tuple[Recourse | Failure, ...]
    labels: tuple[Any, ...]

    @overload
    def __getitem__(self, index: int) -> Recourse | Failure: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Recourse | Failure, ...]: ...
    def __getitem__(self, index: int | slice) -> Recourse | Failure | tuple[Recourse | Failure, ...]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Recourse | Failure]:
        return iter(self.items)

    @property
    def failures(self) -> list[Failure]:
        """The rows that failed."""
        return [item for item in self.items if isinstance(item, Failure)]

    def to_frame(self) -> pd.DataFrame:
        """One line per row: outcome, cost, the share for which it works, and the changes in words."""
        rows: list[tuple[Any, ...]] = []
        for item in self.items:
            if isinstance(item, Failure):
                rows.append(("failed", None, None, str(item.error)))
                continue
            text = " ".join(str(change) for change in item.changes) or str(item.headline)
            rows.append((item.outcome, item.cost, item.share, text))
        columns = ["outcome", "cost", "share", "advice"]
        return pd.DataFrame(rows, columns=columns, index=pd.Index(list(self.labels)))

    def text(self, language: str = "en") -> str:
        """The answers as a table in a language, such as "de"; ``print`` shows it in English."""
        return many_text(self._lines(language), language)

    def html(self, language: str = "en") -> str:
        """The answers as a table in HTML; notebooks show it in English."""
        return many_html(self._lines(language), language)

    def __repr__(self) -> str:
        return f"<Recourses: {len(self)} rows, {len(self.failures)} failed>"

    def _lines(self, language: str) -> list[tuple[str, float | None, float | None, str]]:
        """One line per row: its name, the cost, the share and the advice."""
        lines: list[tuple[str, float | None, float | None, str]] = []
        for label, item in zip(self.labels, self.items, strict=True):
            if isinstance(item, Failure):
                lines.append((str(label), None, None, str(item.error)))
                continue
            advice = " ".join(change.text(language) for change in item.changes) or item.headline.text(language)
            lines.append((str(label), item.cost, item.share, advice))
        return lines


def _kept(data: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    """What a kept answer says, as the attributes of a Recourse."""
    cost, proof, blanks = data["cost"], data["proof"], tuple(schema[one["feature"]] for one in data["blanks"])
    world = world_from(data["world"], bool(blanks))
    changes = tuple(
        Change(
            schema[one["feature"]], one["mode"], one["before"], one["after"], one["amount"], one["cost"], one["sense"]
        )
        for one in data["changes"]
    )
    return {
        "method": data["method"],
        "status": Status(data["status"]),
        "desired": tuple(data["desired"]),
        "changes": changes,
        "cost": cost["value"],
        "cost_name": cost["name"],
        "cost_range": None if cost["min"] is None else (cost["min"], cost["median"], cost["max"]),
        "confidence": data["confidence"]["asked"],
        "validity": validity_from(data["validity"]),
        "fresh": validity_from(data["fresh"]),
        "blanks": blanks,
        "bound": float("inf") if proof["bound"] is None else float(proof["bound"]),
        "scope": proof.get("scope", "list"),
        "tolerance": float(proof.get("tolerance", 0.0)),
        "seconds": float(proof["seconds"]),
        "solver": proof["solver"],
        "nodes": int(proof["nodes"]),
        "conditioned": data["conditioned"],
        "notes": tuple(message_from(note) for note in data["messages"]["notes"]),
        "seconds_by_step": dict(proof["steps"]),
        "certificate": certificate_from(data["certificate"], world),
        "rank": int(data["rank"]),
        "world": world,
        "resubmitted": data["world"]["resubmitted"],
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
