"""What is looked at once for many rows, values or points of a path gives what each would give alone."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import plain
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin import ARMIN
from armin.errors import ModelError
from armin.explain import draw, judge, memory
from armin.explain.advise import pose
from armin.models.inputs import WholeNumbers
from armin.models.kinds import Among
from armin.sampling.neighbours import Neighbours
from armin.schema import Feature, Schema

from batches import Stricter, crowd, said
from problems import random_trees
from worlds import MODELS


@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.one_of(st.integers(-50, 50).map(float), st.floats(-9, 9)), max_size=12, unique=True),
    st.lists(st.one_of(st.integers(-60, 60).map(float), st.floats(-9, 9), st.just(np.nan), st.just(1e300)), max_size=6),
)
def test_law_whole_numbers_are_found_where_a_search_finds_them(known: list[float], wanted: list[float]) -> None:
    values = np.sort(np.array(known))
    whole = WholeNumbers.of(values)
    places = [int(np.searchsorted(values, one)) if one in known and one.is_integer() else -1 for one in wanted]
    assert [whole.place(one) for one in wanted] == places
    found = whole.find(np.array(wanted))
    assert (found is None) == (not wanted or min(places) < 0)
    assert found is None or found.tolist() == places


def test_whole_numbers_that_are_far_apart_are_left_to_a_search() -> None:
    for far in ([0.0, 1e7], [2.0**53, 2.0**53 + 2], [np.nan]):
        assert WholeNumbers.of(np.array(far)).find(np.array(far[:1])) is None


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.sets(st.integers(0, 2)), st.booleans())
def test_law_rows_that_share_values_go_down_trees_as_each_alone(seed: int, shared: set[int], strict: bool) -> None:
    rng = np.random.default_rng(seed)
    model = replace(random_trees(rng, 3, Among((1,), 2), n_trees=5, categories=(1,), grid=None), strict=strict)
    cuts = np.append(model.threshold[model.feature >= 0], [np.nan, 0.0, 1.0, 2.0, 4.0])
    inputs = rng.choice(cuts, (12, model.n_inputs))
    for column in shared:
        inputs[:, column] = inputs[0, column]
    together = model.outputs(inputs)
    np.testing.assert_array_equal(together, np.concatenate([model.outputs(row[None]) for row in inputs]))
    np.testing.assert_array_equal(together[0], plain.tree_outputs(model, inputs[0]))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("reapply", ["disclosed", "blank", "either"])
def test_inputs_and_prices_of_a_problem_are_those_of_each_candidate(kind: str, reapply: Any) -> None:
    world, frame = crowd(kind, 7, n=6)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=12, n_fresh=0, max_options=7, reapply=reapply
    ).fit(world.X)
    rng, fitted = np.random.default_rng(0), explainer.current
    for row in frame.to_dict("records"):
        try:
            stated = pose(fitted, world.schema.encode(row)[0], (), 0.75).stated
        except ModelError:
            if reapply == "disclosed":
                raise
            continue  # a model that takes no blanks
        for move, prices in zip(stated.grid.moves, stated.prices, strict=True):
            plain = np.array(fitted.cost.table(move.position, move.values[:, 0], move.values))
            plain[:, 0] = 0.0
            np.testing.assert_array_equal(prices, plain)
        for _ in range(4):
            choice = tuple(int(rng.integers(0, move.size)) for move in stated.grid.moves)
            np.testing.assert_array_equal(stated.problem.inputs(choice), fitted.read.encode(stated.after(choice)))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("n_fresh", [40, 150])  # of more than 64, equal ones are looked at once
def test_inputs_of_fresh_completions_are_those_of_each(kind: str, n_fresh: int) -> None:
    world, frame = crowd(kind, 7, n=9)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=9, n_fresh=n_fresh, max_options=7, decision="complete"
    ).fit(world.X)
    rng, fitted, seen = np.random.default_rng(0), explainer.current, 0
    for row in frame.to_dict("records"):
        posed = pose(fitted, world.schema.encode(row)[0], (), 0.75)
        if posed.fresh is None or posed.fresh.inputs is None:
            continue
        np.testing.assert_array_equal(posed.fresh.inputs, fitted.read.encode(posed.fresh.values))
        for _ in range(6):
            moves = posed.stated.grid.moves
            choice = tuple(int(rng.integers(0, move.size)) if rng.random() < 0.4 else 0 for move in moves)
            moved = judge._moved(posed.stated, choice, posed.fresh.inputs)
            if moved is not None:
                after = posed.stated.grid.apply_to_others(choice, posed.fresh.values)
                np.testing.assert_array_equal(moved, fitted.read.encode(after))
                seen += 1
    assert seen


@pytest.mark.parametrize("kind", MODELS)
def test_fresh_completions_that_are_equal_are_judged_as_each_would_be(kind: str) -> None:
    world, frame = crowd(kind, 7, n=9)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=9, n_fresh=150, max_options=7, decision="complete"
    ).fit(world.X)
    rng, fitted, seen = np.random.default_rng(0), explainer.current, 0
    for row in frame.to_dict("records"):
        codes = world.schema.encode(row)[0]
        posed = pose(fitted, codes, (), 0.75)
        if posed.fresh is None:
            continue
        drawn, looked = fitted.ready.at(codes).sample(150, rng).values, list[draw.Looked]()
        broken = draw.contradicts(fitted, posed.world, drawn, looked)
        assert fitted.schema.plausible(drawn).all()
        np.testing.assert_array_equal(broken, fitted.read.model.accepts(fitted.read.encode(drawn)))
        apart = memory.different(drawn)
        assert looked[0].inputs.shape[0] == (150 if apart is None else apart[0].size)
        for _ in range(4):
            moves = posed.stated.grid.moves
            choice = tuple(int(rng.integers(0, move.size)) if rng.random() < 0.4 else 0 for move in moves)
            guess = memory.SurrogateJudge(fitted.read, fitted.oracle)
            accepted = judge._surrogate_on_fresh(guess, posed.stated, choice, posed.fresh)
            after = posed.stated.grid.apply_to_others(choice, posed.fresh.values)
            np.testing.assert_array_equal(accepted, fitted.read.model.accepts(fitted.read.encode(after)))
            asked = 150 if posed.fresh.apart is None else posed.fresh.apart[0].size
            assert [len(rows) for rows in guess.asked] == [asked]
            seen += asked < 150
    assert seen


def all_points(*asked: Any) -> Any:
    """Every point of the whole path is judged, whatever fresh completions say to the first ones."""
    fitted, world, stated, _, fresh, _ = asked
    path = fitted.settings.solving.path(stated.problem, stated.problem.required)
    return judge._repaired(fitted, world, stated, path, fresh)


@pytest.mark.parametrize(
    ("kind", "strict"), [*((kind, False) for kind in MODELS), ("linear", True), ("boosting", True)]
)
def test_law_points_that_are_not_judged_would_not_be_chosen(
    kind: str, strict: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, frame = crowd(kind, 5, n=12)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=9, n_fresh=300, confidence=0.6, max_options=12
    ).fit(world.X)
    if strict:  # a model that refuses some of what its reading accepts
        model = Stricter(explainer.fitted_.decision, world.schema.position("amount"), 5)
        explainer.fitted_ = replace(explainer.fitted_, decision=model, oracle=model)
    rows = frame.to_dict("records")
    asked: list[int] = []
    judge_choices = judge.judge_choices
    monkeypatch.setattr(judge, "judge_choices", lambda *a, **k: asked.append(len(a[3])) or judge_choices(*a, **k))
    quick = [said(explainer.explain(row)) for row in rows]
    few = sum(asked)
    asked.clear()
    monkeypatch.setattr(judge, "_until_sure", all_points)
    assert quick == [said(explainer.explain(row)) for row in rows]
    assert few < sum(asked) if kind == "linear" and not strict else few <= sum(asked)


def test_rows_without_blanks_are_known_to_be_complete() -> None:
    schema = Schema(tuple(Feature(name, "integer", lower=0, upper=9) for name in "ab"))
    X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    whole, holed = Neighbours.of(X, schema), Neighbours.of(np.vstack([X, [np.nan, 1.0]]), schema)
    assert (whole.complete, holed.complete) == (True, False)
    assert whole.knowing(np.array([0])).tolist() == holed.knowing(np.array([0])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_a_stored_encoder_forgets_and_finds_out_again(kind: str) -> None:
    world, _ = crowd(kind, 3)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=5, n_fresh=0).fit(world.X)
    encode = explainer.fitted_.read.encode
    codes = world.schema.encode(world.X)[:20]
    inputs = encode(codes)
    again = pickle.loads(pickle.dumps(encode))
    assert encode.known  # type: ignore[attr-defined]
    assert not again.known
    np.testing.assert_array_equal(again(codes), inputs)
    np.testing.assert_array_equal(np.vstack([again(codes[i : i + 1]) for i in range(20)]), inputs)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), few=st.integers(1, 200), n=st.integers(1, 400))
def test_law_rows_asked_about_once_get_the_answers_of_all(seed: int, few: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.choice([0.0, -0.0, 1.0, 1e300, -7.25, 3e-310, np.nan], (few, 3))[rng.integers(0, few, n)]
    found, seen = memory.different(rows), list[int]()

    class LibraryDecides:
        def accepts(self, codes: np.ndarray) -> np.ndarray:
            seen.append(len(codes))
            return np.asarray(codes[:, 0] + codes[:, 1] > 0.5)

    if found is not None:
        first, which = found
        np.testing.assert_array_equal(rows[first][which], rows)
        assert np.unique(rows[first], axis=0).shape == rows[first].shape
    verdict = memory.accepted_by_all(LibraryDecides(), [rows[: n // 2], rows[n // 2 :]])
    np.testing.assert_array_equal(np.concatenate(verdict), rows[:, 0] + rows[:, 1] > 0.5)
    assert seen == [n if found is None else first.size]


def test_equal_rows_are_found_with_and_without_blanks() -> None:
    rows = np.repeat([[1.0, 2.0], [2.0, 1.0]], 50, axis=0)
    found = memory.different(rows)
    assert found is not None
    assert sorted(found[0].tolist()) == [0, 50]
    rows[[7, 8, 60]] = [[np.nan, 2.0], [np.nan, 2.0], [1.0, np.nan]]
    found = memory.different(rows)
    assert found is not None
    assert sorted(found[0].tolist()) == [0, 7, 50, 60]
    assert found[1][7] == found[1][8]
    rows[9, 0] = memory._NO_VALUE  # not taken for a blank
    assert memory.different(rows) is None
    assert memory.different(np.arange(200.0)[:, None]) is None
