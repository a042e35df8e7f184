"""What is to be said about a result, from its plain description: messages, to be written down in any language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from armin.words import Message, Name, Quantity, catalogue

__all__ = ["at_least", "details", "figure", "headline", "path_end", "percent"]


def percent(share: float) -> str:
    """A share as English says it, never rounded to certainty.

    >>> percent(0.7849), percent(0.999), percent(1.0), percent(0.0004)
    ('78 %', '99.9 %', '100 %', '0.04 %')
    """
    return catalogue().percent(share).replace("\u00a0", " ")


def at_least(share: float) -> str:
    """A share that is promised, as English says it: rounded down, to a tenth of a percent.

    >>> at_least(0.75), at_least(0.975), at_least(0.79999)
    ('75 %', '97.5 %', '79.9 %')
    """
    return catalogue().at_least(share).replace("\u00a0", " ")


def figure(number: float) -> str:
    """A cost with three digits or more, never in powers of ten.

    >>> figure(0.123456), figure(12500.0), figure(3)
    ('0.123', '12,500', '3')
    """
    return catalogue().figure(number)


def headline(summary: dict[str, Any]) -> Message:
    """What the result says, in one sentence."""
    outcome, n = summary["outcome"], len(summary["changes"])
    desired = _desired(summary)
    if outcome == "tell":
        return Message("headline.tell", labels=_blanks(summary), share=summary["share"], desired=desired)
    if outcome == "already_accepted":
        if not summary["blanks"]:
            return Message("headline.accepted", desired=desired)
        if summary["world"]["decision"] == "blank":
            return Message("headline.accepted_row", desired=desired)
        return Message("headline.accepted_blanks", share=summary["share"], desired=desired)
    if outcome == "falls_short":
        asked = summary["confidence"]["asked"]
        return Message("headline.falls_short", n=n, desired=desired, asked=asked, share=summary["share"])
    values = {"desired": desired, "holds": _holds(summary)}
    proof = summary["proof"]
    if outcome in ("no_recourse", "out_of_time"):
        none = "headline.none" if proof["scope"] == "domain" else "headline.none_list"
        return Message(none if outcome == "no_recourse" else "headline.time", **values)
    if outcome == "plan" and summary.get("rank", 1) > 1:
        return Message("headline.alternative", n=n, **values)
    if outcome == "plan" and proof["claim"] == "within":
        return Message("headline.plan_within", n=n, tolerance=proof["tolerance"], **values)
    kind = "plan_list" if outcome == "plan" and proof["claim"] == "list" else outcome
    return Message(f"headline.{kind}", n=n, **values)


def _holds(summary: dict[str, Any]) -> Message | str:
    """For whom a statement holds: for everybody, for a share, or for one guess."""
    asked = summary["confidence"]["asked"]
    if not summary["blanks"]:
        return ""
    if _exact(summary):
        return Message("holds.blank")
    if asked is None:
        return Message("holds.guess")
    promise = (summary.get("certificate") or {}).get("promise")
    if promise and promise["kept"]:
        return Message("holds.promise", share=promise["promise"])
    either = summary["world"]["reapply"] == "either"
    if summary["share"] == asked < 1.0:  # a point of a path states its own share
        return Message("holds.works_either" if either else "holds.works", share=asked)
    if either:
        return Message("holds.either", share=asked)
    return Message("holds.every") if asked == 1.0 else Message("holds.share", share=asked)


def _desired(summary: dict[str, Any]) -> tuple[Name, ...]:
    """The desired decisions, as the schema or a language calls them."""
    called = summary.get("decisions", {})
    return tuple(Name("decisions", str(label), called.get(str(label), str(label))) for label in summary["desired"])


def _blanks(summary: dict[str, Any]) -> tuple[Name, ...]:
    return tuple(Name("labels", blank["feature"], blank["label"]) for blank in summary["blanks"])


def details(
    summary: dict[str, Any], world: Message | None, promise: Message | None, notes: Sequence[Message | str]
) -> list[Message]:
    """What stands below the changes, line by line: cost, confidence, promise, blanks, question, proof and notes."""
    lines = []
    cost = summary["cost"]
    if summary["changes"]:
        values = {"cost": cost["value"], "name": cost["name"], "low": cost["min"], "high": cost["max"]}
        lines.append(Message("report.cost" if cost["min"] == cost["max"] else "report.cost_range", **values))
    sure = _validity(summary)
    lines += [Message("report.confidence", sentence=sure)] if sure else []
    lines += [Message("report.promise", sentence=promise)] if promise else []
    if summary["blanks"]:
        lines.append(Message("report.not_given", labels=_blanks(summary)))
        lines += [Message("report.world", sentence=world)] if world else []
        lines += _again(summary)
    lines.append(Message("report.proof", sentence=_proof(summary)))
    return lines + [Message("report.note", sentence=note) for note in notes]


def _again(summary: dict[str, Any]) -> list[Message]:
    """What the model would say if the blanks stay blank, where the plan counts on their being told."""
    again = summary["world"]["resubmitted"]
    if again is None or not summary["changes"] or summary["world"]["reapply"] != "disclosed":
        return []
    desired = _desired(summary)
    return [Message("report.again_yes" if again else "report.again_no", labels=_blanks(summary), desired=desired)]


def _validity(summary: dict[str, Any]) -> Message | None:
    """How sure the result is, or None where there is nothing to be unsure of."""
    if summary["validity"] is None:
        return None
    if not summary["blanks"]:
        return Message("validity.complete") if summary["changes"] else None
    counts = {"accepted": summary["validity"]["accepted"], "n": summary["validity"]["of"]}
    fresh = summary["fresh"]
    if fresh is None:
        return Message("validity.row") if _exact(summary) else Message("validity.sample", **counts)
    low, high = fresh["interval"]
    tried = {"share": fresh["share"], "fresh": round(fresh["of"]), "level": fresh["level"], "low": low, "high": high}
    if summary["outcome"] == "already_accepted" and summary["world"]["decision"] == "blank":
        return Message("validity.stays", **tried)
    return Message("validity.fresh", **tried)


def _exact(summary: dict[str, Any]) -> bool:
    """Whether the model decides about one row, whatever its blanks hide: no plan, or one that sets none of them."""
    return summary["world"]["reapply"] == "blank" and all(change["mode"] != "reach" for change in summary["changes"])


def _proof(summary: dict[str, Any]) -> Message:
    """What is proved, by which solver, in what time."""
    proof, status = summary["proof"], summary["status"]
    seconds = proof["seconds"]
    time = Quantity(round(seconds * 1000), "ms") if seconds < 1 else Quantity(round(seconds, 1), "s", 0.1)
    solver = Message("proof.by_cost") if proof["solver"] == "blackbox" else proof["solver"]
    values = {"solver": solver, "time": time}
    listed = "_list" if proof["scope"] == "list" else ""
    if status == "optimal" and summary.get("rank", 1) > 1:
        return Message("proof.optimal_rest", **values)
    if status == "optimal":
        kind = "" if proof["claim"] == "cheapest" else f"_{proof['claim']}"
        return Message(f"proof.optimal{kind}", bound=proof["bound"], tolerance=proof["tolerance"], **values)
    if status == "infeasible" or not proof["bound"]:
        return Message(f"proof.{status}{listed if status == 'infeasible' else ''}", **values)
    return Message(f"proof.{status}_bound{listed}", bound=proof["bound"], **values)


def path_end(points: list[dict[str, Any]], end: str, scope: str = "domain") -> Message | None:
    """Why a path stops before it works for every completion, or None if it does not; ``scope`` as of a recourse.

    >>> print(path_end([{"share": 0.8}], "unknown"))
    Time ran out: whether a surer action than 80 % exists is not known. Allow more time.
    """
    if end == "optimal":
        return None
    code = "path.time" if end != "infeasible" else "path.none" if scope == "domain" else "path.listed"
    return Message(f"{code}_more", share=points[-1]["share"]) if points else Message(code)
