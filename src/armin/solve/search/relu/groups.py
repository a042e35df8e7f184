"""Cases taken together: options of features that move each candidate in its own way, as one optimistic case.

A product or a quotient with a blank in it moves every candidate differently, so the search takes its options one by
one; with two of them, pairs. Here many are refused at once. A network with one hidden layer and one margin adds up
v_h relu(F_nh + u_h); where F_nh lies between two values, the larger one bounds the score if v_h > 0 and the smaller one
if not. So with the best first layer of any option for each neuron and candidate, and the least cost of any option, a
case is no harder than any of the cases that it stands for: if it has no choice that is wanted, none of them has.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.problem import Options
from armin.solve.search.relu.data import Net
from armin.solve.search.relu.tables import Case, Plan, net_of

__all__ = ["Group", "groups_of_cases", "tables_of_group"]

FEWEST = 8
"""Cases from which it is worth taking them together."""

LARGEST = 1 << 23
"""Numbers that the first layers of a feature's options may take."""


@dataclass(eq=False)
class Some:
    """Some options of a feature, which change it.

    Attributes
    ----------
    option, position : the feature
    weights : array of shape (E, H), the first layer's weights of its model inputs
    heft : array of shape (H,), how much the margin counts each neuron
    picks : array of shape (J,), the options
    """

    option: Options
    position: int
    weights: FloatArray
    heft: FloatArray
    picks: IntArray

    @cached_property
    def layers(self) -> FloatArray:
        """What each option adds to the first layer (J, N, H)."""
        return np.asarray(np.swapaxes(self.option.outcomes[:, self.picks, :], 0, 1) @ self.weights)

    @cached_property
    def best(self) -> FloatArray:
        """What any of them adds at best (N, H)."""
        return np.asarray(np.where(self.heft > 0.0, self.layers.max(axis=0), self.layers.min(axis=0)))

    @cached_property
    def spread(self) -> FloatArray:
        """How far the options are apart in each neuron (H,), as the margin counts it."""
        return np.asarray(np.abs(self.heft) * np.ptp(self.layers, axis=0).sum(axis=0))

    @cached_property
    def cost(self) -> float:
        """What changing it costs at least."""
        return float(self.option.costs[self.picks].min())

    @cached_property
    def halves(self) -> tuple[Some, Some]:
        """Two parts that are more alike."""
        along = np.argsort(self.layers[:, :, int(np.argmax(self.spread))].mean(axis=1), kind="stable")
        middle = self.picks.size // 2
        one, two = (
            Some(self.option, self.position, self.weights, self.heft, self.picks[part])
            for part in (along[:middle], along[middle:])
        )
        return one, two


@dataclass(frozen=True, eq=False)
class Group:
    """Cases in which the same features change.

    Attributes
    ----------
    changed : the jumping features that change
    among : for each odd feature that changes, its options
    kept : the odd features that do not change
    jumps : what the jumping features cost at least
    largest : whether costs are a maximum
    """

    changed: frozenset[int]
    among: tuple[Some, ...]
    kept: tuple[int, ...]
    jumps: tuple[float, ...] = field(default=())
    largest: bool = False

    @property
    def size(self) -> int:
        """How many cases."""
        return int(np.prod([some.picks.size for some in self.among], dtype=np.int64))

    @property
    def costs(self) -> tuple[float, ...]:
        """What each odd feature that changes costs at least."""
        return tuple(some.cost for some in self.among)

    @property
    def floor(self) -> float:
        """No choice of its cases costs less."""
        return _all((*self.costs, *self.jumps), self.largest)

    @property
    def case(self) -> Case:
        """The only case, or the one with the first options."""
        picked = {**dict.fromkeys(self.kept, 0), **{some.position: int(some.picks[0]) for some in self.among}}
        return Case(self.changed, tuple(sorted(picked.items())), self.floor)

    @property
    def changes(self) -> int:
        """How many features change in every case."""
        return len(self.changed) + len(self.among)

    def halves(self) -> tuple[Group, Group]:
        """Two groups with half of the cases each: the feature whose options are furthest apart is divided."""
        several = [i for i, some in enumerate(self.among) if some.picks.size > 1]
        widest = max(several, key=lambda i: float(self.among[i].spread.sum()))
        one, two = (
            Group(
                self.changed, (*self.among[:widest], half, *self.among[widest + 1 :]), self.kept, self.jumps,
                self.largest,
            )
            for half in self.among[widest].halves
        )  # fmt: skip
        return one, two


def _all(costs: tuple[float, ...], largest: bool) -> float:
    return max(costs, default=0.0) if largest else float(sum(costs))


def groups_of_cases(plan: Plan) -> list[Group]:
    """All cases of a plan in groups; none where they are few, or where nothing bounds several of them at once."""
    problem, network = plan.problem, plan.network
    odd = [problem.options[f] for f in plan.odd]
    cases = np.prod([option.size for option in odd], dtype=np.float64)
    numbers = problem.n_candidates * network.weights[0].shape[1] * max((o.size for o in odd), default=0)
    if len(network.weights) > 1 or network.bias.size != 1 or cases < FEWEST or numbers > LARGEST:
        return []
    heft = network.margin[0]
    every = {
        f: Some(o, f, network.weights[0][o.columns], heft, np.arange(1, o.size))
        for f, o in zip(plan.odd, odd, strict=True)
    }
    least = {f: float(problem.options[f].costs[1:].min()) for f in plan.jumps}
    found = []
    for moved in product((False, True), repeat=len(plan.odd)):
        for flags in product((False, True), repeat=len(plan.jumps)):
            changed = [f for f, flag in zip(plan.jumps, flags, strict=True) if flag]
            among = tuple(every[f] for f, flag in zip(plan.odd, moved, strict=True) if flag)
            kept = tuple(f for f, flag in zip(plan.odd, moved, strict=True) if not flag)
            if len(changed) + len(among) <= problem.limit:
                paid = tuple(least[f] for f in changed)
                found.append(Group(frozenset(changed), among, kept, paid, problem.aggregate == "max"))
    return found


def tables_of_group(plan: Plan, group: Group, limit: int) -> Net:
    """The tables of an optimistic case: nothing that a case of the group has is missing or harder to have."""
    problem, network = plan.problem, plan.network
    inputs = problem.candidates.copy()
    for f in group.changed:
        inputs[:, problem.options[f].columns] = problem.options[f].outcomes[:, 1, :]
    for some in group.among:
        inputs[:, some.option.columns] = 0.0
    first = inputs @ network.weights[0] + network.biases[0]
    for some in group.among:
        first += some.best
    fixed = np.zeros(len(problem.options), np.int64)
    for some in group.among:
        fixed[some.position] = some.picks[0]
    everybody = np.arange(problem.n_candidates)
    order = np.argsort(network.scores(first), kind="stable")
    tables = net_of(
        plan, np.ascontiguousarray(first[order].T), problem.weights[order], everybody[order], plan.shared.own.axis,
        limit - len(group.among), _all(group.costs, group.largest), fixed,
    )  # fmt: skip
    words = tables.words
    named = [not {int(a), int(b)} & set(plan.odd) for a, b in words.rule[:, :2]]
    return tables._replace(words=words._replace(forbidden=words.forbidden[:0], rule=words.rule[np.array(named, bool)]))
