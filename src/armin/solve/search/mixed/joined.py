"""All members of a mixture as one ensemble of trees, and one table of weights.

Trees compare as their library does, in single or double precision, strictly or not. For the search they all compare
``x <= threshold`` in double precision, with another threshold that says the same of every number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray, IntArray
from armin.models.kinds import Above, LinearModel, ScoreMixture, Term, TreeEnsemble
from armin.models.nodes import OneTree, join, plant
from armin.solve.search.trees.cells import Splits, number_tests

__all__ = ["Joined", "Maps", "in_double", "join_members"]

_EDGE = 2.0**128 - 2.0**103  # the least double that is infinite in single precision
_KINDS = ("line", "logistic", "table", "step")
_known: WeakKeyDictionary[ScoreMixture, Joined] = WeakKeyDictionary()


class Maps(NamedTuple):
    """The maps of all terms, one after the other."""

    at: NDArray[np.int64]  # (M + 1,) the first map of each term
    kind: NDArray[np.int64]  # (maps,)
    slope: FloatArray
    shift: FloatArray
    blur: FloatArray
    table: NDArray[np.int64]  # (maps + 1,) into the points
    xs: FloatArray
    ys: FloatArray


@dataclass(frozen=True, eq=False)
class Joined:
    """A mixture of M terms as the search sees it."""

    trees: TreeEnsemble  # one output: what each leaf adds to the score of its tree's term
    tests: Splits
    of_tree: IntArray  # (trees,) the term of each tree
    weights: FloatArray  # (M, P) of the inputs, in linear terms
    start: FloatArray  # (M,) what is added to the score of a term whatever the row
    error: FloatArray  # (M,) what rounding can hide in the sum of its trees
    maps: Maps
    blur: float  # what the rounding of the sum of all terms can hide, beyond that of their scores


def join_members(mixture: ScoreMixture) -> Joined:
    """The members of a mixture together: once, as many rows are asked about one model."""
    found = _known.get(mixture)
    if found is None:
        _known[mixture] = found = _joined(mixture)
    return found


def _joined(mixture: ScoreMixture) -> Joined:
    count, width = len(mixture.terms), mixture.n_inputs
    weights, start, error = np.zeros((count, width)), np.zeros(count), np.zeros(count)
    parts, of_tree = list[TreeEnsemble](), list[int]()
    for m, term in enumerate(mixture.terms):
        if isinstance(term.model, LinearModel):
            place = np.arange(width) if term.columns is None else term.columns
            np.add.at(weights[m], place, term.coefficients @ term.model.weights)
            start[m] = float(term.coefficients @ term.model.intercept)
        else:
            start[m], error[m] = _sums(term, term.model)
            parts.append(_plain(term, term.model, width))
            of_tree += [m] * term.model.n_trees
    if parts:
        beside = join(parts, Above(0.0))
        trees = replace(beside, value=beside.value.sum(axis=1, keepdims=True), base=np.zeros(1), n_inputs=width)
    else:
        trees, of_tree = plant([_leaf()], [0.0], Above(0.0), width), [0]
    tests = replace(number_tests(trees), seen=np.asarray((weights != 0.0).any(axis=0)))
    return Joined(
        trees, tests, np.array(of_tree, dtype=np.int64), weights, start, error, _maps(mixture), _blur(mixture)
    )


def _blur(mixture: ScoreMixture) -> float:
    """A few units of the cut, and of what terms add where maps bound it; elsewhere that is as large as the scores."""
    size = max(1.0, abs(mixture.cut)) + mixture.near
    for term in mixture.terms:
        most = 0.0
        for each in term.maps:
            if each.kind == "line":
                most = abs(each.slope) * most + abs(each.shift)
            else:
                most = float(np.abs(each.ys).max()) if each.kind == "table" else 1.0
        size += most
    return 16.0 * (len(mixture.terms) + 4) * float(np.finfo(np.float64).eps) * size


def _leaf() -> OneTree:
    """A tree that says nothing, where there are no trees."""
    none = np.array([-1], dtype=np.intp)
    return OneTree(none, np.zeros(1), none, none, np.zeros(1, dtype=bool), np.zeros((1, 1)))


def _sums(term: Term, model: TreeEnsemble) -> tuple[float, float]:
    """The base of a tree term, and what the rounding of its sum can hide."""
    scale = np.abs(term.coefficients) / model.divisor
    ends = np.append(model.roots[1:], model.feature.size)
    largest = sum(np.abs(model.value[a:b]).max(axis=0) for a, b in zip(model.roots, ends, strict=True))
    size = float(scale @ (largest + np.abs(model.base)))
    unit = float(np.finfo(model.precision).eps)
    # a sum of T terms in this precision is off by at most about T * eps * (sum of sizes)
    return float(term.coefficients @ model.base.astype(np.float64)) / model.divisor, 8 * (
        model.n_trees + 8
    ) * unit * size


def _plain(term: Term, model: TreeEnsemble, width: int) -> TreeEnsemble:
    """The trees of a term, which add to one score and compare in double precision."""
    value = model.value.astype(model.precision).astype(np.float64) @ term.coefficients / model.divisor
    feature = model.feature
    if term.columns is not None:
        feature = np.where(feature < 0, -1, term.columns[np.maximum(feature, 0)])
    return replace(
        model,
        feature=feature.astype(np.intp),
        threshold=in_double(model.threshold, model.strict, model.input_precision == "float32"),
        value=value[:, None],
        base=np.zeros(1),
        decision=Above(0.0),
        strict=False,
        input_precision="float64",
        precision="float64",
        divisor=1.0,
        base_last=False,
        n_inputs=width,
    )


def in_double(threshold: FloatArray, strict: bool, single: bool) -> FloatArray:
    """Thresholds t' with ``x <= t'`` for just those doubles x for which ``x <= t`` or ``x < t`` in single precision.

    >>> cut = in_double(np.array([0.1]), strict=False, single=True)
    >>> x = np.array([np.nextafter(cut[0], -1), cut[0], np.nextafter(cut[0], 1)])
    >>> (x.astype(np.float32).astype(float) <= 0.1).tolist()
    [True, True, False]
    """
    cut = np.asarray(threshold, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if strict:
            cut = np.nextafter(cut, -np.inf)
        if not single:
            return cut
        below = cut.astype(np.float32)
        below = np.where(below.astype(np.float64) > cut, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
        # what is nearer to the float below than to the next one is rounded to it, and half of the ties
        middle = below.astype(np.float64) / 2.0 + above.astype(np.float64) / 2.0
        middle = np.where(middle.astype(np.float32) == below, middle, np.nextafter(middle, -np.inf))
        # beyond the largest float there is nothing but infinity
        middle = np.where(np.isfinite(below) & np.isinf(above), np.nextafter(_EDGE, 0.0), middle)
        middle = np.where(np.isneginf(below) & np.isfinite(cut), -_EDGE, middle)
    return np.where(np.isfinite(middle), middle, cut)


def _maps(mixture: ScoreMixture) -> Maps:
    every = [each for term in mixture.terms for each in term.maps]
    return Maps(
        at=np.cumsum([0, *(len(term.maps) for term in mixture.terms)]).astype(np.int64),
        kind=np.array([_KINDS.index(each.kind) for each in every], dtype=np.int64),
        slope=np.array([each.slope for each in every], dtype=np.float64),
        shift=np.array([each.shift for each in every], dtype=np.float64),
        # twice, for the rounding of the search itself
        blur=np.array([2.0 * each.blur for each in every], dtype=np.float64),
        table=np.cumsum([0, *(each.xs.size for each in every)]).astype(np.int64),
        xs=np.concatenate([np.zeros(0), *(each.xs for each in every)]),
        ys=np.concatenate([np.zeros(0), *(each.ys for each in every)]),
    )
