"""How unlike the tested people those who hide a value may be before a promise is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from armin.arrays import BoolArray, FloatArray

__all__ = ["Tilt", "lost_at"]

FARTHEST = 3.0
"""No tilt beyond this is tried: nobody hides so selectively that draws would weigh e^3 times as much per spread."""
LEAST_SIZE = 20.0
"""A tilt that leaves fewer effective people says nothing."""


@dataclass(frozen=True)
class Tilt:
    """At which tilt of one hidden feature a promise is lost.

    Attributes
    ----------
    feature : its name
    delta : the smallest tilt, in spreads, at which fewer plans work than promised: people whose value is a spread
        higher are then exp(delta) times as likely to hide it; None if no tilt up to :data:`FARTHEST` does
    """

    feature: str
    delta: float | None


def lost_at(feature: str, values: FloatArray, worked: BoolArray, promise: float) -> Tilt | None:
    """Reweigh tested people by exp(delta * z) until the share of plans that work falls below the promise.

    Parameters
    ----------
    feature : the name
    values : what the people with a plan hide (n,)
    worked : whether their plan worked (n,)
    promise : the share that must work

    >>> values = np.arange(100.0)
    >>> lost_at("income", values, values >= 5, 0.9).delta < 0  # plans fail for those with low incomes
    True
    """
    spread = float(values.std()) if values.size else 0.0
    if values.size < LEAST_SIZE or spread == 0:
        return None
    z = (values - values.mean()) / spread
    for size in np.arange(0.0, FARTHEST + 1e-9, 0.05).tolist():
        for delta in (size, -size):
            weights = np.exp(delta * z - np.max(delta * z))
            effective = weights.sum() ** 2 / (weights**2).sum()
            if effective >= LEAST_SIZE and weights[worked].sum() / weights.sum() < promise:
                return Tilt(feature, round(delta, 2))
    return Tilt(feature, None)
