"""From a problem with a ReLU network to the arrays of the compiled search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.kinds import ReluNetwork
from armin.models.sums import largest_inputs
from armin.problem import Choice, Options, Problem
from armin.solve.search.relu.data import (
    FREE,
    HIGH,
    KEPT,
    LOW,
    MUST,
    STATE,
    Crowd,
    Deep,
    Ints,
    Moves,
    Names,
    Net,
    Node,
    Own,
)
from armin.solve.search.relu.network import (
    Network,
    groups_of,
    layers_of,
    moves_of,
    network_of,
    places_of,
    tolerance_of,
)

__all__ = ["Case", "Plan", "cases_of", "choices_table", "first_node", "net_of", "plan_of", "tables_of"]

SAME = 1e-12
"""Moves that differ by less than this share of the values' magnitude are the same: rounding of x + a - x."""

AT_ONCE = 1 << 15
"""Numbers that are looked at together, so that they stay near the processor."""

KEPT_CASES = 16
"""Cases whose candidates are kept merged for the next search of theirs, with more changes."""


@dataclass(frozen=True, eq=False)
class Plan:
    """What all cases of a problem share.

    Attributes
    ----------
    problem, network : the problem and its model
    shared : tables without candidates
    columns : position in the tables of each searched feature of the problem
    jumps : features whose changed values are the same moves for all candidates, but not from where they are
    own : features that move each candidate on its own, along a line
    odd : features whose moves differ between candidates in some other way
    merged : the candidates of cases that were looked at
    """

    problem: Problem
    network: Network
    shared: Net
    columns: dict[int, int]
    jumps: tuple[int, ...]
    own: tuple[int, ...]
    odd: tuple[int, ...]
    merged: dict[Case, Merged] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One way to treat the features that move candidates differently.

    Attributes
    ----------
    changed : the jumping features that change; the others keep their value
    picked : the option of each odd feature
    floor : no choice of this case costs less
    """

    changed: frozenset[int]
    picked: tuple[tuple[int, int], ...]
    floor: float

    @property
    def changes(self) -> int:
        """How many features change in every choice of it."""
        return len(self.changed) + sum(1 for _, j in self.picked if j)


class Merged(NamedTuple):
    """The candidates of a case: those that are equal and move alike are one.

    Attributes
    ----------
    owned : the model inputs of features that move each candidate on its own
    vary : the model inputs in which candidates differ
    kept, weights : who stands for others, and with what weight
    inputs, first, scores : their model inputs, first layers and scores when nothing changes
    """

    owned: IntArray
    vary: IntArray
    kept: IntArray
    weights: FloatArray
    inputs: FloatArray
    first: FloatArray
    scores: FloatArray


def _kind(option: Options) -> str:
    """How a feature's options move candidates.

    All alike ("alike"); to the same place ("jump"); each on its own along a line, and no candidate less by an option
    that moves another one more ("own"); or in some other way ("odd").
    """
    out = option.outcomes
    if out.shape[0] == 1:
        return "alike"
    near = SAME * option.largest  # of each column on its own: they may be of very different size
    if not _alike(out, near):
        return "odd" if out.shape[2] > 1 or np.any(np.diff(_own_moves(option)[0], axis=0) < 0.0) else "own"
    start = out[:, 1] - out[:, 0]
    return "alike" if np.all(np.abs(start - start[:1]).max(axis=0) <= near) else "jump"


def _alike(outcomes: FloatArray, near: FloatArray) -> bool:
    """Whether all candidates are equally far from one changed value to another, a share of the candidates at a time."""
    if near.size == 0:
        return True
    wanted = outcomes[0, 1:] - outcomes[0, 1]
    share = max(1, AT_ONCE // wanted.size)
    for at in range(0, outcomes.shape[0], share):
        some = outcomes[at : at + share]
        apart = some[:, 1:] - some[:, 1:2]
        apart -= wanted
        if np.any(largest_inputs(apart.reshape(-1, near.size)) > near):
            return False
    return True


def _own_moves(option: Options) -> tuple[FloatArray, IntArray]:
    """How far each option but "keep" moves each candidate (options, N), the least move first; and their order."""
    moves = (option.outcomes[:, 1:, 0] - option.outcomes[:, :1, 0]).T
    order = np.argsort(moves.mean(axis=1), kind="stable")
    return moves[order], order


def choices_table(choices: Sequence[Choice], features: int) -> Ints:
    """Choices as rows."""
    return np.array(choices, dtype=np.int64).reshape(len(choices), features)


def _rules(problem: Problem) -> tuple[Ints, np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    rows, at = [], 0
    for rule in problem.rules:
        rows.append([rule.first, rule.second, at, rule.allowed.shape[1]])
        at += rule.allowed.size
    table = np.concatenate([np.zeros(0, bool), *(np.ravel(rule.allowed).astype(bool) for rule in problem.rules)])
    return np.array(rows, dtype=np.int64).reshape(-1, 4), table


def plan_of(problem: Problem, model: ReluNetwork) -> Plan:
    """Sort the features by how they move the candidates and tabulate the options."""
    network = network_of(model)
    first = network.weights[0]
    start, slot, line, middle = [0], list[int](), list[bool](), list[int]()
    cost, delta, row, move = (list[FloatArray]() for _ in range(4))
    option = list[IntArray]()
    jumps, owned, odd, columns = [], [], [], {}
    own = list[FloatArray]()
    for f, feature in enumerate(problem.options):
        kind = _kind(feature) if feature.size > 1 else "none"
        if kind in ("none", "odd"):
            odd += [f] if kind == "odd" else []
            continue
        if kind == "jump":
            jumps.append(f)
        origin = 1 if kind == "jump" else 0
        moves = feature.outcomes[0, 1:] - feature.outcomes[0, origin]
        single = feature.columns.size == 1
        order = np.argsort(moves[:, 0] if single else feature.costs[1:], kind="stable")
        middle.append(start[-1] + int(np.count_nonzero(moves[:, 0] < 0.0)) if single else start[-1])
        if kind == "own":  # nothing of it is the same for all candidates
            owned.append(f)
            moves, (each, order) = np.zeros_like(moves), _own_moves(feature)
            middle[-1] = start[-1] + int(np.count_nonzero(each.mean(axis=1) < 0.0))
            own.append(each)
        columns[f] = len(slot)
        slot.append(f)
        line.append(single)
        row.append(first[feature.columns[0]] if single else np.zeros(first.shape[1]))
        delta.append(moves[order, 0] if single else np.zeros(order.size))
        move.append(moves[order] @ first[feature.columns])
        cost.append(feature.costs[1:][order])
        option.append(order + 1)
        start.append(start[-1] + order.size)
    rule, rule_table = _rules(problem)
    h, nothing, total = first.shape[1], np.zeros(0), float(problem.weights.sum())
    shared = Net(
        Moves(
            start=np.array(start, dtype=np.int64),
            cost=np.concatenate([nothing, *cost]),
            delta=np.concatenate([nothing, *delta]),
            line=np.array(line, dtype=bool),
            row=np.array(row, dtype=np.float64).reshape(-1, h),
            move=np.concatenate([np.zeros((0, h)), *move]),
            middle=np.array(middle, dtype=np.int64),
            limit=problem.limit,
            largest=problem.aggregate == "max",
            paid=0.0,
        ),
        Crowd(
            base=np.zeros((h, 1)),
            weight=np.ones(1),
            margin=np.ascontiguousarray(network.margin),
            bias=network.bias,
            way=network.way.astype(np.int64),
            total=total,
            tolerance=tolerance_of(problem, network),
        ),
        Own(
            feature=np.array([columns[f] for f in owned], dtype=np.int64),
            start=np.cumsum([0, *(each.shape[0] for each in own)])[:-1].astype(np.int64),
            move=np.concatenate([np.zeros((0, problem.n_candidates)), *own]),
            axis=np.full(len(owned), -1, np.int64),
            span=np.zeros((2, 0, 1)),
            apart=np.zeros(len(slot)),
            low=np.zeros((h, 1)),
            high=np.zeros((h, 1)),
        ),
        Names(
            option=np.concatenate([np.zeros(0, np.int64), *option]).astype(np.int64),
            slot=np.array(slot, dtype=np.int64),
            fixed=np.zeros(len(problem.options), np.int64),
            forbidden=choices_table(sorted(problem.forbidden), len(problem.options)),
            rule=rule,
            table=rule_table,
        ),
    )
    return Plan(problem, network, shared, columns, tuple(jumps), tuple(owned), tuple(odd))


def cases_of(plan: Plan) -> list[Case]:
    """All cases, the lowest cost floor first."""
    options, largest = plan.problem.options, plan.problem.aggregate == "max"
    cases = []
    for picks in product(*(range(options[f].size) for f in plan.odd)):
        for flags in product((False, True), repeat=len(plan.jumps)):
            costs = [float(options[f].costs[j]) for f, j in zip(plan.odd, picks, strict=True) if j]
            changed = [f for f, flag in zip(plan.jumps, flags, strict=True) if flag]
            costs += [float(options[f].costs[1:].min()) for f in changed]
            if len(costs) <= plan.problem.limit:
                floor = max(costs, default=0.0) if largest else sum(costs)
                cases.append(Case(frozenset(changed), tuple(zip(plan.odd, picks, strict=True)), floor))
    return sorted(cases, key=lambda case: case.floor)


def _merge(inputs: FloatArray, own: FloatArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Candidates that are equal and move alike become one, with the sum of their weights."""
    order = np.lexsort(inputs.T) if inputs.shape[1] else np.arange(weights.size)
    new = (inputs[order[1:]] != inputs[order[:-1]]).any(axis=1) | (own[:, order[1:]] != own[:, order[:-1]]).any(axis=0)
    first = np.concatenate([[0], 1 + np.flatnonzero(new)])
    return order[first], np.add.reduceat(weights[order], first)


def _merged(plan: Plan, case: Case) -> Merged:
    """The candidates of a case."""
    known = plan.merged.get(case)
    if known is not None:
        return known
    problem, network = plan.problem, plan.network
    inputs = problem.candidates.copy()
    for f, j in (*((f, 1) for f in case.changed), *case.picked):
        inputs[:, problem.options[f].columns] = problem.options[f].outcomes[:, j, :]
    owned = np.array([int(problem.options[f].columns[0]) for f in plan.own], dtype=np.intp)
    vary = np.flatnonzero((inputs != inputs[:1]).any(axis=0) | np.isin(np.arange(inputs.shape[1]), owned))
    kept, weights = _merge(inputs[:, vary], plan.shared.own.move, problem.weights)
    inputs = inputs[kept]
    first = inputs @ network.weights[0] + network.biases[0]
    made = Merged(owned, vary, kept, weights, inputs, first, network.scores(first))
    if len(plan.merged) < KEPT_CASES:
        plan.merged[case] = made
    return made


def tables_of(plan: Plan, case: Case, limit: int, required: float) -> tuple[Net, Deep | None]:
    """The tables of one case, with at most ``limit`` changes in all, for weights of ``required`` and more."""
    problem, network = plan.problem, plan.network
    fixed, costs = np.zeros(len(problem.options), np.int64), []
    for f, j in case.picked:
        fixed[f] = j
        costs += [float(problem.options[f].costs[j])] if j else []
    owned, vary, kept, weights, inputs, first, scores = _merged(plan, case)
    deep: Deep | None = None
    order, axis = np.argsort(scores, kind="stable"), plan.shared.own.axis
    if len(network.weights) > 1:
        by = places_of(network, first, inputs, vary)
        groups = groups_of(by, scores, weights, plan.shared.crowd.total - required)
        if vary.size <= first.shape[1]:  # then places are along the columns that differ
            axis = np.searchsorted(vary, owned).astype(np.int64)
        delta = moves_of(plan.shared.moves, plan.shared.own, axis, by, kept, groups[:-1])
        order, deep = np.concatenate(groups), layers_of(network, first, by, groups, delta, plan.shared.words.slot.size)
    paid = max(costs, default=0.0) if plan.shared.moves.largest else float(sum(costs))
    base = np.ascontiguousarray(first[order].T)
    return net_of(plan, base, weights[order], kept[order], axis, limit - len(costs), paid, fixed), deep


def net_of(
    plan: Plan, base: FloatArray, weights: FloatArray, who: IntArray, axis: IntArray, limit: int, paid: float,
    fixed: IntArray,
) -> Net:  # fmt: skip
    """The tables of candidates that begin with these first layers.

    Parameters
    ----------
    plan : what all cases share
    base, weights : first layers (H, N) and weights (N,)
    who : the problem's candidate that each of them is, or stands for
    axis : see :class:`armin.solve.search.relu.data.Own`
    limit, paid, fixed : how many more features may change; what is paid for those that did; the choice so far
    """
    moves, crowd, own, words = plan.shared
    return Net(
        moves._replace(limit=limit, paid=paid),
        crowd._replace(base=base, weight=weights),
        own._replace(
            move=np.ascontiguousarray(own.move[:, who]),
            axis=axis,
            span=np.zeros((2, own.feature.size, weights.size)),
            apart=np.zeros(words.slot.size),
            low=base.copy() if own.feature.size else base,
            high=base.copy() if own.feature.size else base,
        ),
        words._replace(fixed=fixed),
    )


def first_node(plan: Plan, changed: frozenset[int], tables: Net, required: float) -> tuple[Node, int]:
    """The root of a case in which some of the jumping features change, and its critical candidate."""
    start = tables.moves.start
    node = np.zeros((3, start.size - 1), np.int32)
    node[STATE], node[LOW], node[HIGH] = FREE, start[:-1], start[1:]
    for f in plan.jumps:
        node[STATE, plan.columns[f]] = MUST if f in changed else KEPT
    scores = plan.network.scores(tables.crowd.base.T)
    order = np.argsort(-scores, kind="stable")
    enough = int(np.searchsorted(np.cumsum(tables.crowd.weight[order]), required))
    return node, int(order[min(enough, order.size - 1)])
