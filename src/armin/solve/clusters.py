"""Features that blocks connect, as one feature whose options are combinations of theirs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import SolverError
from armin.problem import Block, Options, Problem
from armin.solve.thin import sizes_of, thinned

__all__ = ["MOST_COMBINATIONS", "Cluster", "Combined", "Pattern", "TooManyError", "clusters_of"]

MOST_COMBINATIONS = 200_000
"""Combinations of the options of one cluster that are written down, at most."""

FEW = 8
"""Lists of combinations that are kept until their outcomes are worked out."""

MOST_NUMBERS = 40_000_000
"""Numbers in the table of one cluster's outcomes, at most."""

Pattern = frozenset[int]
"""Members of a cluster that change, as places among the members."""


class TooManyError(SolverError):
    """A cluster has too many combinations to write them down."""


@dataclass(frozen=True, eq=False)
class Combined:
    """Combinations of the members of a cluster as the options of one feature.

    Attributes
    ----------
    cap : all that cost less are there
    options : "keep" and the combinations
    every : int array (J, members), what each of them stands for
    """

    cap: float
    options: Options
    every: IntArray

    @cached_property
    def sizes(self) -> FloatArray:
        """The largest size (E,) of each model input."""
        return sizes_of(self.options)


@dataclass(frozen=True, eq=False)
class _Thin:
    """What is left of combinations, and under which circumstances."""

    of: Combined
    with_keep: bool
    largest: FloatArray
    options: Options
    every: IntArray


def _some(options: Options, keep: IntArray) -> Options:
    return replace(options, outcomes=options.outcomes[:, keep], costs=options.costs[keep])


@dataclass(frozen=True, eq=False)
class Cluster:
    """Features that blocks connect.

    Attributes
    ----------
    problem : the problem
    members : their positions in ``problem.options``, ascending
    blocks : the blocks among them
    only : for members (by place) that may change to some of their options only, which
    """

    problem: Problem
    members: tuple[int, ...]
    blocks: tuple[Block, ...]
    only: Mapping[int, IntArray] = field(default_factory=dict)

    @cached_property
    def patterns(self) -> list[Pattern]:
        """Every set of members that can change together, the small ones first."""
        able = [k for k, d in enumerate(self.members) if self.problem.options[d].size > 1]
        return [frozenset(some) for size in range(1, len(able) + 1) for some in combinations(able, size)]

    def least(self, pattern: Pattern) -> float:
        """The least cost of changing these."""
        costs = [float(self.problem.options[self.members[k]].costs[self._changes(k)].min()) for k in pattern]
        return max(costs) if self.problem.aggregate == "max" else sum(costs)

    def _changes(self, place: int) -> IntArray:
        """The options that a member may change to."""
        every = np.arange(1, self.problem.options[self.members[place]].size)
        return self.only.get(place, every)

    def rough(self, patterns: Sequence[Pattern], cap: float) -> float:
        """How many combinations there are at most."""
        below = [int((o.costs[self._changes(k)] < cap).sum()) for k, o in enumerate(self._options_of_members)]
        return float(sum(np.prod([below[k] for k in pattern], dtype=np.float64) for pattern in patterns))

    @property
    def _options_of_members(self) -> list[Options]:
        return [self.problem.options[d] for d in self.members]

    def halves(self, pattern: Pattern, cap: float) -> tuple[Cluster, Cluster] | None:
        """The combinations of one pattern in two clusters, the cheaper options of a member first; None if there is one.

        The member is the one with most options below ``cap``.
        """
        able = {k: self._changes(k) for k in sorted(pattern)}
        costs = {k: self.problem.options[self.members[k]].costs[options] for k, options in able.items()}
        place = max(able, key=lambda k: int((costs[k] < cap).sum()))
        order = able[place][np.argsort(costs[place], kind="stable")]
        middle = int((costs[place] < cap).sum()) // 2
        if middle == 0:
            return None
        first, second = (replace(self, only={**self.only, place: some}) for some in (order[:middle], order[middle:]))
        return first, second

    def picks(self, patterns: Sequence[Pattern], cap: float) -> tuple[IntArray, FloatArray]:
        """The allowed combinations (M, members) that change one of ``patterns`` and cost less than ``cap``; costs (M,).

        Raises
        ------
        TooManyError
            If there are too many to write them down.
        """
        found, prices = [np.zeros((0, len(self.members)), dtype=np.intp)], [np.zeros(0)]
        for pattern in patterns:
            places = sorted(pattern)
            costs, picked = np.zeros(1), np.zeros((1, 0), dtype=np.intp)
            for place in places:  # one member after the other, so that what is too expensive is never multiplied
                option, within = self.problem.options[self.members[place]], self._changes(place)
                within = within[option.costs[within] < cap]
                if costs.size * within.size > 10 * MOST_COMBINATIONS:
                    raise TooManyError(self._too_many())
                both = np.maximum if self.problem.aggregate == "max" else np.add
                table = both.outer(costs, option.costs[within])
                i, j = np.nonzero(table < cap)
                costs, picked = table[i, j], np.column_stack([picked[i], within[j]])
            rows = np.zeros((costs.size, len(self.members)), dtype=np.intp)
            rows[:, places] = picked
            keep = self._legal(rows)
            found.append(rows[keep])
            prices.append(costs[keep])
        picks, price = np.concatenate(found), np.concatenate(prices)
        if price.size > MOST_COMBINATIONS:
            raise TooManyError(self._too_many())
        return picks, price

    def _too_many(self) -> str:
        names = ", ".join(repr(self.problem.options[d].name) for d in self.members)
        return (
            f"The features {names} determine inputs of the model together, and have more than {MOST_COMBINATIONS:,} "
            "combinations. Use method='auto' or method='enumerate', or fewer options."
        )

    def _legal(self, picks: IntArray) -> BoolArray:
        """Which combinations the rules within the cluster allow."""
        keep = np.ones(picks.shape[0], dtype=bool)
        for rule in self.problem.rules:
            if rule.first in self.members and rule.second in self.members:
                first, second = (self.members.index(d) for d in (rule.first, rule.second))
                keep &= rule.allowed[picks[:, first], picks[:, second]]
        return keep

    def combined(self, patterns: tuple[Pattern, ...], cap: float) -> Combined:
        """One feature whose options are "keep" and the combinations of :meth:`picks`, and perhaps more expensive ones.

        Parts ask for the same combinations under budgets that mostly shrink, so they are kept.
        """
        made = self._made.get(patterns)
        if made is None or made.cap < cap:
            picks, costs = self._picked(patterns, cap)
            every = np.concatenate([np.zeros((1, len(self.members)), dtype=np.intp), picks])
            options = self._options(picks, costs)
            made = self._made[patterns] = Combined(cap, options, every)
        return made

    def thinned(
        self, patterns: tuple[Pattern, ...], cap: float, largest: FloatArray, *, with_keep: bool
    ) -> tuple[Options, IntArray]:
        """The options of :meth:`combined` below ``cap`` that no other makes superfluous, and their combinations.

        ``largest`` and ``with_keep`` as for :func:`armin.solve.thin.thinned`.
        """
        made = self.combined(patterns, cap)
        thin = self._thin.get(patterns)
        if thin is None or thin.of is not made or thin.with_keep != with_keep or bool((largest > thin.largest).any()):
            roomy = 2.0 * largest  # other parts may have somewhat larger inputs
            keep = thinned(made.options, self.problem.model, roomy, self.classes(made.every), with_keep=with_keep)
            thin = self._thin[patterns] = _Thin(made, with_keep, roomy, _some(made.options, keep), made.every[keep])
        below = np.flatnonzero(thin.options.costs < cap)
        if below.size == thin.options.size:
            return thin.options, thin.every
        return _some(thin.options, below), thin.every[below]

    def has(self, patterns: tuple[Pattern, ...]) -> bool:
        """Whether these combinations were worked out under some budget."""
        return patterns in self._made

    def foresee(self, patterns: tuple[Pattern, ...], cap: float) -> None:
        """Take note that :meth:`combined` will be asked for: all clusters are worked out in one go."""
        made = self._made.get(patterns)
        if made is None or made.cap < cap:
            picks, _ = self._picked(patterns, cap)
            for block in self.blocks:
                if picks.size:
                    block.outcomes.ahead(picks[:, [self.members.index(d) for d in block.members]])

    def _picked(self, patterns: tuple[Pattern, ...], cap: float) -> tuple[IntArray, FloatArray]:
        """As :meth:`picks`, kept for whoever asks next."""
        key = (patterns, cap)
        if key not in self._last:
            if len(self._last) >= FEW:
                self._last.clear()
            self._last[key] = self.picks(patterns, cap)
        return self._last[key]

    @cached_property
    def _last(self) -> dict[tuple[tuple[Pattern, ...], float], tuple[IntArray, FloatArray]]:
        return {}

    @cached_property
    def _made(self) -> dict[tuple[Pattern, ...], Combined]:
        return {}

    @cached_property
    def _thin(self) -> dict[tuple[Pattern, ...], _Thin]:
        return {}

    def _options(self, picks: IntArray, costs: FloatArray) -> Options:
        options = self._options_of_members
        columns = np.concatenate([*(o.columns for o in options), *(b.columns for b in self.blocks)]).astype(np.intp)
        same = all(o.same_for_all for o in options) and all(b.outcomes.same_for_all for b in self.blocks)
        rows = 1 if same else self.problem.n_candidates
        if rows * picks.shape[0] * columns.size > MOST_NUMBERS:
            raise TooManyError(self._too_many())
        table = np.empty((rows, picks.shape[0] + 1, columns.size))
        table[:, 0] = self.problem.candidates[:rows, columns]
        at = 0
        for option, j in zip(options, picks.T, strict=True):
            table[:, 1:, at : at + option.columns.size] = option.outcomes[:, j]
            at += option.columns.size
        for block in self.blocks:
            if picks.size:
                places = [self.members.index(d) for d in block.members]
                table[:, 1:, at : at + block.columns.size] = block.outcomes(picks[:, places])
            at += block.columns.size
        return Options("+".join(o.name for o in options), columns, table, np.concatenate([[0.0], costs]))

    def classes(self, every: IntArray) -> IntArray:
        """Combinations (J, members) that rules with other features and forbidden choices treat alike get one number."""
        key = np.zeros(every.shape[0], dtype=np.intp)
        for rule in self.problem.rules:
            for here, there, table in (
                (rule.first, rule.second, rule.allowed),
                (rule.second, rule.first, rule.allowed.T),
            ):
                if here in self.members and there not in self.members:
                    _, row = np.unique(table, axis=0, return_inverse=True)
                    label = row.ravel()[every[:, self.members.index(here)]]
                    _, key = np.unique(key * table.shape[0] + label, return_inverse=True)
        named = {tuple(choice[d] for d in self.members) for choice in self.problem.forbidden}
        for i, pick in enumerate(every.tolist()) if named else ():
            if tuple(pick) in named:
                key[i] = every.shape[0] + i  # like no other
        return np.asarray(key)


def clusters_of(problem: Problem) -> tuple[Cluster, ...]:
    """The features that blocks connect, directly or through others.

    >>> from armin.models.kinds import Above, LinearModel
    >>> from armin.problem import JointTable
    >>> x = [Options(n, np.zeros(0, np.intp), np.zeros((1, 2, 0)), np.arange(2.0)) for n in "abcd"]
    >>> model = LinearModel(np.ones((1, 2)), np.zeros(1), Above(0.0))
    >>> table = JointTable(np.zeros((1, 2, 2, 1)))
    >>> blocks = (Block((0, 1), np.array([0]), table), Block((1, 3), np.array([1]), table))
    >>> problem = Problem(np.zeros((1, 2)), tuple(x), model, 1, blocks=blocks)
    >>> [cluster.members for cluster in clusters_of(problem)]
    [(0, 1, 3)]
    """
    groups: list[set[int]] = []
    for block in problem.blocks:
        touched = [group for group in groups if group & set(block.members)]
        groups = [group for group in groups if group not in touched] + [set(block.members).union(*touched)]
    return tuple(
        Cluster(problem, tuple(sorted(group)), tuple(b for b in problem.blocks if b.members[0] in group))
        for group in sorted(groups, key=min)
    )
