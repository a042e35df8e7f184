"""Problems for tests: tiny ones with a hand-checked optimum, and random ones of every kind.

``from problems import HAND_CHECKED, problems, random_problem``. Numbers are multiples of ``grid``: 1/2 makes
exact ties frequent, 1/10 ties that hang on rounding, None draws floats without ties.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from hypothesis import strategies as st

from armin.arrays import BoolArray
from armin.models.kinds import (
    Above,
    Among,
    BlackBox,
    Decision,
    FloatArray,
    LinearModel,
    Model,
    ReluNetwork,
    ScoreMixture,
    Term,
    TreeEnsemble,
)
from armin.models.maps import Map
from armin.problem import Choice, Options, PairRule, Problem

Kind = Literal["linear", "relu", "deep", "trees", "mixture", "blackbox"]
KINDS: tuple[Kind, ...] = ("linear", "relu", "deep", "trees")


# --- by hand ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HandChecked:
    """A problem whose cheapest valid choice was found on paper; ``cost`` is None where there is none."""

    name: str
    problem: Problem
    cost: float | None
    choice: Choice | None


def stump(column: int, cut: float, left: float, right: float) -> tuple[int, float, float, float]:
    return column, cut, left, right


def stumps(
    trees: list[tuple[int, float, float, float]], n_inputs: int, decision: Decision, strict: bool = False
) -> TreeEnsemble:
    """An ensemble of one-split trees: ``(column, cut, value left, value right)``."""
    feature, threshold, left, right, value = [], [], [], [], []
    for t, (column, cut, low, high) in enumerate(trees):
        feature += [column, -1, -1]
        threshold += [cut, 0.0, 0.0]
        left += [3 * t + 1, -1, -1]
        right += [3 * t + 2, -1, -1]
        value += [0.0, low, high]
    return TreeEnsemble(
        roots=np.arange(len(trees)) * 3,
        feature=np.array(feature),
        threshold=np.array(threshold, dtype=float),
        left=np.array(left),
        right=np.array(right),
        nan_left=np.zeros(len(feature), dtype=bool),
        value=np.array(value)[:, None],
        base=np.zeros(1),
        decision=decision,
        strict=strict,
        n_inputs=n_inputs,
    )


def _hand_checked() -> list[HandChecked]:
    # x0 + x1 >= 6 from (1, 0) and (3, 0). One candidate: (3, 0) needs 3: x0 + 4 for 2, x1 + 5 for 1.5.
    # Both: (1, 0) needs 5: x1 + 5 for 1.5 does it alone.
    add = LinearModel(np.array([[1.0, 1.0]]), np.array([-6.0]), Above(0.0))
    line = Problem.from_tables(
        [[1, 0], [3, 0]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, add, required=1
    )
    # The strict rule x0 + x1 > 6: (1, 0) + 5 = 6 no longer suffices, so both need x1 + 5 and x0 + 2.
    strict = replace(line, model=replace(add, decision=Above.strictly(0.0)), required=2.0)
    # 1 - |x| >= 0 as a network, from -3 and 3: the two ask for opposite moves of at least 2, so none serves both.
    tent = ReluNetwork((np.array([[1.0, -1.0]]), np.array([[-1.0], [-1.0]])), (np.zeros(2), np.ones(1)), Above(0.0))
    hill = Problem.from_tables([[-3], [3]], {0: [0, -2, 1, 2]}, {0: [0, 2, 1, 3]}, tent, required=1)
    # Three votes, two needed: x0 > 1 counts two, x1 > 1 counts one, x1 <= 3 counts one. From (0, 0): one vote.
    votes = stumps([stump(0, 1.0, 0, 2), stump(1, 1.0, 0, 1), stump(1, 3.0, 1, 0)], 2, Above(2.0))
    wood = Problem.from_tables(
        [[0, 0]], {0: [0, 1, 2], 1: [0, 2, 4]}, {0: [0, 1, 2], 1: [0, 1.5, 1]}, votes, required=1
    )
    # A blank at column 0, filled with 0, 2, 4; reach 3 (cost 5) makes all alike, shift 2 (cost 2) helps 2 and 4.
    above = LinearModel(np.array([[1.0]]), np.array([-3.0]), Above(0.0))
    filled = np.array([[0.0], [2.0], [4.0]])
    outcomes = np.stack([filled, filled + 2, np.full((3, 1), 3.0)], axis=1)
    blank = Problem(filled, (Options("x", np.array([0]), outcomes, np.array([0.0, 2.0, 5.0])),), above, 2.0)
    allowed = np.ones((3, 2), dtype=bool)
    allowed[0, 1] = False
    return [
        HandChecked("line, one of two", line, 1.5, (0, 1)),
        HandChecked("line, both", line.demanding(2), 1.5, (0, 1)),
        HandChecked("line, strict", strict, 2.5, (1, 1)),
        HandChecked("line, max of costs", replace(strict, aggregate="max"), 1.5, (1, 1)),
        HandChecked("line, strict, one change", replace(strict, max_changes=1), None, None),
        HandChecked("line, rule", replace(line, rules=(PairRule(0, 1, allowed),)), 2.0, (2, 0)),
        HandChecked("line, forbidden", line.excluding((0, 1)), 2.0, (2, 0)),
        HandChecked("hill, one of two", hill, 2.0, (1,)),
        HandChecked("hill, both", hill.demanding(2), None, None),
        HandChecked("wood", wood, 1.5, (0, 1)),
        HandChecked("blank, two of three", blank, 2.0, (1,)),
        HandChecked("blank, all", blank.demanding(3), 5.0, (2,)),
    ]


HAND_CHECKED = _hand_checked()


# --- at random -------------------------------------------------------------------------------------------


def _numbers(rng: np.random.Generator, size: tuple[int, ...], spread: int, grid: float | None) -> FloatArray:
    if grid is None:
        return rng.normal(0, spread / 2, size)
    return rng.integers(-spread, spread + 1, size) * grid


def random_linear(rng: np.random.Generator, width: int, decision: Decision, grid: float | None = 0.5) -> LinearModel:
    c = decision.n_outputs
    return LinearModel(_numbers(rng, (c, width), 3, grid), _numbers(rng, (c,), 6, grid) - 1, decision)


def random_network(
    rng: np.random.Generator, width: int, hidden: tuple[int, ...], decision: Decision, grid: float | None = 0.5
) -> ReluNetwork:
    sizes = [width, *hidden, decision.n_outputs]
    weights = tuple(_numbers(rng, (a, b), 2, grid) for a, b in pairwise(sizes))
    biases = tuple(_numbers(rng, (b,), 4, grid) for b in sizes[1:])
    return ReluNetwork(weights, biases, decision)


def random_trees(
    rng: np.random.Generator,
    width: int,
    decision: Decision,
    *,
    n_trees: int = 3,
    depth: int = 3,
    strict: bool = False,
    precision: Literal["float32", "float64"] = "float64",
    categories: tuple[int, ...] = (),
    grid: float | None = 0.5,
    pairs: bool = False,
) -> TreeEnsemble:
    """Trees of random shape; columns in ``categories`` are split by sets of the codes 0 to 3.

    With ``pairs``, no tree asks about more than two columns.
    """
    feature: list[int] = []
    threshold: list[float] = []
    children: list[list[int]] = []
    sets: list[int] = []

    def grow(level: int) -> int:
        node = len(feature)
        split = level < depth and (level == 0 or rng.random() < 0.8)
        own = asked[-1] if pairs else range(width)
        feature.append(int(own[int(rng.integers(len(own)))]) if split else -1)
        threshold.append(float(_numbers(rng, (), 5, grid)) + (0.1 if precision == "float32" and grid else 0.0))
        children.append([-1, -1])
        sets.append(int(rng.integers(5)) if feature[node] in categories else -1)
        if split:
            children[node] = [grow(level + 1), grow(level + 1)]
        return node

    asked: list[list[int]] = []
    roots = []
    for _ in range(n_trees):
        if pairs:
            asked.append(rng.choice(width, min(2, width), replace=False).tolist())
        roots.append(grow(0))
    count = len(feature)
    value = _numbers(rng, (count, decision.n_outputs), 3, grid)
    cut = np.array(threshold)
    left, right = np.array(children).T
    return TreeEnsemble(
        roots=np.array(roots),
        feature=np.array(feature),
        threshold=cut.astype(np.float32).astype(float) if precision == "float32" else cut,
        left=left,
        right=right,
        nan_left=rng.random(count) < 0.5,
        value=value.astype(precision),
        base=_numbers(rng, (decision.n_outputs,), 2, grid).astype(precision),
        decision=decision,
        strict=strict,
        input_precision=precision,
        precision=precision,
        divisor=float(rng.choice([1.0, n_trees])),
        category_set=np.array(sets) if categories else None,
        category_left=rng.random((5, 4)) < 0.5 if categories else None,
        base_last=bool(rng.random() < 0.5),
        n_inputs=width,
    )


def random_maps(rng: np.random.Generator) -> tuple[Map, ...]:
    """Maps of one score: straight, logistic, by a table or a step, or one after the other; some of them fall."""
    sign = float(rng.choice([-1.0, 1.0]))
    table = Map.table(np.cumsum(rng.integers(1, 3, 4)) * 0.5 - 2.0, np.sort(rng.random(4)).round(1))
    step, logistic = Map.step(float(rng.integers(-3, 4)) * 0.5), Map.logistic(sign * 0.5, 0.25)
    every = [(), (logistic,), (table,), (step,), (logistic, table), (Map.line(0.25), logistic)]
    return (*every[int(rng.integers(len(every)))], Map.line(float(rng.integers(1, 4)) * 0.5 * rng.choice([-1.0, 1.0])))


def random_mixture(
    rng: np.random.Generator,
    width: int,
    *,
    categories: tuple[int, ...] = (),
    numbers: bool = True,
    grid: float | None = 0.5,
) -> ScoreMixture:
    """A sum of two or three maps of scores of trees (of any precision) and, with ``numbers``, of linear models.

    Near the cut it is decided by whether the sum rounds up: nobody can tell that from bounds.
    """
    terms = []
    for i in range(int(rng.integers(2, 4))):
        columns = rng.permutation(width)[: int(rng.integers(max(1, width - 1), width + 1))] if not categories else None
        own = width if columns is None else columns.size
        model: LinearModel | TreeEnsemble
        decision: Decision = Above(0.0) if rng.random() < 0.7 else Among((1,), 2)
        if numbers and (i == 0 or rng.random() < 0.5):
            model = random_linear(rng, own, decision, grid)
        else:
            model = random_trees(
                rng, own, decision, strict=bool(rng.random() < 0.3), categories=categories, grid=grid,
                precision=rng.choice(["float32", "float64"]),
            )  # fmt: skip
        coefficients = np.ones(1) if decision.n_outputs == 1 else np.array([-1.0, 1.0])
        terms.append(Term(model, coefficients, random_maps(rng), columns))
    plain = ScoreMixture(tuple(terms), 0.0, 0.0, lambda rows: rows[:, 0] > 0, width)
    some = plain.ahead(_numbers(rng, (30, width), 5, grid))[0]
    plain = replace(plain, cut=round(4.0 * float(np.quantile(some, rng.choice([0.5, 0.7, 0.9])))) / 4.0)
    near = float(rng.choice([1e-9, 0.05]))

    def verdict(rows: FloatArray) -> BoolArray:
        ahead = plain.ahead(rows, in_order=True)[0]
        return np.asarray(ahead + 0.02 * np.sin(100.0 * ahead) > 0.0)

    return replace(plain, near=near, verdict=verdict)


def _options(
    rng: np.random.Generator, name: str, columns: list[int], candidates: FloatArray, mode: str, grid: float | None
) -> Options:
    """Options of one feature. ``candidates`` must already hold its values."""
    now = candidates[:, columns]
    size = int(rng.integers(1, 5)) if len(columns) == 1 else len(columns)
    if len(columns) > 1:
        targets = np.eye(len(columns))
    elif mode == "category":
        targets = np.arange(4.0)[:size, None]
    else:
        targets = _numbers(rng, (size, 1), 6, grid)
    if mode == "shift":
        after = now[:, None, :] + targets[None, :, :]
    else:
        after = np.repeat(targets[None, :, :], now.shape[0], axis=0)
    outcomes = np.concatenate([now[:, None, :], after], axis=1)
    if np.array_equal(outcomes, np.repeat(outcomes[:1], now.shape[0], axis=0), equal_nan=True):
        outcomes = outcomes[:1]
    costs = np.append(0.0, rng.integers(1, 9, targets.shape[0]) * 0.25)
    return Options(name, np.array(columns), outcomes, costs)


def random_problem(
    rng: np.random.Generator,
    kind: Kind = "linear",
    *,
    decision: Decision | None = None,
    n: int = 5,
    n_numbers: int = 3,
    n_missing: int = 2,
    block: int = 0,
    category: bool = False,
    blanks: bool = False,
    mode: Literal["shift", "reach"] = "shift",
    max_changes: int | None = None,
    aggregate: Literal["sum", "max"] = "sum",
    weighted: bool = False,
    n_rules: int = 0,
    n_forbidden: int = 0,
    strict: bool = False,
    precision: Literal["float32", "float64"] = "float64",
    grid: float | None = 0.5,
    pairs: bool = False,
) -> Problem:
    """A random problem with ``n`` candidates.

    Columns: ``n_numbers`` numbers of which ``n_missing`` differ between candidates, a one-hot block of
    ``block`` columns (missing where there is room for it), a category column (``category``, trees only), and
    a last column that nobody can change. ``blanks`` leaves NaN in the missing numbers (trees only).
    """
    decision = decision if decision is not None else Above(0.0)
    width = n_numbers + block + int(category) + 1
    candidates = np.repeat(_numbers(rng, (1, width), 4, grid), n, axis=0)
    candidates[:, :n_missing] = _numbers(rng, (n, n_missing), 4, grid)
    features = [[p] for p in range(n_numbers)]
    if block:
        features.append(list(range(n_numbers, n_numbers + block)))
        candidates[:, features[-1]] = np.eye(block)[rng.integers(block, size=n)]
    if category:
        features.append([n_numbers + block])
        candidates[:, n_numbers + block] = rng.integers(4, size=n)
    if blanks and kind in ("trees", "mixture"):
        candidates[rng.random((n, width)) < 0.3] = np.nan
        candidates[:, -1] = candidates[0, -1]
    options = []
    for d, columns in enumerate(features):
        how = "category" if category and d == len(features) - 1 else "reach" if d >= n_missing else mode
        options.append(_options(rng, f"f{d}", columns, candidates, how, grid))
    model: Model
    if kind == "linear":
        model = random_linear(rng, width, decision, grid)
    elif kind == "trees":
        coded = (n_numbers + block,) if category else ()
        model = random_trees(
            rng, width, decision, n_trees=6 if pairs else 3, strict=strict, precision=precision, categories=coded,
            grid=grid, pairs=pairs,
        )  # fmt: skip
    elif kind == "mixture":
        coded = (n_numbers + block,) if category else ()
        model = random_mixture(rng, width, categories=coded, numbers=not (blanks or category), grid=grid)
    else:
        hidden = (4, 3) if kind == "deep" else (4,)
        model = random_network(rng, width, hidden, decision, grid)
    if kind == "blackbox":
        model = BlackBox(model.accepts, width)
    weights = rng.integers(1, 5, n) * 0.75 if weighted else np.ones(n)
    problem = Problem(
        candidates=candidates,
        options=tuple(options),
        model=model,
        required=float(rng.uniform(0.05, 1.0) * weights.sum()) if weighted else float(rng.integers(1, n + 1)),
        weights=weights,
        max_changes=max_changes,
        aggregate=aggregate,
        rules=tuple(_rule(rng, options) for _ in range(n_rules)) if len(options) > 1 else (),
    )
    return replace(problem, forbidden=frozenset(_forbid(rng, problem) for _ in range(n_forbidden)))


def _rule(rng: np.random.Generator, options: list[Options]) -> PairRule:
    first, second = rng.choice(len(options), 2, replace=False)
    allowed = rng.random((options[first].size, options[second].size)) < 0.7
    allowed[0, 0] = True
    return PairRule(int(first), int(second), allowed)


def _forbid(rng: np.random.Generator, problem: Problem) -> Choice:
    return tuple(int(rng.integers(option.size)) if rng.random() < 0.5 else 0 for option in problem.options)


DECISIONS: tuple[Decision, ...] = (
    Above(0.0),
    Above.strictly(0.5),
    Among((1,), 2),
    Among((0,), 2),
    Among((1,), 3),
    Among((0, 2), 3),
)


@st.composite
def problems(draw: st.DrawFn, kinds: tuple[Kind, ...] = KINDS, plain: bool = False, pairs: bool = False) -> Problem:
    """Random problems of the given kinds; ``plain`` leaves out rules, forbidden choices and weights.

    With ``pairs``, sums of tables: trees over at most two columns each, one score, costs that add up.
    """
    kind = draw(st.sampled_from(kinds))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trees = kind == "trees"
    n_numbers = draw(st.integers(1, 4))
    return random_problem(
        rng,
        kind,
        decision=draw(st.sampled_from(DECISIONS[:2] if pairs else DECISIONS)),
        n=draw(st.integers(1, 6)),
        n_numbers=n_numbers,
        n_missing=draw(st.integers(0, min(2, n_numbers))),
        block=draw(st.sampled_from([0, 0, 2, 3])),
        category=(trees or kind == "mixture") and draw(st.booleans()),
        blanks=(trees or kind == "mixture") and draw(st.booleans()),
        mode=draw(st.sampled_from(["shift", "reach"])),
        max_changes=draw(st.sampled_from([None, 1, 2, 3])),
        aggregate="sum" if pairs else draw(st.sampled_from(["sum", "max"])),
        weighted=not plain and draw(st.booleans()),
        n_rules=0 if plain else draw(st.integers(0, 2)),
        n_forbidden=0 if plain else draw(st.integers(0, 3)),
        strict=trees and draw(st.booleans()),
        precision=draw(st.sampled_from(["float64", "float32"])) if trees else "float64",
        # a matrix product may round 0.1s differently in a large batch, so that a tie falls either way
        grid=draw(st.sampled_from([0.5, 0.1, None] if trees else [0.5, None])),
        pairs=pairs,
    )
