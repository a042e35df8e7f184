"""What a value can be, and what data has shown, are two things: the first is refused, the second is said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from armin import ARMIN, Schema
from armin.datasets import make_loans
from armin.errors import AuditError, DataError, SchemaError
from armin.recourse.audit import check_action
from armin.sampling import as_sampler
from armin.sampling.base import SAMPLERS
from armin.schema import Feature

AGE = Feature("age", "integer", lower=20, upper=70, limits=(0, 120))


@st.composite
def limited(draw: Any) -> Feature:
    ends = sorted(draw(st.lists(st.integers(-1000, 1000), min_size=4, max_size=4, unique=True)))
    return Feature("a", "integer", lower=ends[1], upper=ends[2], limits=(ends[0], ends[3]))


@given(limited(), st.integers(-1100, 1100))
def test_a_value_is_taken_within_the_limits_and_beyond_the_bounds_it_is_known_to_be(
    feature: Feature, value: int
) -> None:
    least, most = feature.limits or (math.nan, math.nan)
    if least <= value <= most:
        assert feature.code(value) == value
        assert feature.codes(pd.Series([value]))[0] == value
        assert feature.is_beyond(value) == (not feature.lower <= value <= feature.upper)
    else:
        with pytest.raises(DataError, match=rf"'a' must be in \[{least}, {most}\].*Got {value} .*update\(limits="):
            feature.code(value)
    clipped = feature.codes(pd.Series([value]), clip=True)[0]
    assert not feature.is_beyond(clipped)


@given(limited())
def test_limits_survive_a_file(feature: Feature) -> None:
    schema = Schema((feature,))
    assert Schema.from_toml(schema.to_toml()) == schema


@pytest.mark.filterwarnings("ignore:'a' is the same in every row")
@given(st.lists(st.integers(-500, 500), min_size=2, max_size=30))
def test_guessed_limits_hold_what_was_seen_and_keep_its_sign(values: list[int]) -> None:
    feature = Schema.infer(pd.DataFrame({"a": values}), kinds={"a": "integer"})["a"]
    assert feature.least_code <= min(values)
    assert max(values) <= feature.most_code
    assert feature.least_code >= 0 or min(values) < 0
    assert feature.most_code - feature.least_code <= 3 * (max(values) - min(values))


def test_bounds_that_are_said_are_limits_unless_limits_are_said_too() -> None:
    frame = pd.DataFrame({"a": [20, 70], "b": [20, 70]})
    schema = Schema.infer(frame, bounds={"a": (18, 75), "b": (18, 75)}, limits={"b": (0, 110)})
    assert [schema[name].limits for name in ("a", "b")] == [None, (0, 110)]
    assert Schema.infer(frame).update(bounds={"a": (0, 80)})["a"].limits is None
    assert Schema.infer(frame).widened(pd.DataFrame({"a": [500], "b": [20]}))["a"].limits == (0, 500)


@pytest.mark.parametrize("limits", [(30, 120), (0, 60), (0, math.inf), (0,), (0.5, 120)])
def test_limits_that_contradict_the_bounds_are_refused(limits: tuple[float, ...]) -> None:
    with pytest.raises(SchemaError, match=r"limits of 'age'|'age' is integer, so its limits"):
        Feature("age", "integer", lower=20, upper=70, limits=limits)  # type: ignore[arg-type]  # on purpose


def test_a_file_with_half_a_limit_is_refused() -> None:
    text = 'armin_schema = 1\n[features.a]\nkind = "integer"\nbounds = [0, 9]\nlimits = [0]\n'
    with pytest.raises(SchemaError, match=r"\[features.a\] limits must be \[lower, upper\]"):
        Schema.from_toml(text)


@pytest.mark.parametrize("name", [name for name in SAMPLERS.known if name != "custom"])
def test_every_sampler_keeps_a_value_that_it_has_not_seen(name: str) -> None:
    rng = np.random.default_rng(0)
    schema = Schema((AGE, Feature("pay", "integer", lower=0, upper=99), Feature("car", "binary", categories=(0, 1))))
    X = np.column_stack([rng.integers(20, 71, 200), rng.integers(0, 100, 200), rng.integers(0, 2, 200)]).astype(float)
    try:
        sampler = as_sampler(name).fit(X, schema)
    except Exception as error:  # some need more than this table holds
        pytest.skip(f"{name}: {error}")
    drawn = sampler.sample(np.array([95.0, np.nan, np.nan]), 20, np.random.default_rng(1)).values
    assert (drawn[:, 0] == 95).all()
    assert ((drawn[:, 1] >= 0) & (drawn[:, 1] <= 99)).all()


@pytest.mark.parametrize("blank", [None, 30_000])
def test_an_old_applicant_gets_a_plan_and_a_word_of_care(blank: int | None) -> None:
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    row = {**loans.person, "Age": 80, "Income": blank}
    found = explainer.explain(row)
    assert found.changes
    assert [note.code for note in found.notes] == ["notes.beyond"]
    assert "nobody with Age: 80" in str(found.notes[0])
    assert "It knows 20 to 70" in str(found.notes[0])
    assert "niemanden" in found.text("de")
    # the model itself says that the plan works
    if blank is not None:
        after = row | {change.feature.name: change.after for change in found.changes}
        assert loans.classifier.predict(pd.DataFrame([after]))[0] == "approved"
    assert explainer.reasons(row).weights
    assert explainer.what_if(row, {"Income": 90_000}).now.share > 0
    assert not explainer.explain({**row, "Age": 70}).notes
    # nobody is led to where nobody has been
    many = {**row, "ExistingLoans": 9}
    for change in explainer.explain(many).changes:
        assert change.feature.low_code <= change.feature.code(change.after) <= change.feature.high_code


def test_advice_beyond_what_was_seen_is_refused_by_the_last_check() -> None:
    schema = Schema((AGE,))
    before, after = np.array([[30.0]]), np.array([[80.0]])
    with pytest.raises(AuditError, match=r"only seen in \[20, 70\], but the action moves it to 80"):
        check_action(schema, before[0], before, after, max_changes=None)
