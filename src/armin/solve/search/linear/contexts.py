"""What a linear model makes of a problem's options: gains, patterns and contexts.

Options of a missing feature that move candidates differently (a category set to one value) are
sorted by *pattern*: all options of one pattern move the candidates by the pattern plus a constant.
Each combination of patterns is a *context*, searched on its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.models.kinds import LinearModel
from armin.problem import Problem
from armin.solve.search.handed import hand
from armin.solve.search.linear.data import Context
from armin.solve.search.linear.options import Gains, efficient, spread
from armin.solve.search.linear.searcher import count_choices
from armin.solve.search.ways import rows_of

__all__ = ["Contexts", "Folded", "Pattern", "contexts", "fold"]


class Folded(NamedTuple):
    """The rows of a decision with the model folded in: ``coefficients @ inputs + offset`` must not be negative."""

    coefficients: FloatArray  # (rows, P)
    offset: FloatArray
    way: IntArray
    terms: float  # how many outputs enter a row at most, counted as often as they do
    blur: float


@dataclass(frozen=True)
class Pattern:
    """Options of one feature that move the candidates alike, by rising cost."""

    moves: FloatArray | None  # (N, rows); None: not at all
    option: IntArray
    gain: FloatArray  # (options, rows)
    forced: bool  # whether one of the options must be taken ("keep" has another pattern)


def fold(model: LinearModel) -> Folded:
    """Fold a model into the rows of its decision.

    A way with two or three rows also gets the sum of any two of them: where both hold, it does. An option that raises
    one row at the cost of another raises neither their sum, so that it sees what the rows on their own do not.
    """
    rows = rows_of(model.decision)
    if rows.way.size == 1:
        offset = rows.coefficients @ model.intercept - rows.cut
        return Folded(rows.coefficients @ model.weights, offset, rows.way, 2.0, rows.blur)
    picks: list[list[int]] = []
    for w in np.unique(rows.way):
        here = np.flatnonzero(rows.way == w).tolist()
        picks += [*map(list, combinations(here, 2))] if len(here) <= 3 else []
        picks += [[row] for row in here]
    chosen = np.array([rows.coefficients[pick].sum(axis=0) for pick in picks])
    cut = np.array([rows.cut[pick].sum() for pick in picks])
    terms = float(np.abs(chosen).sum(axis=1).max(initial=1.0))
    way = np.array([rows.way[pick[0]] for pick in picks], dtype=np.intp)
    offset = chosen @ model.intercept - cut
    return Folded(chosen @ model.weights, offset, way, terms, terms * rows.blur)


def _all_moves(problem: Problem, model: LinearModel, rows: Folded) -> Gains | None:
    """The moves of all options; None where some input is not a number."""
    options, n_rows = problem.options, rows.offset.size
    sizes = [o.size for o in options]
    start = np.cumsum([0, *sizes])
    low = high = np.zeros((n_rows, start[-1]))
    largest = np.zeros(model.n_inputs)
    plain = [o.outcomes.shape[::2] == (1, 1) for o in options]  # one input, which is the same for all candidates
    alike = all(plain)
    if any(plain):
        column = np.concatenate([o.columns for o, alone in zip(options, plain, strict=True) if alone])
        value = np.concatenate([o.outcomes[0, :, 0] for o, alone in zip(options, plain, strict=True) if alone])
        size_of = np.array([size for size, alone in zip(sizes, plain, strict=True) if alone])
        first = np.cumsum(size_of) - size_of
        weight = np.repeat(rows.coefficients[:, column], size_of, axis=1)
        move = value * weight - np.repeat(value[first], size_of) * weight
        if alike:
            low = high = move
        else:
            low[:, np.repeat(plain, sizes)] = move
        largest[column] = np.maximum.reduceat(np.abs(value), first)
    if not alike:
        high = low.copy()
    for d in () if alike else np.flatnonzero(~np.array(plain)).tolist():
        option, part = options[d], slice(start[d], start[d + 1])
        outcomes = np.ascontiguousarray(option.outcomes, dtype=np.float64)
        mine = np.full((2, n_rows, option.size), np.inf)
        np.negative(mine[1], out=mine[1])
        spread(outcomes, np.ascontiguousarray(rows.coefficients[:, option.columns]), mine[0], mine[1])
        low[:, part], high[:, part] = mine
        if option.columns.size:
            largest[option.columns] = np.maximum(outcomes.max(axis=(0, 1)), -outcomes.min(axis=(0, 1)))
    rest = np.ones(model.n_inputs, dtype=bool)
    rest[np.concatenate([np.zeros(0, dtype=np.intp), *(o.columns for o in options)])] = False
    if rest.any():
        largest[rest] = np.abs(problem.candidates[:, rest]).max(axis=0)
    size = float((np.abs(model.weights) @ largest + np.abs(model.intercept)).max()) + float(np.abs(rows.offset).max())
    if not np.isfinite(size) or not np.isfinite(largest).all():
        return None
    # a product of P terms, in any order, is off by at most about P * eps * (sum of sizes), and a little where numbers
    # are as small as they get; beyond that, only rows that are further than the blur from 0 can be compared
    number = np.finfo(np.float64)
    doubt = 16 * (model.n_inputs + 4) * rows.terms * (float(number.eps) * size + float(number.tiny)) + 2 * rows.blur
    cost = np.concatenate([np.zeros(0), *(o.costs for o in problem.options)])
    gain = np.ascontiguousarray(((low + high) / 2).T)
    return Gains(start, gain, (high - low).max(axis=0) <= doubt, cost, doubt)


@dataclass(frozen=True, eq=False)
class Contexts:
    """All combinations of patterns of a problem, none of them made yet.

    Attributes
    ----------
    problem, moves : the problem, and what its options do to the scores
    size, kept : of the options that move all candidates alike, how many each feature has, and which; "keep" is not
        among them, and goes with them
    others : for each feature that has some, its other patterns
    score : array of shape (N, rows), before any change
    """

    problem: Problem
    moves: Gains
    size: IntArray
    kept: IntArray
    others: dict[int, list[Pattern]]
    score: FloatArray

    @cached_property
    def patterns(self) -> list[list[Pattern]]:
        """The patterns of each feature; the first holds what moves all candidates alike."""
        found, begin = [], self._begin
        for d in range(self.size.size):
            plain = self.kept[begin[d] : begin[d + 1]]
            found.append([Pattern(None, plain, self.moves.gain[plain], False), *self.others.get(d, [])])
        return found

    @property
    def uneven(self) -> list[int]:
        """The features with several patterns, those with few of them first."""
        return sorted(self.others, key=lambda d: (len(self.others[d]), d))

    @property
    def count(self) -> float:
        """How many combinations there are, whatever the number of changes."""
        return float(np.prod([1.0 + len(patterns) for patterns in self.others.values()]))

    @cached_property
    def sizes(self) -> IntArray:
        """How many options each feature has, in all patterns."""
        sizes = self.size.copy()
        for d, patterns in self.others.items():
            sizes[d] += sum(p.option.size for p in patterns)
        return sizes

    @cached_property
    def choices(self) -> float:
        """How many choices all contexts have together."""
        return count_choices(self.sizes.tolist(), self.problem.limit)

    def has_at_most(self, few: int) -> bool:
        """Whether there are so few choices; those with two changes are counted first, as that is quick."""
        if self.problem.limit >= 2 and int(self.sizes.sum()) ** 2 - int(self.sizes @ self.sizes) > 2 * few:
            return False
        return self.choices <= few

    def combinations(self) -> Iterator[dict[int, int]]:
        """Every combination that respects the number of changes: the patterns of features, where not the first."""
        uneven = self.uneven
        for picks in product(*(range(1 + len(self.others[d])) for d in uneven)):
            forced = {d: p for d, p in zip(uneven, picks, strict=True) if p}
            if len(forced) <= self.problem.limit:
                yield forced

    @cached_property
    def _begin(self) -> IntArray:
        """Where the options of each feature begin among those kept."""
        return np.append(0, np.cumsum(self.size))

    @cached_property
    def _gain(self) -> FloatArray:
        """The gains of the options kept."""
        return self.moves.gain[self.kept]

    def make(self, picks: dict[int, int], without: Collection[int] = ()) -> Context:
        """The context in which some features have other patterns than their first, and some are left out."""
        begin, option, gain = self._begin, self.kept, self._gain
        size, forced, score = self.size.copy(), np.zeros(self.size.size, dtype=bool), self.score
        options, gains, end = [], [], 0
        for d in sorted({*picks, *without}):
            if d in without:
                options.append(option[end : begin[d]])
                gains.append(gain[end : begin[d]])
                end, size[d] = begin[d + 1], 0
                continue
            pattern = self.others[d][picks[d] - 1]
            options += [option[end : begin[d]], pattern.option]
            gains += [gain[end : begin[d]], pattern.gain]
            end, size[d], forced[d] = begin[d + 1], pattern.option.size, pattern.forced
            if pattern.moves is not None:
                score = score + pattern.moves
        kept = np.concatenate([*options, option[end:]])
        use = size > 0
        start = np.zeros(int(use.sum()) + 1, dtype=np.int64)
        np.cumsum(size[use], out=start[1:])
        return Context(
            np.flatnonzero(use), start, kept - np.repeat(self.moves.start[:-1], size),
            np.concatenate([*gains, gain[end:]]), self.moves.cost[kept], forced[use], score, self.doubt,
        )  # fmt: skip

    @property
    def doubt(self) -> float:
        """What rounding may hide in a sum of scores and gains."""
        return (self.size.size + 2) * self.moves.doubt


def contexts(problem: Problem, model: LinearModel, rows: Folded, apart: bool) -> Contexts | None:
    """Every combination of patterns that respects the number of changes; None where some input is not a number.

    With ``apart``, changes that gain nothing stay, as they do where sets of features are ruled out.
    """
    moves = _all_moves(problem, model, rows)
    if moves is None:
        return None
    special = np.full(len(problem.options), bool(problem.forbidden) or rows.offset.size > 1)
    for rule in problem.rules:
        special[[rule.first, rule.second]] = True
    used = np.asarray(model.weights.any(axis=0))
    every = bool(used.all())
    heard = np.array([float(o.columns.size > 0 if every else used[o.columns].any()) for o in problem.options])
    score = problem.candidates @ rows.coefficients.T + rows.offset
    kept, items = np.zeros(moves.cost.size, dtype=np.int64), np.zeros(moves.cost.size, dtype=np.int64)
    size = np.zeros(len(problem.options), dtype=np.int64)
    kept = kept[: efficient(hand(moves), special, apart, moves.doubt * heard, kept, size, items)]
    others: dict[int, list[Pattern]] = {}
    uneven = np.unique(moves.start.searchsorted(np.flatnonzero(~moves.even), side="right") - 1)
    for d in uneven.tolist():
        whole = bool(special[d])
        found = list(_uneven(problem, d, rows, moves, whole, whole or apart))
        if found:
            others[d] = found
    return Contexts(problem, moves, size, kept, others, score)


def _uneven(problem: Problem, d: int, rows: Folded, moves: Gains, special: bool, apart: bool) -> Iterator[Pattern]:
    """The patterns of the options of a feature that do not move all candidates alike.

    Without ``apart``, an option that leaves each candidate as it is or moves it away is no better than "keep".
    """
    begin = int(moves.start[d])
    rest = np.flatnonzero(~moves.even[begin : int(moves.start[d + 1])])
    if rest.size == 0:
        return
    option = problem.options[d]
    rest = rest[np.argsort(option.costs[rest], kind="stable")]
    change = option.outcomes[:, rest] - option.outcomes[:, :1]
    idle = (change == 0).all(axis=2)  # (N, rest): the very same inputs
    change = change @ rows.coefficients[:, option.columns].T  # (N, rest, rows)
    if not apart:
        use = ~(idle | (change[:, :, 0] <= -moves.doubt)).all(axis=0)
        rest, change = rest[use], change[:, use]
        if rest.size == 0:
            return
    level = change[0]
    shape = change - level[None]
    alone = _alone(shape[:, :, 0], moves.doubt)
    open_ = ~alone
    for i, only in enumerate(alone.tolist()):
        if only:
            yield Pattern(shape[:, i], begin + rest[i : i + 1], level[i : i + 1], True)
            continue
        if not open_[i]:
            continue
        near = i + np.flatnonzero(open_[i:])
        like = near[np.abs(shape[:, near] - shape[:, i : i + 1]).max(axis=(0, 2)) <= moves.doubt]
        open_[like] = False
        gain, chosen = level[like], begin + rest[like]
        if not special:
            best = np.maximum.accumulate(np.concatenate([[-np.inf], gain[:, 0]]))
            use = gain[:, 0] > best[:-1] - moves.doubt
            gain, chosen = gain[use], chosen[use]
        yield Pattern(shape[:, i], chosen, gain, True)


def _alone(shape: FloatArray, doubt: float) -> BoolArray:
    """For which options (N, options) none of the others is alike, as the sums over all candidates tell.

    Where two differ by at most ``doubt`` for each candidate, their sums differ by no more than N times that, but for
    rounding.
    """
    sums = shape.sum(axis=0)
    rank = np.argsort(sums, kind="stable")
    # a sum of N terms, in any order, is off by at most about N * eps * (sum of sizes)
    rounding = 4 * shape.shape[0] * float(np.finfo(np.float64).eps) * float(np.abs(shape).sum(axis=0).max())
    far = np.diff(sums[rank]) > 1.01 * shape.shape[0] * doubt + rounding  # and a little more
    found = np.empty(sums.size, dtype=bool)
    found[rank] = np.append(True, far) & np.append(far, True)
    return found
