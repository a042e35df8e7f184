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
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.problem import Choice, Options, PairRule, Problem
from armin.solve.clusters import Cluster, Pattern, TooManyError, clusters_of
from armin.solve.thin import magnitudes

__all__ = ["Merged", "Part", "loosened", "parts_of"]


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
    sizes : array of shape (P,), sizes that the model's inputs do not exceed where no member of a cluster changes
    family : the pairs of changes that this part or another has, by cluster, to be worked out in one go
    """

    problem: Problem
    clusters: tuple[Cluster, ...]
    patterns: tuple[tuple[Pattern, ...], ...]
    fixed: bool
    must: tuple[bool, ...]
    limit: int
    sizes: FloatArray
    family: tuple[tuple[Cluster, tuple[Pattern, ...]], ...] = ()

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
        if cap < np.inf:
            self._prepare(cap)
        for c, cluster in enumerate(self.clusters):
            cluster.foresee(self.patterns[c], self._left(c, cap))
        thin = self._thinned(cap)
        if thin is None:
            return None
        options: list[Options] = []
        features: list[int | tuple[Cluster, IntArray]] = []
        first = {cluster.members[0]: c for c, cluster in enumerate(self.clusters)}
        inside = {d for cluster in self.clusters for d in cluster.members}
        for d, option in enumerate(self.problem.options):
            if d in first:
                options.append(thin[first[d]][0])
                features.append((self.clusters[first[d]], thin[first[d]][1]))
            elif d not in inside:
                options.append(option)
                features.append(d)
        plain = replace(
            self.problem, options=tuple(options), max_changes=self.limit, rules=(), forbidden=frozenset(),
            forbidden_sets=frozenset(), forbidden_cores=frozenset(), blocks=(), checks=False,
        )  # fmt: skip
        merged = Merged(plain, self, tuple(features), cap)
        return replace(merged, problem=merged.with_rules())

    def pieces(self, cap: float) -> list[Part]:
        """Parts that together have its choices below ``cap``, for where it has too many; none if it cannot be cut.

        Choices that keep the cluster that is cut stay in the first of them.
        """
        left = [self._left(c, cap) for c in range(len(self.clusters))]
        c = max(range(len(left)), key=lambda c: self.clusters[c].rough(self.patterns[c], left[c]))
        cluster, patterns = self.clusters[c], self.patterns[c]
        cut: list[tuple[Cluster, tuple[Pattern, ...]]] = [(cluster, (pattern,)) for pattern in patterns]
        if len(cut) == 1:
            cut = [(half, patterns) for half in cluster.halves(patterns[0], left[c]) or ()]
        return [self._cut(c, *one, first=i == 0) for i, one in enumerate(cut)]

    def _cut(self, c: int, cluster: Cluster, patterns: tuple[Pattern, ...], *, first: bool) -> Part:
        clusters, every, must = list(self.clusters), list(self.patterns), list(self.must)
        clusters[c], every[c], must[c] = cluster, patterns, must[c] or not first
        return replace(self, clusters=tuple(clusters), patterns=tuple(every), must=tuple(must), family=())

    def _thinned(self, cap: float) -> list[tuple[Options, IntArray]] | None:
        """For each cluster the combinations that are needed; None if one has none that the part is about."""
        left = [self._left(c, cap) for c in range(len(self.clusters))]
        largest = self.sizes.copy()
        for cluster, patterns, most, must in zip(self.clusters, self.patterns, left, self.must, strict=True):
            made = cluster.combined(patterns, most)
            if must and not (made.options.costs[1:] < most).any():
                return None
            largest[made.options.columns] = np.maximum(largest[made.options.columns], made.sizes)
        found = []
        for cluster, patterns, most, must in zip(self.clusters, self.patterns, left, self.must, strict=True):
            found.append(cluster.thinned(patterns, most, largest, with_keep=not self.fixed))
            if must and found[-1][0].size < 2:
                return None
        return found

    def _prepare(self, cap: float) -> None:
        """Work out what the other parts will ask for as well, so that the transformers are called once."""
        new = [(cluster, patterns) for cluster, patterns in self.family if not cluster.has(patterns)]
        with suppress(TooManyError):  # whoever needs them will say so
            for cluster, patterns in new:
                cluster.foresee(patterns, cap)
            for cluster, patterns in new:
                cluster.combined(patterns, cap)

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
    spent: ClassVar[float] = 0.0

    @property
    def of(self) -> Problem:
        """The whole problem."""
        return self.part.problem

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
        forbidden = frozenset(c for c in (self.narrowed(choice) for choice in whole.forbidden) if c is not None)
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

    def narrowed(self, choice: Choice) -> Choice | None:
        """A choice of the whole problem as one of the part; None if the part does not have it."""
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
                patterns = self.part.patterns[self.part.clusters.index(cluster)]  # none if no member has an option
                changes = {cluster.members[k] for pattern in patterns for k in pattern}
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
    clusters, sizes = clusters_of(problem), magnitudes(problem)
    if not fixed and problem.limit == len(problem.options):  # any number of changes: one part has all choices
        every = tuple(tuple(cluster.patterns) for cluster in clusters)
        ones = tuple(tuple(p for p in cluster.patterns if len(p) == 1) for cluster in clusters)
        nothing = (False,) * len(clusters)
        yield Part(problem, clusters, ones, False, nothing, problem.limit, sizes)
        yield Part(problem, clusters, every, False, nothing, problem.limit, sizes)
        return
    ways: list[list[tuple[Pattern, ...]]] = []
    for cluster in clusters:
        if fixed:
            ways.append([(pattern,) for pattern in cluster.patterns])
        else:
            counts = range(1, max((len(p) for p in cluster.patterns), default=0) + 1)
            ways.append([tuple(p for p in cluster.patterns if len(p) == count) for count in counts])
    found = []
    for picked in product(*(enumerate(way or [()]) for way in ways)):
        must = tuple(i > 0 for i, _ in picked)
        limit = problem.limit - sum(max(0, len(patterns[0]) - 1) if patterns else 0 for _, patterns in picked)
        if limit >= max(1, sum(must)):
            patterns = tuple(patterns for _, patterns in picked)
            found.append(Part(problem, clusters, patterns, fixed, must, limit, sizes))
    two = {
        (c, part.patterns[c])
        for part in found
        for c in range(len(clusters))
        if part.patterns[c] and len(part.patterns[c][0]) == 2
    }
    family = tuple((clusters[c], patterns) for c, patterns in sorted(two, key=lambda one: (one[0], str(one[1]))))
    yield from (replace(part, family=family) for part in sorted(found, key=lambda part: part.floor))


def loosened(parts: Sequence[Part]) -> Part | None:
    """One part with the choices of all, and with those that change too many features of clusters: each counts as one.

    Whatever costs less than its cheapest choice is in no part. None where it would save nothing.
    """
    if len(parts) < 3 or parts[0].fixed:
        return None
    first = parts[0]
    every = tuple(tuple(cluster.patterns) for cluster in first.clusters)
    return replace(first, patterns=every, must=(False,) * len(every), limit=first.problem.limit, family=())
