"""One feature given: what a problem becomes where a feature has one certain option.

A quotient of two features is a function of one of them, once the other is given. So a feature that several blocks have
in common takes them apart: for each of its options there is a smaller problem, in which the blocks are gone or have a
member less. No table over all combinations is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.problem import Block, Choice, Options, Problem
from armin.problem.blocks import Joint
from armin.solve.clusters import Cluster, clusters_of

__all__ = ["Given", "given", "pivot_of"]

MANY = 3_000_000
"""Combinations of a cluster, times the candidates that they are written down for, up to which one table of them is
quicker than a problem for each option of a member."""

MOST_GIVEN = 1_000
"""Options of a feature that there may be a problem for."""


@dataclass(frozen=True, eq=False)
class _Rest:
    """What combinations of a block's other members become where one member is given."""

    whole: Joint
    place: int
    option: int

    @property
    def same_for_all(self) -> bool:
        return self.whole.same_for_all

    def _picks(self, picks: IntArray) -> IntArray:
        return np.insert(picks, self.place, self.option, axis=1)

    def __call__(self, picks: IntArray) -> FloatArray:
        return self.whole(self._picks(picks))

    def ahead(self, picks: IntArray) -> None:
        self.whole.ahead(self._picks(picks))

    def among(self, rows: IntArray) -> _Rest:
        return replace(self, whole=self.whole.among(rows))


@dataclass(frozen=True, eq=False)
class Given:
    """The choices in which one feature has one option, as a problem of the other features.

    Attributes
    ----------
    of : the whole problem
    problem : that of the other features, if they may change; the candidates are as the option leaves them
    feature, option : what is given
    """

    of: Problem
    problem: Problem
    feature: int
    option: int

    @property
    def price(self) -> float:
        """What the option costs."""
        return float(self.of.options[self.feature].costs[self.option])

    @property
    def may_change(self) -> bool:
        """Whether another feature may change as well."""
        return self.of.limit > (self.option > 0) and bool(self.problem.options)

    def whole(self, choice: Choice) -> Choice:
        """A choice of the other features as one of the whole problem."""
        return (*choice[: self.feature], self.option, *choice[self.feature :])

    def narrowed(self, choice: Choice) -> Choice | None:
        """A choice of the whole problem as one of the other features; None where another option is taken."""
        return (*choice[: self.feature], *choice[self.feature + 1 :]) if choice[self.feature] == self.option else None

    def features_of(self, features: frozenset[int], *, exactly: bool) -> frozenset[int] | None:
        """The features that change here where ``features`` of the whole do, exactly or at least; None if never."""
        inside, changed = self.feature in features, self.option > 0
        if inside > changed or (exactly and inside != changed):
            return None
        return frozenset(d - (d > self.feature) for d in features if d != self.feature)


def pivot_of(problem: Problem, cap: float) -> int | None:
    """The feature to give options to, one after the other; None where tables of combinations are the better way.

    That is so where all candidates have one table, of which little is left when it is thinned, and where few
    combinations cost less than ``cap``. Of a large cluster it is the member that most blocks have, and of these the one
    with the fewest options. Rules about it would have to be rules about single options of others, which problems do
    not have.
    """
    ruled = {d for rule in problem.rules for d in (rule.first, rule.second)}
    large = max(clusters_of(problem), key=lambda cluster: _size(cluster, cap), default=None)
    if large is None or _size(large, cap) <= MANY:
        return None
    able = [d for d in large.members if d not in ruled and 1 < problem.options[d].size <= MOST_GIVEN]
    blocks = {d: sum(d in block.members for block in large.blocks) for d in able}
    return min(able, key=lambda d: (-blocks[d], problem.options[d].size), default=None)


def _size(cluster: Cluster, cap: float) -> float:
    """How many combinations a cluster has below ``cap``, times the candidates that they are written down for."""
    options = [cluster.problem.options[d] for d in cluster.members]
    if all(o.same_for_all for o in options) and all(b.outcomes.same_for_all for b in cluster.blocks):
        return 0.0
    return cluster.problem.n_candidates * cluster.rough(cluster.patterns, cap)


def given(problem: Problem, feature: int, option: int) -> Given | None:
    """The problem of the other features; None where nothing that has this option is allowed."""
    changed = option > 0
    choice = tuple(option if d == feature else 0 for d in range(len(problem.options)))
    candidates = problem.inputs(choice) if changed else problem.candidates
    others = [d for d in range(len(problem.options)) if d != feature]
    options, blocks = {d: problem.options[d] for d in others}, []
    for block in problem.blocks:
        rest = tuple(d for d in block.members if d != feature)
        if len(rest) == len(block.members):
            blocks.append(replace(block, members=_moved(rest, feature)))
            continue
        joint = _Rest(block.outcomes, block.members.index(feature), option)
        if len(rest) > 1:
            blocks.append(Block(_moved(rest, feature), block.columns, joint))
        else:
            options[rest[0]] = _with_more(options[rest[0]], block.columns, joint)
    bare = Given(problem, problem, feature, option)
    sets = {bare.features_of(features, exactly=True) for features in problem.forbidden_sets}
    cores = {bare.features_of(features, exactly=False) for features in problem.forbidden_cores}
    if frozenset() in cores:
        return None
    smaller = replace(
        problem,
        candidates=candidates,
        options=tuple(options.values()),
        max_changes=max(1, problem.limit - changed),
        rules=tuple(
            replace(r, first=r.first - (r.first > feature), second=r.second - (r.second > feature))
            for r in problem.rules
        ),
        forbidden=frozenset(c[:feature] + c[feature + 1 :] for c in problem.forbidden if c[feature] == option),
        forbidden_sets=frozenset(s for s in sets if s),  # changing nothing else is asked about apart
        forbidden_cores=frozenset(s for s in cores if s),
        blocks=tuple(blocks),
        checks=False,
    )
    return replace(bare, problem=smaller)


def _moved(features: tuple[int, ...], gone: int) -> tuple[int, ...]:
    return tuple(d - (d > gone) for d in features)


def _with_more(option: Options, columns: IntArray, joint: Joint) -> Options:
    """A feature that determines further inputs alone, now that another one is given."""
    more = joint(np.arange(option.size)[:, None])
    rows = max(option.outcomes.shape[0], more.shape[0])
    parts = [np.broadcast_to(part, (rows, *part.shape[1:])) for part in (option.outcomes, more)]
    return replace(option, columns=np.concatenate([option.columns, columns]), outcomes=np.concatenate(parts, axis=2))
