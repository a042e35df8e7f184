"""Hard cases: small problems of every kind and flavour in which rounding, ties and empty corners decide.

``hard_problem(rng, kind)`` draws one; ``trials(problem, rng, milo)`` are all engines on all goals, each a name and a
function that raises :class:`Discrepancy` where an answer differs from the plain brute force of ``plain.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Literal

import numpy as np
from plain import outputs_of

from armin.arrays import BoolArray, FloatArray
from armin.models.decide import AmongLinked
from armin.models.kinds import (
    Above,
    Among,
    BlackBox,
    Decision,
    LinearModel,
    Model,
    ReluNetwork,
    ScoreMixture,
    Term,
    TreeEnsemble,
)
from armin.problem import Block, JointTable, Options, PairRule, Problem
from armin.problem.sums import SumRule

from problems import random_maps, random_trees

HardKind = Literal["linear", "classes", "relu", "deep", "trees", "blackbox", "mixture"]
HARD_KINDS: tuple[HardKind, ...] = ("linear", "classes", "relu", "deep", "trees", "blackbox", "mixture")
"""``classes`` is a linear model with several outputs."""

Numbers = Callable[[tuple[int, ...]], FloatArray]


def _scales(rng: np.random.Generator, scale: str | None) -> tuple[Numbers, Numbers, str]:
    """How the numbers of a problem are drawn: those of the rows, those of the model; and a name, any if None."""

    def grid(step: float) -> Numbers:
        return lambda size: rng.integers(-4, 5, size) * step

    def wide(size: tuple[int, ...]) -> FloatArray:
        return rng.integers(-4, 5, size) * rng.choice([1e-8, 0.1, 1.0, 1e8], size)

    def single(size: tuple[int, ...]) -> FloatArray:
        return (rng.integers(-40, 41, size) * 0.1).astype(np.float32).astype(np.float64)

    def tiny(size: tuple[int, ...]) -> FloatArray:
        return rng.integers(-4, 5, size) * rng.choice([5e-324, 1e-310, 1e-160], size)

    def free(size: tuple[int, ...]) -> FloatArray:
        return rng.normal(0, 2, size)

    def cancel(size: tuple[int, ...]) -> FloatArray:
        values = rng.integers(-4, 5, size) * 0.1
        return np.where(rng.random(size) < 0.5, values + rng.choice([-1e8, 1e8], size), values)

    named: dict[str, tuple[Numbers, Numbers]] = {
        "half": (grid(0.5), grid(0.5)),
        "tenth": (grid(0.1), grid(0.1)),
        "third": (grid(1 / 3), grid(0.7)),
        "free": (free, free),
        "wide": (grid(0.1), wide),
        "cancel": (cancel, grid(0.1)),
        "single": (single, single),
        "tiny": (grid(0.1), tiny),
    }
    name = scale or str(rng.choice(list(named), p=[0.2, 0.25, 0.1, 0.05, 0.1, 0.1, 0.1, 0.1]))
    return *named[name], name


def _decision(rng: np.random.Generator, outputs: int) -> Decision:
    if outputs == 1:
        cut = float(rng.choice([0.0, 0.0, 0.5, 0.1, -0.3]))
        return Above.strictly(cut) if rng.random() < 0.3 else Above(cut)
    size = int(rng.integers(0 if rng.random() < 0.1 else 1, outputs + 1 if rng.random() < 0.3 else outputs))
    accepted = tuple(sorted(rng.choice(outputs, size, replace=False).tolist()))
    if rng.random() < 0.15:
        return AmongLinked(accepted, outputs, partial(_by_quarters, accepted), 0.25)
    return Among(accepted, outputs)


def _by_quarters(accepted: tuple[int, ...], outputs: FloatArray) -> BoolArray:
    """The decision of a library that rounds before it compares: the first of equal quarters wins."""
    return np.isin(np.argmax(np.floor(4.0 * outputs), axis=1), accepted)


def _model(rng: np.random.Generator, kind: HardKind, width: int, numbers: Numbers, scale: str) -> Model:
    if kind == "mixture":
        return _mixture(rng, width, numbers, scale)
    several = kind == "classes" or (kind != "linear" and rng.random() < 0.4)
    decision = _decision(rng, int(rng.integers(2, 5)) if several else 1)
    if kind == "blackbox":
        inner = _model(rng, str(rng.choice(["linear", "relu", "trees"])), width, numbers, scale)  # type: ignore[arg-type]
        return BlackBox(inner.settles, width)
    if kind == "trees":
        step = {"half": 0.5, "free": None}.get(scale, 0.1)
        precision = "float32" if scale in ("single", "wide") else "float64"
        trees = random_trees(
            rng, width, decision, n_trees=int(rng.integers(1, 5)), depth=int(rng.integers(1, 4)),
            strict=bool(rng.random() < 0.5), precision=precision, grid=step,
        )  # fmt: skip
        if scale in ("wide", "cancel", "tiny"):
            value = numbers(trees.value.shape).astype(precision)
            trees = replace(trees, value=value, base=numbers(trees.base.shape).astype(precision))
        return trees
    if kind in ("linear", "classes"):
        return LinearModel(numbers((decision.n_outputs, width)), numbers((decision.n_outputs,)), decision)
    hidden = [int(rng.integers(1, 5)) for _ in range({"relu": 1, "deep": 2}[kind])]
    hidden = [] if rng.random() < 0.05 else hidden
    sizes = [width, *hidden, decision.n_outputs]
    weights, biases = tuple(map(numbers, pairwise(sizes))), tuple(numbers((b,)) for b in sizes[1:])
    return ReluNetwork(weights, biases, decision)


def _mixture(rng: np.random.Generator, width: int, numbers: Numbers, scale: str) -> ScoreMixture:
    """Maps of scores of trees and linear models; near the cut nobody can guess the verdict."""
    terms = []
    for _ in range(int(rng.integers(1, 4))):
        model = _model(rng, "trees" if rng.random() < 0.5 else "linear", width, numbers, scale)
        assert isinstance(model, LinearModel | TreeEnsemble)
        size = model.decision.n_outputs
        terms.append(Term(model, np.eye(size)[0] - (np.eye(size)[1] if size > 1 else 0.0), random_maps(rng)))
    cut, near = float(rng.choice([0.0, 0.5, 0.25, -0.3])), float(rng.choice([1e-9, 0.1]))
    return ScoreMixture(tuple(terms), cut, near, partial(_by_parity, tuple(terms)), width)


def _by_parity(terms: tuple[Term, ...], rows: FloatArray) -> BoolArray:
    """A library that does whatever it likes with what its members say, and sees nothing else."""
    total = sum(term.value(rows, in_order=True)[0] for term in terms)
    return np.asarray(np.floor(37.0 * np.clip(total, -1e6, 1e6)) % 2 == 0)


def _options(rng: np.random.Generator, d: int, columns: list[int], rows: FloatArray, numbers: Numbers) -> Options:
    now, n = rows[:, columns], rows.shape[0]
    size = int(rng.choice([0, 1, 1, 2, 2, 3]))
    targets = numbers((size, len(columns)))
    how = rng.choice(["shift", "reach", "reach", "least", "odd", "mixed"])
    shifted, reached = now[:, None] + targets, np.repeat(targets[None], n, axis=0)
    after = shifted if how == "shift" else reached
    if how == "least":  # "to at least so much", "to at most so much"
        up = (rng.random(size) < 0.5)[None, :, None]
        after = np.where(up, np.maximum(now[:, None], targets), np.minimum(now[:, None], targets))
    if how == "odd":
        after = numbers((n, size, len(columns)))
    if how == "mixed":
        after = np.where((rng.random(size) < 0.5)[None, :, None], shifted, reached)
    outcomes = np.concatenate([now[:, None], after], axis=1)
    if np.array_equal(outcomes, np.repeat(outcomes[:1], n, axis=0), equal_nan=True) and rng.random() < 0.8:
        outcomes = outcomes[:1]
    costs = rng.integers(0 if rng.random() < 0.2 else 1, 9, size) * float(rng.choice([0.25, 0.1]))
    return Options(f"f{d}", np.array(columns, dtype=np.intp), outcomes, np.append(0.0, costs))


def _weights(rng: np.random.Generator, n: int) -> FloatArray:
    how = rng.choice(["ones", "steps", "free", "one counts"], p=[0.5, 0.2, 0.15, 0.15])
    if how == "ones":
        return np.ones(n)
    if how == "steps":
        return rng.integers(1, 5, n) * 0.75
    weights = rng.uniform(0.1, 1.0, n) if how == "free" else np.ones(n)
    if how == "one counts":
        weights[0] = n + 1.0
    return weights


def _tied(rng: np.random.Generator, problem: Problem) -> Problem:
    """The same problem with the cut at the exact score of one choice, or with an output raised to another one."""
    model = problem.model
    if isinstance(model, BlackBox):
        return problem
    if isinstance(model, ScoreMixture):
        row = problem.inputs(problem.keep)[:1]
        cut = model.cut + float(np.mean(model.ahead(row, in_order=True)))
        return replace(problem, model=replace(model, cut=cut)) if np.isfinite(cut) else problem
    choice = tuple(int(rng.integers(option.size)) for option in problem.options)
    row = problem.inputs(choice)[int(rng.integers(problem.n_candidates))].tolist()
    outputs = outputs_of(model, row)
    if isinstance(model.decision, Above):
        above = Above.strictly(outputs[0]) if rng.random() < 0.25 else Above(outputs[0])
        return replace(problem, model=replace(model, decision=above)) if np.isfinite(outputs[0]) else problem
    a, b = rng.choice(len(outputs), 2, replace=False)
    lift = np.zeros(len(outputs))
    lift[a] = outputs[b] - outputs[a]
    if isinstance(model, LinearModel):
        return replace(problem, model=replace(model, intercept=model.intercept + lift))
    if isinstance(model, ReluNetwork):
        return replace(problem, model=replace(model, biases=(*model.biases[:-1], model.biases[-1] + lift)))
    return replace(problem, model=replace(model, base=(model.base + lift * model.divisor).astype(model.precision)))


def hard_problem(
    rng: np.random.Generator, kind: HardKind, scale: str | None = None, *, composed: bool = False
) -> Problem:
    """A hard problem of one kind (numbers of one ``scale``, any if None); small enough to list by hand.

    If it is ``composed``, several features determine some of the inputs together, or their options have limited sums.
    """
    rows, numbers, scale = _scales(rng, scale)
    n, features = int(rng.integers(1, 8)), int(rng.choice([0, 1, 2, 3, 3, 4]))
    blocks = [[int(c)] for c in range(features)]
    width = features + int(rng.integers(0 if features else 1, 4))
    if features and rng.random() < 0.2:  # a feature with two columns
        blocks[-1].append(width)
        width += 1
    if features > 1 and rng.random() < 0.1:  # a feature that the model never sees
        blocks[0] = []
    candidates = np.repeat(rows((1, width)), n, axis=0)
    missing = rng.random(width) < 0.4
    candidates[:, missing] = rows((n, int(missing.sum())))
    if kind == "trees" and rng.random() < 0.3:
        candidates[rng.random(candidates.shape) < 0.3] = np.nan
    options = [_options(rng, d, columns, candidates, rows) for d, columns in enumerate(blocks)]
    weights = _weights(rng, n)
    required = float(rng.integers(1, n + 1)) if rng.random() < 0.5 else float(rng.uniform(0.05, 1.0) * weights.sum())
    problem = Problem(
        candidates=candidates,
        options=tuple(options),
        model=_model(rng, kind, width, numbers, scale),
        required=min(required, float(weights.sum())),
        weights=weights,
        max_changes=[None, None, 1, 2, 3][int(rng.integers(5))],
        aggregate="max" if rng.random() < 0.25 else "sum",
    )
    if rng.random() < 0.4:
        problem = _ruled(rng, problem)
    if composed and len(options) > 1:
        problem = _composed(rng, problem, rows)
    return _tied(rng, problem) if rng.random() < 0.6 else problem


def _composed(rng: np.random.Generator, problem: Problem, numbers: Numbers) -> Problem:
    """The same problem with sums, differences, products and ratios of features as inputs, or with limits on sums."""
    how = rng.random()
    if how < 0.85:
        owned = {int(c) for option in problem.options for c in option.columns}
        spare = [c for c in range(problem.candidates.shape[1]) if c not in owned]
        if not spare:  # one feature is seen through others only
            d = int(rng.integers(len(problem.options)))
            option, nothing = problem.options[d], np.zeros(0, dtype=np.intp)
            spare = option.columns.tolist()
            blind = replace(option, columns=nothing, outcomes=option.outcomes[:1, :, :0])
            problem = replace(problem, options=(*problem.options[:d], blind, *problem.options[d + 1 :]))
        rng.shuffle(spare)
        while spare and (not problem.blocks or rng.random() < 0.5):
            columns = sorted(spare.pop() for _ in range(min(len(spare), int(rng.choice([1, 1, 2])))))
            problem = _with_block(rng, problem, columns, numbers)
    if how > 0.75:
        features = sorted(rng.choice(len(problem.options), min(3, len(problem.options)), replace=False).tolist())
        limits = int(rng.integers(1, 3))
        parts = tuple(rng.integers(-2, 5, (limits, problem.options[d].size)) * 0.5 for d in features)
        least = np.sum([part[:, 0] for part in parts], axis=0)  # changing nothing is allowed
        most = least + rng.integers(0, 4, limits) * 0.5
        problem = replace(problem, sums=(SumRule(tuple(features), parts, most),))
    return problem


def _with_block(rng: np.random.Generator, problem: Problem, columns: list[int], numbers: Numbers) -> Problem:
    """The same problem with these inputs made of two or three features: as people make them, or anyhow."""
    count = min(len(problem.options), int(rng.choice([2, 2, 3])))
    members = sorted(rng.choice(len(problem.options), count, replace=False).tolist())
    sizes, n = [problem.options[d].size for d in members], problem.n_candidates
    values = []
    for place, d in enumerate(members):
        option = problem.options[d]
        table = option.outcomes[:, :, 0] if option.columns.size else numbers((1, option.size))
        shape = [table.shape[0], *(1 for _ in members)]
        shape[1 + place] = option.size
        values.append(np.nan_to_num(table).reshape(shape))
    made = []
    for _ in columns:
        how, (first, second) = str(rng.choice(["sum", "difference", "product", "ratio", "odd"])), values[:2]
        if how == "odd":
            made.append(numbers((int(rng.choice([1, n])), *sizes)))
            continue
        total = {
            "sum": first + second,
            "difference": first - second,
            "product": first * second,
            "ratio": first / (1.0 + np.abs(second)),
        }[how]
        made.append(total + sum(values[2:]))
    rows = max(table.shape[0] for table in made)
    outcomes = np.stack([np.broadcast_to(table, (rows, *sizes)) for table in made], axis=-1)
    candidates = problem.candidates.copy()
    candidates[:, columns] = outcomes[(slice(None), *(0 for _ in sizes))]
    block = Block(tuple(members), np.array(columns, dtype=np.intp), JointTable(outcomes))
    return replace(problem, candidates=candidates, blocks=(*problem.blocks, block))


def _ruled(rng: np.random.Generator, problem: Problem) -> Problem:
    """The same problem with some rules, and some choices, sets and cores that are ruled out."""
    options, rules = problem.options, []
    for _ in range(int(rng.integers(0, 3)) if len(options) > 1 else 0):
        first, second = (int(d) for d in rng.choice(len(options), 2, replace=False))
        table = rng.random((options[first].size, options[second].size)) < 0.7
        table[0, 0] = True
        rules.append(PairRule(first, second, table))
    forbidden = [tuple(int(rng.integers(o.size)) for o in options) for _ in range(int(rng.integers(0, 4)))]
    if rng.random() < 0.3:
        forbidden.append(problem.keep)

    def some(least: int) -> Iterator[frozenset[int]]:
        for _ in range(int(rng.integers(0, 3)) if len(options) >= least else 0):
            chosen = rng.choice(len(options), int(rng.integers(least, len(options) + 1)), replace=False)
            yield frozenset(chosen.tolist())

    return replace(
        problem,
        rules=tuple(rules),
        forbidden=frozenset(forbidden),
        forbidden_sets=frozenset(some(0)) if rng.random() < 0.4 else frozenset(),
        forbidden_cores=frozenset(some(1)) if rng.random() < 0.3 else frozenset(),
    )
