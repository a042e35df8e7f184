"""Are other ways other ways? ``python -m lab.benchmarks.alternatives``, or with ``--help``.

Complete people whom the model rejects hide two values, and are offered three plans to choose from. Counted over the
second and third: those that make each change of another plan of the same person, at least as far (supersets); those
that change the first plan's features too, but one of them by less, which only fill up where too few others exist; those
that are dearer than another and no surer, or as dear and less sure (dominated), with and without the note that
says so.

Whether there was something better is found out in another way: the twelve cheapest sets of features for each of six
demands, and the twelve cheapest of which none contains another, all judged by the model itself, without those that fall
short of what was asked, and those that do more than another way that costs no more and is as sure. One of them can
stand in the place of a shown way, or beside all, if neither it nor any other plan then changes all that another one
changes, the first plan excepted. A dominated way is avoidable if with another in its place fewer are dominated; a
shown way is beaten if one that is cheaper and as sure, or surer and as cheap, can stand in its place; a person is short
of ways if one can stand beside all that are shown, and these are fewer than three.

Times are milliseconds of computing for one person, each being explained once before, uncounted, so that what is
remembered serves both alike.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from armin import ARMIN
from armin.datasets import mcar
from armin.explain.advise import pose
from armin.explain.judge import judge_choices
from armin.problem import Problem, Solution
from armin.recourse import Recourse
from armin.solve import solve_best
from lab.benchmarks.tables import accepted, clocked, load, markdown, options, require_data, train, write

DATASETS = ("FICO", "Student", "GiveMeCredit")
MODELS = ("LR", "RF")
COUNT, DEMANDS, SETS = 3, 6, 12
NOTE = "others.no_surer"
SLACK = 1e-9


@dataclass(frozen=True)
class Way:
    """What a plan changes, what it costs, and how sure it is."""

    features: frozenset[str]
    cost: float
    share: float


def way_of(plan: Recourse) -> Way:
    return Way(frozenset(change.feature.name for change in plan.changes), plan.cost or 0.0, plan.share or 0.0)


def beats(one: Way, other: Way) -> bool:
    """Whether a way is as cheap and as sure as another, and better in one of the two."""
    if one.cost > other.cost * (1 + SLACK) or one.share < other.share - SLACK:
        return False
    return one.cost < other.cost * (1 - SLACK) or one.share > other.share + SLACK


def run_cell(dataset: str, model: str, rows: int) -> dict[str, Any]:
    """All people of one cell."""
    data = load(dataset)
    X, others, y = data.split()
    classifier = train(model, X, y, data.desired)
    explainer = ARMIN(classifier, data.schema.widened(data.X), desired=1, decision="complete").fit(X)
    people = mcar(others[~accepted(classifier, others)].head(rows), 2, random_state=0).X
    once: list[float] = []
    thrice: list[float] = []
    found: list[tuple[Recourse, ...]] = []
    avoidable = beaten = short = 0
    for i in range(len(people)):
        row = people.iloc[[i]]
        explainer.explain(row)
        with clocked(once):
            explainer.explain(row)
        with clocked(thrice):
            found.append(explainer.alternatives(row, COUNT))
        shown = [way_of(plan) for plan in found[-1]]
        if shown and shown[0].features:
            better = _better(shown, _pool(explainer, row, shown[0]))
            avoidable, beaten, short = avoidable + better[0], beaten + better[1], short + better[2]
    counts = _counts(found) | {"avoidable": avoidable, "beaten": beaten, "short of ways": short}
    return {"data": dataset, "model": model, "people": len(people), **counts, **_times(once, thrice)}


def _pool(explainer: ARMIN, row: Any, first: Way) -> list[Way]:
    """Ways that do not change all that the first plan changes, as many as can be found with patience."""
    fitted = explainer.current
    posed = pose(fitted, explainer.schema.encode(row)[0], (), fitted.settings.confidence)
    stated, fresh = posed.stated, posed.fresh
    names = [option.name for option in stated.problem.options]
    core = frozenset(names.index(name) for name in first.features)
    problem = replace(stated.problem, forbidden_cores=frozenset({core}))
    solutions = _solutions(problem)
    judged = judge_choices(fitted, posed.world, stated, list(solutions.values()), fresh)
    ways = []
    for choice, one in zip(solutions, judged, strict=True):
        if not stated.problem.enough(float(stated.problem.weights[one.accepted].sum())):
            continue
        share = stated.share(one.accepted)
        if fresh is not None and one.fresh is not None:
            share = float(fresh.weights[one.fresh].sum() / fresh.weights.sum())
        changed = frozenset(name for name, j in zip(names, choice, strict=True) if j)
        ways.append(Way(changed, stated.cost_of(choice), share))
    return [way for way in ways if way.share >= min(fitted.settings.confidence, first.share) - SLACK]


def _solutions(problem: Problem) -> dict[tuple[int, ...], Solution]:
    found: list[Solution] = []
    for asked in np.unique(np.ceil(np.linspace(problem.required, problem.weights.sum(), DEMANDS))):
        demanding = problem.demanding(min(float(asked), float(problem.weights.sum())))
        found += solve_best(demanding, SETS)
        found += solve_best(demanding, SETS, differ="cores")
    return {solution.choice: solution for solution in found if solution.choice is not None}


def _better(shown: Sequence[Way], pool: Sequence[Way]) -> tuple[int, int, int]:
    """How many shown ways are dominated and avoidable, how many are beaten, and whether there are too few."""
    ways = [way for way in pool if not any(_spares(other, way) for other in [*pool, *shown[1:]])]
    avoidable, beaten, good = 0, 0, _good(shown)
    for way in shown[1:]:
        rest = [other for other in shown if other is not way]
        stands = [other for other in ways if _apart(other, rest)]
        avoidable += any(beats(other, way) for other in rest) and any(_good([*rest, v]) > good for v in stands)
        beaten += any(beats(one, way) for one in stands)
    return avoidable, beaten, len(shown) < COUNT and any(_apart(way, shown) for way in ways)


def _good(ways: Sequence[Way]) -> int:
    """How many of the second and later ways are not dominated."""
    return sum(not any(beats(other, way) for other in ways) for way in ways[1:])


def _apart(way: Way, shown: Sequence[Way]) -> bool:
    """Whether a way can stand beside the first plan and others."""
    if way.features >= shown[0].features:
        return False
    return not any(way.features <= other.features or way.features >= other.features for other in shown[1:])


def _spares(one: Way, other: Way) -> bool:
    """Whether a way does no more than another, costs no more, and is as sure, so that nobody needs the other."""
    return one.features <= other.features and (beats(one, other) or (one.features < other.features and
        abs(one.cost - other.cost) <= SLACK * other.cost and abs(one.share - other.share) <= SLACK))  # fmt: skip


def _does_all(one: Recourse, other: Recourse) -> bool:
    """Whether a plan makes each change of another one, at least as far."""
    mine = {change.feature.name: change.cost for change in one.changes}
    return all(mine.get(change.feature.name, -1.0) >= change.cost * (1 - SLACK) for change in other.changes)


def _counts(found: list[tuple[Recourse, ...]]) -> dict[str, Any]:
    supersets = lesser = silent = noted = certain = needless = unsure = total = 0
    for plans in found:
        ways = [way_of(plan) for plan in plans]
        for i, (plan, way) in enumerate(zip(plans, ways, strict=True)):
            if i == 0:
                continue
            total += 1
            said = NOTE in {note.code for note in plan.notes}
            worse = any(beats(other, way) for other in ways)
            supersets += any(_does_all(plan, other) for j, other in enumerate(plans) if j != i)
            lesser += way.features >= ways[0].features
            certain += worse and ways[0].share >= 1
            noted += worse and said
            silent += worse and not said
            needless += said and not worse
            unsure += way.share < min(0.75, ways[0].share) - SLACK
    with_plan = [plans for plans in found if plans and plans[0].changes]
    return {
        "with a plan": len(with_plan), "with two ways": sum(len(plans) == 2 for plans in with_plan),
        "with three": sum(len(plans) == 3 for plans in with_plan), "other ways": total, "supersets": supersets,
        "that ask for less of a change": lesser,
        "dominated, not said": silent, "dominated, and said": noted, "of these the first is 100 % sure": certain,
        "said, not dominated": needless, "share below 0.75": unsure,
    }  # fmt: skip


def _times(once: list[float], thrice: list[float]) -> dict[str, float]:
    return {
        "explain, ms": 1e3 * float(np.mean(once)), "alternatives, ms": 1e3 * float(np.mean(thrice)),
        "ratio": float(np.sum(thrice) / np.sum(once)), "median ratio": float(np.median(np.divide(thrice, once))),
    }  # fmt: skip


def main() -> None:
    parser = options(__doc__, rows=40)
    parser.add_argument("--datasets", nargs="*", default=list(DATASETS))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    args = parser.parse_args()
    require_data()
    start = time.perf_counter()
    lines = []
    for dataset in args.datasets:
        for model in args.models:
            lines.append(run_cell(dataset, model, 5 if args.quick else args.rows))
            print(f"{dataset} {model}: {time.perf_counter() - start:.0f} s", flush=True)
    print(markdown(lines))
    write(args.json, {"table": lines}, start)


if __name__ == "__main__":
    main()
