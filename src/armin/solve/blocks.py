"""Features that determine model inputs together, made into one: the same problem in parts without blocks.

The features that blocks connect (a *cluster*) become one feature whose options are combinations of theirs. What an
option of it stands for is then not one change but several, and engines know nothing of that. So the problem comes in
parts, each of which an engine can take as it is:

Where only the number of changes matters, a part says how many members of each cluster change, k_c. An option of the
cluster takes k_c changes at once, so the part may change K - sum (k_c - 1) features. A choice with k_c changes in each
cluster that it changes, and at most K in all, is in the part of these k_c; every choice of that part has at most K.

Where it matters which features change (sets that are ruled out, or several choices that differ), a part says which
members of each cluster change. Then the features of the part that change say exactly which of the problem's do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import SolverError
from armin.problem import Block, Choice, Options, PairRule, Problem
from armin.solve.thin import thinned

__all__ = ["MOST_COMBINATIONS", "Cluster", "Merged", "Part", "TooManyError", "clusters_of", "parts_of"]

MOST_COMBINATIONS = 200_000
"""Combinations of the options of one cluster that are written down, at most."""

MOST_NUMBERS = 40_000_000
"""Numbers in the table of one cluster's outcomes, at most."""

Pattern = frozenset[int]
"""Members of a cluster that change, as places among the members."""


class TooManyError(SolverError):
    """A cluster has too many combinations to write them down."""


@dataclass(frozen=True, eq=False)
class Cluster:
    """Features that blocks connect.

    Attributes
    ----------
    problem : the problem
    members : their positions in ``problem.options``, ascending
    blocks : the blocks among them
    """

    problem: Problem
    members: tuple[int, ...]
    blocks: tuple[Block, ...]

    @cached_property
    def patterns(self) -> list[Pattern]:
        """Every set of members that can change together, the small ones first."""
        able = [k for k, d in enumerate(self.members) if self.problem.options[d].size > 1]
        return [frozenset(some) for size in range(1, len(able) + 1) for some in combinations(able, size)]

    def least(self, pattern: Pattern) -> float:
        """The least cost of changing these."""
        costs = [float(self.problem.options[self.members[k]].costs[1:].min()) for k in pattern]
        return max(costs) if self.problem.aggregate == "max" else sum(costs)

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
            for place in places:  # one member after the other, so that what is too dear is never multiplied
                option = self.problem.options[self.members[place]]
                within = 1 + np.flatnonzero(option.costs[1:] < cap)
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

    def combined(self, patterns: tuple[Pattern, ...], cap: float) -> tuple[Options, IntArray]:
        """One feature whose options are "keep" and the combinations of :meth:`picks`; and these (J, members).

        Parts ask for the same combinations under budgets that mostly shrink, so they are kept.
        """
        made = self._made.get(patterns)
        if made is None or made[0] < cap:
            picks, costs = self._picked(patterns, cap)
            every = np.concatenate([np.zeros((1, len(self.members)), dtype=np.intp), picks])
            made = self._made[patterns] = (cap, self._options(picks, costs), every)
        _, options, every = made
        below = np.flatnonzero(options.costs < cap)
        if below.size < options.size:
            options = replace(options, outcomes=options.outcomes[:, below], costs=options.costs[below])
            every = every[below]
        return options, every

    def foresee(self, patterns: tuple[Pattern, ...], cap: float) -> None:
        """Take note that :meth:`combined` will be asked for: all clusters are worked out in one go."""
        made = self._made.get(patterns)
        if made is None or made[0] < cap:
            picks, _ = self._picked(patterns, cap)
            for block in self.blocks:
                if picks.size:
                    block.outcomes.ahead(picks[:, [self.members.index(d) for d in block.members]])

    def _picked(self, patterns: tuple[Pattern, ...], cap: float) -> tuple[IntArray, FloatArray]:
        """As :meth:`picks`, kept for whoever asks next."""
        key = (patterns, cap)
        if self._last.get(key) is None:
            self._last.clear()
            self._last[key] = self.picks(patterns, cap)
        return self._last[key]

    @cached_property
    def _last(self) -> dict[tuple[tuple[Pattern, ...], float], tuple[IntArray, FloatArray]]:
        return {}

    @cached_property
    def _made(self) -> dict[tuple[Pattern, ...], tuple[float, Options, IntArray]]:
        return {}

    def _options(self, picks: IntArray, costs: FloatArray) -> Options:
        options = [self.problem.options[d] for d in self.members]
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


@dataclass(frozen=True, eq=False)
class Part:
    """Some of a problem's choices.

    Attributes
    ----------
    problem, clusters : the problem
    patterns : for each cluster, what may change in it
    fixed : whether each cluster has one pattern, so that it matters which features change
    must : for each cluster, whether choices that keep it are in another part as well
    limit : how many features of the part may change
    """

    problem: Problem
    clusters: tuple[Cluster, ...]
    patterns: tuple[tuple[Pattern, ...], ...]
    fixed: bool
    must: tuple[bool, ...]
    limit: int

    @cached_property
    def floors(self) -> tuple[float, ...]:
        """For each cluster, what must be spent on it in choices that are in no part before this one."""
        return tuple(
            min(cluster.least(pattern) for pattern in patterns) if must else 0.0
            for cluster, patterns, must in zip(self.clusters, self.patterns, self.must, strict=True)
        )

    @property
    def floor(self) -> float:
        """What choices cost at least that are in no part before this one."""
        return self._all(self.floors)

    def _all(self, costs: Sequence[float]) -> float:
        return max(costs, default=0.0) if self.problem.aggregate == "max" else sum(costs)

    def merged(self, cap: float) -> Merged | None:
        """The part as a problem, with the combinations that a choice below ``cap`` can have; None if there are none.

        Raises
        ------
        TooManyError
            If a cluster has too many combinations.
        """
        options: list[Options] = []
        features: list[int | tuple[Cluster, IntArray]] = []
        first = {cluster.members[0]: c for c, cluster in enumerate(self.clusters)}
        inside = {d for cluster in self.clusters for d in cluster.members}
        for c, cluster in enumerate(self.clusters):
            cluster.foresee(self.patterns[c], self._left(c, cap))
        for d, option in enumerate(self.problem.options):
            if d in first:
                cluster = self.clusters[first[d]]
                combined, every = cluster.combined(self.patterns[first[d]], self._left(first[d], cap))
                if combined.size == 1 and self.must[first[d]]:
                    return None
                options.append(combined)
                features.append((cluster, every))
            elif d not in inside:
                options.append(option)
                features.append(d)
        plain = replace(
            self.problem, options=tuple(options), max_changes=self.limit, rules=(), forbidden=frozenset(),
            forbidden_sets=frozenset(), forbidden_cores=frozenset(), blocks=(), checks=False,
        )  # fmt: skip
        for i, feature in enumerate(features):
            if isinstance(feature, int):
                continue
            cluster, every = feature
            keep = thinned(options[i], plain, cluster.classes(every), with_keep=not self.fixed)
            if keep.size < 2 and self.must[self.clusters.index(cluster)]:
                return None
            options[i] = replace(options[i], outcomes=options[i].outcomes[:, keep], costs=options[i].costs[keep])
            features[i] = (cluster, every[keep])
        merged = Merged(replace(plain, options=tuple(options), checks=False), self, tuple(features), cap)
        return replace(merged, problem=merged.with_rules())

    def _left(self, c: int, cap: float) -> float:
        """What may be spent on a cluster where a choice costs less than ``cap``: the others must be paid for too."""
        if self.problem.aggregate == "max" or cap == np.inf:
            return cap
        return cap - sum(floor for k, floor in enumerate(self.floors) if k != c) + 1e-9 * cap


@dataclass(frozen=True, eq=False)
class Merged:
    """A part as a problem without blocks.

    Attributes
    ----------
    problem : the problem without blocks
    part : what it is a part of
    features : for each of its features, the position of the same in the whole; or its cluster, with the combination
        (J, members) that each option stands for
    cap : it has all choices of the part that cost less and are not dominated
    """

    problem: Problem
    part: Part
    features: tuple[int | tuple[Cluster, IntArray], ...]
    cap: float

    def whole(self, choice: Choice) -> Choice:
        """A choice of the part as one of the whole problem."""
        out = [0] * len(self.part.problem.options)
        for feature, j in zip(self.features, choice, strict=True):
            if isinstance(feature, int):
                out[feature] = int(j)
            else:
                for d, pick in zip(feature[0].members, feature[1][j].tolist(), strict=True):
                    out[d] = pick
        return tuple(out)

    def with_rules(self) -> Problem:
        """The part's problem with the rules and forbidden choices of the whole."""
        whole, place = self.part.problem, self._places
        rules = []
        for rule in whole.rules:
            (a, i), (b, j) = place[rule.first], place[rule.second]
            if a != b:  # within a cluster, only legal combinations were made
                table = rule.allowed[np.ix_(i, j)]
                if not table.all():
                    rules.append(PairRule(a, b, table, rule.text))
        forbidden = frozenset(c for c in (self._narrowed(choice) for choice in whole.forbidden) if c is not None)
        problem = replace(self.problem, rules=tuple(rules), forbidden=forbidden, checks=False)
        if not self.part.fixed:
            return problem
        sets = (self.features_of(features, exactly=True) for features in whole.forbidden_sets)
        cores = (self.features_of(features, exactly=False) for features in whole.forbidden_cores)
        return replace(
            problem, forbidden_sets=frozenset(s for s in sets if s is not None),
            forbidden_cores=frozenset(s for s in cores if s is not None), checks=False,
        )  # fmt: skip

    @cached_property
    def _places(self) -> dict[int, tuple[int, IntArray]]:
        """For each feature of the whole: its feature in the part, and what each option there makes of it."""
        found: dict[int, tuple[int, IntArray]] = {}
        for i, feature in enumerate(self.features):
            if isinstance(feature, int):
                found[feature] = (i, np.arange(self.problem.options[i].size))
            else:
                found |= {d: (i, feature[1][:, k]) for k, d in enumerate(feature[0].members)}
        return found

    def _narrowed(self, choice: Choice) -> Choice | None:
        """A choice of the whole as one of the part, if it has it."""
        out = []
        for feature in self.features:
            if isinstance(feature, int):
                out.append(choice[feature])
                continue
            wanted = np.array([choice[d] for d in feature[0].members])
            at = np.flatnonzero((feature[1] == wanted).all(axis=1))
            if not at.size:
                return None
            out.append(int(at[0]))
        return tuple(out)

    def features_of(self, features: frozenset[int], *, exactly: bool) -> frozenset[int] | None:
        """The part's features that change where ``features`` of the whole do, exactly these or at least; None if never.

        Only where the part is ``fixed``.
        """
        out, left = set(), set(features)
        for i, feature in enumerate(self.features):
            if isinstance(feature, int):
                if feature in left:
                    out.add(i)
                    left.discard(feature)
                continue
            cluster = feature[0]
            mine = left & set(cluster.members)
            if mine:
                pattern = self.part.patterns[self.part.clusters.index(cluster)][0]
                changes = {cluster.members[k] for k in pattern}
                if not mine <= changes or (exactly and mine != changes):
                    return None
                out.add(i)
                left -= mine
        return None if left else frozenset(out)


def parts_of(problem: Problem, fixed: bool) -> Iterator[Part]:
    """All parts of a problem, one change in each cluster first.

    Parameters
    ----------
    problem : a problem with blocks
    fixed : whether it matters which features change, not only how many
    """
    clusters = clusters_of(problem)
    if not fixed and problem.limit == len(problem.options):  # any number of changes: one part has all choices
        every = tuple(tuple(cluster.patterns) for cluster in clusters)
        ones = tuple(tuple(p for p in cluster.patterns if len(p) == 1) for cluster in clusters)
        nothing = (False,) * len(clusters)
        yield Part(problem, clusters, ones, False, nothing, problem.limit)
        yield Part(problem, clusters, every, False, nothing, problem.limit)
        return
    ways: list[list[tuple[Pattern, ...]]] = []
    for cluster in clusters:
        if fixed:
            ways.append([(pattern,) for pattern in cluster.patterns])
        else:
            sizes = range(1, max((len(p) for p in cluster.patterns), default=0) + 1)
            ways.append([tuple(p for p in cluster.patterns if len(p) == size) for size in sizes])
    found = []
    for picked in product(*(enumerate(way or [()]) for way in ways)):
        must = tuple(i > 0 for i, _ in picked)
        limit = problem.limit - sum(max(0, len(patterns[0]) - 1) if patterns else 0 for _, patterns in picked)
        if limit >= max(1, sum(must)):
            found.append(Part(problem, clusters, tuple(patterns for _, patterns in picked), fixed, must, limit))
    yield from sorted(found, key=lambda part: part.floor)
