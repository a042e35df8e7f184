"""What a letter says, section by section, before it is laid out."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from armin.errors import ParameterError
from armin.promise import Calibration
from armin.reasons import Reasons
from armin.recourse import Recourse
from armin.recourse.origin import short
from armin.schema import Schema
from armin.words import Catalogue, Message, Name
from armin.words.numbers import round_percent
from armin_desk.letter.arrange import Section, arrange
from armin_desk.letter.given import Told
from armin_desk.letter.pack import Kind, Pack, Part, read_pack

__all__ = ["Notice", "sections"]

MOST_REASONS = 4
MOST_ALTERNATIVES = 3


@dataclass(frozen=True)
class Notice:
    """All that a letter is about.

    Attributes
    ----------
    plan : the answer
    others : other plans to choose from
    schema : what the columns hold
    locked : features that the person cannot change
    date : the day of the letter
    until : the last day on which the company stands by it; None if it names none
    words : how the language says things
    reasons : what weighed in the decision; None to name what the plans change
    insists : whether protected traits are named as reasons too
    pack : what the letter must say
    told : what the company tells for it
    notice : whether it is a notice of a decision; else it is information
    """

    plan: Recourse
    others: tuple[Recourse, ...]
    schema: Schema
    locked: tuple[str, ...]
    date: datetime.date
    until: datetime.date | None
    words: Catalogue
    reasons: Reasons | None = None
    insists: bool = False
    pack: Pack = field(default_factory=lambda: read_pack("plain"))
    told: Told = field(default_factory=dict)
    notice: bool = True

    @property
    def stated(self) -> bool:
        """Whether it states a decision: one that was made."""
        return self.notice and self.plan.world.decision is not None

    @property
    def kind(self) -> Kind:
        """Whether it is about a rejection."""
        return "accepted" if self.plan.outcome == "already_accepted" else "rejected"

    @property
    def planned(self) -> bool:
        """Whether there are changes to ask for."""
        return bool(self.plan.changes)

    @property
    def model(self) -> str | None:
        """The fingerprint of the model that decided, shortened; None if it does not come from a bundle."""
        origin = None if self.plan.certificate is None else self.plan.certificate.origin
        return None if origin is None or origin.model is None else short(origin.model)

    @property
    def native(self) -> bool:
        """Whether the model was asked about one row, and about nothing that its blanks may hide."""
        return self.plan.exact or any(note.code == "draws.native" for note in self.plan.notes)

    @property
    def row_decided(self) -> bool:
        """Whether the model has decided about the row with its blanks."""
        return self.plan.world.blanks and self.plan.world.decision == "blank"

    @property
    def blanks(self) -> tuple[Name, ...]:
        """What was not told."""
        return tuple(feature.named for feature in self.plan.blanks)

    @property
    def desired(self) -> tuple[Name, ...]:
        """The decision that the person wants."""
        return self.plan.wanted

    @property
    def sure(self) -> Message | str:
        """For whom a statement holds, as the end of a sentence."""
        asked = self.plan.confidence
        if not self.plan.blanks:
            return ""
        if self.native:
            return Message("sure.row" if self.plan.exact else "sure.native")
        if asked is None:
            return Message("sure.guess")
        share = self.plan.share
        if asked < 1.0 and share is not None and share < asked - 1e-9:
            return Message("sure.judged", share=share)
        if share == asked < 1.0:  # a point of a path states its own share
            return Message("sure.works_either" if self.plan.world.reapply == "either" else "sure.works", share=share)
        if self.plan.world.reapply == "either":
            return Message("sure.either", asked=asked)
        return Message("sure.every") if asked == 1.0 else Message("sure.share", asked=asked)

    def say(self, code: str, /, **values: Any) -> str:
        """A text in the language of the letter; each may mention the decision and for whom it holds."""
        return self.words.say(code, **{"desired": self.desired, "sure": self.sure, **values})

    def named(self, features: Iterable[str]) -> tuple[Name, ...]:
        """Features, to be listed in a sentence."""
        return tuple(self.schema[name].named for name in features)


def sections(notice: Notice) -> tuple[Section, ...]:
    """The parts of a letter, in the order of its pack."""
    own = {
        "decision": _decision, "reasons": _reasons, "plan": _plan_or_none, "alternatives": _alternatives,
        "blanks": _blanks, "sure": _sure, "promise": _promise,
    }  # fmt: skip
    return arrange(
        notice.pack, notice.kind, notice.told, notice.words, notice.say, lambda part: own[part.name](notice, part),
        notice.named(notice.schema.names),
    )  # fmt: skip


def _decision(notice: Notice, _: Part) -> Section:
    say, plan, pack = notice.say, notice.plan, notice.pack
    blanks = "_row" if notice.row_decided else "_blanks" if plan.blanks else ""
    if not notice.stated:
        return _information(notice)
    if plan.outcome == "already_accepted":
        said = [say(f"decision.accepted{blanks}", share=plan.share)]
    else:
        subject = notice.told.get("subject") or say(f"pack.action.{pack.action}_subject")
        said = [say(f"pack.action.{pack.action}", subject=subject), say(f"decision.rejected{blanks}")]
        if plan.found:
            said.append(say("decision.way_out"))
    return Section("decision", say("decision.title"), (" ".join(said),))


def _information(notice: Notice) -> Section:
    """That this is no decision, where a pack does not ask for one to be stated; and what the program would say."""
    if notice.pack["decision"].required:
        raise ParameterError(
            f"A letter of the pack {notice.pack.name!r} states a decision, and the answer says that nothing has been "
            "decided (decision=None). Explain the row with decision='auto', or take pack='plain'."
        )
    say, plan = notice.say, notice.plan
    said = [] if notice.notice else [say("decision.information")]
    if plan.outcome == "already_accepted":
        told = plan.blanks and not plan.world.accepted
        said.append(say("decision.would_accept_blanks" if told else "decision.would_accept", share=plan.share))
    else:
        said.append(say("decision.undecided" if plan.world.decision is None else "decision.told_refused"))
        said += [say("decision.way_out")] if plan.found else []
    return Section("decision", say("decision.title_information"), (" ".join(said),))


def _reasons(notice: Notice, part: Part) -> Section:
    """What weighed in the decision, where that is known; else what the plans change."""
    made = _changed(notice) if notice.reasons is None else _weighed(notice, notice.reasons)
    if part.reasons:
        _check_reasons(notice, part, made)
    return made


def _check_reasons(notice: Notice, part: Part, made: Section) -> None:
    """Refuse a letter without the reasons that its pack asks for."""
    if notice.reasons is None and part.reasons == "weighed":
        raise _unstated(notice, part, "as they weighed. Got none; pass reasons=explainer.reasons(row)")
    if not made.items:
        raise _unstated(
            notice, part, "and there is none that may be stated. Pass reasons=explainer.reasons(row), with another "
            "'reference' if it finds none; or let a person decide",
        )  # fmt: skip
    if part.reasons != "weighed" or notice.insists or notice.reasons is None:
        return
    first = notice.reasons.statements(MOST_REASONS, protected=True)
    if hidden := [one.feature.name for one in first if one.protected]:
        raise _unstated(
            notice, part, f"and {', '.join(hidden)}, which is protected, is among the principal ones. Ask your lawyers "
            "whether the model may use it. To state it all the same: fields={'protected_reasons': 'stated'}",
        )  # fmt: skip


def _unstated(notice: Notice, part: Part, why: str) -> ParameterError:
    return ParameterError(f"A letter of the pack {notice.pack.name!r} must state the reasons ({part.source}), {why}.")


def _weighed(notice: Notice, reasons: Reasons) -> Section:
    """What weighed most, in at most four sentences, with the company's own codes."""
    say, items = notice.say, []
    for one in reasons.statements(MOST_REASONS, protected=notice.insists):
        said = " ".join(message.said(notice.words) for message in one.in_letters)
        items.append(say("reason.coded", sentence=said, code=one.code) if one.code else said)
    intro = say("reasons.weighed") if items else say("reasons.unnamed")
    title = say("reasons.title" if notice.stated else "reasons.title_information")
    return Section("reasons", title, (intro,), tuple(items))


def _changed(notice: Notice) -> Section:
    """What stood in the way: the features that the plans change, in their order, each once.

    A way that does all that another one does, and more, gives no reason: the other one is enough.
    """
    say = notice.say
    if notice.plan.outcome == "tell":
        left = tuple(say("reasons.item_blank", label=label) for label in notice.blanks)
        return Section("reasons", say("reasons.title"), (say("reasons.intro"),), left[:MOST_REASONS])
    if not notice.planned:
        return Section("reasons", say("reasons.title"), (say("reasons.none"),))
    items: dict[str, str] = {}
    plans = (notice.plan, *notice.others)
    done = [{(c.feature.name, c.after, c.amount) for c in plan.changes} for plan in plans]
    for plan, own in zip(plans, done, strict=True):
        if any(less < own for less in done):
            continue
        for change in plan.changes:
            code = "reasons.item_blank" if change.before is None else "reasons.item"
            before = change.feature.said(change.before)
            items.setdefault(change.feature.name, say(code, label=change.feature.named, before=before))
    chosen = tuple(items.values())[:MOST_REASONS]
    return Section("reasons", say("reasons.title"), (say("reasons.intro"),), chosen)


def _plan_or_none(notice: Notice, _: Part) -> Section:
    return _plan(notice) if notice.planned else _tell(notice) if notice.plan.found else _no_plan(notice)


def _plan(notice: Notice) -> Section:
    say, plan = notice.say, notice.plan
    items = tuple(change.message.said(notice.words) for change in plan.changes)
    after = []
    if any((other.cost or 0.0) < (plan.cost or 0.0) - 1e-9 for other in notice.others):
        after.append(say("plan.chosen"))
    elif plan.outcome == "plan":
        claim = "" if plan.claim == "cheapest" else f"_{plan.claim}"
        after.append(say(f"plan.cheapest{claim}", tolerance=plan.tolerance))
    elif plan.outcome == "falls_short":
        after.append(say("plan.falls_short", asked=plan.confidence))
    else:
        after.append(say("plan.best_so_far"))
        if plan.gap is not None and 0 < plan.gap < 1:
            after.append(say("plan.gap", gap=plan.gap))
    if notice.locked:
        after.append(say("plan.locked", labels=notice.named(notice.locked)))
    if plan.resubmitted is not None and plan.world.reapply == "disclosed":
        after.append(say("plan.told_yes" if plan.resubmitted else "plan.told_no", labels=notice.blanks))
    intro = say("plan.intro_one" if len(items) == 1 else "plan.intro")
    return Section("plan", say("plan.title"), (intro,), items, numbered=True, after=(" ".join(after),))


def _tell(notice: Notice) -> Section:
    """Nothing needs to change, but what was left blank must be told."""
    item = notice.say("plan.tell_item", labels=notice.blanks)
    said = notice.say("plan.tell", labels=notice.blanks, share=notice.plan.share)
    return Section("plan", notice.say("plan.title"), (said,), (item,))


def _no_plan(notice: Notice) -> Section:
    say = notice.say
    if notice.plan.outcome == "out_of_time":
        return Section("plan", say("no_plan.title_time"), (say("no_plan.time"),))
    features = notice.schema.features
    blank = {feature.name for feature in notice.plan.blanks}
    frozen = [
        f.name for f in features if f.actionable and f.name in blank and (f.blank_mode == "freeze" or notice.native)
    ]
    groups = {
        "may": [f.name for f in features if f.actionable and f.name not in {*notice.locked, *frozen}],
        # what is only carried along nobody decides about, and that protected traits stay goes without saying
        "fixed": [f.name for f in features if not (f.actionable or f.protected or f.kind == "carried")],
        "frozen": [name for name in frozen if name not in notice.locked],
        "locked": list(notice.locked),
    }
    items = tuple(say(f"no_plan.{key}", labels=notice.named(names)) for key, names in groups.items() if names)
    none = "no_plan.none" if notice.plan.scope == "domain" else "no_plan.none_list"
    return Section("plan", say("no_plan.title_none"), (say(none),), items, after=(say("no_plan.limits"),))


def _alternatives(notice: Notice, _: Part) -> Section | None:
    if not (notice.planned and notice.others):
        return None
    say, items = notice.say, []
    for other in notice.others:
        changes = " ".join(change.message.said(notice.words) for change in other.changes)
        if other.share is None or not other.blanks or (notice.native and other.fresh is None):
            items.append(say("alternatives.item", changes=changes))
        else:
            items.append(say("alternatives.item_share", changes=changes, share=other.share))
    return Section("alternatives", say("alternatives.title"), (say("alternatives.intro"),), tuple(items))


def _blanks(notice: Notice, _: Part) -> Section:
    say, plan = notice.say, notice.plan
    title, asked = say("blanks.title"), plan.confidence
    if not plan.blanks:
        return Section("blanks", title, (say("blanks.none"),))
    said = [say("blanks.right", labels=tuple(feature.named for feature in plan.blanks))]
    if notice.native or plan.world.accepted:
        said.append(say("blanks.native"))
    elif asked is None:
        said.append(say("blanks.guess"))
    elif plan.validity is None:
        said.append(say("blanks.any", asked=asked))
    else:
        own = asked == plan.share and asked < 1.0  # nothing was asked of the draws but a point of the path
        said.append(say("blanks.looked" if own else "blanks.many", of=plan.validity.of, asked=asked))
    said.append(say("blanks.may_tell"))
    return Section("blanks", title, (" ".join(said),))


def _sure(notice: Notice, _: Part) -> Section:
    say, plan = notice.say, notice.plan
    said: list[str] = []
    if plan.outcome == "no_recourse":
        covered = "sure.none" if plan.blanks and not notice.native else "sure.none_complete"
        said.append(say(covered if plan.scope == "domain" else "sure.none_listed"))
    elif plan.outcome == "out_of_time":
        said.append(say("sure.time"))
    elif not plan.blanks:
        said.append(say("sure.complete" if notice.planned else "sure.complete_accepted"))
    elif plan.world.accepted:
        said.append(say("sure.accepted_row"))
        said += [] if plan.fresh is None else [say("sure.stays", share=plan.fresh.share), say("sure.picture")]
    elif plan.exact:
        said.append(say("sure.row_checked"))
    elif plan.fresh is not None:
        said += _tried(notice)
    elif plan.validity is not None:
        said.append(say("sure.sample", accepted=plan.validity.accepted, of=plan.validity.of))
        said += [say("sure.picture"), say("sure.picture_only")]
    tested = None if plan.certificate is None else plan.certificate.calibration
    if tested is not None and plan.blanks and plan.validity is not None:
        said += _promised(notice, tested)
    return Section("sure", say("sure.title"), (" ".join(said),))


def _tried(notice: Notice) -> Iterator[str]:
    """What fresh completions say."""
    fresh = notice.plan.fresh
    assert fresh is not None  # noqa: S101  asked only where there is a fresh sample
    low, high = fresh.interval(0.95)
    yield notice.say("sure.fresh", share=fresh.share, level=0.95, low=low, high=high, of=round(fresh.of))
    lucky, _ = round_percent(fresh.share)
    if 0 < lucky < 100 and lucky == int(lucky):
        yield notice.say("sure.people", yes=int(lucky), no=100 - int(lucky))
    else:
        yield notice.say("sure.picture_only")
    yield notice.say("sure.picture")


def _promised(notice: Notice, tested: Calibration) -> Iterator[str]:
    """What a test on real people allows to promise; the rest of the certificate is in the sentences before."""
    values = {"promise": tested.promise, "best": tested.best, "assurance": tested.assurance}
    yield notice.say("sure.tested", people=tested.people)
    if tested.kept:
        yield notice.say("sure.promise", **values)
    else:
        yield notice.say("sure.promise_best" if tested.best > 0 else "sure.promise_none", **values)
    if not tested.held_out:
        yield notice.say("sure.promise_seen")


def _promise(notice: Notice, _: Part) -> Section:
    say = notice.say
    if notice.planned:
        items = [
            say("promise.plan_today", date=notice.date),
            *(say(f"promise.plan_{key}") for key in ("rest", "decision", "effort")),
        ]
    else:
        items = [say("promise.today", date=notice.date), say("promise.decision")]
    if notice.until is not None:
        items.append(say("promise.until", until=notice.until))
    return Section("promise", say("promise.title"), items=tuple(items))
