"""The sentences people read, from a plain description of a change or a result."""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "at_least", "change_sentence", "figure", "headline", "path_end", "percent", "proof_sentence", "validity_sentence",
]  # fmt: skip


def percent(share: float) -> str:
    """A share as people say it, never rounded up to certainty.

    >>> percent(0.7849), percent(0.999), percent(1.0), percent(0.0004)
    ('78 %', '99.9 %', '100 %', '0.04 %')
    """
    if share in (0.0, 1.0):
        return f"{share * 100:.0f} %"
    text = f"{share * 100:.0f}"
    if text not in ("0", "100"):
        return f"{text} %"
    for digits in range(1, 7):
        text = f"{share * 100:.{digits}f}"
        if float(text) not in (0.0, 100.0):
            return f"{text} %"
    return "under 0.000001 %" if share < 0.5 else "over 99.999999 %"


def at_least(share: float) -> str:
    """A share that is promised: rounded down, to a tenth of a percent.

    >>> at_least(0.75), at_least(0.975), at_least(0.79999)
    ('75 %', '97.5 %', '79.9 %')
    """
    tenths = math.floor(share * 1000 + 1e-6)
    return f"{tenths / 10:.1f} %" if tenths % 10 else f"{tenths // 10} %"


def figure(number: float) -> str:
    """A cost with three digits or more, never in powers of ten if it is large.

    >>> figure(0.123456), figure(12500.0), figure(3)
    ('0.123', '12,500', '3')
    """
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def change_sentence(change: dict[str, Any]) -> str:
    """One change as a sentence.

    >>> change_sentence({"label": "Income", "mode": "shift", "direction": "up", "amount_text": "$5,000"})
    'Raise Income by $5,000, whatever it is now.'
    """
    label, mode, direction = change["label"], change["mode"], change["direction"]
    if mode == "shift":
        verb = "Raise" if direction == "up" else "Lower"
        return f"{verb} {label} by {change['amount_text']}, whatever it is now."
    after = change["after_text"]
    if mode == "reach":
        if direction == "up":
            return f"Bring {label} to at least {after}."
        if direction == "down":
            return f"Bring {label} to at most {after}."
        return f"Make sure that {label} is {after}."
    before = change["before_text"]
    verb = {"up": "Raise", "down": "Lower"}.get(direction, "Change")
    return f"{verb} {label} from {before} to {after}."


def headline(summary: dict[str, Any]) -> str:
    """What the result says, in one sentence."""
    outcome, wanted = summary["outcome"], " or ".join(f"“{label}”" for label in summary["desired"])
    sure = _sure(summary)
    if outcome == "already_accepted":
        if not summary["blanks"]:
            return f"Nothing needs to change: the decision is already {wanted}."
        share = percent(summary["validity"]["share"])
        return f"Nothing needs to change: for {share} of the ways to fill the blanks the decision is already {wanted}."
    if outcome == "no_recourse":
        return f"No allowed action leads to {wanted}{sure}. This is proved, not guessed."
    if outcome == "out_of_time":
        return f"Time ran out before an action that leads to {wanted}{sure} was found. One may exist: allow more time."
    n = len(summary["changes"])
    few = "One change leads" if n == 1 else f"{n} changes lead"
    if outcome == "best_so_far":
        return f"{few} to {wanted}{sure}; this is not proved to be the cheapest way."
    if summary.get("rank", 1) > 1:
        return f"{few} to {wanted}{sure}: an alternative that is not the cheapest way, but changes other things."
    return f"{few} to {wanted}{sure}, and no cheaper way exists."


def _sure(summary: dict[str, Any]) -> str:
    """For whom a statement holds: for everybody, for a share, or for one guess."""
    asked = summary["confidence"]["asked"]
    if not summary["blanks"]:
        return ""
    if asked is None:
        return " if the blanks are as guessed"
    promise = (summary.get("certificate") or {}).get("promise")
    if promise and promise["kept"]:
        return f" for at least {at_least(promise['promise'])} of real people with such blanks"
    if asked == 1.0:
        return " for every completion drawn"
    return f" with at least {at_least(asked)} confidence"


def validity_sentence(summary: dict[str, Any]) -> str | None:
    """How sure the result is, or None where there is nothing to be unsure of."""
    if summary["validity"] is None:
        return None
    accepted, of = summary["validity"]["accepted"], summary["validity"]["of"]
    if not summary["blanks"]:
        return "Checked with the model itself: it accepts this row after the changes." if summary["changes"] else None
    ways = "the one way" if of == 1 else f"{_count(accepted)} of the {_count(of)} ways"
    text = f"Works for {ways} to fill the blanks that {'was' if of == 1 else 'were'} optimised over"
    fresh = summary["fresh"]
    if fresh is None:
        return text + "."
    low, high = fresh["interval"]
    return (
        f"{text}, and for {percent(fresh['share'])} of {fresh['of']:,.0f} fresh ones "
        f"({percent(fresh['level'])} interval {percent(low)} to {percent(high)})."
    )


def _count(weight: float) -> str:
    return f"{weight:,.0f}" if float(weight).is_integer() else f"{weight:,.1f}"


def proof_sentence(summary: dict[str, Any]) -> str:
    """What is proved, by which solver, in what time."""
    proof = summary["proof"]
    seconds = f"{proof['seconds'] * 1000:.0f} ms" if proof["seconds"] < 1 else f"{proof['seconds']:.1f} s"
    bound = f"; nothing costs less than {figure(proof['bound'])}" if proof["bound"] else ""
    what = {
        "optimal": "cheapest, proved"
        if summary.get("rank", 1) == 1
        else "cheapest without the plans before it, proved",
        "infeasible": "no action works, proved",
        "feasible": f"not proved cheapest{bound}",
        "unknown": f"undecided{bound}",
    }[summary["status"]]
    return f"{what} ({proof['solver']}, {seconds})."


def path_end(points: list[dict[str, Any]], end: str) -> str | None:
    """Why a path stops before it works for every completion, or None if it does not.

    >>> path_end([{"confidence": 0.8}], "infeasible")
    'No allowed action works for more than 80 %: proved.'
    """
    if end == "optimal":
        return None
    if end == "infeasible":
        if not points:
            return "No allowed action works for any way to fill the blanks. This is proved, not guessed."
        return f"No allowed action works for more than {percent(points[-1]['confidence'])}: proved."
    reached = f"beyond {percent(points[-1]['confidence'])}" if points else "at all"
    return f"Time ran out: whether more can be reached {reached} is not known. Allow more time."
