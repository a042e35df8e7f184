"""Costs against their definitions, written down once more in plain Python, and the laws that any price list obeys."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from armin.actions import build_grid
from armin.costs import (
    COSTS,
    Cost,
    CustomCost,
    Distribution,
    MaxPercentileShift,
    NumberOfChanges,
    PublishedL1,
    PublishedPercentileShift,
    TableCost,
    TotalLogPercentileShift,
    WeightedL1,
    WeightedL2,
    as_cost,
)
from armin.errors import ArminError, DataError, NotFittedError, ParameterError, SchemaError
from armin.models.encoder import AsTheyAre
from armin.models.encoding import ReadClassifier
from armin.models.kinds import Above, LinearModel
from armin.problem.stated import Stated, state_problem
from armin.schema import Feature, Schema

LAW = settings(deadline=None, max_examples=40)
KDE = TotalLogPercentileShift(estimate="kde")
FITTED: list[Any] = [
    TotalLogPercentileShift(),
    TotalLogPercentileShift(base=2),
    KDE,
    MaxPercentileShift(),
    WeightedL1(),
    WeightedL2(),
    NumberOfChanges(),
    CustomCost(lambda feature, before, after: 1.5),
    TableCost({"c": {"x": 0.25}}),
]


def name_of(cost: Any) -> str:
    """The same in every process: a function's address is not."""
    if isinstance(cost, str):
        return cost
    return f"{type(cost).__name__}({getattr(cost, 'base', '') or ''}{getattr(cost, 'estimate', '')})"


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Schema, np.ndarray]:
    """A schema with one feature of each kind, and training codes with blanks, ties and constant columns."""
    n = draw(st.integers(1, 25))
    low = draw(st.floats(-100, 100).map(lambda x: round(x, 2)))
    difficulty = draw(st.sampled_from([1.0, 0.5, 3.0]))
    schema = Schema(
        (
            Feature("r", "continuous", lower=low, upper=low + draw(st.floats(0.5, 1000)), difficulty=difficulty),
            Feature("i", "integer", lower=-3, upper=draw(st.integers(-2, 50))),
            Feature("b", "binary", categories=("no", "yes"), difficulty=difficulty),
            Feature("o", "ordinal", categories=("s", "m", "l", "xl")),
            Feature("c", "categorical", categories=("x", "y", "z")),
        )
    )
    columns = []
    for feature in schema:
        codes = st.floats(feature.low_code, feature.high_code)
        if feature.kind != "continuous":
            codes = st.integers(int(feature.low_code), int(feature.high_code)).map(float)
        pool = draw(st.lists(codes, min_size=1, max_size=6))
        columns.append(draw(st.lists(st.sampled_from([*pool, math.nan]), min_size=n, max_size=n)))
    return schema, np.array(columns).T


def ladder(feature: Feature, steps: int = 9) -> np.ndarray:
    if feature.kind == "continuous":
        return np.linspace(feature.low_code, feature.high_code, steps)
    return np.unique(np.round(np.linspace(feature.low_code, feature.high_code, steps)))


def present(column: np.ndarray) -> list[float]:
    return [float(x) for x in column if not math.isnan(x)]


def plain_percentile(feature: Feature, column: np.ndarray, code: float) -> float:
    """Mid-ranks, joined by straight lines, and half an observation spread over the bounds."""
    seen = present(column)
    place = (code - feature.low_code) / (feature.high_code - feature.low_code)
    if not seen:
        return 0.5 * place + 0.25
    levels = sorted(set(seen))
    rank = {v: (sum(s < v for s in seen) + 0.5 * seen.count(v)) / len(seen) for v in levels}
    if code < levels[0]:
        share = 0.0
    elif code > levels[-1]:
        share = 1.0
    elif code in rank:
        share = rank[code]
    else:
        below, above = max(v for v in levels if v < code), min(v for v in levels if v > code)
        share = rank[below] + (rank[above] - rank[below]) * (code - below) / (above - below)
    return (len(seen) * share + 0.5 * place + 0.25) / (len(seen) + 1)


def plain_share(feature: Feature, column: np.ndarray, code: float) -> float:
    seen = present(column) or [feature.low_code, feature.high_code]
    return (seen.count(code) + 0.5) / (len(seen) + 0.5 * len(feature.categories))


def plain_spread(feature: Feature, column: np.ndarray) -> float:
    seen = present(column) or [feature.low_code, feature.high_code]
    middle = float(np.median(seen))
    mad = float(np.median([abs(s - middle) for s in seen]))
    width = feature.high_code - feature.low_code
    return next((s for s in (mad, float(np.std(seen))) if s > 1e-9 * width), max(width, 1.0))


def plain_cost(cost: Any, feature: Feature, column: np.ndarray, before: float, after: float) -> float:
    """The cost of one change, as reported, by its definition."""
    if before == after:
        return 0.0
    category = feature.kind == "categorical"
    if isinstance(cost, TotalLogPercentileShift):
        if category:
            p = plain_share(feature, column, after)
            natural = math.log((1 + p) / p)
        else:
            q = [plain_percentile(feature, column, x) for x in (before, after)]
            natural = abs(math.log((1 - q[1]) / (1 - q[0])))
        value = natural / math.log(cost.base or math.e)
    elif isinstance(cost, MaxPercentileShift):
        value = 0.5
        if not category:
            value = abs(plain_percentile(feature, column, after) - plain_percentile(feature, column, before))
    elif isinstance(cost, WeightedL1):
        p = plain_share(feature, column, after) if category else 0.0
        value = 1 / math.sqrt(p * (1 - p)) if category else abs(after - before) / plain_spread(feature, column)
    elif isinstance(cost, CustomCost):
        value = 1.5
    else:
        value = 1.0
    return value * feature.difficulty


@LAW
@given(worlds())
@pytest.mark.parametrize("cost", [c for c in FITTED if c is not KDE and not isinstance(c, TableCost)], ids=name_of)
def test_each_cost_is_its_definition(cost: Any, world: Any) -> None:
    schema, X = world
    fitted = clone(cost).fit(X, schema)
    for i, feature in enumerate(schema):
        codes = ladder(feature, 5)
        table = fitted.table(i, codes, np.tile(codes, (codes.size, 1)))
        expected = [[plain_cost(fitted, feature, X[:, i], b, a) for a in codes] for b in codes]
        found = [[fitted.finish(entry) for entry in row] for row in table.tolist()]
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@LAW
@given(worlds())
@pytest.mark.parametrize("cost", FITTED, ids=name_of)
def test_prices_are_finite_and_not_negative_and_keeping_is_free(cost: Any, world: Any) -> None:
    schema, X = world
    fitted = clone(cost).fit(X, schema)
    for i, feature in enumerate(schema):
        codes = ladder(feature)
        table = fitted.table(i, codes, np.tile(codes, (codes.size, 1)))
        assert table.shape == (codes.size, codes.size)
        assert np.all(np.isfinite(table))
        assert np.all(table >= 0)
        assert np.all(np.diag(table) == 0)
        assert np.all(table[~np.eye(codes.size, dtype=bool)] > 0)


@LAW
@given(worlds())
@pytest.mark.parametrize(
    "cost", [TotalLogPercentileShift(), KDE, MaxPercentileShift(), WeightedL1(), WeightedL2()], ids=repr
)
def test_further_costs_more(cost: Any, world: Any) -> None:
    schema, X = world
    fitted = clone(cost).fit(X, schema)
    for i, feature in enumerate(schema):
        if feature.is_ordered:
            codes = ladder(feature)
            for k, before in enumerate(codes):
                prices = fitted.table(i, np.array([before]), codes[None, :])[0]
                assert np.all(np.diff(prices[k:]) > 0)
                assert np.all(np.diff(prices[: k + 1]) < 0)


@LAW
@given(worlds(), st.booleans())
def test_percentiles_are_increasing_and_strictly_inside(world: Any, kernel: bool) -> None:
    schema, X = world
    fitted = TotalLogPercentileShift(estimate="kde" if kernel else "ranks").fit(X, schema)
    for distribution in fitted.distributions_:
        if distribution.feature.is_ordered:
            q = distribution.percentile(ladder(distribution.feature, 50))
            assert np.all((q > 0) & (q < 1))
            assert np.all(np.diff(q) > 0)


def test_data_between_two_points_of_the_kernel_grid() -> None:
    schema = Schema((Feature("a", "continuous", lower=0, upper=1e6),))
    cost = TotalLogPercentileShift(estimate="kde").fit(np.array([[5100.0], [5100.5]]), schema)
    assert np.all(np.isfinite(cost.table(0, np.zeros(1), np.array([[1.0, 5100.2, 1e6]]))))


def test_percentiles_of_a_long_tail_stay_inside() -> None:
    rng = np.random.default_rng(0)
    tail = np.concatenate([rng.exponential(1, 20_000), [1e6]])
    feature = Feature("a", "continuous", lower=0, upper=1e6)
    schema = Schema((feature,))
    for estimate in ("ranks", "kde"):
        cost = TotalLogPercentileShift(estimate=estimate).fit(tail[:, None], schema)  # type: ignore[arg-type]
        q = cost.distributions_[0].percentile(np.linspace(0, 1e6, 1000))
        assert np.all((q > 0) & (q < 1))
        assert np.all(np.diff(q) > 0)


def test_the_kernel_estimate_is_near_the_ranks() -> None:
    x = np.random.default_rng(0).normal(50, 10, 2000).clip(10, 90)
    schema = Schema((Feature("a", "continuous", lower=10, upper=90),))
    points = np.linspace(25, 75, 30)
    ranks = TotalLogPercentileShift().fit(x[:, None], schema).distributions_[0].percentile(points)
    kernel = TotalLogPercentileShift(estimate="kde").fit(x[:, None], schema).distributions_[0].percentile(points)
    assert np.max(np.abs(ranks - kernel)) < 0.04


def test_a_binary_feature_costs_what_its_indicator_would() -> None:
    """The formula on a 0/1 column and the rule for categories agree, so no kind is cheap by accident."""
    column = np.array([0.0] * 700 + [1.0] * 300)
    binary = Schema((Feature("a", "binary", categories=("n", "y")),))
    category = Schema((Feature("a", "categorical", categories=("n", "y")),))
    for cost in (TotalLogPercentileShift(), WeightedL1()):
        one, other = (
            clone(cost).fit(column[:, None], schema).table(0, np.zeros(1), np.array([[0.0, 1.0]]))[0]
            for schema in (binary, category)
        )
        np.testing.assert_allclose(one, other, rtol=0.01)


def test_zero_mad_falls_back_to_the_deviation_and_then_to_the_range() -> None:
    feature = Feature("a", "integer", lower=0, upper=10)
    mostly = np.array([0.0] * 9 + [10.0])
    assert Distribution.of(feature, mostly).spread == mostly.std() == 3.0
    assert Distribution.of(feature, np.full(5, 4.0)).spread == 10.0
    real = Feature("a", "continuous", lower=0, upper=1)
    assert Distribution.of(real, np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])).spread == 1.0  # rounding dirt
    assert Distribution.of(feature, np.full(5, math.nan)).spread == 5.0
    for kind in ("binary", "ordinal"):
        other = Feature("a", kind, categories=("n", "y"))  # type: ignore[arg-type]
        rare = np.array([0.0] * 9 + [1.0])
        assert Distribution.of(other, rare).spread == pytest.approx(math.sqrt(0.1 * 0.9))


@pytest.mark.parametrize("cost", FITTED, ids=name_of)
def test_difficulty_multiplies_what_is_reported(cost: Any) -> None:
    easy = Schema((Feature("a", "integer", lower=0, upper=9), Feature("c", "categorical", categories=("x", "y", "z"))))
    hard = easy.update(difficulty={"a": 3.0, "c": 3.0})
    X = np.array([[1, 0], [2, 0], [5, 1], [9, 2]], dtype=np.float64)
    for i, before, after in ((0, 2.0, 7.0), (1, 1.0, 0.0)):
        once, thrice = (
            fitted.finish(float(fitted.table(i, np.array([before]), np.array([[after]]))[0, 0]))
            for fitted in (clone(cost).fit(X, easy), clone(cost).fit(X, hard))
        )
        assert thrice == pytest.approx(3 * once)
        assert once > 0


def test_base_two_is_the_natural_cost_in_bits() -> None:
    X, schema = np.arange(50.0)[:, None], Schema((Feature("a", "integer", lower=0, upper=49),))
    natural, bits = (
        TotalLogPercentileShift(base=b).fit(X, schema).table(0, np.array([3.0]), np.array([[0.0, 30.0, 49.0]]))
        for b in (None, 2)
    )
    np.testing.assert_allclose(bits, natural / math.log(2))


def test_a_function_gets_raw_values_and_each_pair_once() -> None:
    asked: list[tuple[str, Any, Any]] = []

    def price(feature: Feature, before: Any, after: Any) -> float:
        asked.append((feature.name, before, after))
        return 2.0 if isinstance(after, str) else abs(after - before)

    schema = Schema(
        (Feature("a", "integer", lower=0, upper=9), Feature("c", "categorical", categories=("x", "y", "z")))
    )
    cost = CustomCost(price).fit(np.zeros((1, 2)), schema)
    table = cost.table(0, np.array([1.0, 1.0, 2.0]), np.array([[1.0, 4.0], [1.0, 4.0], [2.0, 4.0]]))
    assert table.tolist() == [[0, 3], [0, 3], [0, 2]]
    assert cost.table(1, np.array([0.0]), np.array([[0.0, 2.0]])).tolist() == [[0, 2]]
    assert sorted(asked) == [("a", 1, 4), ("a", 2, 4), ("c", "x", "z")]
    assert all(type(v) in (int, str) for _, *values in asked for v in values)


@pytest.mark.parametrize("wrong", [-1.0, math.nan, math.inf, None, "cheap"])
def test_a_price_that_is_no_price_is_refused(wrong: Any) -> None:
    schema = Schema((Feature("a", "integer", lower=0, upper=9),))
    with pytest.raises(ParameterError, match=r"finite number of at least 0.*'a'"):
        CustomCost(lambda *_: wrong).fit(np.zeros((1, 1)), schema).table(0, np.zeros(1), np.ones((1, 1)))
    with pytest.raises(ParameterError, match=r"finite number of at least 0.*'a'"):
        TableCost({"a": {3: wrong}}).fit(np.zeros((1, 1)), schema)


def test_nobody_changes_to_the_only_category_that_there_is() -> None:
    schema = Schema((Feature("town", "categorical", categories=("Bonn",), direction="fixed"),))
    for cost in (WeightedL1(), WeightedL2()):
        fitted = cost.fit(np.zeros((5, 1)), schema)
        with np.errstate(all="raise"):
            assert fitted.table(0, np.zeros(2), np.zeros((2, 1))).tolist() == [[0.0], [0.0]]


@pytest.mark.parametrize("otherwise", ["tlps", "mps", "l1", "l2", "changes", CustomCost(lambda *_: 4.0)], ids=name_of)
def test_a_table_wins_where_it_speaks_and_the_other_cost_elsewhere(otherwise: Any) -> None:
    schema = Schema(
        (Feature("a", "integer", lower=0, upper=9), Feature("c", "categorical", categories=("x", "y", "z")))
    )
    X = np.array([[1, 0], [2, 0], [5, 1], [9, 2]], dtype=np.float64)
    cost = TableCost({"c": {"y": 0.25}, "a": {7: 6.0}}, otherwise=otherwise).fit(X, schema)
    other = as_cost(otherwise).fit(X, schema)
    assert cost.aggregate == other.aggregate
    numbers, categories = np.array([[2.0, 7.0, 8.0]]), np.array([[0.0, 1.0, 2.0]])
    found = [cost.finish(v) for v in cost.table(0, np.array([2.0]), numbers)[0].tolist()]
    assert found[:2] == [0, 6]
    assert found[2] == other.finish(float(other.table(0, np.array([2.0]), numbers)[0, 2]))
    found = [cost.finish(v) for v in cost.table(1, np.array([0.0]), categories)[0].tolist()]
    assert found[:2] == [0, 0.25]
    assert found[2] == other.finish(float(other.table(1, np.array([0.0]), categories)[0, 2]))
    assert cost.table(1, np.array([1.0]), np.array([[1.0]]))[0, 0] == 0  # to keep what has a price is free


def test_a_table_that_does_not_fit_the_schema_is_refused() -> None:
    schema = Schema((Feature("c", "categorical", categories=("x", "y", "z")),))
    with pytest.raises(SchemaError, match="'purpose' is not a column"):
        TableCost({"purpose": {"x": 1}}).fit(np.zeros((1, 1)), schema)
    with pytest.raises(DataError, match=r"'c' must be one of.*'w'"):
        TableCost({"c": {"w": 1}}).fit(np.zeros((1, 1)), schema)


def test_aliases_and_refusals() -> None:
    kinds = {
        "tlps": TotalLogPercentileShift, "mps": MaxPercentileShift, "l1": WeightedL1, "l2": WeightedL2,
        "changes": NumberOfChanges, "tlps-published": PublishedPercentileShift, "l1-published": PublishedL1,
    }  # fmt: skip
    for alias, kind in kinds.items():
        assert type(as_cost(alias)) is kind
    mine = WeightedL1()
    assert as_cost(mine) is mine
    assert isinstance(as_cost(lambda f, b, a: 1.0), CustomCost)
    for wrong in ("price", 3, WeightedL1, None):
        with pytest.raises(
            ParameterError, match=r"'cost'.*'changes', 'l1', 'l1-published', 'l2', 'mps', 'tlps', 'tlps-published'"
        ):
            as_cost(wrong)  # type: ignore[arg-type]
    with pytest.raises(NotFittedError, match=r"WeightedL1 is not fitted.*fit"):
        WeightedL1().table(0, np.zeros(1), np.zeros((1, 1)))
    schema = Schema((Feature("a", "integer", lower=0, upper=9),))
    for bad in (TotalLogPercentileShift(base=1), TotalLogPercentileShift(estimate="spline")):  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="TotalLogPercentileShift must be"):
            bad.fit(np.zeros((1, 1)), schema)
    assert all(isinstance(c, Cost) for c in FITTED)
    assert issubclass(ParameterError, ArminError)


def price_case(cost: Any, weights: Any, row: Any, candidates: Any) -> tuple[Schema, np.ndarray, Stated]:
    frame = pd.DataFrame({"a": [0, 3, 5, 9, 9], "c": list("xyzxx"), "r": [0.0, 0.25, 0.5, 0.75, 1.0]})
    schema = Schema.infer(frame, blanks={"a": "shift"})
    X = schema.encode(frame)
    model = LinearModel(np.ones((1, 3)), np.zeros(1), Above(0.0))
    read = ReadClassifier(model, AsTheyAre(), np.arange(3, dtype=np.intp))
    candidates, weights = np.asarray(candidates, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    grid = build_grid(schema, np.asarray(row, dtype=np.float64), candidates, max_options=12)
    total = float(weights.sum())
    case = state_problem(np.asarray(row), candidates, weights, grid, read, clone(cost).fit(X, schema), total, None)
    return schema, X, case


@pytest.mark.parametrize("cost", [c for c in FITTED if c is not KDE and not isinstance(c, TableCost)], ids=name_of)
@pytest.mark.parametrize("weights", [[1, 1, 1], [0.5, 2.0, 4.0]])
def test_the_cost_of_an_action_is_the_weighted_mean_over_the_candidates(cost: Any, weights: list[float]) -> None:
    row, candidates = [math.nan, math.nan, 0.5], [[2, 0, 0.5], [3, 1, 0.5], [5, 1, 0.5]]
    schema, X, case = price_case(cost, weights, row, candidates)
    assert {m.mode for m in case.grid.moves} == {"shift", "reach", "observed"}
    rng = np.random.default_rng(0)
    for _ in range(30):
        choice = tuple(int(rng.integers(m.size)) for m in case.grid.moves)
        after = case.grid.apply(choice, case.candidates)
        single = np.array(
            [
                [
                    plain_cost(cost, f, X[:, d], b, a)
                    for d, (f, b, a) in enumerate(zip(schema, before, now, strict=True))
                ]
                for before, now in zip(case.candidates, after, strict=True)
            ]
        )
        share = np.array(weights) / sum(weights)
        if isinstance(cost, WeightedL2):
            expected, each = math.sqrt(share @ (single**2).sum(axis=1)), np.sqrt((single**2).sum(axis=1))
        elif isinstance(cost, MaxPercentileShift):
            expected, each = (share @ single).max(), single.max(axis=1)
        else:
            expected, each = share @ single.sum(axis=1), single.sum(axis=1)
        assert case.cost_of(choice) == pytest.approx(expected)
        np.testing.assert_allclose(case.cost_per_candidate(choice), each)
    assert case.cost_of((0,) * len(case.grid.moves)) == 0


def test_the_page_lists_every_cost_as_it_describes_itself() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "actions.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r'^\| `"([\w-]+)"`[^|]*\| (.*) \|$', page, re.MULTILINE))
    assert sorted(rows) == list(COSTS.all())
    for alias, cls in COSTS.all().items():
        assert rows[alias].startswith(f"`{cls.__name__}` | {cls.summary}")


def test_the_published_costs_by_hand() -> None:
    """Worked out from their definition on the columns of the encoded matrix, apart from the library."""
    from scipy.stats import gaussian_kde

    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "count": rng.integers(0, 251, 300), "size": rng.normal(size=300).round(3), "owns": rng.integers(0, 2, 300),
        "job": pd.Categorical(rng.choice(["a", "b", "c"], 300, p=[0.6, 0.3, 0.1])),
    })  # fmt: skip
    schema = Schema.infer(frame)
    codes = schema.encode(frame)
    tlps = PublishedPercentileShift().fit(codes, schema)
    l1 = PublishedL1().fit(codes, schema)

    def tail(column: Any, step: float, value: float) -> float:
        points = np.arange(column.min(), column.max() + step, step)
        mass = np.cumsum(gaussian_kde(column)(points))
        return 1 - float(np.interp(value, points, (1e-6 + mass) / (mass[-1] + 2e-6), left=1e-6, right=1 - 1e-6))

    def shift(column: Any, step: float, before: float, after: float) -> float:
        return abs(math.log2(tail(column, step, after) / tail(column, step, before)))

    width = float(np.ptp(codes[:, 1]))
    steps = {0: 2.0, 1: width / 99, 2: 1.0}
    for position, before, after in ((0, 30.0, 77.0), (0, 200.0, 3.0), (1, 0.25, 1.5), (2, 0.0, 1.0), (2, 1.0, 0.0)):
        got = tlps.table(position, np.array([before]), np.array([[before, after]]))
        assert got[0, 0] == 0
        assert got[0, 1] == pytest.approx(shift(codes[:, position], steps[position], before, after), rel=1e-12)
    held = [(codes[:, 3] == k).astype(float) for k in range(3)]
    both = shift(held[0], 1.0, 1.0, 0.0) + shift(held[2], 1.0, 0.0, 1.0)
    assert tlps.table(3, np.array([0.0]), np.array([[2.0]]))[0, 0] == pytest.approx(both, rel=1e-12)
    assert both > 20  # what makes the published costs of categories so large

    mad = float(np.median(np.abs(codes[:, 0] - np.median(codes[:, 0]))))
    assert l1.table(0, np.array([30.0]), np.array([[77.0]]))[0, 0] == pytest.approx(47 / (1.4826 * mad))
    assert l1.table(2, np.array([0.0]), np.array([[1.0]]))[0, 0] == pytest.approx(1.4826 * codes[:, 2].std())
    sides = 1.4826 * (held[0].std() + held[2].std())
    assert l1.table(3, np.array([0.0]), np.array([[2.0]]))[0, 0] == pytest.approx(sides)
    constant = PublishedPercentileShift().fit(np.ones((5, 1)), Schema((Feature("x", "integer", lower=0, upper=9),)))
    assert np.isfinite(constant.table(0, np.array([1.0]), np.array([[0.0, 9.0]]))).all()
