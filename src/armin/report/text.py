"""A result as plain text for a terminal, from its summary dictionary."""

from __future__ import annotations

from typing import Any

from armin.report.words import path_end, percent, validity_sentence

__all__ = ["path_text", "recourse_text"]


def recourse_text(summary: dict[str, Any]) -> str:
    """A recourse as lines of text."""
    lines = [summary["headline"]]
    if summary["changes"]:
        lines.append("")
        lines += [f"  {i}. {change['sentence']}" for i, change in enumerate(summary["changes"], start=1)]
        lines.append("")
        lines.append(f"Cost: {_cost(summary)}")
    sure = validity_sentence(summary)
    if sure:
        lines.append(f"Confidence: {sure}")
    if summary["blanks"]:
        names = ", ".join(blank["label"] for blank in summary["blanks"])
        lines.append(f"Not given: {names}.")
    lines.append(f"Proof: {_proof(summary)}")
    lines += [f"Note: {note}" for note in summary["notes"]]
    return "\n".join(lines)


def _cost(summary: dict[str, Any]) -> str:
    cost = summary["cost"]
    text = f"{cost['value']:.3g} ({cost['name']})"
    if cost["min"] != cost["max"]:
        text += f"; from {cost['min']:.3g} to {cost['max']:.3g}, depending on the blanks"
    return text + "."


def _proof(summary: dict[str, Any]) -> str:
    proof = summary["proof"]
    seconds = f"{proof['seconds'] * 1000:.0f} ms" if proof["seconds"] < 1 else f"{proof['seconds']:.1f} s"
    if summary["status"] == "optimal":
        what = "cheapest, proved"
    elif summary["status"] == "infeasible":
        what = "no action works, proved"
    elif summary["status"] == "feasible":
        what = f"not proved cheapest; nothing costs less than {proof['bound']:.3g}"
    else:
        what = f"undecided; nothing costs less than {proof['bound']:.3g}"
    return f"{what} ({proof['solver']}, {seconds})."


def path_text(points: list[dict[str, Any]], end: str, width: int = 40) -> str:
    """A cost-confidence path as a bar chart in text; ``end`` is the status that ended it."""
    lines = ["confidence  cost"] if points else []
    most = max((point["cost"] for point in points), default=0.0) or 1.0
    for point in points:
        bar = "█" * max(1, round(width * point["cost"] / most)) if point["cost"] > 0 else "·"
        what = "; ".join(point["short"]) or "nothing to change"
        lines.append(f"{percent(point['confidence']):>10}  {point['cost']:<7.3g} {bar} {what}")
    last = path_end(points, end)
    return "\n".join([*lines, last] if last else lines)
