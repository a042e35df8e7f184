"""The question behind an answer: what has been decided about the row, and who will judge afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from armin.words import Message

__all__ = ["COMPLETE", "World"]


@dataclass(frozen=True)
class World:
    """What is known about one row, and what its plan must achieve.

    Attributes
    ----------
    decision : "complete" (the complete person was rejected), "blank" (the model decided about the row with its
        blanks), or None (nothing has been decided)
    reapply : who judges after the plan: "disclosed" (the values will be known), "blank" (the model decides about the
        row with the blanks that are left), or "either" (it must work both ways)
    blanks : whether anything is blank
    submitted : what the model says to the row as it stands, blanks and all; None if it takes no blanks

    Examples
    --------
    >>> World("blank", "disclosed", True, True).accepted
    True
    """

    decision: Literal["complete", "blank"] | None
    reapply: Literal["disclosed", "blank", "either"]
    blanks: bool
    submitted: bool | None

    @property
    def conditioned(self) -> bool:
        """Whether completions that the model accepts contradict what is known."""
        return self.blanks and self.decision == "complete"

    @property
    def accepted(self) -> bool:
        """Whether the model has accepted the row as it stands, so that nothing needs to be done."""
        return self.blanks and self.decision == "blank" and bool(self.submitted)

    @property
    def answers(self) -> bool:
        """Whether the model decides about rows with these blanks."""
        return self.submitted is not None

    @property
    def message(self) -> Message | None:
        """The question in words; None where nothing is blank, since all questions are then the same."""
        if not self.blanks:
            return None
        return Message(f"world.{'accepted' if self.accepted else self.decision or 'none'}.{self.reapply}")

    def to_dict(self) -> dict[str, Any]:
        """The question as plain data."""
        return {"decision": self.decision, "reapply": self.reapply, "submitted": self.submitted}


COMPLETE = World("complete", "disclosed", False, None)
"""Nothing is blank: every question is the same."""
