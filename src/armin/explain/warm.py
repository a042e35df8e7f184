"""Everything compiled at once, before anybody waits for it: for container builds and the start of a service."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from armin.explain.methods import ARMIN
from armin.models.kinds import Above, Among, Decision, LinearModel, Model, ReluNetwork, ScoreMixture, Term, TreeEnsemble
from armin.models.maps import Map
from armin.problem import Options, Problem
from armin.schema import Feature, Schema
from armin.solve.search import search, search_best, search_path
from armin.solve.search.dive import Nearby, dive
from armin.solve.search.goals import Cheapest
from armin.solve.thin import ready

__all__ = ["ENGINES", "Warmed", "warm_up"]

Precision = Literal["float32", "float64"]


class Warmed(NamedTuple):
    """An engine that is ready: its name, and how long that took."""

    engine: str
    seconds: float


def warm_up() -> Iterator[Warmed]:
    """Compile the search for every kind of model, and reasons, as far as they are not kept on disk yet.

    Yields after each kind. What is compiled goes where it always goes: to the first of
    :func:`armin.compiling.folders` that can be written to.

    Examples
    --------
    >>> for engine, seconds in warm_up():  # doctest: +SKIP
    ...     print(f"{engine}: {seconds:.1f} s")
    linear models: 3.6 s
    trees: 12.8 s
    mixtures: 9.1 s
    networks: 30.1 s
    reasons: 2.1 s
    """
    for name, exercise in ENGINES.items():
        start = time.perf_counter()
        exercise()
        yield Warmed(name, time.perf_counter() - start)


def _linear() -> None:
    # few choices are looked at one by one, many are searched
    for decision, width in ((Above(0.0), 2), (Above(0.0), 8), (Among((0,), 3), 2)):
        weights = np.arange(1.0, 1.0 + width * decision.n_outputs).reshape(decision.n_outputs, width)
        _ask(LinearModel(weights, -4.0 * np.ones(decision.n_outputs), decision), width)
    _contexts()
    ready()


def _contexts() -> None:
    """What is compiled only for blanks that are brought to many values, very many near choices, and long paths."""
    from armin.solve.search.linear.engine import start_linear
    from armin.solve.search.linear.fronts import advance, new_fronts, set_out, take
    from armin.solve.search.linear.prices import priced_out
    from armin.solve.search.linear.steps import ascend
    from armin.solve.search.linear.worths import bound_each, most_worth

    model = LinearModel(np.array([[1.0, 2.0]]), np.array([-4.0]), Above(0.0))
    problem = _ask(model, 2)
    engine = start_linear(problem, model, False)
    if engine is not None:
        one, bans, (_, fronts) = engine.searchers[0], Cheapest(problem).bans(), new_fronts(len(problem.options), 1)
        priced_out(one.given, one.written, np.zeros(1), np.ones(1), 1.0, np.zeros(1, dtype=bool))
        set_out(one.given, one.written, fronts, bans)
        take(one.written, fronts, 0)
        advance(one.given, one.written, fronts, bans, 1)
        ascend(one.given, one.crowd, one.written, bans, one.steps[1], 1)
    some, each = np.zeros(1), np.zeros((1, 1))
    most_worth(each, np.zeros(1, dtype=np.intp), some, some, some, np.zeros((1, 1)))
    bound_each(each, some, some, each, each, each, np.zeros((1, 1)))


def _trees() -> None:
    from armin.solve.search.trees.leaves import reduce_problem
    from armin.solve.search.trees.nearby import TreesNearby

    precisions: tuple[Precision, ...] = ("float64", "float32")
    for precision in precisions:
        model = _stumps(Above(2.0), precision)
        problem = _ask(model)  # a sum of tables
        _ask(_chain(precision), 3)  # and one that is none
        _look_around(problem, TreesNearby(reduce_problem(problem, model)))


def _mixtures() -> None:
    from armin.solve.search.mixed.engine import start_mixed

    line = LinearModel(np.ones((1, 3)), -2.0 * np.ones(1), Above(0.0))
    terms = (Term(line, np.ones(1), (Map.logistic(),)), Term(_chain("float64"), np.ones(1)))
    model = ScoreMixture(terms, 1.0, 1e-9, lambda rows: rows[:, 0] > 0.0, 3)
    problem = _ask(model, 3)
    engine = start_mixed(problem, model, True)
    if engine is not None:
        _look_around(problem, engine.nearby())


def _look_around(problem: Problem, nearby: Nearby) -> None:
    """What is compiled only where a first plan is looked for."""
    for _ in dive(problem, Cheapest(problem), nearby, 4):
        pass


def _networks() -> None:
    for decision in (Above(0.0), Among((0,), 3)):
        last = np.ones((2, decision.n_outputs)) * np.arange(1.0, 1.0 + decision.n_outputs)
        bias = -6.0 * np.ones(decision.n_outputs)
        _ask(ReluNetwork((np.eye(2), last), (np.zeros(2), bias), decision))
        _ask(ReluNetwork((np.eye(2), np.eye(2), last), (np.zeros(2), np.zeros(2), bias), decision))


def _reasons() -> None:
    X = np.arange(40.0).reshape(20, 2)
    schema = Schema(tuple(Feature(name, "continuous", lower=0, upper=80) for name in ("a", "b")))
    forest = RandomForestClassifier(2, random_state=0).fit(X, X[:, 0] > 20)
    ARMIN(forest, schema, desired=True, sampler="marginal").fit(X).reasons(X[0])


def _ask(model: Model, width: int = 2) -> Problem:
    """Put every kind of question to the search: one blank that is moved, and features that are set."""
    rows, steps = np.zeros((3, width)), np.array([0.0, 1.0, 2.0])
    rows[:, 0] = steps
    moved = rows[:, None, :1] + steps[None, :, None]
    options = [Options("0", np.array([0]), moved, steps)]
    options += [Options(str(i), np.array([i]), steps[None, :, None], steps) for i in range(1, width)]
    problem = Problem(rows, tuple(options), model, required=2.0)
    search(problem)
    search_path(problem)
    search_best(problem, 2)
    search_best(problem, 2, differ="cores")
    return problem


def _stumps(decision: Decision, precision: Precision) -> TreeEnsemble:
    """Two trees of one split each: more than 1 in one input, and more than 1 in the other."""
    return TreeEnsemble(
        roots=np.array([0, 3]),
        feature=np.array([0, -1, -1, 1, -1, -1]),
        threshold=np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
        left=np.array([1, -1, -1, 4, -1, -1]),
        right=np.array([2, -1, -1, 5, -1, -1]),
        nan_left=np.zeros(6, dtype=bool),
        value=np.array([[0.0], [0.0], [1.0], [0.0], [0.0], [1.0]], dtype=precision),
        base=np.zeros(1, dtype=precision),
        decision=decision,
        precision=precision,
        n_inputs=2,
    )


def _chain(precision: Precision) -> TreeEnsemble:
    """One tree over three inputs: 1 where all are more than 1."""
    return TreeEnsemble(
        roots=np.array([0]),
        feature=np.array([0, -1, 1, -1, 2, -1, -1]),
        threshold=np.array([1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0]),
        left=np.array([1, -1, 3, -1, 5, -1, -1]),
        right=np.array([2, -1, 4, -1, 6, -1, -1]),
        nan_left=np.zeros(7, dtype=bool),
        value=np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.0], [1.0]], dtype=precision),
        base=np.zeros(1, dtype=precision),
        decision=Above(1.0),
        precision=precision,
        n_inputs=3,
    )


ENGINES: dict[str, Callable[[], None]] = {
    "linear models": _linear,
    "trees": _trees,
    "mixtures": _mixtures,
    "networks": _networks,
    "reasons": _reasons,
}
"""For each kind of model, what has all of its search compiled; and the same for reasons."""
