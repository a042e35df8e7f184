"""The roundest numbers near a plan that still work: nobody should have to hit 0.41720000000000007."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np

from armin.actions import ActionGrid, make_move, snapped
from armin.arrays import FloatArray
from armin.explain.draw import Sample
from armin.explain.fitted import Fitted
from armin.explain.judge import Judged, judge_choices
from armin.explain.world import World
from armin.problem import Choice
from armin.problem.stated import Stated, state_problem

__all__ = ["rounded"]


def rounded(
    fitted: Fitted,
    world: World,
    stated: Stated,
    judged: Judged,
    fresh: Sample | None,
    most: float,
    level: float | None,
) -> tuple[Stated, Judged]:
    """The same plan with the roundest numbers that cost at most ``most``, as far as the model still accepts it.

    Parameters
    ----------
    fitted, world, stated, judged : a plan
    fresh : completions to judge it by
    most : as reported
    level : the share of these that must accept it, if the plan has that many
    """
    choice = judged.solution.choice
    if choice is None or stated.problem.blocks or stated.grid.schema.derived or judged.solution.cost is None:
        return stated, judged
    small = _around(fitted, stated, choice)
    if small is None:
        return stated, judged
    near, places = small
    if near.problem.n_candidates != stated.problem.n_candidates:  # other rows are submitted where other blanks are set
        return stated, judged
    picks = _roundest(near, stated, places, judged, most)
    if all(j == 1 for j in picks):
        return stated, judged
    moved = stated
    for i, j, place in zip(places, picks, range(len(places)), strict=True):
        moved = _moved(moved, i, choice[i], near, place, j)
    solution = replace(judged.solution, cost=moved.problem.cost(choice))
    again = replace(judge_choices(fitted, world, moved, [solution], fresh)[0], demand=judged.demand)
    if not moved.problem.enough(float(moved.problem.weights[again.accepted].sum())) and judged.demand:
        return stated, judged
    if judged.row and not again.row:
        return stated, judged
    if fresh is not None and judged.fresh is not None and again.fresh is not None:
        share, now = (float(fresh.weights[one].sum() / fresh.weights.sum()) for one in (judged.fresh, again.fresh))
        if now < min(share, share if level is None else level) - 1e-9:
            return stated, judged
    return moved, again


def _around(fitted: Fitted, stated: Stated, choice: Choice) -> tuple[Stated, list[int]] | None:
    """A small problem of the features that a choice changes: its targets, then rounder ones beside them."""
    moves, places = [], []
    for i, (move, j) in enumerate(zip(stated.grid.moves, choice, strict=True)):
        if not j:
            continue
        feature, target = stated.grid.schema.features[move.position], float(move.targets[j])
        others = _rounder(target) if feature.is_number else np.zeros(0)
        before = move.values[:, 0]
        low, high = feature.low_code, feature.high_code
        if move.mode == "shift":
            low, high = low - float(before.min()), high - float(before.max())
        others = snapped(feature, others, low, high)
        start = float(before[0]) if move.mode == "observed" else 0.0
        if move.mode != "reach":  # it still goes the same way
            others = others[(others - start) * (target - start) > 0]
        others = others[others != target]
        others = others[np.argsort([_digits(value) for value in others.tolist()], kind="stable")]
        targets = np.concatenate([[target], others])
        made = make_move(
            feature, move.position, move.mode, before, targets, np.full(targets.size, float(move.senses[j]))
        )
        assert made is not None  # noqa: S101  there is one target at least
        moves.append(made)
        places.append(i)
    if not any(move.size > 2 for move in moves):
        return None
    bare = replace(stated.grid.schema, rules=())
    near = state_problem(
        stated.row, stated.candidates, stated.weights, ActionGrid(tuple(moves), bare), fitted.read, stated.cost,
        stated.problem.required - stated.base, None,
        asks_row=stated.asks_row, asks_completions=stated.asks_completions,
    )  # fmt: skip
    return near, places


def _roundest(near: Stated, stated: Stated, places: list[int], judged: Judged, most: float) -> list[int]:
    """The options of the small problem to take: one feature after the other, the one with most digits first."""
    problem, demand = near.problem, judged.demand or stated.problem.required
    schema, picks = stated.grid.schema, [1] * len(places)
    digits = [_digits(float(move.targets[1])) for move in near.grid.moves]
    for d in sorted(range(len(picks)), key=lambda d: -digits[d]):
        tried = []
        for j in range(2, near.grid.moves[d].size):
            if _digits(float(near.grid.moves[d].targets[j])) >= digits[d]:
                continue
            other = (*picks[:d], j, *picks[d + 1 :])
            if near.cost.finish(problem.cost(other)) <= most:
                tried.append(other)
        if not tried:
            continue
        inputs = problem.inputs_after(np.array(tried, dtype=np.intp))
        accepted = problem.model.settles(inputs.reshape(-1, inputs.shape[2])).reshape(inputs.shape[:2])
        best: tuple[int, float, tuple[int, ...]] | None = None
        for other, ok in zip(tried, accepted, strict=True):
            key = (_digits(float(near.grid.moves[d].targets[other[d]])), problem.cost(other), other)
            if (best is not None and key >= best) or not problem.demanding(demand).enough(
                float(problem.weights[ok].sum())
            ):
                continue
            after = near.grid.apply(other, near.candidates)
            if all(rule.allows(schema, near.candidates, after).all() for rule in schema.rules):
                best = key
        if best is not None:
            picks = list(best[2])
    return picks


def _moved(stated: Stated, i: int, j: int, near: Stated, place: int, pick: int) -> Stated:
    """The problem whose option ``j`` of move ``i`` is the option of the small problem."""

    def swapped(mine: FloatArray, theirs: FloatArray) -> FloatArray:
        if mine.shape[0] < theirs.shape[0]:
            mine = np.repeat(mine, theirs.shape[0], axis=0)
        mine = mine.copy()
        mine[:, j] = theirs[:, pick]
        return mine

    move, other = stated.grid.moves[i], near.grid.moves[place]
    option, theirs = stated.problem.options[i], near.problem.options[place]
    targets, costs = move.targets.copy(), option.costs.copy()
    targets[j], costs[j] = other.targets[pick], theirs.costs[pick]
    move = replace(move, values=swapped(move.values, other.values), targets=targets)
    option = replace(option, outcomes=swapped(option.outcomes, theirs.outcomes), costs=costs)
    moves, options, prices = list(stated.grid.moves), list(stated.problem.options), list(stated.prices)
    moves[i], options[i], prices[i] = move, option, swapped(prices[i], near.prices[place])
    return replace(
        stated, grid=replace(stated.grid, moves=tuple(moves)), prices=tuple(prices),
        problem=replace(stated.problem, options=tuple(options), checks=False),
    )  # fmt: skip


def _rounder(target: float) -> FloatArray:
    """Numbers beside a target with fewer digits: up and down to each digit, and to halves of it."""
    if target == 0 or not math.isfinite(target):
        return np.zeros(0)
    exponent, found = math.floor(math.log10(abs(target))), {0.0}
    for place in range(exponent, exponent - 8, -1):
        for unit in (Decimal(1).scaleb(place), Decimal(5).scaleb(place - 1)):
            count = math.floor(Decimal(repr(target)) / unit)
            found |= {float(unit * count), float(unit * (count + 1))}
    return np.array(sorted(found))


def _digits(value: float) -> int:
    """How many digits a number needs, without leading and closing zeros.

    >>> _digits(34500.0), _digits(0.42), _digits(0.0)
    (3, 2, 0)
    """
    return len(Decimal(repr(float(value))).normalize().as_tuple().digits) if value else 0
