"""What the page says about an answer, ready to be shown, in any of the desk's languages."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from armin.explain.ask import AskOrAct
from armin.recourse import Recourse, RecoursePath
from armin.schema import Feature, Schema
from armin.words import Catalogue, Message, Name
from armin.words.numbers import of_hundred

WEEKS_OF_YEAR = 52
EASY = {
    "question.as_now": "easy.as_now", "question.opens": "easy.opens", "question.same": "easy.same",
    "ask.act": "easy.act", "ask.act_alone": "easy.act_alone", "ask.nothing_act": "easy.nothing_act",
}  # fmt: skip
"""What the page says instead of a sentence with a cost in it."""

__all__ = ["page_words", "said_ask", "said_feature", "said_path", "said_recourse"]


def page_words(words: Catalogue, names: Mapping[str, str]) -> dict[str, Any]:
    """The page's own words in one language, and what each language of the desk calls itself."""
    texts = words.table["page"] | {"percent": words.entry("language.percent")}
    return {"language": words.language, "names": dict(names), "texts": texts}


def said_feature(feature: Feature, words: Catalogue) -> dict[str, Any]:
    """One field of the form: what it is called, its hints, and what is said about a wrong entry.

    >>> from armin.words import catalogue
    >>> said_feature(Feature("age", "integer", lower=18, upper=90, direction="fixed"), catalogue())["hint"]
    'From 18 to 90. A plan never asks you to change this.'
    """
    label = feature.named
    hints, limits, beyond = [], "", ""
    if feature.is_number:
        seen = _ends(feature, feature.low_code, feature.high_code)
        hints.append(words.say("form.hint" if feature.limits is None else "form.seen", **seen))
        limits = words.say("form.hint", **_ends(feature, feature.least_code, feature.most_code))
        beyond = "" if feature.limits is None else words.say("form.beyond", **seen)
    moves = {"fixed": "form.never", "increase": "form.up_only", "decrease": "form.down_only"}.get(feature.direction)
    listed = [{"value": value, "label": feature.said(value).said(words)} for value in feature.categories]
    shown = feature.shown
    return {
        "label": label.said(words),
        "short": Name("short_labels", feature.name, shown.short).said(words) or label.said(words),
        "section": Name("groups", shown.group, shown.group).said(words),
        "asks": Name("helps", feature.name, shown.help).said(words),
        "example": Name("examples", feature.name, shown.example).said(words),
        "unit": feature.unit and words.unit(feature.unit),
        "categories": listed or None,
        "hint": " ".join([*hints, *([words.say(moves)] if moves else [])]),
        "errors": {
            kind: words.say(f"form.error_{kind}", label=label, limits=limits) for kind in ("number", "whole", "range")
        },
        "beyond": beyond,
        "unlock": words.say("form.unlock", label=label),
        "tell": words.say("form.tell", label=label),
    }


def _ends(feature: Feature, low: float, high: float) -> dict[str, Any]:
    return {"low": feature.said(feature.value(low)), "high": feature.said(feature.value(high))}


def said_recourse(
    recourse: Recourse, words: Catalogue, schema: Schema, locked: Collection[str] = (), cheapest: float | None = None
) -> dict[str, Any]:
    """All that the page says about one plan.

    Parameters
    ----------
    recourse : the plan
    words : how the language says things
    schema : the columns
    locked : what the person cannot change
    cheapest : for another way, what the cheapest plan costs
    """
    share = _share(recourse)
    said: dict[str, Any] = {
        "headline": _headline(recourse, share).said(words),
        "changes": [words.start(change.message) for change in recourse.changes],
        "proof": _proof(recourse, cheapest).said(words) if recourse.changes else "",
        "cost": None if recourse.cost is None else words.say("answer.cost", cost=recourse.cost),
        "effort": _effort(recourse, cheapest).said(words) if recourse.changes and not recourse.falls_short else "",
        "time": _time(recourse, words),
        "sure": [line.said(words) for line in _sure(recourse, other=cheapest is not None)],
        "full": None if share is None else of_hundred(share),
        "dots": "" if share is None else words.say("answer.dots", share=share),
        "point": _point(recourse, words),
        "notes": [words.written(_plainer(note)) for note in recourse.notes],
    }
    if recourse.outcome == "already_accepted":
        code = "answer.accepted_complete"
        if recourse.world.accepted:
            code = "answer.accepted_row"
        elif recourse.blanks and share is not None:
            code = "answer.accepted_blanks"
        said["accepted"] = words.say(code, desired=_desired(recourse), share=share)
    if recourse.outcome == "tell":
        said["accepted"] = words.say("answer.tell_text")
    if recourse.outcome == "no_recourse":
        said["why"] = [line.said(words) for line in _why(recourse, schema, locked)]
    known = recourse.scope == "domain" and recourse.bound > 0 and math.isfinite(recourse.bound)
    if recourse.outcome == "out_of_time" and known:
        said["bound"] = words.say("answer.bound", bound=recourse.bound)
    return said


def said_path(path: RecoursePath, words: Catalogue) -> dict[str, Any]:
    """All that the page says about the slider and its chart."""
    if not path.points:
        return {}
    most = path[-1].share
    none = "answer.end_none" if path.scope == "domain" else "answer.end_listed"
    end = {"infeasible": none, "unknown": "answer.end_time"}.get(path.end.value)
    return {
        "end": words.say(end, share=most) if end else "",
        "chart": words.say("answer.chart", n=len(path), low=path[0].cost, high=path[-1].cost),
        "asked": words.say("answer.asked", asked=path.asked),
        "reach": words.say("answer.reach", share=most),
        "surest": words.say("answer.surest", share=most),
    }


def said_ask(found: AskOrAct, words: Catalogue) -> dict[str, Any]:
    """What the page says about each blank, by feature."""
    return {
        "sentence": _together(map(_easy, found.messages), words),
        "questions": {q.feature.name: _together(map(_easy, q.messages), words) for q in found.questions},
        "numbers": [_together(q.messages, words) for q in found.questions],
    }


def _plainer(note: Any) -> Any:
    """A note for people: what contradicts itself is theirs to check."""
    return Message("answer.contradicts") if isinstance(note, Message) and note.code == "draws.none" else note


def _together(messages: Iterable[Message], words: Catalogue) -> str:
    return " ".join(message.said(words) for message in messages)


def _share(recourse: Recourse) -> float | None:
    """The share to be stated beside a plan; none where the model decides about one row, whatever its blanks hide."""
    return recourse.share if recourse.blanks and not (recourse.world.accepted or recourse.exact) else None


def _point(point: Recourse, words: Catalogue) -> dict[str, str] | None:
    """What stands beside the slider where it stands for a plan."""
    if point.share is None:
        return None
    changes = Message("answer.changes", n=len(point.changes))
    short = " · ".join(words.start(change.short_message) for change in point.changes)
    return {
        "value": words.say("answer.point", share=point.share, changes=changes),
        "short": short or words.say("answer.nothing"),
    }


def _desired(recourse: Recourse) -> tuple[Name, ...]:
    return recourse.wanted


def _headline(recourse: Recourse, share: float | None) -> Message:
    desired = _desired(recourse)
    if recourse.falls_short:
        return recourse.headline
    if recourse.changes:
        cases: Message | str = "" if not recourse.blanks else Message("answer.left")
        if share is not None:
            cases = Message("answer.everywhere") if share >= 1 else Message("answer.somewhere", share=share)
        return Message("answer.plan", n=len(recourse.changes), desired=desired, cases=cases)
    if recourse.outcome == "tell":
        return Message("answer.tell", desired=desired, share=share)
    code = {"already_accepted": "answer.accepted", "no_recourse": "answer.none"}.get(recourse.outcome, "page.head_time")
    return Message(code, desired=desired)


def _proof(recourse: Recourse, cheapest: float | None) -> Message:
    if cheapest is not None:
        more = (recourse.cost or 0.0) - cheapest
        return Message("answer.other_more", more=more) if more > 0 else Message("answer.other")
    if recourse.outcome in ("plan", "falls_short"):
        if recourse.outcome == "falls_short":
            return Message("answer.falls_short")
        claim = "" if recourse.claim == "cheapest" else f"_{recourse.claim}"
        return Message(f"answer.proved{claim}", tolerance=recourse.tolerance)
    gap = recourse.gap
    return Message("answer.so_far_gap", gap=gap) if gap is not None and 0 < gap <= 1 else Message("answer.so_far")


def _effort(recourse: Recourse, cheapest: float | None) -> Message:
    """How hard a plan is, in words; another way beside the cheapest."""
    if cheapest is None:
        return Message("effort.easiest" if recourse.outcome == "plan" else "effort.found")
    times = (recourse.cost or 0.0) / cheapest if cheapest > 0 else math.inf
    for most, code in ((1.005, "effort.same"), (1.25, "effort.little"), (1.75, "effort.half"), (2.5, "effort.twice")):
        if times < most:
            return Message(code)
    return Message("effort.times", n=round(times)) if times < 10 else Message("effort.much")


def _time(recourse: Recourse, words: Catalogue) -> str:
    """How long a plan takes, as long as its longest change; "" where the schema does not say it of every change."""
    weeks = [change.feature.shown.weeks for change in recourse.changes]
    known = [one for one in weeks if one is not None]
    if not known or len(known) < len(weeks):
        return ""
    longest = max(known)
    if longest < 1:
        return words.say("time.now")
    for name, length, least in (("years", WEEKS_OF_YEAR, 2), ("months", WEEKS_OF_YEAR / 12, 2), ("weeks", 1.0, 0)):
        if longest / length >= least:
            return words.say(f"time.{name}", n=round(longest / length))
    raise AssertionError(longest)  # weeks begin at 0


def _sure(recourse: Recourse, *, other: bool) -> list[Message]:
    """How sure it is; a certificate speaks of the cheapest plan, so it is not quoted for another one."""
    if recourse.validity is None:
        return []
    if not recourse.blanks:
        return [Message("answer.complete")]
    if recourse.certificate is not None and not other:
        lines = [recourse.certificate.message]
    elif recourse.exact:
        lines = [Message("certificate.row", cheapest=Message("certificate.alternative"))]
    elif recourse.fresh is not None:
        low, high = recourse.fresh.interval()
        lines = [Message("answer.fresh", share=recourse.fresh.share, low=low, high=high)]
    else:
        lines = [Message("answer.ways", share=recourse.validity.share)]
    if recourse.world.accepted and recourse.fresh is not None:
        lines.append(Message("answer.stays", share=recourse.fresh.share))
    if recourse.changes and recourse.resubmitted is not None and recourse.world.reapply == "disclosed":
        labels = tuple(feature.named for feature in recourse.blanks)
        code = "answer.again_yes" if recourse.resubmitted else "answer.again_no"
        lines.append(Message(code, labels=labels, desired=_desired(recourse)))
    return lines


def _why(recourse: Recourse, schema: Schema, locked: Collection[str]) -> list[Message]:
    held = tuple(feature.named for feature in schema if feature.name in locked)
    fixed = tuple(feature.named for feature in schema if not feature.actionable)
    lines = [Message("answer.why_proved" if recourse.scope == "domain" else "answer.why_proved_list")]
    lines += [Message("answer.why_locked", labels=held)] if held else []
    lines += [Message("answer.why_fixed", labels=fixed)] if fixed else []
    if recourse.blanks and recourse.confidence is not None:
        lines.append(Message("answer.why_blank", asked=recourse.confidence))
    return lines


def _easy(message: Message) -> Message:
    """The same without costs, which are numbers for experts: how hard a plan is, in words."""
    values: dict[str, Any] = {
        name: _easy(value) if isinstance(value, Message) else value for name, value in message.values.items()
    }
    if message.code == "question.cheaper":
        times = values["cost"] / values["now"] if values["now"] > 0 else math.inf
        return Message("easy.other", label=values["label"], how=Message(_how(times)))
    if message.code in EASY:
        kept = {name: value for name, value in values.items() if name not in ("cost", "saved")}
        return Message(EASY[message.code], **kept)
    return Message(message.code, **values)


def _how(times: float) -> str:
    """How much harder a plan is that costs so many times as much."""
    steps = ((0.5, "much_easier"), (0.8, "easier"), (1.0, "little_easier"), (1.25, "little_harder"), (2.0, "harder"))
    return next((f"easy.{word}" for most, word in steps if times < most), "easy.much_harder")
