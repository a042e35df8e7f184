"""The true minimum: what is proved about all values that a person could give.

Where the list of options holds a cheapest value of each kind (see :mod:`armin.actions.grid`), the optimum over the list
is the optimum. Where a linear score decides, each option of a number also stands for the range that it ends: with the
cost of the near end and the gain of the far end, the same engine gives a bound below every plan. The list is refined by
what steps cost until plan and bound are close.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from armin.actions import ActionGrid, Move, next_values, outcome, snapped
from armin.arrays import FloatArray, IntArray
from armin.costs import Cost
from armin.explain.fitted import Fitted
from armin.models.kinds import LinearModel
from armin.problem import Problem, Solution, Status
from armin.problem.stated import Stated, state_problem
from armin.solve.stopping import stopped

__all__ = ["Proof", "proved", "refined"]

ROUNDS, FASTER = 5, 0.125
"""How often the list of a linear score is refined, and how much of the distance from the bound each time may leave."""

NODES = 50_000
"""Of one search on the way to a finer list, about: what takes longer is left, and the distance is stated instead."""

MOST_POINTS = 4000
"""Options of one number, at most."""

SHARE = 0.2
"""Of the time that is left: what one solve on the way to a finer list may take."""

Remake = Callable[[Mapping[int, FloatArray]], tuple[Stated, ActionGrid]]
"""States one row's problem again with more targets, by position; and its options before rules left some of them out."""

FAR = 0.1
"""From its bound, relative: what is said of a plan that is farther is only that nothing on the list is cheaper."""

ROOM = 1e-9
"""Relative; costs that differ by less are the same, added up in another order."""


@dataclass(frozen=True)
class Proof:
    """What is known of all other plans.

    Attributes
    ----------
    bound : no plan costs less, as the solver adds up
    scope : "domain" if that holds for all values that the schema allows, "list" for those that were listed
    """

    bound: float
    scope: Literal["domain", "list"]


def refined(fitted: Fitted, stated: Stated, grid: ActionGrid, remake: Remake) -> Stated:
    """The problem with a list that is fine enough for the tolerance, and with the problem that bounds it.

    Parameters
    ----------
    fitted : the explainer
    stated : the problem with the options of ``grid``
    grid : the options, before rules left some of them out
    remake : states the problem with more targets
    """
    if callable(fitted.settings.solving.method) or fitted.schema.derived:
        return stated
    stated = replace(stated, outer=_outer(fitted, stated, grid))
    if stated.outer is None or stated.outer is stated.problem or all(move.complete for move in grid.moves):
        return stated
    tolerance, lowest = fitted.settings.options.tolerance, 0.0
    for _ in range(ROUNDS):
        inner = _solved(fitted, stated.problem, 0.0)
        if inner.choice is None or inner.cost is None or stated.outer is None or stopped():
            break
        enough = inner.cost / (1 + 0.5 * tolerance)
        outer = _solved(fitted, stated.outer, enough)
        lowest = max(lowest, outer.bound)  # a coarser list may have been searched further
        stated = replace(stated, solved=inner, outer_bound=(stated.problem.required, lowest))
        if lowest >= enough * (1 - ROOM) or outer.choice is None or outer.status is not Status.OPTIMAL:
            break
        changes = max(sum(1 for j in choice if j) for choice in (inner.choice, outer.choice))
        wanted = max(0.5 * tolerance, FASTER * (1 - outer.bound / inner.cost), 1e-4)
        more = _finer(fitted, stated, grid, inner.cost, wanted * inner.cost / (changes + 1))
        if not more:
            break
        stated, grid = remake(more)
        stated = replace(stated, outer=_outer(fitted, stated, grid))
    return stated


def _solved(fitted: Fitted, problem: Problem, enough: float) -> Solution:
    """The optimum, or what is known of it once its bound is ``enough``, or after so much work."""

    def goes_on(solution: Solution) -> bool:
        return solution.nodes < NODES and (not enough or solution.bound < enough)

    return replace(fitted.settings.solving, method="search").sharing(SHARE)(problem, goes_on)


def _outer(fitted: Fitted, stated: Stated, grid: ActionGrid) -> Problem | None:
    """A problem whose optimum is no more than what any plan costs, whatever values it takes; None if there is none."""
    if not all(move.complete for move in grid.moves):
        if not _ranges(fitted, stated, grid):
            return None
    elif not grid.schema.rules:
        return stated.problem
    free = stated
    if grid.schema.rules:
        bare = replace(grid, schema=replace(grid.schema, rules=()))
        free = state_problem(
            stated.row, stated.candidates, stated.weights, bare, fitted.read, stated.cost,
            stated.problem.required - stated.base, stated.problem.max_changes,
            asks_row=stated.asks_row, asks_completions=stated.asks_completions,
        )  # fmt: skip
    helps, share = fitted.remembered.helpful(fitted.read, free.candidates[0]), stated.weights / stated.weights.sum()
    options = list(free.problem.options)
    for i, move in enumerate(grid.moves):
        if not move.complete:
            ways = _ways(move)
            order = np.flatnonzero(ways == helps[move.position]) if helps[move.position] else np.zeros(0, dtype=np.intp)
            order = order[np.argsort(move.targets[order] * helps[move.position])]
            costs = _near_costs(grid, move, order, helps[move.position], stated.cost, share)
            kept = np.concatenate([[0], order]).astype(np.intp)
            options[i] = replace(options[i], outcomes=options[i].outcomes[:, kept], costs=costs)
    return replace(free.problem, options=tuple(options), rules=(), sums=(), checks=False)


def _ranges(fitted: Fitted, stated: Stated, grid: ActionGrid) -> bool:
    """Whether each number whose list is not complete helps a linear score the more the further it goes."""
    model = stated.problem.model
    if not isinstance(model, LinearModel) or stated.problem.blocks:
        return False
    if stated.asks_row and any(move.mode != "observed" and not move.complete for move in grid.moves):
        return False  # what is written into a blank may help the row where it harms the completions
    helps = fitted.remembered.helpful(fitted.read, stated.candidates[0])
    monotone = bool(getattr(stated.cost, "monotone", False))
    return monotone and all(move.complete or move.position in helps for move in grid.moves)


def _ways(move: Move) -> FloatArray:
    """Which way (1 or -1) each option goes; 0 for "keep"."""
    start = 0.0 if move.mode == "shift" else float(move.values[0, 0])
    ways = move.senses.copy() if move.mode == "reach" else np.sign(move.targets - start)
    ways[0] = 0.0
    return ways


def _near_costs(grid: ActionGrid, move: Move, order: IntArray, way: int, cost: Cost, share: FloatArray) -> FloatArray:
    """The mean cost of the first value of the range that each option ends, for "keep" and options in ``order``."""
    feature = grid.schema.features[move.position]
    targets = move.targets[order]
    before = np.concatenate([[_start(move, way)], targets[:-1]])
    near = way * np.minimum(way * next_values(feature, before, way), way * targets)
    costs = _mean_cost(grid, move, near, np.full(near.size, float(way)), cost, share) * (1 - ROOM)
    return np.concatenate([[0.0], np.minimum.accumulate(costs[::-1])[::-1]])


def _start(move: Move, way: int) -> float:
    """Where an option that goes one way starts."""
    if move.mode == "shift":
        return 0.0
    return float(move.values[:, 0].min() if way > 0 else move.values[:, 0].max())


def _mean_cost(
    grid: ActionGrid, move: Move, targets: FloatArray, senses: FloatArray, cost: Cost, share: FloatArray
) -> FloatArray:
    """What targets (J,) cost on average over the completions."""
    feature = grid.schema.features[move.position]
    before, which = np.unique(move.values[:, 0], return_inverse=True)
    after = outcome(feature, move.mode, before[:, None], targets[None, :], senses[None, :])
    table = np.asarray(cost.table(move.position, before, after), dtype=np.float64)
    return np.asarray(table[0] if before.size == 1 else np.bincount(which.ravel(), weights=share) @ table)


def _finer(fitted: Fitted, stated: Stated, grid: ActionGrid, most: float, spacing: float) -> dict[int, FloatArray]:
    """More targets: between those that cost at most ``most``, so many that steps cost at most ``spacing``."""
    helps, share = fitted.remembered.helpful(fitted.read, stated.candidates[0]), stated.weights / stated.weights.sum()
    found = {}
    for move in grid.moves:
        way = 0 if move.complete else helps[move.position]
        if not way:
            continue
        feature = grid.schema.features[move.position]
        own = np.sort(move.targets[_ways(move) == way] * way) * way
        points = np.concatenate([[_start(move, way)], own])
        new, first = [np.zeros(0)], points
        for _ in range(3):
            costs = _mean_cost(grid, move, points, np.full(points.size, float(way)), stated.cost, share)
            pieces = np.ceil(np.diff(costs) / spacing).clip(1, 64)
            pieces[costs[:-1] > most] = 1
            wide = np.flatnonzero(pieces > 1)
            if not wide.size or points.size > MOST_POINTS:
                break
            count, low = pieces[wide].astype(np.intp), points[wide]
            which = np.repeat(np.arange(wide.size), count - 1)
            place = np.arange(which.size) - np.repeat(np.cumsum(count - 1) - (count - 1), count - 1) + 1
            width = (points[wide + 1] - low) / count
            new.append(_short(low[which] + width[which] * place, np.abs(width)[which]))
            points = np.unique(np.concatenate([first, *new]) * way) * way
            points = points[(points - first[0]) * way >= 0]
        targets = snapped(feature, np.concatenate(new), -math.inf, math.inf)
        targets = np.setdiff1d(targets, move.targets)
        if targets.size:
            known = move.targets[1:]
            found[move.position] = np.concatenate([known, targets])
    return found


def _short(values: FloatArray, spacing: FloatArray) -> FloatArray:
    """Values with no more digits than their spacing needs."""
    places, found = 1 - np.floor(np.log10(spacing)), values.copy()
    for place in np.unique(places[places <= 300]).tolist():
        found[places == place] = np.round(values[places == place], int(place))
    return found


def proved(fitted: Fitted, stated: Stated, solution: Solution, demand: float) -> Proof:
    """What is known of all plans for the demand that a plan was found for."""
    if stated.outer is None:
        return Proof(solution.bound, "list")
    if stated.outer is stated.problem:
        return Proof(solution.bound, "domain")
    required = demand or stated.problem.required
    if stated.outer_bound is not None and stated.outer_bound[0] == required and solution.choice is not None:
        lowest = stated.outer_bound[1]
    else:
        enough = (solution.cost or np.inf) / (1 + 0.5 * fitted.settings.options.tolerance)
        outer = _solved(fitted, stated.outer.demanding(required), enough)
        if solution.status is Status.INFEASIBLE:
            return Proof(solution.bound, "domain" if outer.status is Status.INFEASIBLE else "list")
        if solution.choice is None:
            return Proof(outer.bound, "domain")
        lowest = outer.bound
    assert solution.cost is not None  # noqa: S101  there is a choice
    cost, bound = stated.cost.finish(solution.cost), stated.cost.finish(min(lowest, solution.cost))
    if solution.status is Status.OPTIMAL and cost > bound * (1 + FAR) + 1e-12:
        return Proof(solution.bound, "list")
    return Proof(min(lowest, solution.cost), "domain")
