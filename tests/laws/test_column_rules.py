"""One-hot groups, derived columns and orders: no plan and no completion breaks them, and all solvers agree."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from armin import ARMIN, Schema
from armin.explain.advise import pose
from armin.schema import Derived, Linear, OneOf, Order
from armin.solve.milo import solve_by_milo
from armin.solve.search import search

PURPOSES = ("purpose_car", "purpose_home", "purpose_study")


def table(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """People whose columns hang together, and who is accepted."""
    rng = np.random.default_rng(seed)
    purpose, income = rng.integers(0, 4, n), rng.integers(20, 80, n)
    frame = pd.DataFrame({name: (purpose == k).astype(int) for k, name in enumerate(PURPOSES)})
    frame["income"], frame["debt"] = income, rng.integers(0, 40, n)
    frame["dti"] = frame["debt"] / frame["income"]
    frame["saved"] = np.where(rng.random(n) < 0.4, 0, rng.integers(1, 20, n))
    frame["has_saved"] = (frame["saved"] > 0).astype(int)
    late = np.sort(rng.integers(0, 5, (n, 3)), axis=1)
    frame[["late_90", "late_60", "late_30"]] = late
    frame["net"] = frame["income"] - frame["debt"]
    score = 2 - 5 * frame["dti"] + 0.8 * frame["has_saved"] + 0.6 * (purpose == 1) - 0.5 * late.sum(axis=1) / 3
    return frame, (score + rng.normal(0, 0.3, n) > 0.6).astype(int).to_numpy()


def schema_of(frame: pd.DataFrame) -> Schema:
    return Schema.infer(frame, protected=[]).with_rules(
        OneOf(PURPOSES, rest="other"),
        Derived("dti", "debt / income"),
        Derived("has_saved", "saved > 0"),
        Derived("net", "income - debt"),
        Order(("late_90", "late_60", "late_30")),
        Linear("debt <= 0.9 * income"),
    )


def breaks(rows: pd.DataFrame) -> list[str]:
    """What is impossible about rows of the user's own table, by the truth and not by the library."""
    wrong = {
        "purpose": rows[list(PURPOSES)].sum(axis=1).gt(1) | ~rows[list(PURPOSES)].isin([0, 1]).all(axis=1),
        "dti": ~np.isclose(rows["dti"], rows["debt"] / rows["income"]),
        "has_saved": rows["has_saved"].ne(rows["saved"].gt(0).astype(int)),
        "net": rows["net"].ne(rows["income"] - rows["debt"]),
        "late": rows["late_90"].gt(rows["late_60"]) | rows["late_60"].gt(rows["late_30"]),
        "debt": rows["debt"].gt(0.9 * rows["income"] + 1e-9),
    }
    return [name for name, broken in wrong.items() if np.any(broken)]


MODELS = {
    "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
    "trees": RandomForestClassifier(n_estimators=6, max_depth=4, random_state=0),
    "boosted": HistGradientBoostingClassifier(max_iter=15, max_depth=3, random_state=0),
    "network": make_pipeline(StandardScaler(), MLPClassifier((6,), max_iter=300, random_state=0)),
}


def people(frame: pd.DataFrame, accepted: np.ndarray, seed: int, n: int = 6) -> list[dict[str, object]]:
    """Rejected people, the later ones with blanks."""
    rng = np.random.default_rng(seed)
    legal = frame["debt"] <= 0.9 * frame["income"]
    rows = frame[legal & (accepted == 0)].head(n).astype(object).to_dict("records")
    for k, row in enumerate(rows):
        names = rng.choice(["dti", "debt", "income", "saved", "has_saved", "late_60", "net"], k // 2, replace=False)
        row |= dict.fromkeys(names.tolist())
        if k % 3 == 2:
            row |= dict.fromkeys(PURPOSES)
    return rows


@pytest.mark.parametrize("kind", MODELS)
def test_every_plan_and_every_completion_obeys_every_rule(kind: str) -> None:
    frame, y = table(300, 0)
    model = MODELS[kind].fit(frame, y)
    explainer = ARMIN.from_settings(
        model, schema_of(frame), desired=1, n_samples=12, n_fresh=60, max_options=12, max_changes=3
    )
    explainer.fit(frame)
    assert explainer.fitted_.read.joint  # read, not asked
    found = 0
    for row in people(frame, model.predict(frame), 1):
        plan = explainer.explain(row)
        posed = pose(explainer.current, explainer.current.at(row)[1], (), 0.75)
        completions = explainer.schema.decode(posed.sample.values, like=frame)
        assert breaks(completions) == []
        for name, value in row.items():
            if value is not None:
                assert np.allclose(completions[name], value), name
        if plan.changes:
            after = plan.apply(completions)
            assert breaks(after) == []
            found += 1
            assert plan.validity.share == pytest.approx(model.predict(after).mean())
    assert found >= 3


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", range(3))
def test_search_milo_and_brute_force_agree(kind: str, seed: int) -> None:
    frame, y = table(250, seed)
    model = MODELS[kind].fit(frame, y)
    explainer = ARMIN.from_settings(
        model, schema_of(frame), desired=1, n_samples=4, n_fresh=0, max_options=5, max_changes=2
    )
    explainer.fit(frame)
    for row in people(frame, model.predict(frame), seed, 4):
        problem = explainer.problem(row)
        sizes = [range(option.size) for option in problem.options]
        pairs = [choice for choice in itertools.product(*sizes) if sum(map(bool, choice)) <= 2]
        best = min((problem.cost(c) for c in pairs if problem.is_solved_by(c)), default=None)
        for solve in (search, solve_by_milo):
            cost = solve(problem).cost
            assert (cost is None) == (best is None)
            assert cost is None or cost == pytest.approx(best)


def test_what_follows_is_filled_and_what_contradicts_is_refused() -> None:
    from armin.errors import DataError

    frame, _ = table(100, 3)
    schema = schema_of(frame)
    row: dict[str, object] = frame.iloc[0].to_dict()
    truth = schema.encode(row)
    for name in ("dti", "has_saved", "net"):
        assert np.array_equal(schema.encode(row | {name: None}), truth)
    for blank in ("debt", "income"):
        assert np.allclose(schema.encode(row | {blank: None}), truth)
        assert np.allclose(schema.encode(row | {blank: None, "net": None}), truth)
    with pytest.raises(DataError, match=r"'dti' must be debt / income, which is .* Got 0.99 instead"):
        schema.encode(row | {"dti": 0.99})
    with pytest.raises(DataError, match="Exactly one of 'purpose_car'"):
        schema.encode(row | dict.fromkeys(PURPOSES, 1))
    with pytest.raises(DataError, match="purpose_car = 0, purpose_home blank"):
        schema.encode(row | {"purpose_car": 0, "purpose_home": None, "purpose_study": 0})
    assert Schema.from_toml(schema.to_toml()) == schema
    assert schema.decode(truth, like=frame).equals(frame.head(1))
