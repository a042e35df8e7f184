"""What every single change does to a network's scores: all changes of some candidates in one pass.

It serves the first plan (:mod:`armin.solve.search.dive`), so large networks look around in 32 bits; the margins of what
is found are worked out in 64.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.problem import Choice
from armin.solve.search.relu.tables import Plan

__all__ = ["ReluNearby"]

_STEPS = 10_000_000
"""Multiplications that one look around a point may take, about; more candidates than that allows are thinned out."""

_ROUGH = 16
"""Candidates that count at least where there are few moves."""

_LARGE = 4096
"""Weights between hidden layers from which 32 bits have to do."""


class ReluNearby:
    """The scores around a point; see :class:`armin.solve.search.dive.Nearby`.

    With ``few``, only about so many changes of each feature are moves, from end to end.
    """

    def __init__(self, plan: Plan, few: int | None = None) -> None:
        self._plan, problem, network = plan, plan.problem, plan.network
        self._features = [f for f, option in enumerate(problem.options) if option.size > 1]
        self._options = [_some(problem.options[f].size, few) for f in self._features]
        self.feature = np.repeat(np.array(self._features, dtype=np.intp), [some.size for some in self._options])
        self.option = np.concatenate([np.zeros(0, np.intp), *self._options])
        costs = (problem.options[f].costs[some] for f, some in zip(self._features, self._options, strict=True))
        self.cost = np.concatenate([np.zeros(0), *costs])
        self.weight, self.slack = problem.weights, 2.0 * plan.shared.crowd.tolerance
        work = 10 * network.weights[0].shape[1] + sum(w.size for w in network.weights[1:]) + network.margin.size
        self.most = max(8 if few is None else _ROUGH, _STEPS // max(1, work * self.feature.size))
        kind = np.float32 if sum(w.size for w in network.weights[1:]) > _LARGE else np.float64
        self._first = network.weights[0].astype(kind)
        self._network = replace(
            network,
            weights=tuple(w.astype(kind) for w in network.weights),
            biases=tuple(b.astype(kind) for b in network.biases),
            margin=network.margin.astype(kind),
            bias=network.bias.astype(kind),
        )

    def margins(self, choice: Choice, who: IntArray) -> FloatArray:
        """How far each of the candidates ``who`` is from being accepted; not negative where it is."""
        network = self._plan.network
        return network.scores(self._plan.problem.inputs(choice)[who] @ network.weights[0] + network.biases[0])

    def look(
        self, choice: Choice, who: IntArray, weight: FloatArray, counts: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """For every move the weight accepted among ``who``, and what those that count lack."""
        problem, first, kind = self._plan.problem, self._first, self._first.dtype
        start = problem.inputs(choice)[who].astype(kind) @ first + self._network.biases[0]
        layer = np.empty((who.size, self.feature.size, first.shape[1]), dtype=kind)
        at = 0
        for f, some in zip(self._features, self._options, strict=True):
            option = problem.options[f]
            moved = option.outcomes if option.same_for_all else option.outcomes[who]
            moved = (moved[:, some] - moved[:, choice[f]][:, None]).astype(kind) @ first[option.columns]
            layer[:, at : at + some.size] = start[:, None] + moved
            at += some.size
        scores = self._network.scores(layer.reshape(-1, first.shape[1])).reshape(who.size, -1).astype(np.float64)
        lacking = (weight * counts) @ np.maximum(-scores, 0.0)
        return np.asarray(weight @ (scores >= 0.0)), np.asarray(lacking)


def _some(size: int, few: int | None) -> IntArray:
    """All of so many options, or "keep" and a few of the others, from the first to the last."""
    if few is None or size <= few + 1:
        return np.arange(size)
    return np.concatenate([[0], np.linspace(1, size - 1, few).round()]).astype(np.intp)
