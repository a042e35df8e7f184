"""How the frozen problems were drawn: ``python -m lab.same.freeze``, at commit bf82818.

They come from the generators that the tests used then, and larger ones are made here. It is not run again for a change:
problems and answers are files, so that neither generators nor names of the package can change what is compared. Answers
of exhaustive search and of the engines were compared with each other, and with the plain brute force of the tests where
that knows all parts of a problem.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np

from armin.models.decide import AmongLinked
from armin.models.kinds import Above, BlackBox, Decision, LinearModel, Model, ReluNetwork, ScoreMixture
from armin.models.maps import Map
from armin.problem import Block, JointTable, Options, Problem
from armin.solve import solve, solve_best, solve_path
from lab.same.frozen_answers import FROZEN, write_answers
from lab.same.problems import answer, answers
from lab.same.rebuild import problem_of
from lab.same.store import Form, write

TESTS = Path(__file__).resolve().parents[2] / "tests" / "support"
SCALES = ("half", "tenth", "third", "free", "wide", "cancel", "single", "tiny")
SHARES = (0.22, 0.25, 0.12, 0.08, 0.09, 0.1, 0.1, 0.04)
PROVED = ("optimal", "infeasible")
LARGE = ("linear", "relu", "deep", "trees", "mixture")


# --- to plain data ----------------------------------------------------------------------------------------


def form_of(problem: Problem) -> Form:
    """A problem as plain data with arrays."""
    return {
        "candidates": problem.candidates,
        "weights": problem.weights,
        "required": float(problem.required),
        "max_changes": problem.max_changes,
        "aggregate": problem.aggregate,
        "options": [
            {"name": o.name, "columns": o.columns, "outcomes": o.outcomes, "costs": o.costs} for o in problem.options
        ],
        "model": _model(problem.model),
        "rules": [{"first": r.first, "second": r.second, "allowed": r.allowed} for r in problem.rules],
        "sums": [{"features": list(r.features), "parts": list(r.parts), "most": r.most} for r in problem.sums],
        "blocks": [_block(block) for block in problem.blocks],
        "forbidden": sorted([int(j) for j in choice] for choice in problem.forbidden),
        "forbidden_sets": sorted(sorted(map(int, some)) for some in problem.forbidden_sets),
        "forbidden_cores": sorted(sorted(map(int, some)) for some in problem.forbidden_cores),
    }


def _block(block: Block) -> Form:
    assert isinstance(block.outcomes, JointTable)  # noqa: S101  the generators make no other
    return {"members": list(block.members), "columns": block.columns, "table": block.outcomes.outcomes}


def _model(model: Model) -> Form:
    if isinstance(model, BlackBox):
        return {"kind": "blackbox", "inside": _model(model.predict.__self__), "n_inputs": model.n_inputs}  # type: ignore[attr-defined]
    if isinstance(model, ScoreMixture):
        how = "parity" if hasattr(model.verdict, "func") else "sine"
        terms = [
            {
                "model": _model(t.model), "coefficients": t.coefficients, "maps": [_map(m) for m in t.maps],
                "columns": t.columns,
            }
            for t in model.terms
        ]  # fmt: skip
        kept = {"cut": float(model.cut), "near": float(model.near), "n_inputs": model.n_inputs}
        return {"kind": "mixture", "terms": terms, "verdict": how} | kept
    decision = _decision(model.decision)
    if isinstance(model, LinearModel):
        return {"kind": "linear", "weights": model.weights, "intercept": model.intercept, "decision": decision}
    if isinstance(model, ReluNetwork):
        return {"kind": "relu", "weights": list(model.weights), "biases": list(model.biases), "decision": decision}
    arrays = ("roots", "feature", "threshold", "left", "right", "nan_left", "value", "base")
    rest = ("strict", "input_precision", "precision", "divisor", "base_last", "n_inputs")
    names = (*arrays, *rest, "category_set", "category_left")
    return {"kind": "trees", "decision": decision} | {name: _plain(getattr(model, name)) for name in names}


def _decision(decision: Decision) -> Form:
    if isinstance(decision, Above):
        return {"kind": "above", "cut": float(decision.cut)}
    kept = {"accepted": [int(c) for c in decision.accepted], "outputs": int(decision.n_outputs)}
    if isinstance(decision, AmongLinked):
        return {"kind": "quarters", "near": float(decision.near)} | kept
    return {"kind": "among"} | kept


def _map(each: Map) -> Form:
    if each.kind == "table":
        return {"kind": "table", "xs": each.xs, "ys": each.ys}
    return {"kind": each.kind, "slope": float(each.slope), "shift": float(each.shift)}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value) if isinstance(value, str) else value


# --- drawn ------------------------------------------------------------------------------------------------


def drawn() -> Iterator[tuple[str, Problem]]:
    """2,000 problems by name."""
    sys.path.insert(0, str(TESTS))
    from hard import HARD_KINDS, hard_problem
    from test_sums import with_sums

    from blocky import random_blocks
    from problems import DECISIONS, KINDS, random_problem

    for kind in HARD_KINDS:
        for number in range(120):
            rng = np.random.default_rng([28, HARD_KINDS.index(kind), number])
            scale = str(rng.choice(SCALES, p=SHARES))
            yield f"hard-{kind}-{scale}-{number:03d}", hard_problem(rng, kind, scale)
    every = (*KINDS, "mixture", "blackbox")
    for kind in every:
        for number in range(80):
            rng = np.random.default_rng([29, every.index(kind), number])
            yield f"plain-{kind}-{number:03d}", random_problem(rng, kind, **_how(rng, kind, DECISIONS))
    for kind in every:
        for number in range(50):
            rng = np.random.default_rng([30, every.index(kind), number])
            how = _how(rng, kind, DECISIONS)
            for name in ("n_numbers", "block", "category"):
                how.pop(name)
            how["n_missing"] = min(how["n_missing"], 2)
            n_features, n_blocks = int(rng.integers(2, 5)), int(rng.integers(1, 3))
            bans = bool(rng.random() < 0.5)
            yield (
                f"blocks-{kind}-{number:03d}",
                random_blocks(rng, kind, n_features=n_features, n_blocks=n_blocks, bans=bans, **how),
            )
    for kind in KINDS:
        for number in range(45):
            rng = np.random.default_rng([31, every.index(kind), number])
            how = _how(rng, kind, DECISIONS) | {"n_numbers": int(rng.integers(3, 5))}
            yield f"sums-{kind}-{number:03d}", with_sums(random_problem(rng, kind, **how), rng, int(rng.integers(1, 3)))
    for kind in LARGE:
        tried = (large(np.random.default_rng([32, LARGE.index(kind), n]), kind, random_problem) for n in count())
        for number, problem in enumerate(islice(filter(_answered, tried), 40)):
            yield f"large-{kind}-{number:03d}", problem


def _how(rng: np.random.Generator, kind: str, decisions: tuple[Decision, ...]) -> dict[str, Any]:
    """What :func:`problems.random_problem` is given."""
    numbers, trees = int(rng.integers(1, 5)), kind == "trees"
    categories = trees or kind == "mixture"
    grids = [0.5, 0.1, None] if trees else [0.5, None]
    return {
        "decision": decisions[int(rng.integers(len(decisions)))], "n": int(rng.integers(1, 7)), "n_numbers": numbers,
        "n_missing": int(rng.integers(0, min(2, numbers) + 1)), "block": int(rng.choice([0, 0, 2, 3])),
        "category": bool(categories and rng.random() < 0.5), "blanks": bool(categories and rng.random() < 0.5),
        "mode": str(rng.choice(["shift", "reach"])), "max_changes": [None, 1, 2, 3][int(rng.integers(4))],
        "aggregate": str(rng.choice(["sum", "max"])), "weighted": bool(rng.random() < 0.5),
        "n_rules": int(rng.integers(0, 3)), "n_forbidden": int(rng.integers(0, 4)),
        "strict": bool(trees and rng.random() < 0.5),
        "precision": str(rng.choice(["float64", "float32"])) if trees else "float64",
        "grid": grids[int(rng.integers(len(grids)))],
    }  # fmt: skip


def large(rng: np.random.Generator, kind: Any, random_problem: Any) -> Problem:
    """A problem that no list of choices answers quickly: 20 candidates, up to 8 features with up to 12 options each."""
    from problems import random_network, random_trees

    grid = None if rng.random() < 0.6 else 0.5
    numbers, missing = int(rng.integers(6, 9)), int(rng.integers(1, 4))
    small = random_problem(
        rng, kind, n=20, n_numbers=numbers, n_missing=missing, max_changes=int(rng.integers(2, 5)), grid=grid,
        weighted=bool(rng.random() < 0.3), aggregate="max" if rng.random() < 0.15 else "sum",
    )  # fmt: skip
    options = []
    for d, option in enumerate(small.options):
        targets, now = _targets(rng, int(rng.integers(5, 13)), grid), small.candidates[:, [d]]
        shifts = d < missing and rng.random() < 0.6
        after = now + targets[None] if shifts else np.repeat(targets[None], now.shape[0], axis=0)
        outcomes = np.concatenate([now, after], axis=1)[:, :, None]
        outcomes = outcomes[:1] if np.array_equal(outcomes, np.repeat(outcomes[:1], 20, axis=0)) else outcomes
        costs = np.sort(rng.uniform(0.05, 2.0, targets.size).round(3 if rng.random() < 0.5 else 17))
        options.append(Options(option.name, option.columns, outcomes, np.append(0.0, costs)))
    model, width = small.model, small.candidates.shape[1]
    if kind == "trees":
        model = random_trees(rng, width, Above(0.0), n_trees=20, depth=4, grid=grid)
    elif kind in ("relu", "deep"):
        model = random_network(rng, width, (10,) if kind == "relu" else (8, 6), Above(0.0), grid)
    problem = replace(small, options=tuple(options), model=model, checks=True)
    return problem if isinstance(model, ScoreMixture) else _harder(rng, problem)


def _answered(problem: Problem) -> bool:
    """Whether all questions can be answered in time: mixtures with wide cuts take minutes."""
    if solve(problem, "search", time_limit=0.3).status.value not in PROVED:
        return False
    found = [point.solution for point in solve_path(problem, "search", time_limit=0.6)]
    found += solve_best(problem, 4, "search", differ="cores", time_limit=0.6)
    return all(each.status.value in PROVED for each in found)


def _targets(rng: np.random.Generator, size: int, grid: float | None) -> np.ndarray:
    return rng.normal(0, 4, size) if grid is None else rng.integers(-12, 13, size) * grid


def _harder(rng: np.random.Generator, problem: Problem) -> Problem:
    """The same with a cut that few of some random choices reach, so that a plan takes a search."""
    limit, sizes = problem.limit, [option.size for option in problem.options]
    tries = []
    for _ in range(300):
        choice = [0] * len(sizes)
        for d in rng.choice(len(sizes), limit, replace=False).tolist():
            choice[d] = int(rng.integers(sizes[d]))
        found = problem.model.outputs(problem.inputs(tuple(choice)))[:, 0]
        tries.append(np.quantile(found, 1 - problem.required / problem.weights.sum()))
    cut = float(np.quantile(tries, float(rng.choice([0.9, 0.97, 0.995]))))
    return replace(problem, model=replace(problem.model, decision=Above(cut)))


# --- asked ------------------------------------------------------------------------------------------------


def questions(name: str, problem: Problem, number: int) -> list[list[Any]]:
    """What is asked about a problem; programs only where a solver sees all numbers."""
    family, kind, *scale = name.split("-")
    rng = np.random.default_rng([33, number])
    least = float(rng.uniform(0.05, 1.0) * problem.weights.sum()) if rng.random() < 0.3 else None
    differ, several = ("choices", "sets", "cores")[number % 3], int(rng.integers(2, 5))
    asked: list[list[Any]] = [["solve", "search"], ["path", "search", least], ["several", "search", several, differ]]
    if family != "large":
        asked += [["solve", "enumerate"], ["robust", "auto"], ["stopped", "search", int(rng.integers(1, 4))]]
    seen = family == "hard" and scale[0] in ("wide", "cancel", "single", "tiny")
    programs = kind not in ("blackbox", "mixture") and problem.options and not problem.blocks
    if programs and not seen and family != "large" and number % 8 == 0:
        asked.append(["solve", "milo"])
    return asked


def checked(form: Form) -> Form:
    """The problem, if exhaustive search, engines and the plain brute force of the tests agree about it."""
    problem = problem_of(form)
    if form["name"].startswith("large"):
        return form
    one, other = answer(problem, ["solve", "search"]), answer(problem, ["solve", "enumerate"])
    if one["status"] != other["status"] or not np.isclose(one["cost"] or 0.0, other["cost"] or 0.0, rtol=1e-12):
        raise SystemExit(f"{form['name']}: {one} by search, {other} by exhaustive search")
    if not problem.blocks and not problem.sums:
        from plain import Truth

        optimum = Truth(problem).optimum()
        if not np.isclose(np.inf if one["cost"] is None else one["cost"], optimum, rtol=1e-9):
            raise SystemExit(f"{form['name']}: {one}, but the optimum is {optimum}")
    return form


def main() -> None:
    parser = argparse.ArgumentParser(description="Draw the problems anew, and keep what is answered now.")
    parser.add_argument("--answers", action="store_true", help="keep the problems, record their answers only")
    if not parser.parse_args().answers:
        with np.errstate(all="ignore"):
            forms = []
            for number, (name, problem) in enumerate(drawn()):
                form = {"name": name, "questions": questions(name, problem, number)} | form_of(problem)
                forms.append(checked(form))
        write(FROZEN, "problems", forms)
        print(f"{len(forms):,} problems")
    found = dict(answers())
    write_answers(found)
    print(f"{len(found):,} answers")


if __name__ == "__main__":
    main()
