"""What the desk answers, as plain data: no HTTP here, and nothing that one request could leave behind for another."""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from armin.errors import ModelError
from armin.explain import ARMIN
from armin.explain.ask import AskOrAct
from armin.explain.estimator import Explainer
from armin.explain.others import beside
from armin.explain.world import find_world
from armin.promise import Promise
from armin.recourse import Recourse, RecoursePath
from armin.schema import Feature, Schema, Value
from armin.words import Catalogue, Message, Name, catalogue, languages
from armin.words.own import check_words, read_words
from armin_desk.contract import (
    LEAST_CONFIDENCE,
    AlternativesAsked,
    Asked,
    LetterAsked,
    PlanAsked,
    PointAsked,
    contract_of,
)
from armin_desk.describe import feature_dict
from armin_desk.letter.given import check_given, tell
from armin_desk.letter.pack import read_pack
from armin_desk.problems import ProblemError
from armin_desk.said import page_words, said_ask, said_feature, said_path, said_recourse
from armin_desk.settings import DeskSettings
from armin_desk.why import IdeaAsked, ReasonsAsked, said_idea, said_reasons

__all__ = ["BundleLike", "LetterPage", "Service", "warm_up"]

Row = Mapping[str, Value | None]
FLOOR = 0.5 - 1e-9
"""A plan that fails more often than it works is not offered."""
MORE: dict[str, type[Asked]] = {"reasons": ReasonsAsked, "what_if": IdeaAsked}


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
class LetterPage:
    """A letter as a page, and the policy under which a browser may show it."""

    html: str
    policy: str


@dataclass(frozen=True, eq=False)
class Service:
    """The answers of one bundle; each takes what was asked, with its whole row.

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
    >>> bundle = SimpleNamespace(explainer=explainer, title="Loans", people=(), manifest={})
    >>> Service(bundle, DeskSettings()).recourse(PlanAsked(row=loans.applicant))["outcome"]
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
    def words(self) -> dict[str, Catalogue]:
        """How each language says things: those of the package, the bundle's own, and those beside the templates."""
        return {language: catalogue(language, self._own) for language in languages(self._own)}

    @cached_property
    def _own(self) -> dict[str, Any]:
        folder = self.settings.templates
        return {
            **(getattr(self.bundle, "letter", None) or {}),
            **({} if folder is None else check_words(read_words(folder))),
        }

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the page and of the letter."""
        return tuple(self.words)

    @cached_property
    def contract(self) -> dict[str, type[Asked]]:
        """What may be asked here, by the name of the route, which is that of the method that answers."""
        told = [one.name for one in read_pack(self.settings.pack).known.values() if one.person]
        return contract_of(
            self.schema, most_plans=self.settings.most_plans, languages=self.languages, more=MORE, told=told
        )

    def page_words(self, preferred: Sequence[str] = ()) -> dict[str, Any]:
        """The page's own words, in the first language that the desk has, or in English."""
        known = [code for one in preferred for code in (one, one.partition("-")[0]) if code in self.words]
        names = {code: words.say("language.name") for code, words in self.words.items()}
        return page_words(self.words[(known or ["en"])[0]], names)

    def describe(self, language: str | None = None) -> dict[str, Any]:
        """The form: fields, limits, prepared applicants; in a language as far as the bundle has names in it."""
        words, form = self.words[language or "en"], self._form()
        features = [field | said_feature(self.schema[field["name"]], words) for field in form["features"]]
        decisions = {label: Name("decisions", label, name).said(words) for label, name in form["decisions"].items()}
        people = [one | self._said_person(one, words) for one in form["people"]]
        title = Name("titles", form["title"], form["title"]).said(words)
        return form | {"title": title, "features": features, "decisions": decisions, "people": people}

    def _said_person(self, person: Mapping[str, Any], words: Catalogue) -> dict[str, str]:
        name, story = person["name"], Name("stories", person["name"], person["story"]).said(words)
        return {"loaded": words.say("form.loaded", name=name), "story": story}

    def _form(self) -> dict[str, Any]:
        explainer, limits = self.bundle.explainer, self.settings
        return {
            "title": self.bundle.title,
            "desired": list(explainer.fitted_.labels),
            "decisions": {str(label): self.schema.called(label) for label in explainer.fitted_.labels},
            "confidence": getattr(explainer, "confidence", None),
            "promise": _promise(explainer),
            "features": [feature_dict(feature) for feature in self.schema],
            "people": [
                {"name": p["name"], "story": p.get("story") or "", "row": self.whole(p["row"])}
                for p in self.bundle.people
            ],
            "languages": list(self.languages),
            "limits": {
                "max_bytes": limits.max_bytes,
                "time_limit": limits.time_limit,
                "max_changes": explainer.max_changes,
                "most_plans": limits.most_plans,
            },
        }

    def recourse(self, asked: PlanAsked) -> dict[str, Any]:
        """The cheapest plan that works for enough plausible people."""
        return self.told(asked, self.plan(asked)) | {"reference": _reference()}

    def path(self, asked: Asked) -> dict[str, Any]:
        """The cheapest plan for every confidence that a person may be offered: from one half on."""
        explainer = self._fitted(asked)
        path: RecoursePath = explainer.path(asked.row, locked=asked.locked)
        path = replace(path, points=tuple(point for point in path.points if (point.share or 0.0) >= FLOOR))
        points = [
            point | {"recourse": self.told(asked, found)} for point, found in zip(path.to_list(), path, strict=True)
        ]
        data = {"asked": path.asked, "end": path.end.value, "points": points}
        return data | self._said(asked, lambda words: said_path(path, words))

    def alternatives(self, asked: AlternativesAsked) -> dict[str, Any]:
        """Several plans to choose from, cheapest first."""
        plans = self._plans(asked, asked.count)
        return {"plans": [self.told(asked, plan, plans[0].cost if i else None) for i, plan in enumerate(plans)]}

    def ask(self, asked: Asked) -> dict[str, Any]:
        """For each blank, whether telling it would help."""
        explainer = self._fitted(asked)
        return self.told_ask(asked, explainer.ask(asked.row, locked=asked.locked))

    def reasons(self, asked: ReasonsAsked) -> dict[str, Any]:
        """What weighed in the decision, and where the person stands."""
        why = self._fitted(asked).reasons(asked.row, reference=asked.reference)
        return why.to_dict() | self._said(asked, lambda words: said_reasons(why, words, asked.decision != "none"))

    def what_if(self, asked: IdeaAsked) -> dict[str, Any]:
        """What comes of a person's own idea, and the cheapest way from there."""
        found = self._fitted(asked).what_if(asked.row, asked.changes, locked=asked.locked)
        return found.to_dict() | self._said(asked, lambda words: said_idea(found, words))

    def told_ask(self, asked: Asked, found: AskOrAct) -> dict[str, Any]:
        """Advice on telling as plain data, with what a page says about it."""
        data = found.to_dict() | {"notes": [str(note) for note in found.plan.notes]}
        return data | self._said(asked, lambda words: said_ask(found, words))

    def told(self, asked: Asked, plan: Recourse, cheapest: float | None = None) -> dict[str, Any]:
        """A plan as plain data, with what a page says about it; ``cheapest`` is the cost that another way exceeds."""
        kept = tuple(feature.named for feature in plan.blanks if asked.why.get(feature.name) == "private")
        if kept:
            plan = replace(plan, notes=(*plan.notes, Message("notes.private", labels=kept)))
        said = self._said(asked, lambda words: said_recourse(plan, words, self.schema, asked.locked, cheapest))
        data = plan.to_dict()
        blanks = [blank | {"why": asked.why.get(blank["feature"])} for blank in data["blanks"]]
        return data | ({"blanks": blanks} if asked.why else {}) | said

    def _said(self, asked: Asked, say: Callable[[Catalogue], dict[str, Any]]) -> dict[str, Any]:
        return {"said": {code: say(self.words[code]) for code in asked.languages}} if asked.languages else {}

    def letter(self, asked: LetterAsked) -> LetterPage | bytes:
        """A notice of a decision that was made, or a sheet of information, with the chosen plan; as PDF on request."""
        from armin_desk.letter import write_letter

        choice = asked.choice
        plans = self._plans(asked, max(choice + 1, 3)) or [self.plan(asked)]
        if choice >= len(plans):
            text = f"'choice' must be one of the {len(plans)} plans, counted from 0. Got {choice} instead."
            raise ProblemError.of_fields([("choice", "#/choice", text)])
        plans.insert(0, plans.pop(choice))
        if asked.decided:
            _check_decided(plans[0])
        explainer = self._fitted(asked)
        why = explainer.reasons(asked.row) if explainer.has_people else None
        sender: dict[str, Any] = {"notice": False}
        if asked.decided:
            sender = {
                "organisation": self.settings.organisation, "recipient": asked.recipient, "pack": self.settings.pack,
                "fields": {**self.settings.fields, **asked.fields}, "applicant": asked.applicant,
            }  # fmt: skip
        letter = write_letter(
            plans,
            asked.row,
            schema=self.schema,
            language=asked.language,
            reference=asked.reference,
            locked=asked.locked,
            templates=self.settings.templates,
            words=self._own,
            reasons=why,
            **sender,
        )
        if asked.format == "html":
            return LetterPage(letter.html, letter.content_security_policy)
        with tempfile.TemporaryDirectory(prefix="armin-letter-") as folder:  # the writer of PDF wants a file
            return letter.to_pdf(Path(folder) / "letter.pdf").read_bytes()

    def check_letters(self) -> None:
        """Refuse a desk whose letters would all be refused: its company has not told what their pack needs."""
        settings, today = self.settings, datetime.date.today()
        pack = read_pack(settings.pack)
        for language, words in self.words.items():
            sender = {"organisation": settings.organisation} if settings.organisation else {}
            told = tell(pack, {**words.table["fields"], **settings.fields, **sender}, language, today)
            check_given(pack, told, "rejected", company=True)

    def plan(self, asked: Asked) -> Recourse:
        """The plan itself, before it is told."""
        explainer = self._fitted(asked)
        plan: Recourse = explainer.explain(asked.row, locked=asked.locked)
        return plan

    def _plans(self, asked: PointAsked, count: int) -> list[Recourse]:
        if asked.point is not None:
            return self._around(asked, asked.point, count)
        explainer = self._fitted(asked)
        plans = list(explainer.alternatives(asked.row, count, locked=asked.locked))
        # who is accepted as they stand needs no plan
        return plans[:1] if plans and plans[0].outcome == "already_accepted" else plans

    def _around(self, asked: PointAsked, share: float, count: int) -> list[Recourse]:
        """The plan at a point of the path, and other ways that are as sure.

        The path is worked out again, so that the plan is the one that was shown, and not the one that an explainer
        gives that is asked for this share: it may try other draws to be sure of it.
        """
        explainer = self._fitted(asked)
        if asked.confidence is not None or not isinstance(explainer, ARMIN):
            text = f"'point' goes with a path and without 'confidence'. Got {share:g}; leave one of them out."
            raise ProblemError.of_fields([("point", "#/point", text)])
        first = explainer.path(asked.row, locked=asked.locked).at(share)
        if first is None or first.share is None or first.share < FLOOR or abs(first.share - share) > 1e-9:
            text = f"'point' must be the share of a point of this row's path. Got {share:g}; ask for the path again."
            raise ProblemError.of_fields([("point", "#/point", text)])
        if count == 1 or not first.changes:
            return [first]
        as_sure = explainer.at(max(share, LEAST_CONFIDENCE))
        return beside(first, as_sure.alternatives(asked.row, count, locked=asked.locked), count)

    def _fitted(self, asked: Asked) -> Explainer:
        """A copy of the explainer for one request, so that requests share nothing that changes."""
        explainer: Explainer = copy(self.bundle.explainer)
        limit = self.settings.time_limit
        explainer.set_params(options__time_limit=min(explainer.options.time_limit or limit, limit))
        if asked.decision is not None:
            explainer.set_params(decision=None if asked.decision == "none" else asked.decision)
        if asked.reapply is not None:
            explainer.set_params(reapply=asked.reapply)
        confidence = getattr(asked, "confidence", None)
        if confidence is not None:
            if not isinstance(explainer, ARMIN):
                text = f"{type(explainer).__name__} works without a confidence. Leave 'confidence' out."
                raise ProblemError.of_fields([("confidence", "#/confidence", text)])
            explainer = explainer.at(confidence)
        elif isinstance(explainer, ARMIN):
            # a test on real people takes minutes: it belongs to 'armin calibrate', not into a request
            explainer = explainer.without_testing()
        self._check_world(explainer, asked)
        _check_why(asked)
        return explainer.with_difficulty(asked.difficulty) if asked.difficulty else explainer

    def _check_world(self, explainer: Explainer, asked: Asked) -> None:
        """Refuse a question about blanks that the model cannot decide about."""
        try:
            find_world(*explainer.current.at(dict(asked.row)))
        except ModelError as error:
            name = "decision" if asked.decision == "blank" else "reapply"
            raise ProblemError.of_fields([(name, f"#/{name}", str(error))]) from None

    def whole(self, row: Row) -> dict[str, Value | None]:
        """A prepared applicant's row with all columns."""
        return {name: row.get(name) for name in self.schema.names}


def _check_decided(plan: Recourse) -> None:
    """Refuse a notice of a decision that was not made, or that the model would not have made."""
    text = ""
    if plan.world.decision is None:
        text = "'decided' goes with a decision, and 'decision' says that there is none. Leave one of them out."
    elif any(note.code == "draws.none" for note in plan.notes):
        text = (
            "The model accepts every plausible way to fill in what is blank, so no notice says that it did not. "
            "Check the row, or leave 'decided' out."
        )
    if text:
        raise ProblemError.of_fields([("decided", "#/decided", text)])


def _check_why(asked: Asked) -> None:
    """Refuse a reason for a blank that is none."""
    told = [name for name in asked.why if asked.row.get(name) is not None]
    if told:
        text = f"'why' must name columns that are blank. Got {told[0]!r}, which is told; leave one of them out."
        raise ProblemError.of_fields([("why", f"#/why/{told[0]}", text)])


def _reference() -> str:
    """A number to quote: random, so that it says nothing about the person."""
    from armin_desk.letter import new_reference

    return new_reference()


def _promise(explainer: Explainer) -> dict[str, Any] | None:
    """What is promised, and for which blanks it was tested; "blanks" is null where they come from a model."""
    promise = Promise.of(explainer.promise) if isinstance(explainer, ARMIN) else None
    if promise is None or not isinstance(explainer, ARMIN):
        return None
    tested = [
        {
            "blanks": pattern.blanks, "locked": pattern.locked, "decision": pattern.decision,
            "reapply": pattern.reapply, "kept": test.kept, "sentence": test.sentence,
        }
        for pattern, test in explainer.calibrations_.items()
    ]  # fmt: skip
    return {"share": promise.share, "assurance": promise.assurance, "tested": tested}


def warm_up(service: Service) -> None:
    """Answer once for nobody in particular, so that the first person does not wait for the search to be loaded."""
    features = service.schema.features
    rows: list[Row] = [person["row"] for person in service.bundle.people[:1]]
    # two blanks, as a sampler may draw one blank in another way than several
    blank = sorted(range(len(features)), key=lambda i: features[i].actionable)[: min(2, len(features) - 1)]
    rows.append({f.name: None if i in blank else _middle(f) for i, f in enumerate(features)})
    explainer = service.bundle.explainer
    searching = copy(explainer)
    if explainer.options.method == "auto":  # small forms are listed, larger ones are searched
        searching.set_params(options__method="search")
    for one in (explainer, searching):
        for row in rows:
            if service.schema.carried and row is rows[-1]:
                continue  # nobody in particular carries nothing along, which a model need not take
            quick = Service(_Instead(service.bundle, one), replace(service.settings, time_limit=5.0))
            quick.plan(Asked(row=service.whole(row)))


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
