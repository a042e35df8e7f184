"""Shapley values of a sum of trees over raw features, exact, for several people against several others: compiled.

For one person x, one other z and one leaf, only three sorts of features matter: those whose conditions on the way to
the leaf x alone meets, those that z alone meets, and those that neither meets. With one of the last sort the leaf is
never reached by a mixture of the two. Otherwise a mixture reaches it if it takes all of the first from x and all of the
second from z, which is a game with a closed form. One-hot columns of a feature are one player, since the conditions on
all of them are met together or not.
"""

from __future__ import annotations

import math

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import entry, inner

__all__ = ["MOST_PLAYERS", "shares_of_orders", "tree_depth", "weigh_trees"]

MOST_PLAYERS = 60
"""Different features on the way to one leaf: so many bits are there."""


def shares_of_orders() -> FloatArray:
    """For a features that must come first and b that must not: what one of the former is due, (a - 1)! b! / (a + b)!.

    >>> table = shares_of_orders()
    >>> float(table[1, 0]), float(table[1, 1]), round(float(table[2, 1]), 6)
    (1.0, 0.5, 0.166667)
    """
    f = [math.factorial(i) for i in range(2 * MOST_PLAYERS + 1)]
    table = np.zeros((MOST_PLAYERS + 1, MOST_PLAYERS + 1))
    for a in range(1, MOST_PLAYERS + 1):
        for b in range(MOST_PLAYERS + 1):
            table[a, b] = f[a - 1] * f[b] / f[a + b]
    return table


@entry
def tree_depth(roots: IntArray, feature: IntArray, left: IntArray, right: IntArray) -> int:
    """The most splits on the way to a leaf."""
    nodes = np.empty(feature.size + 1, dtype=np.int64)
    depths = np.empty(feature.size + 1, dtype=np.int64)
    deepest = 0
    for t in range(roots.size):
        nodes[0], depths[0], top = roots[t], 0, 1
        while top:
            top -= 1
            node, depth = nodes[top], depths[top]
            deepest = max(deepest, depth)
            if feature[node] >= 0:
                nodes[top], depths[top] = left[node], depth + 1
                nodes[top + 1], depths[top + 1] = right[node], depth + 1
                top += 2
    return deepest


@inner
def _goes_left(
    x: float,
    node: int,
    threshold: FloatArray,
    nan_left: BoolArray,
    category_set: IntArray,
    category_left: BoolArray,
    strict: bool,
    single: bool,
) -> bool:
    """Whether a value goes left at an inner node, as :mod:`armin.models.walk` has it."""
    if single:
        x = np.float64(np.float32(x))
    if np.isnan(x):
        return bool(nan_left[node])
    if category_set.size > 0 and category_set[node] >= 0:
        if 0.0 <= x < category_left.shape[1] and np.floor(x) == x:
            return bool(category_left[category_set[node], int(x)])
        return False
    return bool(x < threshold[node]) if strict else bool(x <= threshold[node])


@inner
def _add_leaf(
    value: float,
    own: IntArray,
    fails: IntArray,
    n: int,
    weights: FloatArray,
    orders: FloatArray,
    different: IntArray,
    which: IntArray,
    out: FloatArray,
) -> None:
    """Add to ``out`` (n, players) what one leaf means for each person.

    ``own`` names the features on the way, ``fails`` for each person and then each other the features that miss it.
    """
    kinds = 0
    for i in range(n):
        found = -1
        for k in range(kinds):
            if different[k] == fails[i]:
                found = k
                break
        if found < 0:
            found = kinds
            different[kinds] = fails[i]
            kinds += 1
        which[i] = found
    due = np.zeros((kinds, own.size))
    for k in range(kinds):
        mine = different[k]
        b = 0
        for j in range(own.size):
            b += (mine >> j) & 1
        lost = 0.0
        for z in range(weights.size):
            theirs = fails[n + z]
            if mine & theirs:
                continue
            a = 0
            for j in range(own.size):
                a += (theirs >> j) & 1
            if a:
                share = value * weights[z] * orders[a, b]
                for j in range(own.size):
                    if (theirs >> j) & 1:
                        due[k, j] += share
            if b:
                lost += value * weights[z] * orders[b, a]
        for j in range(own.size):
            if (mine >> j) & 1:
                due[k, j] -= lost
    for i in range(n):
        for j in range(own.size):
            out[i, own[j]] += due[which[i], j]


@inner
def _place(own: IntArray, wanted: int) -> int:
    """Where a feature stands among those on the way; behind them if it is new."""
    for j in range(own.size):
        if own[j] == wanted:
            return j
    return own.size


@entry
def weigh_trees(
    inputs: FloatArray,
    n: int,
    roots: IntArray,
    feature: IntArray,
    threshold: FloatArray,
    left: IntArray,
    right: IntArray,
    nan_left: BoolArray,
    category_set: IntArray,
    category_left: BoolArray,
    strict: bool,
    single: bool,
    value: FloatArray,
    player: IntArray,
    weights: FloatArray,
    orders: FloatArray,
    depth: int,
    out: FloatArray,
    total: FloatArray,
) -> bool:
    """Add to ``out`` (n, players) the Shapley values of each person, and to ``total`` (rows,) the sums of leaf values.

    The first ``n`` rows of ``inputs`` are the people, the others those with whom they are compared, with ``weights``
    that add up to one. ``value`` (nodes,) is what a leaf adds; ``player`` (inputs,) is the feature behind each input.
    False if some way to a leaf has too many features.
    """
    rows = inputs.shape[0]
    fails = np.zeros((depth + 1, rows), dtype=np.int64)
    goes = np.zeros((depth + 1, rows), dtype=np.bool_)
    at = np.zeros(depth + 1, dtype=np.int64)  # the node at each depth
    stage = np.zeros(depth + 1, dtype=np.int64)  # how many of its children are done
    own = np.zeros(depth + 1, dtype=np.int64)  # the different features on the way
    known = np.zeros(depth + 2, dtype=np.int64)  # how many they are
    bit = np.zeros(depth + 1, dtype=np.int64)
    different = np.zeros(n, dtype=np.int64)
    which = np.zeros(n, dtype=np.int64)
    for t in range(roots.size):
        d = 0
        at[0], stage[0], known[0] = roots[t], 0, 0
        fails[0, :] = 0
        while d >= 0:
            node = at[d]
            if feature[node] < 0:
                for i in range(rows):
                    if fails[d, i] == 0:
                        total[i] += value[node]
                _add_leaf(value[node], own[: known[d]], fails[d], n, weights, orders, different, which, out)
                d -= 1
                continue
            if stage[d] == 2:
                d -= 1
                continue
            if stage[d] == 0:
                bit[d] = _place(own[: known[d]], player[feature[node]])
                if bit[d] >= orders.shape[0] - 1:
                    return False
                for i in range(rows):
                    goes[d, i] = _goes_left(
                        inputs[i, feature[node]], node, threshold, nan_left, category_set, category_left, strict, single
                    )
            # what lies below the left child may have written over it
            own[bit[d]] = player[feature[node]]
            known[d + 1] = max(known[d], bit[d] + 1)
            to_left = stage[d] == 0
            stage[d] += 1
            for i in range(rows):
                missed = goes[d, i] != to_left
                fails[d + 1, i] = fails[d, i] | (np.int64(missed) << bit[d])
            at[d + 1] = left[node] if to_left else right[node]
            stage[d + 1] = 0
            d += 1
    return True
