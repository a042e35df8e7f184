"""A result as plain text for a terminal, from its summary dictionary."""

from __future__ import annotations

from typing import Any

from armin.report.words import figure, path_end, percent, proof_sentence, validity_sentence

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
    promise = (summary.get("certificate") or {}).get("promise")
    if promise:
        lines.append(f"Promise: {promise['sentence']}")
    if summary["blanks"]:
        names = ", ".join(blank["label"] for blank in summary["blanks"])
        lines.append(f"Not given: {names}.")
    lines.append(f"Proof: {proof_sentence(summary)}")
    lines += [f"Note: {note}" for note in summary["notes"]]
    return "\n".join(lines)


def _cost(summary: dict[str, Any]) -> str:
    cost = summary["cost"]
    text = f"{figure(cost['value'])} ({cost['name']})"
    if cost["min"] != cost["max"]:
        text += f"; from {figure(cost['min'])} to {figure(cost['max'])}, depending on the blanks"
    return text + "."


def path_text(points: list[dict[str, Any]], end: str, width: int = 40) -> str:
    """A cost-confidence path as a bar chart in text; ``end`` is the status that ended it."""
    lines = ["confidence  cost"] if points else []
    most = max((point["cost"] for point in points), default=0.0) or 1.0
    for point in points:
        bar = "█" * max(1, round(width * point["cost"] / most)) if point["cost"] > 0 else "·"
        what = "; ".join(point["short"]) or "nothing to change"
        lines.append(f"{percent(point['confidence']):>10}  {figure(point['cost']):<7} {bar} {what}")
    last = path_end(points, end)
    return "\n".join([*lines, last] if last else lines)
