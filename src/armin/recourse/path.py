"""The price of certainty: the cheapest plan for every share of plausible people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, overload

import pandas as pd

from armin.problem import Status
from armin.recourse.answers import Recourse
from armin.recourse.certificate import Scope
from armin.report.html import path_html
from armin.report.plot import plot_path
from armin.report.text import path_text
from armin.words import Message, Printable

__all__ = ["RecoursePath"]


@dataclass(frozen=True, repr=False)
class RecoursePath(Printable, Sequence[Recourse]):
    """The cheapest plan for every share, cheapest first: a sequence of recourses, each surer than those before.

    How sure a plan is, is what :attr:`armin.Recourse.share` says, here as everywhere: it is judged on fresh completions
    where there are any.

    Attributes
    ----------
    points : one recourse for each step of the curve
    asked : the confidence that the explainer was set to
    end : why the path stops: OPTIMAL if its last point works for every completion that was optimised over, INFEASIBLE
        if it is proved that no action does, UNKNOWN if time ran out
    scope : whether INFEASIBLE speaks of all values that the schema allows ("domain"), or of those that were listed
    """

    points: tuple[Recourse, ...]
    asked: float
    end: Status
    scope: Scope = "domain"

    @classmethod
    def judged(cls, plans: Iterable[Recourse], asked: float, end: Status, scope: Scope = "domain") -> RecoursePath:
        """The path of plans that were found by rising cost.

        The completions that chose a plan flatter it. A plan that costs more than another one and is, as judged, no
        surer is left out; each of the rest states its own share as the one that is asked for.
        """
        kept: list[Recourse] = []
        most = 0.0
        for plan in plans:
            if plan.share is not None and (not kept or plan.share > most):
                kept.append(plan.stating(plan.share))
                most = plan.share
        return cls(tuple(kept), asked, end, scope)

    @overload
    def __getitem__(self, index: int) -> Recourse: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Recourse, ...]: ...
    def __getitem__(self, index: int | slice) -> Recourse | tuple[Recourse, ...]:
        return self.points[index]

    def __len__(self) -> int:
        return len(self.points)

    def at(self, share: float) -> Recourse | None:
        """The cheapest plan that works for at least a share, or None if the path does not reach it."""
        return next((point for point in self.points if point.share is not None and point.share >= share - 1e-9), None)

    def to_list(self) -> list[dict[str, Any]]:
        """The points as plain data: the share for which each works, cost, changes in short."""
        return [
            {
                "share": point.share,
                "cost": point.cost,
                "short": [change.short for change in point.changes],
                "recourse": point.to_dict(),
            }
            for point in self.points
        ]

    def to_frame(self) -> pd.DataFrame:
        """The points as a table."""
        rows = [(p["share"], p["cost"], "; ".join(p["short"])) for p in self.to_list()]
        return pd.DataFrame(rows, columns=["share", "cost", "changes"])

    def text(self, language: str = "en", width: int = 40) -> str:
        """The path as text in a language, such as "de", with bars of a width; ``print`` shows it in English."""
        return path_text(self.to_list(), self._shorts(), self.end.value, language, width, self.scope)

    def html(self, language: str = "en") -> str:
        """The path as a table in HTML; notebooks show it in English."""
        return path_html(self.to_list(), self._shorts(), self.end.value, language, self.scope)

    def _shorts(self) -> list[list[Message]]:
        return [[change.short_message for change in point.changes] for point in self.points]

    def __repr__(self) -> str:
        return f"<RecoursePath: {len(self)} plans>"

    def plot(self, ax: Any = None, language: str = "en") -> Any:
        """Draw cost against the share in a language; returns the matplotlib Axes."""
        return plot_path(self.to_list(), self.asked, ax, language)
