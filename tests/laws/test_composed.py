"""Features made from several columns, before the models that people fit: every answer against a list of all choices."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from differ import small_steps
from hard import HARD_KINDS, HardKind, hard_problem
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

from armin import ARMIN, Schema
from armin.costs import NumberOfChanges
from armin.explain.advise import pose
from armin.models.kinds import TreeEnsemble
from armin.problem import Problem, Status
from armin.problem.stated import Stated
from armin.recourse import Recourse
from armin.solve import solve, solve_best, solve_path
from armin.solve.search.trees.engine import is_large

from ratios import NUMBERS, fit, make_people

PEOPLE, ANSWERS = make_people(600, seed=3)
SCHEMA = Schema.infer(PEOPLE)
FINALS: dict[str, Any] = {"linear": LogisticRegression(max_iter=1000), "forest": RandomForestClassifier(random_state=0)}
BLANKS = [(), ("debt",), ("debt", "limit"), ("debt", "limit", "balance")]


def ratio(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(dti=frame.debt / frame.income)


def only_ratio(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"dti": frame.debt / frame.income})


STEPS: dict[str, Any] = {
    "ratio": lambda: make_pipeline(
        FunctionTransformer(ratio), make_column_transformer((OneHotEncoder(), ["home"]), remainder=StandardScaler())
    ),
    "ratio instead of its columns": lambda: make_column_transformer(
        (FunctionTransformer(only_ratio), ["debt", "income"]), (OneHotEncoder(), ["home"]), remainder="passthrough"
    ),
    "products": lambda: make_column_transformer(
        (make_pipeline(StandardScaler(), PolynomialFeatures(2, interaction_only=True)), ["debt", "income"]),
        (OneHotEncoder(), ["home"]),
        remainder=StandardScaler(),
    ),
    "components": lambda: make_column_transformer(
        (make_pipeline(StandardScaler(), PCA(2)), ["debt", "income"]), (OneHotEncoder(), ["home"]),
        remainder="passthrough",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def fitted() -> Any:
    """A fitted classifier for each kind of steps and final model, once."""
    made: dict[tuple[str, str], Any] = {}

    def one(steps: str, final: str) -> Any:
        if (steps, final) not in made:
            made[steps, final] = fit(STEPS[steps](), FINALS[final], PEOPLE, ANSWERS)
        return made[steps, final]

    return one


def listed(armin: ARMIN, case: Stated) -> tuple[np.ndarray, np.ndarray]:
    """Cost and accepted weight of all choices, in the order of the grid, as the classifier itself decides."""
    most = armin.max_changes
    assert most is not None
    choices = [c for c in np.ndindex(*(m.size for m in case.grid.moves)) if np.count_nonzero(c) <= most]
    after = np.concatenate([case.grid.apply(c, case.candidates) for c in choices])
    accepted = armin.fitted_.oracle.accepts(after).reshape(len(choices), -1)
    return np.array([case.cost_of(c) for c in choices]), accepted @ case.weights


def frontier(cost: np.ndarray, weight: np.ndarray) -> list[tuple[float, float]]:
    """Cost and weight of each choice that is cheaper than all of more weight."""
    points = [
        (min(cost[weight >= level - 1e-9]), level)
        for level in sorted({float(w) for w in weight if w > 0}, reverse=True)
    ]
    kept: list[tuple[float, float]] = []
    for one in points:
        if not kept or one[0] < kept[-1][0] - 1e-9:
            kept.append(one)
    return kept[::-1]


def check_plans(case: Stated, armin: ARMIN, plans: list[Recourse], cost: np.ndarray, weight: np.ndarray) -> None:
    """Plans to choose from: each works, changes something else, and the first is the cheapest."""
    good = cost[weight >= case.problem.required - 1e-9]
    assert bool(plans) == bool(good.size)
    if plans:
        assert plans[0].cost == pytest.approx(good.min())
    assert len({frozenset(c.feature.name for c in plan.changes) for plan in plans}) == len(plans)
    for plan in plans:
        after = plan.apply_codes(SCHEMA, case.candidates)
        assert armin.fitted_.oracle.accepts(after) @ case.weights >= case.problem.required - 1e-9


@pytest.mark.parametrize("fixed", [(), ("income",)], ids=["", "one side is fixed"])
@pytest.mark.parametrize("final", FINALS)
@pytest.mark.parametrize("steps", STEPS)
def test_answers_are_those_of_a_list_of_all_choices(
    steps: str, final: str, fixed: tuple[str, ...], fitted: Any
) -> None:
    classifier = fitted(steps, final)
    schema = SCHEMA.update(immutable=fixed)
    armin = ARMIN.from_settings(
        classifier, schema, desired="yes", method="search", decision="complete", n_samples=8, n_fresh=0, max_options=6,
        max_changes=2, sampler="donors",
    ).fit(PEOPLE)  # fmt: skip
    model = armin.fitted_.read.model
    assert final == "linear" or (isinstance(model, TreeEnsemble) and is_large(model))
    refused = PEOPLE[classifier.predict(PEOPLE) == "no"]
    blocks = 0
    for i, blank in enumerate(BLANKS):
        row = refused.iloc[[7 * i]].copy()
        row[list(blank)] = np.nan
        case = pose(armin.current, schema.encode(row)[0], (), armin.confidence).stated
        blocks += len(case.problem.blocks)
        cost, weight = listed(armin, case)
        best = min(cost[weight >= case.problem.required - 1e-9], default=None)
        found = armin.explain(row)
        assert found.status is (Status.INFEASIBLE if best is None else Status.OPTIMAL)
        assert found.cost == (None if best is None else pytest.approx(best))
        points = [(p.cost, p.validity.accepted) for p in armin.path(row) if p.validity is not None]
        assert points == [pytest.approx(point) for point in frontier(cost, weight)]
        check_plans(case, armin, [*armin.alternatives(row, 3)], cost, weight)
        assert armin.explain(row, locked=["debt"]).status is not Status.UNKNOWN
    assert bool(blocks) == (not fixed)


@pytest.mark.parametrize("final", FINALS)
def test_products_of_all_numbers_before_a_model(final: str) -> None:
    """Whether nothing is blank, one value or two; for the linear model also with a column that cannot change."""
    numbers = make_pipeline(StandardScaler(), PolynomialFeatures(interaction_only=True))
    classifier = fit(make_column_transformer((numbers, NUMBERS[:3])), FINALS[final], PEOPLE, ANSWERS)
    for fixed in ((), ("balance",)):
        schema = SCHEMA.update(immutable=fixed)
        armin = ARMIN.from_settings(classifier, schema, desired="yes", n_samples=12, n_fresh=100, max_options=8).fit(
            PEOPLE
        )
        refused = PEOPLE[classifier.predict(PEOPLE) == "no"]
        for i, blank in enumerate([(), ("balance",), ("balance", "debt")]):
            row = refused.iloc[[5 * i]].copy()
            row[list(blank)] = np.nan
            for answer in (armin.explain(row), *armin.path(row), *armin.alternatives(row, 2)):
                if answer.changes:
                    after = row.astype(object).fillna({name: PEOPLE[name].median() for name in blank}).infer_objects()
                    assert set(answer.apply(after).columns) == set(PEOPLE.columns)
                    assert not {change.feature.name for change in answer.changes} & set(fixed)


# --- nothing is written into what is not ours ---------------------------------------------------------------------


def arrays_of(thing: object, seen: set[int]) -> Iterator[np.ndarray]:
    """All arrays in dataclasses, containers and objects."""
    if id(thing) in seen:
        return
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        yield thing
    elif isinstance(thing, list | tuple | set | frozenset):
        for one in thing:
            yield from arrays_of(one, seen)
    elif isinstance(thing, dict):
        yield from arrays_of(list(thing.values()), seen)
    elif is_dataclass(thing):
        yield from arrays_of([getattr(thing, f.name) for f in fields(thing) if hasattr(thing, f.name)], seen)
    elif type(thing).__module__.startswith("sklearn") and hasattr(thing, "__dict__"):
        yield from arrays_of(vars(thing), seen)


def seal(thing: object) -> None:
    """Whoever writes into an array of this raises from now on."""
    for array in arrays_of(thing, set()):
        array.setflags(write=False)


@pytest.mark.parametrize("composed", [False, True], ids=["", "composed"])
@pytest.mark.parametrize("kind", HARD_KINDS)
def test_solvers_do_not_write_into_a_problem(kind: HardKind, composed: bool) -> None:
    """Arrays that are read-only, as those of a memory map are, make no difference to any of them."""
    for seed in range(8):
        rng = np.random.default_rng([seed, 9])
        problem: Problem = hard_problem(rng, kind, composed=composed)
        with small_steps(bool(seed % 2)):
            before = solve(problem, "search"), len(solve_path(problem)), len(solve_best(problem, 3))
            seal(replace(problem, checks=False))
            after = solve(problem, "search"), len(solve_path(problem)), len(solve_best(problem, 3))
        assert (before[0].status, before[0].cost, *before[1:]) == (after[0].status, after[0].cost, *after[1:])


class Sealed(NumberOfChanges):
    """A cost that hands out a table of its own, and expects to find it as it was."""

    def table(self, position: int, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        costs = np.broadcast_to(0.0 + position, after.shape)
        return costs if after.shape[0] == 1 else super().table(position, before, after)


class Keeping(FunctionTransformer):
    """A step whose output cannot be written to."""

    def transform(self, X: Any) -> Any:
        out = np.asarray(X, dtype=float)
        out = np.column_stack([out, out[:, 0] / out[:, 1]])
        out.setflags(write=False)
        return out


@pytest.mark.parametrize("cost", ["tlps", Sealed()], ids=["", "a cost of one's own"])
@pytest.mark.parametrize("final", FINALS)
def test_everything_can_be_asked_of_a_model_that_cannot_be_written_to(final: str, cost: Any) -> None:
    """As joblib hands out arrays to its workers: the data, the model's attributes, and what the steps return."""
    data = PEOPLE[NUMBERS].to_numpy()
    data.setflags(write=False)
    frame = pd.DataFrame(data, columns=NUMBERS, copy=False)
    steps = make_column_transformer((Keeping(), ["debt", "income"]), remainder=StandardScaler())
    classifier = fit(steps, FINALS[final].__class__(), frame, ANSWERS)
    seal(classifier)
    armin = ARMIN.from_settings(
        classifier, Schema.infer(frame), desired="yes", cost=cost, n_samples=10, n_fresh=50, max_options=6,
        max_changes=2,
    ).fit(frame)  # fmt: skip
    before = frame.copy()
    row = frame[classifier.predict(frame) == "no"].iloc[[0]]
    for one, idea in ((row, {"debt": 1.0}), (row.assign(debt=np.nan), {"income": 30.0})):
        assert armin.explain(one, locked=["income"]).status in (Status.OPTIMAL, Status.INFEASIBLE)
        assert armin.explain(one).found
        assert len(armin.path(one)) > 0
        assert len(armin.alternatives(one, 2)) > 0
        assert armin.what_if(one, idea) is not None
        assert armin.reasons(one) is not None
        assert armin.ask(one) is not None
    pd.testing.assert_frame_equal(frame, before)
