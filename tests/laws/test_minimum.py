"""What is said of cheaper plans, beside an optimum that is worked out in another way and knows no list."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from armin import ARMIN, ExpertOptions, Feature, Schema
from armin.explain.advise import pose

NAMES = ["a", "b", "c", "d"]
SCALES = np.array([1.0, 50.0, 1e5, 1e-4])


def table(seed: int, n: int = 300) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)) * SCALES + SCALES * rng.normal(size=4), columns=NAMES)
    score = ((X - X.mean()) / X.std()).to_numpy() @ rng.normal(size=4) + 0.3 * rng.normal(size=n)
    return X, (score > 0.4).astype(int)


def said(answer, optimum: float, slack: float = 1e-9) -> None:
    """Every sentence about cheapness, against the optimum."""
    text = str(answer)
    assert answer.bound <= optimum * (1 + slack) + 1e-12, "nothing costs less than what something costs"
    assert answer.cost >= optimum * (1 - slack) - 1e-12, "the optimum is not one"
    if "no cheaper way exists." in text:
        assert answer.cost <= optimum * (1 + slack) + 1e-12
    elif "no way is more than" in text:
        percent = float(text.split("no way is more than ")[1].split("%")[0].strip())
        assert answer.cost * (1 - percent / 100) <= optimum * (1 + slack)
        assert answer.cost <= optimum * (1 + answer.tolerance) * (1 + slack)
    else:
        assert "among the values that were tried" in text


def weights_of(explainer: ARMIN) -> np.ndarray:
    """What a unit of each number costs by "l1"."""
    cost = explainer.fitted_.cost
    return np.array([float(cost.table(p, np.zeros(1), np.ones((1, 1)))[0, 0]) for p in range(len(explainer.schema))])


@pytest.mark.parametrize("scaler", [None, StandardScaler, MinMaxScaler])
@pytest.mark.parametrize("seed", range(8))
def test_a_linear_score_beside_a_fractional_knapsack(seed, scaler):
    X, y = table(seed)
    steps = [] if scaler is None else [scaler()]
    model = make_pipeline(*(steps or [StandardScaler()]), LogisticRegression()).fit(X, y)
    explainer = ARMIN(model, Schema.infer(X), desired=1, cost="l1", max_changes=None).fit(X)
    price, scale = weights_of(explainer), model[0].scale_
    slope = model[-1].coef_[0] / scale if not isinstance(model[0], MinMaxScaler) else model[-1].coef_[0] * scale
    low, high = X.min().to_numpy(), X.max().to_numpy()
    tight = 0
    for _, row in X[model.predict(X) == 0].head(4).iterrows():
        need, best = -float(model.decision_function(row.to_frame().T)[0]), 0.0
        room = np.where(slope > 0, high - row, row - low) * np.abs(slope)
        for d in np.argsort(price / np.abs(slope)):  # the most gain for the least cost first
            taken = min(need, room[d])
            need, best = need - taken, best + taken / abs(slope[d]) * price[d]
        assert need <= 1e-9
        answer = explainer.explain(row.to_dict())
        said(answer, best, 1e-6)
        tight += answer.claim != "list" and answer.tolerance <= 0.01
        assert answer.cost <= best * 1.03
    assert tight >= 3


def cells_of(model, X: pd.DataFrame, raw) -> list[np.ndarray]:
    """For each column, legal values on both sides of every threshold: single and double precision, some steps apart."""
    points = []
    for d, name in enumerate(NAMES):
        cuts = np.unique(np.concatenate([raw(tree, d) for tree in model])) if len(model) else np.zeros(0)
        near = [cuts]
        for k in range(1, 4):
            width = k * np.maximum(np.spacing(np.abs(cuts).astype(np.float32)).astype(np.float64), 1e-300)
            near += [cuts - width, cuts + width]
        values = np.concatenate(near)
        low, high = X[name].min(), X[name].max()
        points.append(np.unique(values[(values >= low) & (values <= high)]))
    return points


@pytest.mark.parametrize("kind", ["forest", "boosting", "scaled forest", "xgboost", "quantile forest"])
@pytest.mark.parametrize("cost", ["l1", "tlps"])
def test_trees_beside_all_cells(kind, cost):
    proved = 0
    for seed in range(6):
        X, y = table(seed + 100)
        if kind == "xgboost":
            xgboost = pytest.importorskip("xgboost")
            model = xgboost.XGBClassifier(n_estimators=6, max_depth=3).fit(X, y)
            frame = model.get_booster().trees_to_dataframe()
            trees = [frame]
            raw = lambda t, d: t.loc[t.Feature == NAMES[d], "Split"].to_numpy()  # noqa: E731
        else:
            inner = (
                GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=seed)
                if kind == "boosting"
                else RandomForestClassifier(5, max_depth=3, random_state=seed)
            )
            step = {"scaled forest": StandardScaler(), "quantile forest": QuantileTransformer(n_quantiles=50)}.get(kind)
            model = inner.fit(X, y) if step is None else make_pipeline(step, inner).fit(X, y)
            trees = [t.tree_ for t in np.ravel(inner.estimators_)]

            def raw(t, d, step=step):
                cuts = t.threshold[t.feature == d]
                if step is None or not cuts.size:
                    return cuts
                rows = np.zeros((cuts.size, 4))
                rows[:, d] = cuts
                return step.inverse_transform(rows)[:, d]

        explainer = ARMIN(model, Schema.infer(X), desired=1, cost=cost, max_changes=2).fit(X)
        points = cells_of(trees, X, raw)
        price = explainer.fitted_.cost
        for _, row in X[model.predict(X) == 0].head(2).iterrows():
            costs = [price.table(p, row[[n]].to_numpy(), points[p][None, :])[0] for p, n in enumerate(NAMES)]
            best = np.inf
            for one, two in itertools.combinations(range(4), 2):
                grid = np.stack(np.meshgrid([row.iloc[one], *points[one]], [row.iloc[two], *points[two]]), -1)
                total = (
                    np.concatenate([[0.0], costs[one]])[None, :] + np.concatenate([[0.0], costs[two]])[:, None]
                ).ravel()
                rows = np.repeat(row.to_numpy()[None, :], total.size, axis=0)
                rows[:, [one, two]] = grid.reshape(-1, 2)
                works = model.predict(pd.DataFrame(rows, columns=NAMES)) == 1
                best = min(best, total[works].min(initial=np.inf))
            answer = explainer.explain(row.to_dict())
            if not answer.found:
                assert best == np.inf
                continue
            said(answer, best, 1e-4)
            assert answer.claim != "list"
            assert model.predict(answer.apply(pd.DataFrame([row])))[0] == 1
            proved += 1
    assert proved >= 6


def ends(before: np.ndarray, value: float | None, way: int) -> np.ndarray:
    """What a value becomes: kept, at least or at most another one, or that."""
    if value is None:
        return before
    return np.maximum(before, value) if way > 0 else np.minimum(before, value) if way < 0 else value + 0 * before


@pytest.mark.parametrize("seed", range(6))
def test_whole_numbers_steps_and_blanks_beside_every_legal_value(seed):
    """Where the domain is small enough, every value of it is tried for every completion, with the user's predict."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"n": rng.integers(0, 60, 300), "s": rng.integers(0, 40, 300) * 0.25, "k": rng.choice(["x", "y", "z"], 300)}
    )
    score = X.n / 20 + X.s / 3 + (X.k == "y") + 0.3 * rng.normal(size=300)
    y = (score > score.median()).astype(int)
    X.k = X.k.map({"x": 0, "y": 1, "z": 2})
    schema = Schema(
        (
            Feature("n", "integer", lower=0, upper=60),
            Feature("s", "continuous", lower=0, upper=10, step=0.25),
            Feature("k", "categorical", categories=(0, 1, 2)),
        )
    )
    linear = seed % 2
    model = (
        LogisticRegression(max_iter=1000) if linear else RandomForestClassifier(6, max_depth=4, random_state=seed)
    ).fit(X, y)
    few = ExpertOptions(n_samples=7, n_fresh=0)
    explainer = ARMIN(model, schema, desired=1, cost="l1", confidence=0.8, sampler="marginal", options=few).fit(X)
    for _, row in X[model.predict(X) == 0].head(4).iterrows():
        given = row.to_dict() | {"n": None}
        answer = explainer.explain(given)
        if not answer.changes:
            continue
        fitted, codes = explainer.current.at(given)
        people = pose(fitted, codes, (), 0.8).stated
        share = people.weights / people.weights.sum()
        spots = [
            [(None, 0), *((float(v), way) for v in range(61) for way in (1, -1))],
            [(None, 0), *((v, 0) for v in np.arange(0, 10.01, 0.25))],
            [(None, 0), *((float(v), 0) for v in range(3))],
        ]
        after = [np.stack([ends(people.candidates[:, p], *spot) for spot in some], 1) for p, some in enumerate(spots)]
        cost = [share @ fitted.cost.table(p, people.candidates[:, p], table) for p, table in enumerate(after)]
        total = cost[0][:, None, None] + cost[1][:, None] + cost[2]
        best = np.inf
        for flat in np.array_split(np.argsort(total, axis=None), 200):
            picks = np.stack(np.unravel_index(flat, total.shape), 1)
            rows = np.stack([after[p][:, picks[:, p]] for p in range(3)], -1)  # (people, choices, columns)
            works = model.predict(pd.DataFrame(rows.reshape(-1, 3), columns=list("nsk"))).reshape(rows.shape[:2]) == 1
            enough = share @ works >= 0.8 - 1e-9
            if enough.any():
                best = float(total.ravel()[flat[np.argmax(enough)]])
                break
        said(answer, best, 1e-7)
        assert answer.claim != "list"
