"""The sentences people read, from a plain description of a change or a result."""

from __future__ import annotations

from typing import Any

__all__ = ["change_sentence", "headline", "path_end", "percent", "validity_sentence"]


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
    digits = 1
    while digits < 6 and float(f"{share * 100:.{digits}f}") in (0.0, 100.0):
        digits += 1
    return f"{share * 100:.{digits}f} %"


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
        return f"Nothing needs to change: {share} of the plausible people behind this row are already {wanted}."
    if outcome == "no_recourse":
        return f"No allowed action leads to {wanted}{sure}. This is proved, not guessed."
    if outcome == "out_of_time":
        return f"Time ran out before an action that leads to {wanted}{sure} was found. One may exist: allow more time."
    n = len(summary["changes"])
    few = "One change leads" if n == 1 else f"{n} changes lead"
    if outcome == "best_so_far":
        return f"{few} to {wanted}{sure}; this is not proved to be the cheapest way."
    return f"{few} to {wanted}{sure}, and no cheaper way exists."


def _sure(summary: dict[str, Any]) -> str:
    """For whom a statement holds: for everybody, for a share, or for one guess."""
    asked = summary["confidence"]["asked"]
    if not summary["blanks"]:
        return ""
    if asked is None:
        return " if the blanks are as guessed"
    if asked == 1.0:
        return " for every completion drawn"
    return f" with at least {percent(asked)} confidence"


def validity_sentence(summary: dict[str, Any]) -> str | None:
    """How sure the result is, or None where there is nothing to be unsure of."""
    if summary["validity"] is None:
        return None
    accepted, of = summary["validity"]["accepted"], summary["validity"]["of"]
    if not summary["blanks"]:
        return "Checked with the model itself: it accepts this row after the changes." if summary["changes"] else None
    ways = "the one way" if of == 1 else f"{accepted:,g} of the {of:,g} ways"
    text = f"Works for {ways} to fill the blanks that {'was' if of == 1 else 'were'} optimised over"
    fresh = summary["fresh"]
    if fresh is None:
        return text + "."
    low, high = fresh["interval"]
    return (
        f"{text}, and for {percent(fresh['share'])} of {fresh['of']:,.0f} fresh ones "
        f"({percent(fresh['level'])} interval {percent(low)} to {percent(high)})."
    )


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
