"""A plan that was kept, judged again: whether it still holds, and what changed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from armin.recourse.certificate import Validity
from armin.words import Message, Printable

__all__ = ["Recheck", "Verdict"]

Verdict = Literal["holds", "accepted", "falls_short", "not_allowed", "does_not_fit", "no_plan"]
FORMAT = "armin.recheck/1"


@dataclass(frozen=True, repr=False)
class Recheck(Printable):
    """What has become of a plan.

    Attributes
    ----------
    verdict : "holds" (it works for the share that was asked for), "accepted" (the person is accepted as things stand,
        so that nothing is needed), "falls_short" (it works for less), "not_allowed" (the schema or a rule of it now
        forbids a change), "does_not_fit" (the schema lacks a feature, or a value of it) or "no_plan" (there was none)
    asked : the share that was asked for
    before : the share that the plan stated
    now : for how much it works now; None where that was not judged
    as_is : how much is accepted if nothing changes; None where that was not judged
    why : for a plan that cannot be followed, what stands in its way
    same_model, same_schema : whether the fingerprints are those of the plan; None where either has none

    Examples
    --------
    >>> print(Recheck("falls_short", 0.75, 0.8, Validity(60, 100), Validity(0, 100)))
    The plan works for 60 % now; 75 % were asked for, and it stated 80 %.
    """

    verdict: Verdict
    asked: float | None
    before: float | None
    now: Validity | None = None
    as_is: Validity | None = None
    why: str = ""
    same_model: bool | None = None
    same_schema: bool | None = None

    @property
    def fine(self) -> bool:
        """Whether the person may rely on what they were told."""
        return self.verdict in ("holds", "accepted")

    @property
    def message(self) -> Message:
        """What has become of the plan, to be said in any language."""
        if self.verdict in ("not_allowed", "does_not_fit"):
            return Message(f"recheck.{self.verdict}", why=self.why)
        if self.now is None or self.before is None or self.asked is None:
            return Message(f"recheck.{self.verdict}")
        return Message(f"recheck.{self.verdict}", now=self.now.share, asked=self.asked, before=self.before)

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data."""
        message = self.message
        return {
            "format": FORMAT,
            "verdict": self.verdict,
            "asked": self.asked,
            "before": self.before,
            "now": None if self.now is None else self.now.to_dict() | {"interval": list(self.now.interval())},
            "as_is": None if self.as_is is None else self.as_is.to_dict(),
            "why": self.why,
            "same_model": self.same_model,
            "same_schema": self.same_schema,
            "sentence": str(message),
            "message": message.to_dict(),
        }

    def text(self, language: str = "en") -> str:
        """What has become of the plan, in a language."""
        return self.message.text(language)
