"""Random problems in which several features determine model inputs together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from armin.models.kinds import FloatArray
from armin.problem import Block, JointTable, Problem

from problems import DECISIONS, Kind, _forbid, _numbers, _rule, random_problem


def _table(rng: np.random.Generator, problem: Problem, members: list[int], columns: list[int]) -> FloatArray:
    """What combinations become: the candidates' own where nothing changes, else anything; sometimes alike for all."""
    sizes = [problem.options[d].size for d in members]
    own = problem.candidates[:, columns]
    same = bool(np.all((own == own[0]) | np.isnan(own)) and not np.isnan(own).any()) and rng.random() < 0.5
    n = 1 if same else problem.n_candidates
    base = _numbers(rng, (1, *sizes, len(columns)), 4, 0.5)
    table = np.repeat(base, n, axis=0)
    if not same:
        table = table + _numbers(rng, table.shape, 2, 0.5) * (rng.random() < 0.7)
    table[(slice(None), *(0 for _ in sizes))] = own[:n]
    return table


def random_blocks(
    rng: np.random.Generator,
    kind: Kind,
    *,
    n_features: int,
    n_blocks: int,
    bans: bool,
    members: list[list[int]] | None = None,
    **how,
) -> Problem:
    """A random problem whose last columns belong to blocks of two or three features, or of those that are named."""
    n_rules, n_forbidden = how.pop("n_rules", 0), how.pop("n_forbidden", 0)
    plain = random_problem(rng, kind, n_numbers=n_features + n_blocks, block=0, **how)
    options = plain.options[:n_features]
    problem = replace(plain, options=options, rules=(), forbidden=frozenset())
    blocks = []
    for b in range(n_blocks):
        size = int(rng.integers(2, min(3, n_features) + 1))
        some = sorted(rng.choice(n_features, size, replace=False).tolist()) if members is None else members[b]
        column = [n_features + b]
        table = _table(rng, problem, some, column)
        blocks.append(Block(tuple(some), np.array(column), JointTable(table)))
    problem = replace(problem, blocks=tuple(blocks))
    rules = tuple(_rule(rng, list(options)) for _ in range(n_rules))
    problem = replace(problem, rules=rules)
    problem = replace(problem, forbidden=frozenset(_forbid(rng, problem) for _ in range(n_forbidden)))
    if not bans:
        return problem

    def a_set(least: int) -> frozenset[int]:
        return frozenset(rng.choice(n_features, int(rng.integers(least, 3)), replace=False).tolist())

    return replace(
        problem,
        forbidden_sets=frozenset(a_set(0) for _ in range(int(rng.integers(0, 3)))),
        forbidden_cores=frozenset(a_set(1) for _ in range(int(rng.integers(0, 2)))),
    )


@st.composite
def blocky(draw: st.DrawFn, kind: Kind) -> Problem:
    """Random problems with blocks, rules, forbidden choices and sets."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    trees = kind == "trees"
    n_features = draw(st.integers(2, 4))
    return random_blocks(
        rng, kind,
        n_features=n_features, n_blocks=draw(st.integers(1, 2)), bans=draw(st.booleans()),
        decision=draw(st.sampled_from(DECISIONS)), n=draw(st.integers(1, 4)),
        n_missing=draw(st.integers(0, 2)), mode=draw(st.sampled_from(["shift", "reach"])),
        max_changes=draw(st.sampled_from([None, 1, 2, 3])), aggregate=draw(st.sampled_from(["sum", "sum", "max"])),
        weighted=draw(st.booleans()), n_rules=draw(st.integers(0, 2)), n_forbidden=draw(st.integers(0, 3)),
        blanks=trees and draw(st.booleans()), strict=trees and draw(st.booleans()),
        precision=draw(st.sampled_from(["float64", "float32"])) if trees else "float64",
        grid=draw(st.sampled_from([0.5, None])),
    )  # fmt: skip
