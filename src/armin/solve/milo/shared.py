"""The rows that every model kind shares: the choice of options, and who has to be accepted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.kinds import Decision
from armin.problem.data import WEIGHT_TOLERANCE, Problem
from armin.problem.sums import SumRule
from armin.solve.milo.program import TOLERANCE, Draft

__all__ = ["Margin", "add_choice", "add_requirement", "add_vote", "enough_weight", "stack_ways"]


def add_choice(draft: Draft, problem: Problem) -> tuple[IntArray, ...]:
    """Variables pi_{d,j}, the objective, the limit on changes, the rules and the forbidden choices."""
    # pi_{d,j} in {0,1}, sum_j pi_{d,j} = 1 for every feature d
    picks = tuple(draft.add_variables(option.size, integer=True) for option in problem.options)
    for pick in picks:
        draft.add_row(pick, np.ones(pick.size), lower=1, upper=1)
    _add_objective(draft, problem, picks)
    if problem.limit < len(picks):
        # sum_d sum_{j > 0} pi_{d,j} <= K
        changes = np.concatenate([pick[1:] for pick in picks])
        draft.add_row(changes, np.ones(changes.size), upper=problem.limit)
    for rule in problem.rules:
        for j in np.flatnonzero(~rule.allowed.all(axis=1)):
            # pi_{d,j} + sum_{j' not allowed beside j} pi_{e,j'} <= 1
            others = picks[rule.second][~rule.allowed[j]]
            row = np.append(others, picks[rule.first][j])
            draft.add_row(row, np.ones(row.size), upper=1)
    for each in problem.sums:
        _add_sum(draft, each, picks)
    for choice in sorted(problem.forbidden):
        # sum_d pi_{d, choice_d} <= D - 1
        row = np.array([pick[j] for pick, j in zip(picks, choice, strict=True)])
        draft.add_row(row, np.ones(row.size), upper=row.size - 1)
    for features in problem.forbidden_sets:
        # sum_{d in S} (1 - pi_{d,0}) + sum_{d not in S} pi_{d,0} <= D - 1
        signs = np.array([-1.0 if d in features else 1.0 for d in range(len(picks))])
        draft.add_row(np.array([pick[0] for pick in picks]), signs, upper=len(picks) - 1 - len(features))
    for core in problem.forbidden_cores:
        # sum_{d in S} pi_{d,0} >= 1
        draft.add_row(np.array([picks[d][0] for d in sorted(core)], dtype=np.intp), np.ones(len(core)), lower=1)
    return picks


def _add_sum(draft: Draft, rule: SumRule, picks: Sequence[IntArray]) -> None:
    """One row for each completion that has a limit; a little loose, as what is too loose is found out later."""
    row = np.concatenate([picks[d] for d in rule.features])
    for r in np.flatnonzero(np.isfinite(rule.most)):
        # sum_d sum_j a_{r,d,j} pi_{d,j} <= b_r
        value = np.concatenate([part[r] for part in rule.parts])
        slack = TOLERANCE * max(float(np.abs(value).max()), abs(float(rule.most[r])))
        draft.add_row(row, value, upper=float(rule.most[r]) + slack)


def _add_objective(draft: Draft, problem: Problem, picks: Sequence[IntArray]) -> None:
    if problem.aggregate == "sum":
        # minimise sum_d sum_j c_{d,j} pi_{d,j}
        for option, pick in zip(problem.options, picks, strict=True):
            draft.add_cost(pick, option.costs)
        return
    # minimise sum_k (C_k - C_{k-1}) tau_k over the different costs C_1 < C_2 < ..., where tau_k = 1 if an option
    # of cost C_k or more is chosen: sum_{j: c_{d,j} = C_k} pi_{d,j} <= tau_k for every d, and tau_{k+1} <= tau_k
    levels = np.unique(np.concatenate([option.costs for option in problem.options]))
    levels = levels[levels > 0]
    tau = draft.add_variables(levels.size, integer=True)
    draft.add_cost(tau, np.diff(levels, prepend=0.0))
    for left, right in pairwise(tau):
        draft.add_row(np.array([left, right]), [1.0, -1.0], lower=0)
    for option, pick in zip(problem.options, picks, strict=True):
        for level in np.unique(option.costs[option.costs > 0]):
            chosen = pick[option.costs == level]
            row = np.append(chosen, tau[np.searchsorted(levels, level)])
            draft.add_row(row, np.append(-np.ones(chosen.size), 1.0), lower=0)


@dataclass(frozen=True, eq=False)
class Margin:
    """``value @ v[index] + constant`` for some variables v, its range over all choices, and what it has to reach.

    The cut is lower than the decision's by what the program may be wrong about, so that no valid choice is lost.
    """

    index: IntArray
    value: FloatArray
    constant: float
    low: float
    high: float
    cut: float


def stack_ways(decision: Decision) -> tuple[FloatArray, FloatArray, list[slice]]:
    """All margins of all ways: coefficients (M, C), cuts (M,), and the rows of each way."""
    ways = decision.ways()
    coefficients = np.concatenate([np.zeros((0, decision.n_outputs))] + [way.coefficients for way in ways])
    # lower where outputs that miss their cut may be accepted all the same: the program is a relaxation
    cuts = np.concatenate([np.zeros(0)] + [way.cuts for way in ways]) - decision.blur
    ends = np.cumsum([way.cuts.size for way in ways])
    return coefficients, cuts, [slice(int(e) - way.cuts.size, int(e)) for e, way in zip(ends, ways, strict=True)]


def add_vote(draft: Draft, ways: Sequence[Sequence[Margin]]) -> int:
    """The variable nu of a candidate that is accepted when all margins of any way reach their cuts."""
    live = [
        [margin for margin in way if margin.low < margin.cut]
        for way in ways
        if all(margin.high >= margin.cut for margin in way)
    ]
    if not live:
        return int(draft.add_variables(1, 0, 0, integer=True)[0])
    nu = int(draft.add_variables(1, integer=True)[0])
    if any(not way for way in live):
        return nu
    if len(live) == 1:
        _add_margins(draft, live[0], nu)
        return nu
    # nu_n <= sum_w omega_{n,w}
    omegas = draft.add_variables(len(live), integer=True)
    draft.add_row(np.append(omegas, nu), np.append(np.ones(omegas.size), -1.0), lower=0)
    for omega, way in zip(omegas.tolist(), live, strict=True):
        _add_margins(draft, way, omega)
    return nu


def _add_margins(draft: Draft, margins: Sequence[Margin], switch: int) -> None:
    for margin in margins:
        # f_n(pi) >= cut + (M_n - cut) (1 - nu_n), M_n the least value of f_n
        step = margin.cut - margin.low
        row, coefficients = np.append(margin.index, switch), np.append(margin.value, -step)
        draft.add_row(row, coefficients, lower=margin.low - margin.constant)


def enough_weight(problem: Problem) -> float:
    """The least accepted weight that satisfies the requirement."""
    least = problem.required - WEIGHT_TOLERANCE * float(problem.weights.sum())
    if np.all(problem.weights == np.floor(problem.weights)):
        return float(np.ceil(least))
    return least - WEIGHT_TOLERANCE * float(problem.weights.sum())


def add_requirement(draft: Draft, problem: Problem, votes: Sequence[int], weights: FloatArray) -> None:
    """Enough candidates are accepted: ``sum_n w_n nu_n >= required``."""
    draft.add_row(np.asarray(votes, dtype=np.intp), weights, lower=enough_weight(problem))
