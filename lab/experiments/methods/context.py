"""What a method is given, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin import Schema
from armin.costs import PublishedL1, PublishedPercentileShift, TotalLogPercentileShift, WeightedL1
from armin.recourse import Recourse
from armin.sampling import as_sampler
from lab.experiments.config import Settings
from lab.experiments.methods.prefit import Prefit

__all__ = ["Context", "Method", "Outcome"]

FloatArray = NDArray[np.float64]
Apply = Callable[[pd.DataFrame], pd.DataFrame]


@dataclass(frozen=True)
class Outcome:
    """What a method advises.

    Attributes
    ----------
    status : "optimal", "feasible", "infeasible", "unknown", "failed" or "skipped"
    apply : what complete rows become; None without an action
    cost : the method's own cost of it
    note : why there is no action, where a word is due
    legal : whether a complete row (D,) of codes can do it to the letter; None if what goes too far stops at the bound
    engine : the seconds of it that went into searching for the action; None if nobody knows
    """

    status: str
    apply: Apply | None = None
    cost: float | None = None
    note: str = ""
    legal: Callable[[FloatArray], bool] | None = None
    engine: float | None = None

    @classmethod
    def of(cls, recourse: Recourse, schema: Schema | None = None) -> Outcome:
        """The outcome of one of ARMIN's own answers; with a schema, also whether amounts stay within its bounds."""
        if not recourse.found:
            return cls(recourse.status.value, engine=recourse.seconds)
        if schema is None:
            return cls(recourse.status.value, recourse.apply, recourse.cost, engine=recourse.seconds)
        amounts = {schema.position(c.feature.name): c.amount or 0.0 for c in recourse.changes if c.mode == "shift"}

        def legal(codes: FloatArray) -> bool:
            moved = {i: codes[i] + amount for i, amount in amounts.items()}
            bounds = {i: schema.features[i] for i in amounts}
            return all(bounds[i].low_code - 1e-9 <= v <= bounds[i].high_code + 1e-9 for i, v in moved.items())

        return cls(recourse.status.value, recourse.apply, recourse.cost, legal=legal, engine=recourse.seconds)


@dataclass(eq=False)
class Context:
    """The world as a method sees it: never the true values behind the blanks."""

    classifier: Any
    schema: Schema
    desired: Any
    train: pd.DataFrame
    labels: pd.Series[Any]
    settings: Settings
    memory: dict[Any, Any] = field(default_factory=dict)
    """What is fitted once; contexts of one world and schema share it."""
    raw: Context | None = None
    """Where bounds are trimmed to quantiles, the same world as published: imputers, cost and completions learn from
    all training rows as they are, and the quantiles bound actions only."""
    trimmed: Schema | None = None
    """With the bounds of published actions, where they are not those of the training rows."""

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """What ``make`` made the first time somebody asked for ``key``."""
        if key not in self.memory:
            self.memory[key] = make()
        return self.memory[key]

    @property
    def codes(self) -> FloatArray:
        """The training rows as codes."""
        found: FloatArray = self.remember("codes", lambda: self.schema.encode(self.train, clip=True))
        return found

    @property
    def cost(self) -> Prefit:
        """The cost by which actions are found and measured."""
        return self.cost_named(self.settings.cost)

    def cost_named(self, kind: str) -> Prefit:
        """TLPS in base 2 with a kernel density, the 1/MAD-weighted l1, or one of the two as published."""
        if self.raw is not None:
            return self.raw.cost_named(kind)
        raw = {
            "tlps": TotalLogPercentileShift(base=2, estimate="kde"),
            "mad": WeightedL1(),
            "tlps-published": PublishedPercentileShift(),
            "l1-published": PublishedL1(),
        }[kind]
        found: Prefit = self.remember(kind, lambda: Prefit(raw.fit(self.codes, self.trimmed or self.schema)))
        return found

    def sampler(self, spec: Any) -> Prefit:
        """A fitted sampler; fitted once for each name."""
        key = ("sampler", spec if isinstance(spec, str) else repr(spec))
        found: Prefit = self.remember(key, lambda: Prefit(as_sampler(spec).fit(self.codes, self.schema)))
        return found

    @property
    def common(self) -> dict[str, Any]:
        """The parameters that all of ARMIN's explainers share, as in the paper."""
        s = self.settings
        return {
            "desired": self.desired,
            "cost": self.cost,
            "max_changes": s.max_changes,
            "max_options": s.max_options,
            "grid": s.grid,
            "margin": s.margin,
            "time_limit": s.time_limit,
            "n_fresh": 0,
            "decision": "complete",
        }


class Method(Protocol):
    """A way to advise people.

    Attributes
    ----------
    label : its name in tables
    clocked : whether its answer depends on the clock; such answers are kept beside the results, with the times
    """

    label: str
    clocked: bool

    def fit(self, context: Context) -> Self:
        """Learn what is needed, once for each cell."""
        ...

    def explain(self, row: pd.DataFrame) -> Outcome:
        """Advise one person: a frame of one row, with blanks."""
        ...
