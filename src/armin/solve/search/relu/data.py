"""The arrays that the compiled search over ReLU networks works on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "FREE",
    "KEPT",
    "MUST",
    "Aim",
    "Crowd",
    "Deep",
    "Leaf",
    "Moves",
    "Names",
    "Net",
    "Own",
    "Pool",
    "Space",
    "larger_pool",
    "new_leaf",
    "new_pool",
    "new_work",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Node = NDArray[np.int32]
"""(3, D): state, first option and one after the last option of each feature."""

KEPT, FREE, MUST = 0, 1, 2
"""State of a feature in a node: it keeps its value, it may change, it must take one of its range of options."""

STATE, LOW, HIGH = 0, 1, 2
"""Rows of a node."""

CHEAPEST, BEST, VALUE, REACH, LOOSE = 0, 1, 2, 3, 4
"""Rows of ``Space.feature``: least cost, best gain, two working rows, how much the feature loosens the relaxation."""

OPEN, PLACES, STAMP, VISITED, SCORED, NEWEST = range(6)
"""Entries of ``Pool.tally``: nodes in the heap, free places, next stamp, nodes visited, choices scored, and whether the
newest node comes first instead of the lowest bound."""

BLOCK = 32
"""Candidates that are scored at once."""

LINES = 256
"""Lines that bound the cost of a node, at most."""

FOUND = 64
"""Choices that are kept from one list, at most."""


class Moves(NamedTuple):
    """D features with M options other than "keep"; H neurons in the first layer."""

    start: Ints  # (D + 1,) first option of each feature
    cost: Floats  # (M,)
    delta: Floats  # (M,) the move along the feature, ascending, where `line`
    line: Bools  # (D,) whether options are multiples of `row`
    row: Floats  # (D, H)
    move: Floats  # (M, H) what an option adds to the first layer: U_d[j]
    middle: Ints  # (D,) first option that moves up
    limit: int  # changes allowed
    largest: bool  # whether the cost is a maximum, not a sum
    paid: float  # cost of what is fixed


class Crowd(NamedTuple):
    """N candidates and Q margins that decide about them."""

    base: Floats  # (H, N) the first layer when nothing changes: F_n
    weight: Floats  # (N,)
    margin: Floats  # (Q, H') coefficients of the last hidden layer
    bias: Floats  # (Q,)
    way: Ints  # (Q,) which way to be accepted a margin belongs to, ascending
    total: float
    tolerance: float


class Deep(NamedTuple):
    """L hidden layers of at most X neurons; G groups of similar candidates; and space to work in."""

    width: Ints  # (L,)
    weight: Floats  # (L - 1, X, X) between hidden layers, by output then input, padded with zeros
    bias: Floats  # (L - 1, X)
    group: Ints  # (G + 1,) first candidate of each group; those after the last group get no bound of their own
    first: Floats  # (2, G, H) least and most of the first layer in a group
    centre: Floats  # (H,) base[:, n] = centre + spread.T @ spot[:, n]
    spread: Floats  # (E, H)
    spot: Floats  # (E, N) the place of each candidate
    place: Floats  # (2, G, E) least and most place in a group
    delta: Floats  # (2, G, M) how far an option moves a group along the feature: see network.moves_of
    z: Floats  # (5, L, X) interval (2), slope and shift of the upper line, slope of the lower line
    back: Floats  # (2, X)
    gap: Floats  # (L, X)
    span: Floats  # (L, X, D) how much a feature moves a neuron
    layer: Floats  # (2, X, BLOCK)


class Own(NamedTuple):
    """O features that move each candidate on its own, by so much along ``row``: "to at least 40" says little to 39.

    Their options rise: no candidate moves less by a later one. So the ends of a range bound all of it.
    """

    feature: Ints  # (O,) which features
    start: Ints  # (O,) place in `move` of the feature's first option
    move: Floats  # (., N) how far an option moves each candidate
    axis: Ints  # (O,) the entry of a place (Deep.spot) that the feature moves; -1 if places are first layers
    span: Floats  # (2, O, N) least and most move in the node at hand
    apart: Floats  # (D,) how much further a feature moves the candidates at hand by its last option than by its first
    low: Floats  # (H, N) least first layer in the node at hand but for u; the base where there is no such feature
    high: Floats  # (H, N) and the most


class Names(NamedTuple):
    """How options are named in the problem, and what it rules out."""

    option: Ints  # (M,) index of the option in the problem
    slot: Ints  # (D,) index of the feature in the problem
    fixed: Ints  # (features of the problem,) the choice where this search does not decide
    forbidden: Ints  # (., features of the problem)
    rule: Ints  # (., 4) first and second feature, place in `table`, its width
    table: Bools


class Pool(NamedTuple):
    """Open nodes in a heap, the lowest bound first, and the free places."""

    node: Node  # (places, 3, D)
    bound: Floats  # (places,)
    critical: Ints  # (places,) the candidate whose relaxation is made tight
    high: Floats  # (places,) no choice of the node is better at weights above this
    told: Floats  # (places, G) no candidate of a group is accepted for less
    stamp: Ints  # (places,)
    heap: Ints  # (places,)
    free: Ints  # (places,)
    tally: Ints  # (6,) see ``OPEN`` and the others


class Aim(NamedTuple):
    """What is wanted of a node."""

    left: int  # changes that what is free may still make
    floor: float  # no choice of the node costs less
    first: int  # the first step of the stairs that it may improve
    last: int  # and the last
    cap: float  # what it must cost less than


class Space(NamedTuple):
    """Working space for bounds."""

    node: Node  # (3, D) a node without what costs more than is looked at now
    box: Floats  # (2, H) bounds on u
    wide: Floats  # (D, H)
    top: Floats  # (2, K + 2, H)
    slope: Floats  # (H,)
    gap: Floats  # (H,)
    offset: Floats  # (N,)
    order: Ints  # (N,)
    each: Floats  # (2, N) cost of acceptance: negative over all ways; in this way
    gain: Floats  # (M,)
    feature: Floats  # (5, D)
    chosen: Ints  # (D + 1,)
    lines: Floats  # (LINES, 2)
    step: Floats  # (S,) the gain that a step needs, or the least cost of it
    who: Ints  # (S,) the candidate that decides about a step


class Leaf(NamedTuple):
    """Working space to list the choices of a node."""

    gain: Floats  # (G, M)
    need: Floats  # (G,)
    ahead: Floats  # (3, D + 1) best gain by feature; gain and cost still to come
    sequence: Ints  # (D + 1,)
    taken: Ints  # (2, K + 1) feature, option
    got: Floats  # (2, K + 2) cost, gain
    u: Floats  # (K + 2, H)
    score: Floats  # (BLOCK,)
    alive: Ints  # (BLOCK,)
    choice: Ints  # (1 + FOUND, features of the problem) the one at hand, those found
    changed: NDArray[np.uint64]  # the set of features that the one at hand changes
    found: Floats  # (2, FOUND) cost and weight of those found
    sums: Floats  # (K + 1,)


class Net(NamedTuple):
    """All that a search reads, but for further layers: what has none must not wait until code for them is compiled."""

    moves: Moves
    crowd: Crowd
    own: Own
    words: Names


def new_pool(features: int, places: int, groups: int) -> Pool:
    """An empty pool."""
    tally = np.zeros(6, np.int64)
    tally[PLACES] = places
    return Pool(
        node=np.zeros((places, 3, features), np.int32),
        bound=np.zeros(places),
        critical=np.zeros(places, np.int64),
        high=np.full(places, np.inf),
        told=np.zeros((places, groups)),
        stamp=np.zeros(places, np.int64),
        heap=np.zeros(places, np.int64),
        free=np.arange(places, dtype=np.int64)[::-1].copy(),
        tally=tally,
    )


def larger_pool(pool: Pool) -> Pool:
    """The same nodes with twice the places."""
    places, _, features = pool.node.shape
    new = new_pool(features, 2 * places, pool.told.shape[1])
    for name in ("node", "bound", "critical", "high", "told", "stamp", "heap"):
        getattr(new, name)[:places] = getattr(pool, name)
    free = int(pool.tally[PLACES])
    new.free[:places] = np.arange(places, 2 * places)[::-1]
    new.free[places : places + free] = pool.free[:free]
    new.tally[:] = pool.tally
    new.tally[PLACES] = places + free
    return new


def new_work(tables: Net) -> Space:
    """Working space for bounds."""
    d, (h, n), k = tables.moves.line.size, tables.crowd.base.shape, max(0, tables.moves.limit)
    return Space(
        node=np.zeros((3, d), np.int32),
        box=np.zeros((2, h)),
        wide=np.zeros((d, h)),
        top=np.zeros((2, k + 2, h)),
        slope=np.zeros(h),
        gap=np.zeros(h),
        offset=np.zeros(n),
        order=np.arange(n, dtype=np.int64),
        each=np.zeros((2, n)),
        gain=np.zeros(tables.moves.cost.size),
        feature=np.zeros((5, d)),
        chosen=np.zeros(d + 1, np.int64),
        lines=np.zeros((LINES, 2)),
        step=np.zeros(1),
        who=np.zeros(1, np.int64),
    )


def new_leaf(tables: Net, deep: Deep | None) -> Leaf:
    """Working space to list choices."""
    d, h, k = tables.moves.line.size, tables.crowd.base.shape[0], max(0, tables.moves.limit)
    groups = 1 if deep is None else deep.group.size - 1
    return Leaf(
        gain=np.zeros((groups, tables.moves.cost.size)),
        need=np.zeros(groups),
        ahead=np.zeros((3, d + 1)),
        sequence=np.zeros(d + 1, np.int64),
        taken=np.zeros((2, k + 1), np.int64),
        got=np.zeros((2, k + 2)),
        u=np.zeros((k + 2, h)),
        score=np.zeros(BLOCK),
        alive=np.zeros(BLOCK, np.int64),
        choice=np.zeros((1 + FOUND, tables.words.fixed.size), np.int64),
        changed=np.zeros(max(1, (tables.words.fixed.size + 63) // 64), np.uint64),
        found=np.zeros((2, FOUND)),
        sums=np.zeros(k + 1),
    )
