"""Options that another one makes superfluous, left out before an engine sees them.

An option is *dominated* if another one of its feature costs no more and does at least as much for every candidate: in
any choice that one can take its place. Nothing is lost by leaving it out, but for choices that are told apart by it.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import entry
from armin.models.kinds import LinearModel, Model, TreeEnsemble
from armin.problem import Options, Problem

__all__ = ["magnitudes", "ready", "sizes_of", "thinned"]

MOST_RIVALS = 256
"""Options that others are compared with where gains have several entries."""

MOST_ENTRIES = 20_000_000
"""Gains that are compared, at most; more are left as they are."""


def magnitudes(problem: Problem) -> FloatArray:
    """The largest size (P,) of each model input that some option of a single feature gives to some candidate."""
    largest: FloatArray = np.abs(problem.candidates).max(axis=0)
    for option in problem.options:
        largest[option.columns] = np.fmax(largest[option.columns], sizes_of(option))
    return largest


def sizes_of(options: Options) -> FloatArray:
    """The largest size (E,) of each input of a feature."""
    return np.asarray(np.abs(options.outcomes).max(axis=(0, 1)))


def thinned(options: Options, model: Model, largest: FloatArray, classes: IntArray, *, with_keep: bool) -> IntArray:
    """The options to keep, "keep" first, then by rising cost.

    What is left out is beaten by an option that costs no more, so that the same may be left out of any of them that
    cost less than some amount.

    Parameters
    ----------
    options : of one feature
    model : what sees them
    largest : array of shape (P,), sizes that the model's inputs do not exceed, whatever is chosen
    classes : array of shape (J,); only options of one class can take each other's place
    with_keep : whether changing nothing is as good as a change without effect

    Examples
    --------
    >>> from armin.models.kinds import Above
    >>> model = LinearModel(np.ones((1, 1)), np.zeros(1), Above(0.0))
    >>> p = Problem.from_tables([[0.0]], {0: [0, 1, 2, -1, 1.5]}, {0: [0, 3, 2, 1, 4]}, model, 1)
    >>> thinned(p.options[0], model, magnitudes(p), np.zeros(5, dtype=int), with_keep=True).tolist()
    [0, 2]
    """
    order = np.lexsort((np.arange(options.size), options.costs))
    order = np.concatenate([[0], order[order != 0]]).astype(np.intp)
    classes = classes.copy()
    if not with_keep:
        classes[0] = -1
    if isinstance(model, LinearModel):
        gains, doubt = _gains(options, model, largest)
        if gains is not None:
            parts = [_efficient(gains, order[classes[order] == c], doubt) for c in np.unique(classes)]
            return _in_order(order, np.concatenate(parts))
    label = _labels(options, model)
    _, both = np.unique(label * (int(classes.max()) + 2) + classes + 1, return_inverse=True)
    _, first = np.unique(both.ravel()[order], return_index=True)
    return _in_order(order, order[first])


@cache
def ready() -> None:
    """Compile what is compiled here, so that no search has to wait for it."""
    _unbeaten(np.zeros((1, 2)), 0.0, 1)


def _in_order(order: IntArray, kept: IntArray) -> IntArray:
    chosen = np.zeros(order.size, dtype=bool)
    chosen[kept] = True
    chosen[0] = True
    return order[chosen[order]]


def _gains(options: Options, model: LinearModel, largest: FloatArray) -> tuple[FloatArray | None, float]:
    """What each option adds to each margin of each sort of candidate (J, entries), and what rounding may hide."""
    ways = model.decision.ways()
    rows = [way.coefficients for way in ways if way.cuts.size]
    if not rows:
        return None, 0.0
    coefficients = np.concatenate(rows)
    outcomes = _sorts(options.outcomes)
    if not np.isfinite(outcomes).all() or outcomes.shape[0] * options.size * coefficients.shape[0] > MOST_ENTRIES:
        return None, 0.0
    change = (outcomes - outcomes[:, :1]) @ (coefficients @ model.weights)[:, options.columns].T  # (n, J, rows)
    gains = np.swapaxes(change, 0, 1).reshape(options.size, -1)
    terms = float(np.abs(coefficients).sum(axis=1).max())
    cuts = np.concatenate([way.cuts for way in ways])
    size = float((np.abs(model.weights) @ largest + np.abs(model.intercept)).max()) + float(np.abs(cuts).max())
    number = np.finfo(np.float64)
    # a sum of P products, in any order, is off by at most about P * eps * (sum of sizes); see docs/dev/bounds.md
    doubt = 16 * (model.n_inputs + 4) * terms * (float(number.eps) * size + float(number.tiny))
    return (gains, doubt + 2 * model.decision.blur) if np.isfinite(doubt) else (None, 0.0)


def _efficient(gains: FloatArray, items: IntArray, doubt: float) -> IntArray:
    """Those of ``items``, by rising cost, that no earlier one beats in every entry by more than rounding."""
    mine = gains[items]
    if mine.shape[1] == 1:
        best = np.maximum.accumulate(np.concatenate([[-np.inf], mine[:-1, 0]]))
        return items[mine[:, 0] > best - doubt]
    return items[_unbeaten(np.ascontiguousarray(mine), doubt, MOST_RIVALS)]


@entry
def _unbeaten(gains: FloatArray, doubt: float, most: int) -> BoolArray:
    """Which rows no earlier one exceeds in every entry by more than ``doubt``; the last ``most`` of them are asked."""
    n, entries = gains.shape
    kept = np.zeros(n, dtype=np.bool_)
    rivals = np.zeros(most, dtype=np.intp)
    count = 0
    for i in range(n):
        beaten = False
        for r in range(min(count, most)):
            rival = rivals[r]
            beaten = True
            for e in range(entries):
                if not gains[rival, e] >= gains[i, e] + doubt:
                    beaten = False
                    break
            if beaten:
                rivals[r] = rivals[0]  # it may beat the next one as well
                rivals[0] = rival
                break
        if not beaten:
            kept[i] = True
            rivals[count % most] = i
            count += 1
    return kept


def _labels(options: Options, model: Model) -> IntArray:
    """Options (J,) that the model cannot tell apart, whatever the candidate, get the same number."""
    outcomes, parts = _sorts(options.outcomes), [np.zeros((0, options.size), dtype=np.int32)]
    for place, column in enumerate(options.columns.tolist()):
        values = outcomes[:, :, place]
        codes = _cells(values, model, column) if isinstance(model, TreeEnsemble) else _values(values)
        parts.append(codes.astype(np.int32))
    table = np.ascontiguousarray(np.concatenate(parts).T)
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(row.tobytes(), len(known)) for row in table], dtype=np.intp)


def _sorts(outcomes: FloatArray) -> FloatArray:
    """The outcomes (S, J, E) of each sort of candidate."""
    if outcomes.shape[0] == 1:
        return outcomes
    flat = np.ascontiguousarray(outcomes).reshape(outcomes.shape[0], -1)
    return outcomes[sorted({row.tobytes(): i for i, row in enumerate(flat)}.values())]


def _values(values: FloatArray) -> IntArray:
    """Numbers in the place of values; NaN is the same as NaN."""
    return np.asarray(np.unique(values, return_inverse=True)[1].reshape(values.shape))


def _cells(values: FloatArray, model: TreeEnsemble, column: int) -> IntArray:
    """Numbers in the place of values that no split of a column tells apart."""
    nodes = np.flatnonzero(model.feature == column)
    if not nodes.size:
        return np.zeros((1, values.shape[1]), dtype=np.intp)
    x = model.seen(values)
    if model.category_set is not None and bool(np.any(model.category_set[nodes] >= 0)):
        return _values(x)
    cuts = np.unique(model.threshold[nodes])
    code = np.searchsorted(cuts, x, side="right" if model.strict else "left")
    code[np.isnan(x)] = cuts.size + 1
    return np.asarray(code)
