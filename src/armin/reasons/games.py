"""Games that are played out: every coalition where there are few players, and sampled orders where there are many.

>>> import numpy as np
>>> values = np.array([0.0, 1.0, 2.0, 5.0])[:, None]  # nobody, the first, the second, both
>>> shapley(values)
array([[2., 3.]])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.sampling.progress import followed

__all__ = ["Played", "coalitions", "play", "play_all", "play_orders", "shapley"]

MOST_ROWS = 400_000
"""Rows about which a model is asked for one answer; with more, orders are sampled."""
AT_ONCE = 50_000
"""Rows that are asked about in one call."""

Value = Callable[[FloatArray], FloatArray]
"""Scores (n,) of rows of codes (n, D)."""


class Played:
    """What each player is due.

    Attributes
    ----------
    weights : (n, players)
    variance : the squared standard error of each; zeros where every coalition was asked about
    """

    def __init__(self, weights: FloatArray, variance: FloatArray) -> None:
        self.weights = weights
        self.variance = variance

    @property
    def exact(self) -> bool:
        """Whether nothing was sampled."""
        return not self.variance.any()


def coalitions(players: int) -> BoolArray:
    """All coalitions (2 ** players, players); player j is in those whose number has bit j.

    >>> coalitions(2).astype(int).tolist()
    [[0, 0], [1, 0], [0, 1], [1, 1]]
    """
    numbers = np.arange(2**players)[:, None]
    return np.asarray((numbers >> np.arange(players)) & 1, dtype=bool)


def shapley(values: FloatArray) -> FloatArray:
    """The Shapley values (n, players) of games given by the value of each coalition, (2 ** players, n)."""
    players = int(values.shape[0]).bit_length() - 1
    member = coalitions(players)
    size = member.sum(axis=1)
    out = np.zeros((values.shape[1], players))
    for j in range(players):
        without = np.flatnonzero(~member[:, j])
        share = np.array([1.0 / (players * comb(players - 1, int(s))) for s in size[without]])
        out[:, j] = share @ (values[without | (1 << j)] - values[without])
    return out


def play(
    value: Value, people: FloatArray, others: FloatArray, players: Sequence[int], rng: np.random.Generator
) -> Played:
    """What the values of people in ``players`` mean against those of others, all others counting alike.

    Parameters
    ----------
    value : scores of rows of codes
    people : codes (n, D)
    others : codes (B, D)
    players : positions of the features that play; others must not matter
    rng : for the orders, where orders are sampled
    """
    n, b = people.shape[0], others.shape[0]
    if len(players) <= 16 and 2 ** len(players) * n * b <= MOST_ROWS:
        return play_all(value, people, others, players)
    return play_orders(value, people, others, players, rng)


def play_all(value: Value, people: FloatArray, others: FloatArray, players: Sequence[int]) -> Played:
    """Every coalition, against each of the others."""
    member = coalitions(len(players))
    values = np.empty((member.shape[0], people.shape[0]))
    for s, inside in enumerate(member):
        taken = [p for p, yes in zip(players, inside, strict=True) if yes]
        values[s] = _mixed(value, people, others, taken)
    weights = shapley(values)
    return Played(weights, np.zeros_like(weights))


def _mixed(value: Value, people: FloatArray, others: FloatArray, taken: Sequence[int]) -> FloatArray:
    """The mean score over the others of each person (n,), whose values in ``taken`` replace theirs."""
    if not taken:
        return np.full(people.shape[0], float(value(others).mean()))
    distinct, which = np.unique(people[:, taken], axis=0, return_inverse=True)
    means = np.empty(distinct.shape[0])
    step = max(1, AT_ONCE // others.shape[0])
    for start in range(0, distinct.shape[0], step):
        part = distinct[start : start + step]
        rows = np.repeat(others[None], part.shape[0], axis=0)
        rows[:, :, taken] = part[:, None, :]
        scores = value(rows.reshape(-1, others.shape[1]))
        means[start : start + step] = scores.reshape(part.shape[0], -1).mean(axis=1)
    found: FloatArray = means[which.ravel()]
    return found


def play_orders(
    value: Value, people: FloatArray, others: FloatArray, players: Sequence[int], rng: np.random.Generator
) -> Played:
    """Sampled orders: each of the others once, an order and then the same backwards.

    The features of the other turn into the person's one after the other, so that what they are due adds up for every
    person. All people meet the same orders. Rows of fewer than 64 others are asked about more than once.
    """
    rounds = max(1, -(-64 // others.shape[0]))
    met = np.tile(np.arange(others.shape[0]), rounds + (others.shape[0] * rounds) % 2)
    orders = np.empty((met.size, len(players)), dtype=np.intp)
    for i in range(0, met.size - 1, 2):
        orders[i] = rng.permutation(len(players))
        orders[i + 1] = orders[i][::-1]
    rng.shuffle(met)
    # a shuffled list still holds each of the others equally often
    weights = np.zeros((people.shape[0], len(players)))
    variance = np.zeros_like(weights)
    for i, person in enumerate(followed(list(people), "progress.weigh")):
        steps = _steps(value, person, others[met], players, orders)
        weights[i] = steps.mean(axis=0)
        pairs = (steps[0::2] + steps[1::2]) / 2
        variance[i] = pairs.var(axis=0, ddof=1) / pairs.shape[0] if pairs.shape[0] > 1 else np.zeros(len(players))
    return Played(weights, variance)


def _steps(value: Value, person: FloatArray, start: FloatArray, players: Sequence[int], orders: IntArray) -> FloatArray:
    """What each player adds (orders, players) when the rows of ``start`` turn into the person in the given orders."""
    places = np.asarray(players, dtype=np.intp)
    rows = np.empty((places.size + 1, *start.shape))
    rows[0] = start
    lines = np.arange(start.shape[0])
    for k in range(places.size):
        rows[k + 1] = rows[k]
        moved = places[orders[:, k]]
        rows[k + 1][lines, moved] = person[moved]
    flat = rows.reshape(-1, start.shape[1])
    scores = np.concatenate([value(flat[i : i + AT_ONCE]) for i in range(0, flat.shape[0], AT_ONCE)])
    gains = np.diff(scores.reshape(places.size + 1, -1), axis=0)
    out = np.empty((start.shape[0], places.size))
    for k in range(places.size):
        out[lines, orders[:, k]] = gains[k]
    return out
