"""Brute force that is plain, slow and obviously right: one row, one product, one sum at a time.

Nothing here uses the code that it judges: not the models' own arithmetic, not the lists of choices, not the rules.
What a model says is what its definition says: products are added in the order of the inputs, the intercept last; leaves
in the order of the trees.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from math import exp

import numpy as np

from armin.models.decide import AmongLinked
from armin.models.kinds import (
    Above,
    BlackBox,
    Decision,
    LinearModel,
    Model,
    ReluNetwork,
    ScoreMixture,
    Term,
    TreeEnsemble,
)
from armin.models.maps import Map
from armin.problem import Choice, JointTable, Problem
from armin.problem.sums import SumRule

SLACK = 1e-9
"""Weights are compared with this share of the total: part of what a problem means."""


def affine(row: Sequence[float], columns: Sequence[Sequence[float]], intercept: Sequence[float]) -> list[float]:
    """For each column of weights: the products one after another, then the intercept."""
    out = []
    for weights, last in zip(columns, intercept, strict=True):
        total = 0.0
        for x, w in zip(row, weights, strict=True):
            total += x * w
        out.append(total + last)
    return out


def tree_outputs(model: TreeEnsemble, row: Sequence[float]) -> list[float]:
    """Walk every tree and add up its leaves."""
    kind = np.dtype(model.precision).type
    total = [kind(0) if model.base_last else kind(b) for b in model.base]
    for root in model.roots.tolist():
        node = root
        while model.feature[node] >= 0:
            node = int(model.left[node] if goes_left(model, node, row[model.feature[node]]) else model.right[node])
        total = [t + kind(v) for t, v in zip(total, model.value[node], strict=True)]
    if model.base_last:
        total = [t + kind(b) for t, b in zip(total, model.base, strict=True)]
    if model.divisor != 1.0:
        total = [t / kind(model.divisor) for t in total]
    return [float(t) for t in total]


def goes_left(model: TreeEnsemble, node: int, value: float) -> bool:
    x = float(np.dtype(model.input_precision).type(value))
    if x != x:
        return bool(model.nan_left[node])
    if model.category_set is not None and model.category_left is not None and model.category_set[node] >= 0:
        table = model.category_left[model.category_set[node]]
        return 0 <= x < table.size and x == int(x) and bool(table[int(x)])
    return x < model.threshold[node] if model.strict else x <= model.threshold[node]


def decides(decision: Decision, outputs: Sequence[float]) -> bool:
    if isinstance(decision, Above):
        return outputs[0] >= decision.cut
    if isinstance(decision, AmongLinked):
        first, second = sorted(outputs)[-1:-3:-1]
        if first - second <= decision.near:
            return bool(decision.verdict(np.array([outputs]))[0])
    largest = 0
    for i, x in enumerate(outputs):
        if x > outputs[largest]:
            largest = i
    return largest in decision.accepted


def outputs_of(model: Model, row: Sequence[float]) -> list[float]:
    if isinstance(model, LinearModel):
        return affine(row, model.weights.tolist(), model.intercept.tolist())
    if isinstance(model, TreeEnsemble):
        return tree_outputs(model, row)
    assert isinstance(model, ReluNetwork)
    values = list(row)
    for i, (weight, bias) in enumerate(zip(model.weights, model.biases, strict=True)):
        if i:
            values = [max(x, 0.0) for x in values]
        values = affine(values, weight.T.tolist(), bias.tolist())
    return values


def mapped(each: Map, score: float) -> float:
    """What one map makes of a score."""
    if each.kind == "step":
        return float(score >= each.shift)
    if each.kind == "table":
        points = list(zip(each.xs.tolist(), each.ys.tolist(), strict=True))
        if score <= points[0][0] or score >= points[-1][0]:
            return points[0][1] if score <= points[0][0] else points[-1][1]
        low, high = max(p for p in points if p[0] <= score), min(p for p in points if p[0] > score)
        return low[1] + (score - low[0]) / (high[0] - low[0]) * (high[1] - low[1])
    line = each.slope * score + each.shift
    if each.kind == "line":
        return line
    return 1.0 / (1.0 + exp(-line)) if line >= 0.0 else exp(max(line, -745.0)) / (1.0 + exp(max(line, -745.0)))


def adds(term: Term, row: Sequence[float]) -> tuple[float, float]:
    """Between what one term adds to a mixture."""
    own = row if term.columns is None else [row[p] for p in term.columns.tolist()]
    score = sum(c * x for c, x in zip(term.coefficients.tolist(), outputs_of(term.model, own), strict=True))
    ends = [score, score]
    for each in term.maps:
        ends = sorted(mapped(each, x) for x in ends)
        ends = [ends[0] - each.blur, ends[1] + each.blur]
    return ends[0], ends[1]


def accepts(model: Model, row: Sequence[float]) -> bool:
    """Whether the model accepts one row of inputs."""
    if isinstance(model, BlackBox):
        return bool(model.predict(np.array([row]))[0])
    if isinstance(model, ScoreMixture):
        low = high = -model.cut
        for least, most in (adds(term, row) for term in model.terms):
            low, high = low + least, high + most
        if low - model.near >= 0.0:
            return True
        return high + model.near >= 0.0 and bool(model.verdict(np.array([row]))[0])
    return decides(model.decision, outputs_of(model, row))


def changes(choice: Choice) -> frozenset[int]:
    return frozenset(d for d, j in enumerate(choice) if j > 0)


def allowed(problem: Problem, choice: Choice) -> bool:
    """Whether limit, rules and lists let a choice pass."""
    changed = changes(choice)
    if problem.max_changes is not None and len(changed) > problem.max_changes:
        return False
    if choice in problem.forbidden or changed in problem.forbidden_sets:
        return False
    for core in problem.forbidden_cores:
        if all(d in changed for d in core):
            return False
    if not all(rule.allowed[choice[rule.first]][choice[rule.second]] for rule in problem.rules):
        return False
    return all(within(rule, choice) for rule in problem.sums)


def within(rule: SumRule, choice: Choice) -> bool:
    """Whether what the options add up to stays within the limit of every row."""
    for row, most in enumerate(rule.most.tolist()):
        total = 0.0
        for d, part in zip(rule.features, rule.parts, strict=True):
            total += float(part[row][choice[d]])
        if total > most:
            return False
    return True


def cost_of(problem: Problem, choice: Choice) -> float:
    costs = [float(option.costs[j]) for option, j in zip(problem.options, choice, strict=True)]
    return max(costs, default=0.0) if problem.aggregate == "max" else sum(costs)


@dataclass(eq=False)
class Truth:
    """Everything about a small problem: cost and accepted weight of each choice that is allowed, the cheapest first."""

    problem: Problem
    plans: list[tuple[float, float, Choice]] = field(init=False)
    total: float = field(init=False)
    _asked: dict[tuple[float, ...], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problem = self.problem
        self.total = float(sum(problem.weights.tolist()))
        choices = product(*(range(option.size) for option in problem.options))
        kept = [choice for choice in choices if allowed(problem, choice)]
        self.plans = sorted((cost_of(problem, c), self.weight(c), c) for c in kept)

    def weight(self, choice: Choice) -> float:
        return sum(w for n, w in enumerate(self.problem.weights.tolist()) if self._accepts(n, choice))

    def _accepts(self, n: int, choice: Choice) -> bool:
        row = self.problem.candidates[n].tolist()
        for option, j in zip(self.problem.options, choice, strict=True):
            after = option.outcomes[n if option.outcomes.shape[0] > 1 else 0, j].tolist()
            for column, value in zip(option.columns.tolist(), after, strict=True):
                row[column] = value
        for block in self.problem.blocks:
            assert isinstance(block.outcomes, JointTable)
            table = block.outcomes.outcomes
            after = table[n if table.shape[0] > 1 else 0]
            for d in block.members:  # what the combination becomes, one member after the other
                after = after[choice[d]]
            for column, value in zip(block.columns.tolist(), after.tolist(), strict=True):
                row[column] = value
        key = tuple(row)
        if key not in self._asked:
            self._asked[key] = accepts(self.problem.model, row)
        return self._asked[key]

    def enough(self, weight: float, required: float | None = None) -> bool:
        required = self.problem.required if required is None else required
        return weight >= required - SLACK * self.total

    def valid(self, required: float | None = None) -> list[tuple[float, Choice]]:
        """Cost and choice of all that is accepted by enough candidates, the cheapest first."""
        return [(cost, choice) for cost, weight, choice in self.plans if self.enough(weight, required)]

    def optimum(self, required: float | None = None) -> float:
        """The least cost; infinite if there is no valid choice."""
        return next((cost for cost, _ in self.valid(required)), float("inf"))

    def path(self, least: float | None = None) -> list[tuple[float, float]]:
        """Cost and weight of each breakpoint from ``least`` on."""
        points: list[tuple[float, float]] = []
        levels = sorted({weight for _, weight, _ in self.plans if weight > 0})
        for level in levels:
            if least is not None and level < least - SLACK * self.total:
                continue
            cost = self.optimum(level)
            while points and points[-1][0] >= cost * (1 - 1e-12):
                points.pop()
            points.append((cost, level))
        return points
