"""A ReLU network as the search sees it, and what several hidden layers need beside the tables of all networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.kinds import ReluNetwork
from armin.models.sums import largest_inputs
from armin.problem import Problem
from armin.solve.search.relu.data import BLOCK, Deep, Moves, Own
from armin.solve.search.ways import rows_of

__all__ = ["Network", "Places", "groups_of", "layers_of", "moves_of", "network_of", "places_of", "tolerance_of"]

SCORE_TOLERANCE = 4e-12
"""Slack on a score, relative to the sum of the magnitudes that make it: far above rounding, and above ``SAME``."""

LEAST_TOLERANCE = 1e-300
"""Slack where scores are so small that a share of them is no number."""

MOST_GROUPS = 8
"""Groups of candidates that share one relaxation of a deep network."""

CORE = 1.25
"""The candidates that bounds of a deep network look at: close ones, up to this multiple of what may be lost."""

HARD = 4.0
"""Among whom they are: the hardest, up to this multiple of what may be lost."""

CENTRES = 64
"""Candidates that are tried as the centre of close ones."""


@dataclass(frozen=True, eq=False)
class Network:
    """Layers, with the decision folded into the last one: margins that must not be negative, in ways.

    ``heft`` (Q, H) and ``ballast`` (Q,) are ``margin`` and ``bias`` with magnitudes added up: the model itself rounds
    outputs of that size before they, and the cut, are taken from each other, however little is left of them then.
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    margin: FloatArray
    bias: FloatArray
    way: IntArray
    blur: float
    heft: FloatArray
    ballast: FloatArray

    def margins(self, first: FloatArray) -> FloatArray:
        """Margins (n, Q) from the first layer before its ReLU (n, H)."""
        hidden = np.maximum(first, 0.0)
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = np.maximum(hidden @ weight + bias, 0.0)
        return np.asarray(hidden @ self.margin.T + self.bias)

    def scores(self, first: FloatArray) -> FloatArray:
        """The least margin of the best way (n,): not negative where a candidate is accepted."""
        margins = self.margins(first)
        ways = [margins[:, self.way == w].min(axis=1, initial=np.inf) for w in range(int(self.way.max(initial=0)) + 1)]
        return np.asarray(np.max(ways, axis=0))


def network_of(model: ReluNetwork) -> Network:
    """The layers of a model that was read."""
    weights, biases = list(model.weights), list(model.biases)
    if len(weights) == 1:  # a linear model: z = relu(z) - relu(-z)
        eye = np.eye(weights[0].shape[1])
        weights = [np.hstack([weights[0], -weights[0]]), np.vstack([eye, -eye])]
        biases = [np.concatenate([biases[0], -biases[0]]), np.zeros(eye.shape[0])]
    coefficients, cut, way, blur = rows_of(model.decision)
    last, lift = np.asarray(weights[-1], dtype=np.float64), np.asarray(biases[-1], dtype=np.float64)
    return Network(
        weights=tuple(np.ascontiguousarray(w, dtype=np.float64) for w in weights[:-1]),
        biases=tuple(np.ascontiguousarray(b, dtype=np.float64) for b in biases[:-1]),
        margin=coefficients @ last.T,
        bias=coefficients @ lift - cut,
        way=way,
        blur=blur,
        heft=np.abs(coefficients) @ np.abs(last).T,
        ballast=np.abs(coefficients) @ np.abs(lift) + np.abs(cut),
    )


def tolerance_of(problem: Problem, network: Network) -> float:
    """By how much a score may be wrong, and more."""
    size = largest_inputs(problem.candidates)
    for option in problem.options:
        size[option.columns] = np.maximum(size[option.columns], option.largest)
    for weight, bias in zip(network.weights, network.biases, strict=True):
        size = 2.0 * (size @ np.abs(weight) + np.abs(bias))
    most = float((network.heft @ size + network.ballast).max(initial=0.0))
    return SCORE_TOLERANCE * most + LEAST_TOLERANCE + network.blur


class Places(NamedTuple):
    """First layers as ``centre + place @ spread``: along the inputs that differ, or as they are."""

    centre: FloatArray
    spread: FloatArray
    place: FloatArray


def places_of(network: Network, first: FloatArray, inputs: FloatArray, vary: IntArray) -> Places:
    """The places of candidates whose ``inputs`` differ in the columns ``vary``: along these, unless they are more."""
    if vary.size <= first.shape[1]:
        return Places(first[0], network.weights[0][vary], inputs[:, vary] - inputs[0, vary])
    return Places(np.zeros(first.shape[1]), np.eye(first.shape[1]), first)


def groups_of(by: Places, scores: FloatArray, weights: FloatArray, spare: float) -> list[IntArray]:
    """Sets of similar candidates among the hardest ones, which outweigh ``spare``; then all others as one set."""
    place, size = by.place, np.abs(by.spread).sum(axis=1)
    hard = _first(np.argsort(scores, kind="stable"), weights, HARD * spare)
    core = _close(place * size, hard, weights, CORE * spare)
    others = np.setdiff1d(np.arange(scores.size), core)
    groups = [core]
    while len(groups) < min(MOST_GROUPS, core.size):
        spans = [np.ptp(place[part], axis=0) * size for part in groups]
        widest = int(np.argmax([s.max(initial=0.0) for s in spans]))
        part = groups[widest]
        if part.size < 2 or spans[widest].max(initial=0.0) <= 0.0:
            break
        along = part[np.argsort(place[part, int(np.argmax(spans[widest]))], kind="stable")]
        half = [along[: part.size // 2], along[part.size // 2 :]]
        half.sort(key=lambda p: float(scores[p].mean()))
        groups[widest : widest + 1] = half
    return [*groups, others[np.argsort(scores[others], kind="stable")]]


def _first(order: IntArray, weights: FloatArray, weight: float) -> IntArray:
    """The first candidates of an order that outweigh ``weight``."""
    return order[: int(np.searchsorted(np.cumsum(weights[order]), weight, side="right")) + 1]


def _close(place: FloatArray, among: IntArray, weights: FloatArray, weight: float) -> IntArray:
    """Candidates near each other that outweigh ``weight``: those around the centre that has them nearest."""
    best, least = among, np.inf
    for centre in among[:: max(1, among.size // CENTRES)]:
        away = np.abs(place[among] - place[centre]).max(axis=1, initial=0.0)
        order = np.argsort(away, kind="stable")
        near = _first(order, weights[among], weight)
        if away[near[-1]] < least:
            best, least = among[near], float(away[near[-1]])
    return best


def moves_of(moves: Moves, own: Own, axis: IntArray, by: Places, who: IntArray, groups: list[IntArray]) -> FloatArray:
    """How far each option moves a group of candidates along the feature, (2, G, M): the lower and the upper end.

    All alike but for features that move each on its own. There, the ends of the places that an option leads to, from
    the ends of the places before, so that max of k (place + move) = max of k place + k delta[k > 0]; where places are
    no inputs, the least and the most move.
    """
    delta = np.repeat(np.repeat(moves.delta[None, None], len(groups), axis=1), 2, axis=0)
    for o, d in enumerate(own.feature):
        first, last = moves.start[d], moves.start[d + 1]
        for g, part in enumerate(groups):
            step = own.move[own.start[o] : own.start[o] + last - first, who[part]]
            place = by.place[part, axis[o]] if axis[o] >= 0 else np.zeros(part.size)
            delta[0, g, first:last] = (place + step).min(axis=1) - place.min()
            delta[1, g, first:last] = (place + step).max(axis=1) - place.max()
    return delta


def layers_of(
    network: Network, first: FloatArray, by: Places, groups: list[IntArray], delta: FloatArray, features: int
) -> Deep:
    """The hidden layers of candidates with these first layers; all groups but the last get bounds of their own.

    ``delta`` is what :func:`moves_of` says about them.
    """
    width = np.array([w.shape[1] for w in network.weights], dtype=np.int64)
    layers, most, order, core = width.size, int(width.max()), np.concatenate(groups), groups[:-1]
    weight, bias = np.zeros((layers - 1, most, most)), np.zeros((layers - 1, most))
    for i, (w, b) in enumerate(zip(network.weights[1:], network.biases[1:], strict=True)):
        weight[i, : w.shape[1], : w.shape[0]] = w.T
        bias[i, : b.size] = b
    return Deep(
        width=width,
        weight=weight,
        bias=bias,
        group=np.cumsum([0, *(g.size for g in core)]).astype(np.int64),
        first=_ends(first, core),
        centre=np.ascontiguousarray(by.centre),
        spread=np.ascontiguousarray(by.spread),
        spot=np.ascontiguousarray(by.place[order].T),
        place=_ends(by.place, core),
        delta=delta,
        z=np.zeros((5, layers, most)),
        back=np.zeros((2, most)),
        gap=np.zeros((layers, most)),
        span=np.zeros((layers, most, features)),
        layer=np.zeros((2, most, BLOCK)),
    )


def _ends(values: FloatArray, groups: list[IntArray]) -> FloatArray:
    """The least and the most of each column in each group."""
    return np.array([[values[g].min(axis=0) for g in groups], [values[g].max(axis=0) for g in groups]])
