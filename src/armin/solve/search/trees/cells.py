"""The options of a problem as cells between a tree ensemble's thresholds.

A *cell* is a set of values of a feature that every split sends the same way. Features are of two
sorts. A *common* one has the same outcomes for all candidates; of the options in one cell only the
cheapest is kept. A *local* one (a missing feature) maps a candidate and an option to a cell.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.compiling import entry_bare
from armin.models.kinds import TreeEnsemble
from armin.problem import Options, Problem
from armin.solve.search.words import Bits, Ints

__all__ = ["Cells", "Common", "Local", "Ranked", "Splits", "cells_of", "merge_rows", "number_tests", "split_features"]


@dataclass(frozen=True)
class Splits:
    """The different splits of a model, those of one column together."""

    of_node: NDArray[np.int64]  # (nodes,) -1 in a leaf
    node: IntArray  # (tests,) a node with this split
    first: IntArray  # (columns + 1,)
    seen: BoolArray  # (columns,) whose values are told apart one by one, whatever the splits

    def notices(self, column: int) -> bool:
        """Whether anything depends on a column."""
        return bool(self.first[column] < self.first[column + 1] or self.seen[column])


@dataclass(frozen=True)
class Cells:
    """The cells of some columns."""

    tests: IntArray
    goes: BoolArray  # (cells, tests) whether left
    cell: IntArray  # (values,) the cell of each value


class Ranked(NamedTuple):
    """The cells of a feature that somebody is in already, then the others by what it costs to get there."""

    order: IntArray
    goes: BoolArray  # (cells, tests) of these
    cost: FloatArray  # rising; infinite for those that no option leads to
    kept: BoolArray

    @classmethod
    def of(cls, cells: Cells, cost: FloatArray, kept: BoolArray) -> Ranked:
        """From the least cost of each cell, and whether somebody is in it."""
        cost[kept] = 0.0
        order = np.lexsort((cost, ~kept))
        return cls(order, cells.goes[order], cost[order], kept[order])

    def below(self, cap: float) -> Ranked:
        """Those that cost less."""
        count = int(self.cost.searchsorted(cap))
        return Ranked(self.order[:count], self.goes[:count], self.cost[:count], self.kept[:count])


@dataclass(frozen=True, eq=False)
class Common:
    """A feature whose options do the same to all candidates."""

    feature: int
    cells: Cells  # ``cell`` is by option
    sides: tuple[IntArray, IntArray]  # options below the present value and others, cheapest first
    costs: FloatArray

    @cached_property
    def ranked(self) -> Ranked:
        """The cells by cost."""
        cost, kept = np.full(self.cells.goes.shape[0], np.inf), np.zeros(self.cells.goes.shape[0], dtype=bool)
        for side in self.sides:
            np.minimum.at(cost, self.cells.cell[side], self.costs[side])
        kept[self.cells.cell[0]] = True
        return Ranked.of(self.cells, cost, kept)


@dataclass(frozen=True, eq=False)
class Local:
    """A feature in which candidates differ."""

    feature: int  # -1: columns that differ and may not change
    cells: Cells
    cell: NDArray[np.int64]  # (J, sorts) cell of each sort of candidate after each option
    sort: IntArray  # (N,) candidates of one sort are in the same cell after every option
    option: IntArray  # (J,) keep first, then by cost
    cost: FloatArray  # (J,)

    @cached_property
    def ranked(self) -> Ranked:
        """The cells by cost."""
        cost, kept = np.full(self.cells.goes.shape[0], np.inf), np.zeros(self.cells.goes.shape[0], dtype=bool)
        np.minimum.at(cost, self.cell, np.broadcast_to(self.cost[:, None], self.cell.shape))
        kept[self.cell[0]] = True
        return Ranked.of(self.cells, cost, kept)


_numbered: WeakKeyDictionary[TreeEnsemble, Splits] = WeakKeyDictionary()
_Found = dict[tuple[int, bool], Common | Local | None]
_met: WeakKeyDictionary[TreeEnsemble, WeakKeyDictionary[Options, _Found]] = WeakKeyDictionary()


def number_tests(model: TreeEnsemble) -> Splits:
    """Number the different splits of a model: once, as many rows are asked about one model."""
    found = _numbered.get(model)
    if found is None:
        _numbered[model] = found = _number_tests(model)
    return found


def _number_tests(model: TreeEnsemble) -> Splits:
    inner = np.flatnonzero(model.feature >= 0)
    keys = [model.nan_left[inner], model.threshold[inner], model.feature[inner]]
    if model.category_set is not None:
        keys.insert(0, model.category_set[inner])
    order = np.lexsort(keys)
    new = np.zeros(inner.size, dtype=bool)
    new[:1] = True
    for key in keys:
        new[1:] |= key[order[1:]] != key[order[:-1]]
    of_node = np.full(model.feature.size, -1, dtype=np.int64)
    of_node[inner[order]] = np.cumsum(new) - 1
    node = inner[order[new]]
    first = np.searchsorted(model.feature[node], np.arange(model.n_inputs + 1))
    return Splits(of_node, node, first, np.zeros(model.n_inputs, dtype=bool))


def _column_cells(model: TreeEnsemble, tests: Splits, column: int, values: FloatArray) -> Cells:
    """The cells of one column."""
    numbers = np.arange(tests.first[column], tests.first[column + 1])
    nodes = tests.node[numbers]
    x = model.seen(values)
    categorical = model.category_set is not None and bool(np.any(model.category_set[nodes] >= 0))
    if categorical:
        _, code = np.unique(x, return_inverse=True)
    else:
        cuts = np.unique(model.threshold[nodes])
        code = np.searchsorted(cuts, x, side="right" if model.strict else "left")
        code[np.isnan(x)] = cuts.size + 1
    where = np.full(int(code.max()) + 1, -1, dtype=np.intp)
    where[code[::-1]] = np.arange(code.size)[::-1]
    used = np.flatnonzero(where >= 0)
    goes = model.goes_left(nodes[None, :], values[where[used]][:, None])
    number = np.zeros(where.size, dtype=np.intp)
    if categorical:
        goes, inverse = np.unique(goes, axis=0, return_inverse=True)
        number[used] = inverse.ravel()
    else:
        number[used] = np.arange(used.size)
    return Cells(numbers, goes, number[code])


def cells_of(model: TreeEnsemble, tests: Splits, columns: IntArray, values: FloatArray) -> Cells:
    """The cells of several columns together; ``values`` has shape (M, E)."""
    parts = [
        _column_cells(model, tests, p, values[:, i])
        for i, p in enumerate(columns.tolist())
        if tests.first[p] < tests.first[p + 1]
    ]
    parts += [_each_value(values[:, i]) for i, p in enumerate(columns.tolist()) if tests.seen[p]]
    if not parts:
        return Cells(np.zeros(0, np.intp), np.zeros((1, 0), dtype=bool), np.zeros(values.shape[0], dtype=np.intp))
    if len(parts) == 1:
        return parts[0]
    code = np.zeros(values.shape[0], dtype=np.intp)
    for part in parts:
        _, code = np.unique(code * part.goes.shape[0] + part.cell, return_inverse=True)
    _, where, cell = np.unique(code, return_index=True, return_inverse=True)
    goes = np.concatenate([part.goes[part.cell[where]] for part in parts], axis=1)
    return Cells(np.concatenate([part.tests for part in parts]), goes, cell)


def _each_value(values: FloatArray) -> Cells:
    """A cell for each value of one column."""
    known, cell = np.unique(values, return_inverse=True)
    return Cells(np.zeros(0, np.intp), np.zeros((known.size, 0), dtype=bool), cell.ravel())


def split_features(
    problem: Problem, model: TreeEnsemble, tests: Splits, apart: bool
) -> tuple[list[Common], list[Local]]:
    """The features of a problem by sort; columns that differ but may not change are one more local feature.

    With ``apart``, changes that no tree notices are told apart from "keep".
    """
    commons: list[Common] = []
    locals_: list[Local] = []
    n = problem.n_candidates
    owned: set[int] = set()
    known = _met.setdefault(model, WeakKeyDictionary())
    for d, option in enumerate(problem.options):
        owned |= set(option.columns.tolist())
        if problem.forbidden or any(d in (rule.first, rule.second) for rule in problem.rules):
            found = _sorted_out(problem, model, tests, d, apart)
        else:  # nothing but the option itself matters, which parts of one problem share
            if (n, apart) not in known.setdefault(option, {}):
                known[option][n, apart] = _sorted_out(problem, model, tests, d, apart)
            found = known[option][n, apart]
        if found is not None and found.feature != d:
            found = replace(found, feature=d)
        if isinstance(found, Common):
            commons.append(found)
        elif found is not None:
            locals_.append(found)
    rest = [p for p in range(model.n_inputs) if p not in owned and tests.notices(p)]
    differ = [p for p in rest if not _constant(problem.candidates[:, p])]
    if differ:
        cells = cells_of(model, tests, np.array(differ), problem.candidates[:, differ])
        if cells.goes.shape[0] > 1:
            cell = np.arange(cells.goes.shape[0], dtype=np.int64)[None, :]
            locals_.append(Local(-1, cells, cell, cells.cell, np.zeros(1, np.intp), np.zeros(1)))
    return commons, locals_


def _sorted_out(problem: Problem, model: TreeEnsemble, tests: Splits, d: int, apart: bool) -> Common | Local | None:
    """One feature of a problem; None if no tree notices its changes."""
    option, n = problem.options[d], problem.n_candidates
    rows, size, width = option.outcomes.shape
    if rows == 1:
        some, row_of = np.zeros(1, np.intp), np.zeros(n, np.intp)
    else:
        bits = np.ascontiguousarray(option.outcomes, dtype=np.float64).view(np.int64)
        some, row_of = merge_rows(bits.reshape(rows, size * width))
    values = option.outcomes[some].reshape(some.size * size, width)
    cells = cells_of(model, tests, option.columns, values)
    grid = cells.cell.reshape(some.size, size)
    same = bool(np.all(grid == grid[0]))
    classes = _classes(problem, d, grid[:1] if same else grid, apart)
    kept = _cheapest(classes, option.costs)
    if not same:
        first, sort = merge_rows(np.ascontiguousarray(grid[:, kept], dtype=np.int64))
        cell = np.ascontiguousarray(grid[first][:, kept].T, dtype=np.int64)
        return Local(d, cells, cell, sort[row_of], kept, option.costs[kept])
    if kept.size < 2:
        return None
    return Common(d, Cells(cells.tests, cells.goes, grid[0]), _sides(option, kept[1:]), option.costs)


def _constant(column: FloatArray) -> bool:
    return bool(np.all(column == column[0]) or np.all(np.isnan(column)))


def _classes(problem: Problem, d: int, grid: IntArray, apart: bool) -> IntArray:
    """Options (J,) that nothing tells apart get the same number."""
    size = grid.shape[1]
    key = grid[0] if grid.shape[0] == 1 else merge_rows(np.ascontiguousarray(grid.T, dtype=np.int64))[1]
    for rule in problem.rules:
        for position, table in ((rule.first, rule.allowed), (rule.second, rule.allowed.T)):
            if position == d:
                _, row = np.unique(table, axis=0, return_inverse=True)
                _, key = np.unique(key * size + row.ravel(), return_inverse=True)
    if problem.forbidden:
        named = np.unique([choice[d] for choice in problem.forbidden])
        key = key.astype(np.intp)
        key[named] = size * size + named
    if apart:
        key = key.astype(np.intp)
        key[0] = -1
    return np.asarray(key)


def _cheapest(classes: IntArray, costs: FloatArray) -> IntArray:
    """The cheapest option of each class, option 0 first, then by cost."""
    rank = np.argsort(costs, kind="stable")  # of those that cost the same the first comes first
    _, first = np.unique(classes[rank], return_index=True)
    kept = rank[np.sort(first)]
    return np.concatenate([[0], kept[kept != 0]]).astype(np.intp)


def _sides(option: Options, kept: IntArray) -> tuple[IntArray, IntArray]:
    """Options below the present value, and all others."""
    if option.columns.size != 1 and np.unique(option.outcomes[0, kept, :1]).size < kept.size:
        return kept[:0], kept
    with np.errstate(invalid="ignore"):
        below = option.outcomes[0, kept, 0] < option.outcomes[0, 0, 0]
    return kept[below], kept[~below]


def merge_rows(signature: NDArray[np.int64]) -> tuple[IntArray, IntArray]:
    """Rows of ``signature`` that are equal: the first of each group, and the group of each row."""
    code = np.empty(signature.shape[0], dtype=np.uint64)
    _mix(signature, code)
    rank = np.argsort(code, kind="stable")
    new = np.ones(rank.size, dtype=bool)
    _compare(signature, code, rank, new)
    group = np.empty(rank.size, dtype=np.intp)
    group[rank] = np.cumsum(new) - 1
    return rank[new], group


@entry_bare
def _mix(signature: Ints, code: Bits) -> None:  # pragma: no cover - compiled
    """A number for each row: its entries mixed in one after the other, so that equal rows get equal numbers."""
    for i in range(signature.shape[0]):
        mixed = np.uint64(0)
        for k in range(signature.shape[1]):
            mixed = (mixed ^ np.uint64(signature[i, k])) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        code[i] = mixed


@entry_bare
def _compare(signature: Ints, code: Bits, rank: IntArray, new: BoolArray) -> None:  # pragma: no cover - compiled
    """Whether a row differs from the one before it; equal codes are compared in full."""
    for k in range(1, rank.size):
        a, b = rank[k], rank[k - 1]
        same = code[a] == code[b]
        i = 0
        while same and i < signature.shape[1]:
            same = signature[a, i] == signature[b, i]
            i += 1
        new[k] = not same
