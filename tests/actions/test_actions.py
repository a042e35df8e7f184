"""Options: whatever the schema, the row and the blanks, every option is one that a person may take and say."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from armin.actions import ActionGrid, Move, build_grid, human_step
from armin.errors import ParameterError
from armin.schema import Feature, Schema
from armin.schema.values import plain_number

LAW = settings(deadline=None, max_examples=150)
ROUND = st.sampled_from([0.01, 0.05, 0.1, 0.15, 0.25, 0.3, 0.5, 1.1, 2.5, 7.0])


@st.composite
def features(draw: st.DrawFn, name: str = "a") -> Feature:
    kind = draw(st.sampled_from(["continuous", "integer", "binary", "categorical", "ordinal"]))
    ordered = kind != "categorical"
    common: dict[str, Any] = {
        "direction": draw(st.sampled_from(["any", "increase", "decrease", "fixed"] if ordered else ["any", "fixed"])),
        "blank": draw(st.sampled_from([None, "shift", "reach", "freeze"] if ordered else [None, "reach", "freeze"])),
    }  # fmt: skip
    if kind == "integer":
        low = draw(st.integers(-5000, 5000))
        width = draw(st.integers(1, 9000))
        step = draw(st.none() | st.integers(1, width))
        return Feature(name, kind, lower=low, upper=low + width, step=step, **common)
    if kind == "continuous":
        low = draw(st.floats(-1000, 1000).map(lambda x: round(x, 3)) | st.floats(-1e4, 1e4))
        width = draw(st.floats(0.01, 1e4) | st.sampled_from([0.3, 1.0, 100.0]))
        step = draw(st.none() | ROUND.filter(lambda s: s <= width * (1 - 1e-9)))
        assume(low + width > low)
        return Feature(name, kind, lower=low, upper=low + width, step=step, **common)
    n = 2 if kind == "binary" else draw(st.integers(2, 12))
    return Feature(name, kind, categories=tuple(f"c{i}" for i in range(n)), **common)  # type: ignore[arg-type]


def legal_codes(feature: Feature) -> st.SearchStrategy[float]:
    low, high = feature.low_code, feature.high_code
    if feature.kind != "continuous":
        return st.integers(int(low), int(high)).map(float)
    return st.floats(low, high) | st.floats(low, high).map(lambda x: min(max(round(x, 2), low), high))


@st.composite
def people(draw: st.DrawFn) -> tuple[Schema, np.ndarray, np.ndarray]:
    schema = Schema(tuple(draw(features(f"f{i}")) for i in range(draw(st.integers(1, 3)))))
    n = draw(st.integers(1, 5))
    row, columns = [], []
    for feature in schema:
        if draw(st.booleans()):
            value = draw(legal_codes(feature))
            row.append(value)
            columns.append([value] * n)
        else:
            row.append(math.nan)
            columns.append(draw(st.lists(legal_codes(feature), min_size=n, max_size=n)))
    return schema, np.array(row), np.array(columns).T


def is_legal(feature: Feature, code: float) -> bool:
    whole = feature.kind == "continuous" or code == round(code)
    return feature.low_code <= code <= feature.high_code and whole and feature.code(feature.value(code)) == code


@LAW
@given(people(), st.integers(2, 120), st.sampled_from(["human", "paper", "published"]), st.booleans())
def test_every_option_obeys_the_schema(person: Any, max_options: int, kind: Any, lock: bool) -> None:
    schema, row, candidates = person
    frozen = frozenset(schema.names[:1]) if lock else frozenset()
    grid = build_grid(schema, row, candidates, max_options=max_options, grid=kind, frozen=frozen)
    assert [m.position for m in grid.moves] == sorted({m.position for m in grid.moves})
    for move in grid.moves:
        feature = schema[move.position]
        before = candidates[:, move.position]
        blank = bool(np.isnan(row[move.position]))
        assert feature.actionable
        assert feature.name not in frozen
        assert move.mode == (feature.blank_mode if blank else "observed")
        assert move.values.shape == (len(before) if blank else 1, move.size)
        assert 2 <= move.size <= max_options
        np.testing.assert_array_equal(move.values[:, 0], before if blank else before[:1])
        assert np.isnan(move.targets).tolist() == [True] + [False] * (move.size - 1)
        for sense in set(move.senses[1:]):
            assert np.all(np.diff(move.targets[1:][move.senses[1:] == sense]) > 0)
        assert all(is_legal(feature, code) for code in move.values[:, 1:].ravel().tolist())
        moved = move.values[:, 1:] - move.values[:, :1]
        assert feature.direction != "increase" or np.all(moved >= 0)
        assert feature.direction != "decrease" or np.all(moved <= 0)
        assert np.all(np.any(moved != 0, axis=0))
        assert not np.any(np.signbit(move.targets) & (move.targets == 0))
        check_mode(feature, move, before)


def check_mode(feature: Feature, move: Move, before: np.ndarray) -> None:
    targets, values = move.targets[1:], move.values[:, 1:]
    if move.mode == "observed":
        np.testing.assert_array_equal(values[0], targets)
        assert not np.any(targets == before[0])
    elif move.mode == "shift":
        # one amount, and it is legal for every candidate: clipping forgives rounding only
        scale = max(abs(feature.low_code), abs(feature.high_code))
        np.testing.assert_allclose(values, before[:, None] + targets, rtol=0, atol=1e-11 * scale)
        assert not np.any(targets == 0)
    else:
        senses = move.senses[1:]
        least, most = np.maximum(before[:, None], targets), np.minimum(before[:, None], targets)
        np.testing.assert_array_equal(values[:, senses > 0], least[:, senses > 0])
        np.testing.assert_array_equal(values[:, senses < 0], most[:, senses < 0])
        np.testing.assert_array_equal(values[:, senses == 0], np.broadcast_to(targets, values.shape)[:, senses == 0])
        assert set(senses) <= {"increase": {1}, "decrease": {-1}}.get(feature.direction, {1, -1, 0})
        assert (0 in senses) <= (feature.kind in ("binary", "categorical"))


def plain_human_step(feature: Feature, max_options: int) -> Decimal:
    """The definition: the least 1, 2 or 5 times 10**k, or of these times the user's step, with few enough steps."""
    width = feature.high_code - feature.low_code
    raw = width / max(1, max_options - 2) * (1 - 1e-9)
    unit = Decimal(repr(float(feature.step))) if feature.step is not None else Decimal(1)
    powers = range(12) if feature.step is not None or feature.kind == "integer" else range(-15, 12)
    steps = sorted(unit * m * Decimal(10) ** k for k in powers for m in (1, 2, 5))
    return next(step for step in steps if float(step) >= raw)


@LAW
@given(people(), st.integers(2, 120))
@example((Schema((Feature("a", "continuous", lower=0, upper=0.3),)), np.array([np.nan]), np.array([[0.1], [0.05]])), 20)
@example((Schema((Feature("a", "continuous", lower=0, upper=1, step=0.3),)), np.array([0.5]), np.array([[0.5]])), 100)
@example((Schema((Feature("a", "continuous", lower=1, upper=1.3, step=0.05),)), np.array([1.0]), np.array([[1.0]])), 5)
@example((Schema((Feature("a", "integer", lower=0, upper=50, step=5),)), np.array([7.0]), np.array([[7.0]])), 2)
def test_the_human_grid_is_exactly_the_round_numbers(person: Any, max_options: int) -> None:
    """All multiples that are in reach, anchored at zero, none of them dirty, none nearer than half a step."""
    schema, row, candidates = person
    grid = build_grid(schema, row, candidates, max_options=max_options)
    by_position = {move.position: move for move in grid.moves}
    for position, feature in enumerate(schema):
        blank = bool(np.isnan(row[position]))
        if not (feature.is_number and feature.actionable) or (blank and feature.blank_mode == "freeze"):
            continue
        step = plain_human_step(feature, max_options)
        before = candidates[:, position]
        found = by_position[position].targets[1:].tolist() if position in by_position else []
        low, high = feature.low_code, feature.high_code
        for target in found:
            round_number = Decimal(repr(target)) % step == 0
            assert round_number or (
                target in (low, high) and abs(target / float(step) - round(target / float(step))) < 1e-8
            )
            assert len(plain_number(target).replace(",", "").strip("-").replace(".", "").strip("0")) <= 9
        shifts = blank and feature.blank_mode == "shift"
        if shifts:
            low, high = low - before.min(), high - before.max()
        margin = 1e-6 * float(step)
        first, last = math.ceil((low + margin) / float(step)), math.floor((high - margin) / float(step))
        inside = [float(step * k) for k in range(first, last + 1)]
        if not blank:
            inside = [t for t in inside if abs(t - row[position]) >= 0.5 * float(step) + margin]
        elif shifts:
            inside = [t for t in inside if t != 0]
        if shifts or not blank:
            current = 0.0 if blank else row[position]
            inside = [t for t in inside if feature.direction != "increase" or t > current]
            inside = [t for t in inside if feature.direction != "decrease" or t < current]
            assert all(abs(t - current) >= 0.5 * float(step) * (1 - 1e-9) for t in found)
        else:
            inside = [t for t in inside if feature.direction != "increase" or t > before.min()]
            inside = [t for t in inside if feature.direction != "decrease" or t < before.max()]
            inside = [t for t in inside if np.any(before != t)]
        ways = 2 if blank and not shifts and feature.direction == "any" else 1
        if ways * len(inside) <= max_options - 1:
            assert set(inside) <= set(found)


@LAW
@given(st.floats(1e-9, 1e15), st.integers(2, 200))
def test_human_step_is_the_least_round_one(width: float, most: int) -> None:
    step = human_step(width, most)
    raw = width / (most - 1)
    steps = [float(f"{m}e{k}") for k in range(-20, 20) for m in (1, 2, 5)]
    assert step == min(s for s in steps if s >= raw * (1 - 1e-9))


@LAW
@given(people())
def test_the_paper_grid_is_equal_steps_from_the_persons_value(person: Any) -> None:
    schema, row, candidates = person
    grid = build_grid(schema, row, candidates, grid="paper")
    for move in grid.moves:
        feature = schema[move.position]
        if not feature.is_number or feature.step is not None:
            continue
        width = feature.high_code - feature.low_code
        step = math.ceil(width / 99) if feature.kind == "integer" else width / 99
        origin = {"observed": row[move.position], "shift": 0.0, "reach": feature.low_code}[move.mode]
        counts = (move.targets[1:] - origin) / step
        np.testing.assert_allclose(counts, np.round(counts), atol=1e-6)
        assert move.mode == "reach" or np.all(np.abs(counts) > 0.5)
        if move.mode == "observed" and feature.direction == "any":
            value = row[move.position]
            expected = math.floor((feature.high_code - value) / step + 1e-9)
            expected += math.floor((value - feature.low_code) / step + 1e-9)
            assert move.size == expected + 1


@LAW
@given(people(), st.sampled_from(["human", "paper", "published"]), st.data())
def test_apply_changes_what_was_chosen_and_nothing_else(person: Any, kind: Any, data: st.DataObject) -> None:
    schema, row, candidates = person
    grid = build_grid(schema, row, candidates, max_options=20, grid=kind)
    choice = tuple(data.draw(st.integers(0, move.size - 1)) for move in grid.moves)
    original = candidates.copy()
    after = grid.apply(choice, candidates)
    np.testing.assert_array_equal(candidates, original)
    np.testing.assert_array_equal(grid.apply((0,) * len(choice), candidates), candidates)
    expected = candidates.copy()
    for move, j in zip(grid.moves, choice, strict=True):
        expected[:, move.position] = move.values[:, j]
    np.testing.assert_array_equal(after, expected)
    np.testing.assert_array_equal(grid.apply_to_others(choice, candidates), after)


@LAW
@given(people(), st.data())
def test_other_completions_stay_legal_too(person: Any, data: st.DataObject) -> None:
    schema, row, candidates = person
    grid = build_grid(schema, row, candidates, max_options=20)
    choice = tuple(data.draw(st.integers(0, move.size - 1)) for move in grid.moves)
    others = candidates.copy()
    for i in np.flatnonzero(np.isnan(row)):
        others[:, i] = data.draw(st.lists(legal_codes(schema[int(i)]), min_size=len(others), max_size=len(others)))
    after = grid.apply_to_others(choice, others)
    for i, feature in enumerate(schema):
        assert all(is_legal(feature, code) for code in after[:, i].tolist())
        assert feature.direction != "increase" or np.all(after[:, i] >= others[:, i])
        assert feature.direction != "decrease" or np.all(after[:, i] <= others[:, i])


def grid_of(feature: Feature, value: float, candidates: Any = None, **how: Any) -> ActionGrid:
    column = np.array([value] if candidates is None else candidates, dtype=np.float64)[:, None]
    return build_grid(Schema((feature,)), np.array([value]), column, **how)


def targets_of(feature: Feature, value: float, candidates: Any = None, **how: Any) -> list[float]:
    return [t for move in grid_of(feature, value, candidates, **how).moves for t in move.targets[1:].tolist()]


NAN = math.nan


@pytest.mark.parametrize(
    ("feature", "value", "candidates", "expected"),
    [
        (Feature("a", "binary", categories=("n", "y")), 0.0, None, [1]),
        (Feature("a", "binary", categories=("n", "y"), direction="increase"), 1.0, None, []),
        (Feature("a", "binary", categories=("n", "y")), NAN, [0, 1], [0, 1]),
        (Feature("a", "binary", categories=("n", "y")), NAN, [1, 1], [0]),
        (Feature("a", "binary", categories=("n", "y"), blank="shift"), NAN, [0, 1], []),
        (Feature("a", "binary", categories=("n", "y"), blank="shift"), NAN, [0, 0], [1]),
        (Feature("a", "categorical", categories=("x", "y", "z")), 1.0, None, [0, 2]),
        (Feature("a", "categorical", categories=("x", "y", "z")), NAN, [1, 2], [0, 1, 2]),
        (Feature("a", "categorical", categories=("x", "y", "z"), blank="freeze"), NAN, [1, 2], []),
        (Feature("a", "ordinal", categories=("x", "y", "z"), direction="increase"), 1.0, None, [2]),
        (Feature("a", "ordinal", categories=("x", "y", "z"), direction="increase"), NAN, [0, 1], [1, 2]),
        (Feature("a", "ordinal", categories=("x", "y", "z"), blank="shift"), NAN, [0, 1], [1]),
        (Feature("a", "ordinal", categories=("x", "y", "z"), blank="shift", direction="decrease"), NAN, [1, 2], [-1]),
        (Feature("a", "integer", lower=0, upper=5), 3.0, None, [0, 1, 2, 4, 5]),
        (Feature("a", "integer", lower=0, upper=5, direction="decrease"), 3.0, None, [0, 1, 2]),
        (Feature("a", "integer", lower=0, upper=5, blank="shift"), NAN, [2, 3], [-2, -1, 1, 2]),
        (Feature("a", "integer", lower=0, upper=5, blank="shift"), NAN, [0, 5], []),
        (Feature("a", "integer", lower=0, upper=3), NAN, [1, 2], [2, 3, 0, 1]),
        (Feature("a", "integer", lower=0, upper=5, blank="reach", direction="increase"), NAN, [2, 3], [3, 4, 5]),
        (Feature("a", "integer", lower=0, upper=50, step=20), 21.0, None, [0, 40]),
        (Feature("a", "integer", lower=0, upper=5, direction="fixed"), 3.0, None, []),
    ],
)
def test_options_by_hand(feature: Feature, value: float, candidates: Any, expected: list[float]) -> None:
    assert targets_of(feature, value, candidates) == expected


def test_options_read_as_people_speak() -> None:
    income = Feature("income", "integer", lower=8_000, upper=250_000, unit="$")
    found = [income.show(income.value(t)) for t in targets_of(income, 34_371.0)]
    assert found[:3] == ["$10,000", "$15,000", "$20,000"]
    assert "$35,000" not in found  # 629 away: less than half of the step of 5,000
    assert found[-1] == "$250,000"
    share = Feature("share", "continuous", lower=0, upper=1)
    assert [share.show(t) for t in targets_of(share, 0.1 + 0.2, max_options=12)] == [
        "0", "0.1", "0.2", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1",
    ]  # fmt: skip


def test_bad_parameters_are_refused() -> None:
    feature = Feature("a", "integer", lower=0, upper=5)
    with pytest.raises(ParameterError, match=r"'max_options'.*at least 2.*1"):
        grid_of(feature, 1.0, max_options=1)
    with pytest.raises(ParameterError, match=r"'grid'.*'exact', 'human', 'paper', 'published'.*'log'"):
        grid_of(feature, 1.0, grid="log")


def test_the_published_grid_begins_at_the_lower_bound_and_rounds_steps_down() -> None:
    count = Feature("a", "integer", lower=3, upper=190)  # a range of 187: whole steps of 1 where the paper's grid has 2
    assert grid_of(count, 10.0, grid="published", max_options=500).moves[0].targets[1:4].tolist() == [3, 4, 5]
    thinned = grid_of(count, 10.0, grid="published", max_options=101).moves[0].targets[1:]
    rest = np.array([v for v in range(3, 191) if v != 10], dtype=float)
    assert thinned.tolist() == rest[np.linspace(0, rest.size - 1, 100).astype(int)].tolist()
    real = Feature("a", "continuous", lower=0.0, upper=9.9)
    targets = grid_of(real, 0.55, grid="published", max_options=101).moves[0].targets[1:]
    np.testing.assert_allclose(targets, np.arange(100) * 0.1, atol=1e-12)
    growing = Feature("a", "continuous", lower=0.0, upper=9.9, direction="increase")
    np.testing.assert_allclose(grid_of(growing, 0.55, grid="published").moves[0].targets[1:3], [0.65, 0.75])
    blank = Feature("a", "continuous", lower=0.0, upper=9.9, blank="shift")
    schema = Schema((blank,))
    amounts = build_grid(schema, np.array([np.nan]), np.array([[0.25], [0.98]]), grid="published").moves[0].targets[1:3]
    np.testing.assert_allclose(amounts, [-0.25, -0.15])  # the least candidate lands on the grid
