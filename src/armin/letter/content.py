"""What a letter says, section by section, before it is laid out."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from armin.letter.wording import Wording

__all__ = ["Case", "Section", "sections"]

MOST_REASONS = 4
MOST_ALTERNATIVES = 3
_NATIVE = "Blanks were left to the model itself"


@dataclass(frozen=True)
class Section:
    """One part of a letter.

    Attributes
    ----------
    name : "decision", "reasons", "plan", "alternatives", "blanks", "sure" or "promise"
    title : the heading
    before : paragraphs
    items : a list behind them
    numbered : whether the list is numbered
    after : paragraphs behind the list

    Examples
    --------
    >>> Section("plan", "Your plan", items=("Pay back one loan.",)).items
    ('Pay back one loan.',)
    """

    name: str
    title: str
    before: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    numbered: bool = False
    after: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """All that a letter is about.

    Attributes
    ----------
    plan : the answer, as ``Recourse.to_dict()`` gives it
    others : other plans of the same form
    locked : features that the person cannot change
    date, until : the day of the letter, and the last day on which it may be used
    wording : how the language says things
    """

    plan: dict[str, Any]
    others: tuple[dict[str, Any], ...]
    locked: tuple[str, ...]
    date: datetime.date
    until: datetime.date
    wording: Wording

    @property
    def planned(self) -> bool:
        """Whether there are changes to ask for."""
        return bool(self.plan["changes"])

    @property
    def native(self) -> bool:
        """Whether the model was asked about the row with its blanks."""
        return any(str(note).startswith(_NATIVE) for note in self.plan["notes"])

    @property
    def desired(self) -> str:
        """The decision that the person wants, in quotes."""
        return self.wording.desired(self.plan["desired"])

    def sure(self, asked: float | None) -> str:
        """For whom a statement holds, as the end of a sentence."""
        if not self.plan["blanks"]:
            return ""
        if self.native:
            return self.wording.say("sure.native")
        if asked is None:
            return self.wording.say("sure.guess")
        if asked == 1.0:
            return self.wording.say("sure.every")
        return self.wording.say("sure.share", {"asked": self.wording.percent(asked, down=True)})

    @property
    def holds(self) -> dict[str, str]:
        """The decision and for whom it holds, to fill into a text."""
        return {"desired": self.desired, "sure": self.sure(self.plan["confidence"]["asked"])}

    def labels(self, names: list[str]) -> str:
        """Features in a sentence."""
        return self.wording.listed([self.wording.label(name) for name in names])


def sections(case: Case) -> tuple[Section, ...]:
    """The parts of a letter, in their order."""
    return tuple(_sections(case))


def _sections(case: Case) -> Iterator[Section]:
    yield _decision(case)
    if case.plan["outcome"] != "already_accepted":
        yield _reasons(case)
        yield _plan(case) if case.planned else _no_plan(case)
        if case.planned and case.others:
            yield _alternatives(case)
    yield _blanks(case)
    yield _sure(case)
    yield _promise(case)


def _decision(case: Case) -> Section:
    say, blanks, desired = case.wording.say, bool(case.plan["blanks"]), {"desired": case.desired}
    if case.plan["outcome"] == "already_accepted":
        if blanks:
            desired["share"] = case.wording.percent(case.plan["validity"]["share"])
        said = [say("decision.accepted_blanks" if blanks else "decision.accepted", desired)]
    else:
        said = [say("decision.rejected_blanks" if blanks else "decision.rejected", desired)]
        if case.planned:
            said.append(say("decision.way_out", desired))
    return Section("decision", say("decision.title"), (" ".join(said),))


def _reasons(case: Case) -> Section:
    """What stood in the way: the features that the plans change, in their order, each once.

    A way that does all that another one does, and more, gives no reason: the other one is enough.
    """
    say, wording = case.wording.say, case.wording
    if not case.planned:
        return Section("reasons", say("reasons.title"), (say("reasons.none"),))
    items: dict[str, str] = {}
    plans = (case.plan, *case.others)
    done = [{(c["feature"], c["after"], c["amount"]) for c in plan["changes"]} for plan in plans]
    for plan, own in zip(plans, done, strict=True):
        if any(less < own for less in done):
            continue
        for change in plan["changes"]:
            label = wording.label(change["feature"])
            values = {"label": label[:1].upper() + label[1:]}
            if change["before"] is None:
                items.setdefault(change["feature"], say("reasons.item_blank", values))
            else:
                values["before"] = wording.value(wording.schema[change["feature"]], change["before"])
                items.setdefault(change["feature"], say("reasons.item", values))
    chosen = tuple(items.values())[:MOST_REASONS]
    return Section("reasons", say("reasons.title"), (say("reasons.intro"),), chosen)


def _plan(case: Case) -> Section:
    say, plan = case.wording.say, case.plan
    items = tuple(case.wording.change(change) for change in plan["changes"])
    after = []
    if any(other["cost"]["value"] < plan["cost"]["value"] - 1e-9 for other in case.others):
        after.append(say("plan.chosen"))
    elif plan["outcome"] == "plan":
        after.append(say("plan.cheapest"))
    else:
        after.append(say("plan.best_so_far"))
        gap = plan["proof"]["gap"]
        if gap is not None and 0 < gap < 1:
            after.append(say("plan.gap", {"gap": case.wording.percent(gap)}))
    if case.locked:
        after.append(say("plan.locked", {"labels": case.labels(list(case.locked))}))
    intro = say("plan.intro_one" if len(items) == 1 else "plan.intro", case.holds)
    return Section("plan", say("plan.title"), (intro,), items, numbered=True, after=(" ".join(after),))


def _no_plan(case: Case) -> Section:
    say = case.wording.say
    if case.plan["outcome"] == "out_of_time":
        return Section("plan", say("no_plan.title_time"), (say("no_plan.time", case.holds),))
    features = case.wording.schema.features
    blank = {entry["feature"] for entry in case.plan["blanks"]}
    frozen = [
        f.name for f in features if f.actionable and f.name in blank and (f.blank_mode == "freeze" or case.native)
    ]
    groups = {
        "may": [f.name for f in features if f.actionable and f.name not in {*case.locked, *frozen}],
        "fixed": [f.name for f in features if not f.actionable],
        "frozen": [name for name in frozen if name not in case.locked],
        "locked": list(case.locked),
    }
    items = tuple(say(f"no_plan.{key}", {"labels": case.labels(names)}) for key, names in groups.items() if names)
    before = (say("no_plan.none", case.holds),)
    return Section("plan", say("no_plan.title_none"), before, items, after=(say("no_plan.limits"),))


def _alternatives(case: Case) -> Section:
    say, wording = case.wording.say, case.wording
    items = []
    for other in case.others:
        values = {"changes": " ".join(wording.change(change) for change in other["changes"])}
        tried = other["fresh"] or other["validity"]
        if not other["blanks"] or (case.native and other["fresh"] is None):
            items.append(say("alternatives.item", values))
        else:
            items.append(say("alternatives.item_share", {**values, "share": wording.percent(tried["share"])}))
    intro = say("alternatives.intro", {"desired": case.desired})
    return Section("alternatives", say("alternatives.title"), (intro,), tuple(items))


def _blanks(case: Case) -> Section:
    say, plan, wording = case.wording.say, case.plan, case.wording
    title = say("blanks.title")
    if not plan["blanks"]:
        return Section("blanks", title, (say("blanks.none"),))
    said = [say("blanks.right", {"labels": case.labels([entry["feature"] for entry in plan["blanks"]])})]
    asked = plan["confidence"]["asked"]
    if case.native:
        said.append(say("blanks.native"))
    elif asked is None:
        said.append(say("blanks.guess"))
    elif plan["validity"] is None:
        said.append(say("blanks.any", {"asked": wording.percent(asked, down=True)}))
    else:
        values = {"of": wording.count(plan["validity"]["of"]), "asked": wording.percent(asked, down=True)}
        said.append(say("blanks.many", values))
    said.append(say("blanks.may_tell"))
    return Section("blanks", title, (" ".join(said),))


def _sure(case: Case) -> Section:
    say, plan, wording = case.wording.say, case.plan, case.wording
    said: list[str] = []
    if plan["outcome"] == "no_recourse":
        said.append(say("sure.none" if plan["blanks"] and not case.native else "sure.none_complete"))
    elif plan["outcome"] == "out_of_time":
        said.append(say("sure.time"))
    elif not plan["blanks"]:
        said.append(say("sure.complete" if case.planned else "sure.complete_accepted", {"desired": case.desired}))
    elif plan["fresh"] is None:
        counts = {key: wording.count(plan["validity"][key]) for key in ("accepted", "of")}
        said += [say("sure.sample", counts), say("sure.picture"), say("sure.picture_only")]
    else:
        fresh = plan["fresh"]
        low, high = fresh["interval"]
        shares = {"share": fresh["share"], "level": fresh["level"], "low": low, "high": high}
        values = {key: wording.percent(share) for key, share in shares.items()}
        said.append(say("sure.fresh", {**values, "of": wording.count(round(fresh["of"])), "desired": case.desired}))
        lucky = round(100 * fresh["share"])
        if 0 < lucky < 100:
            said.append(say("sure.people", {"yes": str(lucky), "no": str(100 - lucky)}))
        else:
            said.append(say("sure.picture_only"))
        said.append(say("sure.picture"))
    promise = (plan.get("certificate") or {}).get("promise")
    if promise and plan["blanks"] and plan["validity"] is not None:
        said += _promised(wording, promise)
    return Section("sure", say("sure.title"), (" ".join(said),))


def _promised(wording: Wording, promise: dict[str, Any]) -> Iterator[str]:
    """What a test on real people allows to promise; the rest of the certificate is in the sentences before."""
    values = {key: wording.percent(promise[key], down=True) for key in ("promise", "best", "assurance")}
    yield wording.say("sure.tested", {"people": wording.count(promise["people"])})
    if promise["kept"]:
        yield wording.say("sure.promise", values)
    else:
        yield wording.say("sure.promise_best" if promise["best"] > 0 else "sure.promise_none", values)
    if not promise["held_out"]:
        yield wording.say("sure.promise_seen")


def _promise(case: Case) -> Section:
    say, wording = case.wording.say, case.wording
    days = {"date": wording.date(case.date), "until": wording.date(case.until)}
    if case.planned:
        items = [
            say("promise.plan_today", days),
            *(say(f"promise.plan_{key}") for key in ("rest", "decision", "effort")),
        ]
    else:
        items = [say("promise.today", days), say("promise.decision")]
    return Section("promise", say("promise.title"), items=tuple(items))
