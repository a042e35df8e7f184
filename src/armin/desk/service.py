"""What the desk answers, as plain data: no HTTP here, and nothing that one request could leave behind for another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

from armin.desk.describe import feature_dict
from armin.desk.problems import ProblemError
from armin.desk.settings import DeskSettings
from armin.explainer.ask import ask_or_act
from armin.explainer.base import Explainer
from armin.recourse import Recourse
from armin.schema import Feature, Schema, Value
from armin.solve import stopped

__all__ = ["BundleLike", "Desk", "LetterPage", "Person", "warm_up"]

Row = Mapping[str, Value | None]


class BundleLike(Protocol):
    """What the desk needs of a bundle; :func:`armin.bundle.load_bundle` returns one."""

    @property
    def explainer(self) -> Explainer: ...
    @property
    def title(self) -> str: ...
    @property
    def people(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def manifest(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Person:
    """One request: a whole row with its blanks as None, what is locked, and the confidence if another one is wanted."""

    row: Row
    locked: tuple[str, ...] = ()
    confidence: float | None = None


@dataclass(frozen=True)
class LetterPage:
    """A letter as a page, and the policy under which a browser may show it."""

    html: str
    policy: str


@dataclass(frozen=True, eq=False)
class Desk:
    """The answers of one bundle.

    Attributes
    ----------
    bundle : the packed explainer
    settings : the limits

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> desk = Desk(SimpleNamespace(explainer=explainer, title="Loans", people=(), manifest={}), DeskSettings())
    >>> desk.recourse(Person(loans.applicant))["outcome"]
    'plan'
    """

    bundle: BundleLike
    settings: DeskSettings

    @property
    def schema(self) -> Schema:
        """The columns."""
        found: Schema = self.bundle.explainer.schema
        return found

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages of the letter; none if letters cannot be written here."""
        try:
            from armin.letter import languages
        except ImportError:
            return ()
        return tuple(languages())

    def describe(self) -> dict[str, Any]:
        """The form: fields, limits, prepared applicants."""
        explainer, limits = self.bundle.explainer, self.settings
        promise = getattr(explainer, "promise", None)
        return {
            "title": self.bundle.title,
            "desired": [_plain(label) for label in explainer.oracle_.target.labels],
            "confidence": getattr(explainer, "confidence", None),
            "promise": None if promise is None else {"share": promise, "assurance": explainer.assurance},
            "features": [feature_dict(feature) for feature in self.schema],
            "people": [_person(person, self.schema) for person in self.bundle.people],
            "languages": list(self.languages) or ["en"],
            "limits": {
                "max_bytes": limits.max_bytes,
                "time_limit": limits.time_limit,
                "max_changes": explainer.max_changes,
                "most_plans": limits.most_plans,
            },
        }

    def recourse(self, person: Person) -> dict[str, Any]:
        """The plan for one person."""
        answer: dict[str, Any] = self._ask(person, lambda e: e.explain(person.row, locked=person.locked).to_dict())
        return answer

    def path(self, person: Person) -> dict[str, Any]:
        """The cheapest plan for every confidence."""
        path = self._ask(person, lambda e: e.path(person.row, locked=person.locked))
        return {"asked": path.asked, "end": path.end.value, "points": path.to_list()}

    def alternatives(self, person: Person, count: int) -> dict[str, Any]:
        """Several plans to choose from."""
        if count > self.settings.most_plans:
            text = f"'count' must be at most {self.settings.most_plans}. Got {count} instead."
            raise ProblemError.of_fields([("count", "#/count", text)])
        return {"plans": [plan.to_dict() for plan in self._plans(person, count)]}

    def ask(self, person: Person) -> dict[str, Any]:
        """What telling each blank would be worth."""
        answer: dict[str, Any] = self._ask(person, lambda e: ask_or_act(e, person.row, locked=person.locked).to_dict())
        return answer

    def letter(
        self, person: Person, *, language: str, applicant: str, choice: int, reference: str | None
    ) -> LetterPage:
        """The letter with the chosen plan."""
        if not self.languages:
            raise ProblemError(501, "Letters are not part of this installation. Update ARMIN.")
        if language not in self.languages:
            text = f"'language' must be one of {', '.join(self.languages)}. Got {language!r} instead."
            raise ProblemError.of_fields([("language", "#/language", text)])
        if choice >= self.settings.most_plans:
            text = f"'choice' must be less than {self.settings.most_plans}. Got {choice} instead."
            raise ProblemError.of_fields([("choice", "#/choice", text)])
        from armin.letter import write_letter

        plans = list(self._plans(person, max(choice + 1, 3)))
        if not plans:
            plans = [self._ask(person, lambda e: e.explain(person.row, locked=person.locked))]
        if choice >= len(plans):
            text = f"'choice' must be one of the {len(plans)} plans, counted from 0. Got {choice} instead."
            raise ProblemError.of_fields([("choice", "#/choice", text)])
        plans.insert(0, plans.pop(choice))
        letter = write_letter(
            plans, person.row, schema=self.schema, language=language, applicant=applicant,
            organisation=self.settings.organisation, reference=reference, locked=person.locked,
        )  # fmt: skip
        return LetterPage(letter.html, letter.content_security_policy)

    def _plans(self, person: Person, count: int) -> tuple[Recourse, ...]:
        plans: tuple[Recourse, ...] = self._ask(
            person, lambda e: e.alternatives(person.row, count, locked=person.locked)
        )
        # who is accepted as they stand needs no plan
        return plans[:1] if plans and plans[0].outcome == "already_accepted" else plans

    def _ask(self, person: Person, question: Callable[[Any], Any]) -> Any:
        """Put a question to a copy of the explainer, so that requests share nothing that changes."""
        explainer = copy(self.bundle.explainer)
        if person.confidence is not None:
            if not hasattr(explainer, "asking"):
                text = f"{type(explainer).__name__} works without a confidence. Leave 'confidence' out."
                raise ProblemError.of_fields([("confidence", "#/confidence", text)])
            explainer = explainer.asking(person.confidence)
        limit = explainer.time_limit
        explainer.time_limit = min(limit or self.settings.time_limit, self.settings.time_limit)
        known: dict[Any, Any] | None = getattr(explainer, "calibrations_", None)
        if known is None:
            return question(explainer)
        explainer.calibrations_ = mine = dict(known)
        answer = question(explainer)
        if len(mine) > len(known) and stopped():
            # a test that was cut short would promise what it did not see
            raise ProblemError(
                504,
                "This desk promises how often its advice works, and has not tested that for these blanks yet; the test "
                "took too long. Ask with a 'confidence' instead, or have the blanks calibrated beforehand.",
            )
        known.update(mine)  # by pattern of blanks, without any value
        return answer


def warm_up(desk: Desk) -> None:
    """Answer once for nobody in particular, so that the first person does not wait for the search to be loaded."""
    features = desk.schema.features
    rows: list[Row] = [person["row"] for person in desk.bundle.people[:1]]
    first = next((i for i, f in enumerate(features) if not f.actionable), 0)
    rows.append({f.name: None if i == first and len(features) > 1 else _middle(f) for i, f in enumerate(features)})
    explainer = desk.bundle.explainer
    searching = copy(explainer)
    if explainer.method == "auto":  # small forms are listed, larger ones are searched
        searching.method = "search"
    for one in (explainer, searching):
        for row in rows:
            quick = Desk(_Instead(desk.bundle, one), replace(desk.settings, time_limit=5.0))
            quick.recourse(Person({name: row.get(name) for name in desk.schema.names}))


@dataclass(frozen=True, eq=False)
class _Instead:
    """A bundle with another explainer."""

    bundle: BundleLike
    explainer: Explainer
    title: str = ""
    people: Sequence[Mapping[str, Any]] = ()

    @property
    def manifest(self) -> Mapping[str, Any]:
        return self.bundle.manifest


def _middle(feature: Feature) -> Value | None:
    return feature.value(float(round((feature.low_code + feature.high_code) / 2)))


def _person(person: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    row = person["row"]
    return {
        "name": str(person["name"]),
        "story": str(person.get("story") or ""),
        "row": {name: _plain(row.get(name)) for name in schema.names},
    }


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
