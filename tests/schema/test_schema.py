"""Schemas: what is guessed, what is refused and how, and that rows survive the way in and out."""

from __future__ import annotations

import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.errors import DataError, SchemaError
from armin.schema import Feature, Schema, is_blank
from armin.schema.cast import decode_column
from armin.schema.values import plain_number

LAW = settings(deadline=None, max_examples=60)

LEVELS = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
COLUMNS: dict[str, tuple[Any, str, Any]] = {
    # name: (column, kind, bounds or categories)
    "int64": ([3, 1, 2], "integer", (1, 3)),
    "uint8": (np.array([3, 200, 2], dtype="uint8"), "integer", (2, 200)),
    "float64": ([1.5, 2.0, np.nan], "continuous", (1.5, 2.0)),
    "float32": (np.array([0.1, 0.7, np.nan], dtype="float32"), "continuous", (np.float32(0.1), np.float32(0.7))),
    "whole float": ([1.0, 2.0, np.nan], "integer", (1, 2)),
    "zero or one": ([0, 1, 1], "binary", (0, 1)),
    "zero or one with blanks": ([0.0, 1.0, np.nan], "binary", (0, 1)),
    "bool": ([True, False, True], "binary", (False, True)),
    "boolean": (pd.array([True, None, False], dtype="boolean"), "binary", (False, True)),
    "object bool": (pd.Series([True, None, False], dtype=object), "binary", (False, True)),
    "Int64": (pd.array([1, None, 5], dtype="Int64"), "integer", (1, 5)),
    "Int64 zero or one": (pd.array([0, None, 1], dtype="Int64"), "binary", (0, 1)),
    "Float64": (pd.array([1.5, None, 5], dtype="Float64"), "continuous", (1.5, 5)),
    "object numbers": (pd.Series([1, None, 2.5], dtype=object), "continuous", (1, 2.5)),
    "decimals": (pd.Series([Decimal(1), Decimal("NaN"), Decimal("2.5")], dtype=object), "continuous", (1, 2.5)),
    "string": (pd.array(["b", None, "a"], dtype="string"), "binary", ("a", "b")),
    "str": (["b", "c", "a"], "categorical", ("a", "b", "c")),
    "str with empty": (["b", "", "  ", "a"], "binary", ("a", "b")),
    "object texts": (pd.Series(["b", None, "a", np.nan, "c"], dtype=object), "categorical", ("a", "b", "c")),
    "object mixed": (pd.Series([1, "a", "b"], dtype=object), "categorical", (1, "a", "b")),
    "category": (pd.Categorical(["b", None, "a"], categories=["b", "a", "z"]), "categorical", ("b", "a", "z")),
    "category of two": (pd.Categorical(["b", "a"]), "binary", ("a", "b")),
    "category with a blank one": (pd.Categorical(["", "a", "b"]), "binary", ("a", "b")),
    "category of ints": (pd.Categorical([3, None, 1]), "binary", (1, 3)),
    "category of floats": (pd.Categorical([3.0, None, 1.0, 2.0]), "categorical", (1, 2, 3)),
    "category of bools": (pd.Categorical([True, None, False]), "binary", (False, True)),
    "ordered": (pd.Categorical(["low", "high", None], dtype=LEVELS), "ordinal", ("low", "mid", "high")),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_kind_and_domain_are_guessed_for_every_dtype(name: str) -> None:
    column, kind, domain = COLUMNS[name]
    feature = Schema.infer(pd.DataFrame({"c": column}))["c"]
    assert feature.kind == kind
    assert (feature.lower, feature.upper) == domain if feature.is_number else feature.categories == domain
    assert all(type(value) in (str, int, float, bool) for value in feature.categories)


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("clip", [False, True])
def test_a_column_survives_encode_and_decode_in_its_own_dtype(name: str, clip: bool) -> None:
    frame = pd.DataFrame({"c": COLUMNS[name][0]})
    schema = Schema.infer(frame)
    codes = schema.encode(frame, clip=clip)
    assert np.isnan(codes[:, 0]).tolist() == [is_blank(v) for v in frame["c"].tolist()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = schema.decode(codes, like=frame)
        plain = schema.decode(codes)
        empty = schema.decode(codes, like=frame.iloc[:0])
    assert back["c"].dtype == frame["c"].dtype
    assert empty["c"].dtype == frame["c"].dtype
    for before, after in zip(frame["c"].tolist(), back["c"].tolist(), strict=True):
        assert (is_blank(before) and is_blank(after)) or before == after
    np.testing.assert_array_equal(schema.encode(back), codes)
    np.testing.assert_array_equal(schema.encode(plain), codes)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(0, 1))
@settings(max_examples=60, deadline=None)
def test_law_a_table_is_made_of_its_columns(seed: int, n: int, blank: float) -> None:
    """All columns of a type are made at once, and each is what it is alone: values and types."""
    rng, columns = np.random.default_rng(seed), {}
    for name, (column, _, _) in COLUMNS.items():
        values = pd.Series(column)
        columns[name] = values.iloc[np.arange(6) % len(values)].reset_index(drop=True)
    frame = pd.DataFrame(columns)
    schema = Schema.infer(frame)
    codes = schema.encode(frame)[rng.integers(0, 6, n)]
    codes[rng.random(codes.shape) < blank * rng.random()] = np.nan
    whole = [i for i, feature in enumerate(schema) if feature.is_number]
    codes[:, rng.choice(whole, 3)] += rng.choice([0.0, 0.5, 300.0, 2.0**40], 3)  # what some types do not hold
    dtypes = frame.dtypes.to_dict()
    each = {f.name: decode_column(f, codes[:, i], dtypes[f.name]) for i, f in enumerate(schema)}
    for like in (frame, dtypes):
        pd.testing.assert_frame_equal(schema.decode(codes, like=like), pd.DataFrame(each))


@pytest.mark.parametrize(
    ("codes", "dtype", "kind", "expected"),
    [
        ([1.5, 2.0], "int64", "continuous", [1.5, 2.0]),
        ([1.5, 2.0], "Int64", "continuous", [1.5, 2.0]),
        ([-1.0, 300.0], "uint8", "integer", [-1, 300]),
        ([1.0, np.nan], "int64", "integer", [1.0, None]),
        ([0.0, 7.0], "bool", "integer", [0, 7]),
        ([3.0, 4.0], "string", "integer", ["3", "4"]),
        ([3.0, np.nan], "object", "integer", [3, None]),
        ([3.0, 9.0], pd.CategoricalDtype([1, 3]), "integer", [3, 9]),
    ],
)
def test_a_dtype_that_cannot_hold_a_value_does_not_bend_it(codes: Any, dtype: Any, kind: Any, expected: Any) -> None:
    schema = Schema((Feature("c", kind, lower=-10, upper=1000),))
    like = pd.DataFrame({"c": pd.Series([], dtype=dtype)})
    found = [None if is_blank(v) else v for v in schema.decode(np.array([codes]).T, like=like)["c"].tolist()]
    assert found == expected


def test_a_category_the_training_type_lacks_is_added_not_blanked() -> None:
    schema = Schema((Feature("c", "categorical", categories=("a", "b", "new")),))
    like = pd.DataFrame({"c": pd.Categorical(["a", "b"])})
    found = schema.decode(np.array([[2.0], [np.nan], [0.0]]), like=like)["c"]
    assert found.tolist()[::2] == ["new", "a"]
    assert found.cat.categories.tolist() == ["a", "b", "new"]
    assert found.cat.codes.tolist() == [2, -1, 0]


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "age": [20, 30, 45],
            "income": [1234567.5, 2000000.25, 3000000.0],
            "purpose": ["car", "home", "boat"],
            "owns": [True, False, True],
            "level": pd.Categorical(["low", "high", "low"], dtype=LEVELS),
        }
    )


@pytest.fixture(scope="module")
def schema(people: pd.DataFrame) -> Schema:
    return Schema.infer(people, protected=["age"])


def test_rows_of_every_form_mean_the_same(schema: Schema) -> None:
    row = {"age": 25, "income": None, "purpose": "", "owns": pd.NA, "level": "mid"}
    values = list(row.values())
    expected = np.array([[25, np.nan, np.nan, np.nan, 1]])
    back_to_front = dict(reversed(row.items()))
    forms = [
        row,
        back_to_front,
        pd.Series(row),
        pd.Series(back_to_front),
        pd.DataFrame([row]),
        pd.DataFrame([back_to_front]),
        values,
        tuple(values),
        [values],
        np.array(values, dtype=object),
        np.array([values], dtype=object),
    ]
    for form in forms:
        np.testing.assert_array_equal(schema.encode(form), expected)  # type: ignore[arg-type]
    np.testing.assert_array_equal(schema.encode([values, values]), np.repeat(expected, 2, axis=0))


def test_a_float_array_and_texts_that_are_numbers_are_rows() -> None:
    schema = Schema.infer(np.array([[1.0, 0.5], [3.0, 0.7]]))
    assert schema.names == ["x0", "x1"]
    np.testing.assert_array_equal(schema.encode(np.array([2.0, np.nan])), [[2, np.nan]])
    np.testing.assert_array_equal(schema.encode(["2", "0.6"]), [[2, 0.6]])
    np.testing.assert_array_equal(schema.encode(np.array([["2", ""]])), [[2, np.nan]])


def test_columns_that_are_not_named_by_texts_work_throughout() -> None:
    frame = pd.DataFrame([[1, 0.5], [3, 0.7]])
    schema = Schema.infer(frame)
    np.testing.assert_array_equal(schema.encode(frame), frame)
    np.testing.assert_array_equal(schema.decode(schema.encode(frame), like=schema.frame(frame)), frame)
    np.testing.assert_array_equal(schema.encode(frame.iloc[0]), frame.iloc[:1])


ROW = {"age": 25, "income": None, "purpose": "car", "owns": True, "level": "mid"}
BAD_ROWS: dict[str, tuple[Any, list[str]]] = {
    "unknown column": ({**ROW, "zip": 1}, ["'zip'", "Unknown column", "age, income", "drop(columns"]),
    "column missing altogether": (
        {k: v for k, v in ROW.items() if k != "owns"},
        ["'owns'", "missing altogether", "blank"],
    ),
    "unknown category": (
        {**ROW, "purpose": "plane"},
        ["'purpose'", "'boat', 'car', 'home'", "'plane'", "add the category"],
    ),
    "number for a category": ({**ROW, "purpose": 3}, ["'purpose'", "one of", "Got 3"]),
    "unknown level": ({**ROW, "level": "top"}, ["'level'", "'low', 'mid', 'high'", "'top'"]),
    "a third boolean": ({**ROW, "owns": 2}, ["'owns'", "False, True", "Got 2"]),
    "too small": ({**ROW, "age": -1}, ["'age'", "[0, 70]", "Got -1", "schema.update(limits={'age'"]),
    "too large": ({**ROW, "income": 5e6}, ["'income'", "[0, 4765432.5]", "5000000.0", "widen"]),
    "not whole": ({**ROW, "age": 25.5}, ["'age'", "whole number", "25.5", "continuous"]),
    "text for a number": ({**ROW, "age": "old"}, ["'age'", "a number", "'old'"]),
    "date for a number": ({**ROW, "age": pd.Timestamp("2020")}, ["'age'", "a number", "Timestamp"]),
    "infinite": ({**ROW, "income": -np.inf}, ["'income'", "finite", "-inf"]),
    "infinite text": ({**ROW, "income": "inf"}, ["'income'", "finite", "'inf'"]),
    "list in a dict": ({**ROW, "age": [25]}, ["'age'", "one value per column", "list"]),
    "tuple in a frame": (
        pd.DataFrame([{**ROW, "purpose": ("car", ["home"])}]),
        ["'purpose'", "one of", "('car', ['home'])"],
    ),
    "too few values": ([1, 2], ["5 values", "age, income", "(1, 2)"]),
    "a text": ("abc", ["5 values", "str"]),
    "nothing": (None, ["5 values", "NoneType"]),
    "a column twice": (pd.DataFrame([[1, *ROW.values()]], columns=["age", *ROW]), ["'age'", "twice"]),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_are_refused_with_column_rule_value_and_next_step(name: str, schema: Schema) -> None:
    row, words = BAD_ROWS[name]
    with pytest.raises(DataError) as refusal:
        schema.encode(row)
    for word in words:
        assert word in str(refusal.value)


@pytest.mark.parametrize("value", ["x", np.inf, "-inf", 20.5])
@pytest.mark.parametrize("dtype", [object, None])
def test_clipping_forgives_bounds_and_nothing_else(
    schema: Schema, people: pd.DataFrame, value: Any, dtype: Any
) -> None:
    frame = people.assign(age=pd.Series([99, 1, 30], dtype=dtype))
    assert schema.encode(frame, clip=True)[:, 0].tolist() == [45, 20, 30]
    with pytest.raises(DataError, match="'age'"):
        schema.encode(people.assign(age=pd.Series([value, 25, 30], dtype=dtype)), clip=True)
    with pytest.raises(DataError, match=r"'age'.*\[0, 70\].*99"):
        schema.encode(frame)


def one(column: Any) -> pd.DataFrame:
    return pd.DataFrame({"c": column})


TWO = pd.DataFrame({"c": [1, 2, 5], "d": [1, 2, 5]})
BAD_COLUMNS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "constant and free": (one([7, 7]), {"mutable": ["c"]}, ["'c'", "lower < upper", "immutable"]),
    "one text and free": (one(["a", "a"]), {"mutable": ["c"]}, ["'c'", "at least two categories"]),
    "all blank": (one([None, np.nan]), {"kinds": {"c": "integer"}}, ["'c'", "no value at all", "bounds=", "carried="]),
    "all empty texts": (one(["", " "]), {"kinds": {"c": "binary"}}, ["'c'", "no value", "categories=", "carried="]),
    "infinite": (one([1, np.inf]), {}, ["'c'", "infinite", "blank"]),
    "infinite object": (one(pd.Series([1, -np.inf], dtype=object)), {}, ["'c'", "infinite"]),
    "infinite category": (one([1.5, np.inf]), {"kinds": {"c": "categorical"}}, ["'c'", "finite", "inf"]),
    "dates": (one(pd.date_range("2020", periods=3)), {"mutable": ["c"]}, ["'c'", "Timestamp", "carried=['c']"]),
    "intervals": (one(pd.cut([1, 2, 3], 2)), {"mutable": ["c"]}, ["'c'", "Interval", "into a text"]),
    "complex": (one([1j, 2]), {"kinds": {"c": "continuous"}}, ["'c'", "1j"]),
    "lists": (one(pd.Series([[1], [2]], dtype=object)), {"kinds": {"c": "binary"}}, ["'c'", "[1]", "list"]),
    "carried and up": (TWO, {"carried": ["c"], "increase_only": ["c"]}, ["'c'", "increase_only and carried"]),
    "protected and free": (TWO, {"protected": ["c"], "mutable": ["c"]}, ["'c'", "protected and mutable"]),
    "two columns of one name": (pd.DataFrame([[1, 2], [3, 4]], columns=["c", "c"]), {}, ["'c'", "twice"]),
    "no rows": (one([]), {}, ["at least one row"]),
    "no columns": (pd.DataFrame(index=[0]), {}, ["at least one column"]),
    "a series": (pd.Series([1, 2]), {}, ["DataFrame", "Series"]),
    "a vector": (np.array([1, 2]), {}, ["two dimensions", "(2,)"]),
    "text instead of list": (TWO, {"immutable": "c"}, ["'immutable'", "list", "'c'", "['c']"]),
    "text instead of list (mutable)": (TWO, {"mutable": "c"}, ["'mutable'", "list", "['c']"]),
    "list instead of dict": (TWO, {"bounds": ["c"]}, ["'bounds'", "dict", "['c']"]),
    "unknown name": (TWO, {"increase_only": ["x"]}, ["'increase_only'", "'x'", "c, d"]),
    "unknown name in a dict": (TWO, {"units": {"x": "$"}}, ["'units'", "'x'", "c, d"]),
    "up and down": (TWO, {"increase_only": ["c"], "decrease_only": ["c"]}, ["'c'", "increase_only and decrease_only"]),
    "fixed and up": (TWO, {"immutable": ["c"], "increase_only": ["c"]}, ["'c'", "immutable and increase_only"]),
    "fixed and free": (TWO, {"immutable": ["c"], "mutable": ["c"]}, ["'c'", "immutable and mutable"]),
    "up but not mutable": (
        TWO,
        {"increase_only": ["c"], "mutable": ["d"]},
        ["'c'", "increase_only", "Add it to mutable"],
    ),
    "direction without order": (one(["a", "b", "x"]), {"increase_only": ["c"]}, ["'c'", "no order", "ordinal"]),
    "unknown kind": (one(range(500)), {"kinds": {"c": "number"}}, ["'c'", "continuous, integer", "'number'"]),
    "number kind of texts": (one(["1", "x"]), {"kinds": {"c": "integer"}}, ["'c'", "integer", "'x'"]),
    "whole kind of fractions": (one([1.5, 2]), {"kinds": {"c": "integer"}}, ["'c'", "whole", "1.5"]),
    "order of texts not said": (one(["a", "b"]), {"kinds": {"c": "ordinal"}}, ["'c'", "order", "categories={'c'"]),
    "binary of three": (one(["a", "b", "x"]), {"kinds": {"c": "binary"}}, ["'c'", "exactly two", "'a', 'b', 'x'"]),
    "categories as a text": (TWO, {"categories": {"c": "abc"}}, ["'c'", "list", "'abc'"]),
    "the same category twice": (TWO, {"categories": {"c": [1, 1.0]}}, ["'c'", "different", "1"]),
    "a blank category": (TWO, {"categories": {"c": ["a", ""]}}, ["'c'", "not blank", "''"]),
    "a list as a category": (TWO, {"categories": {"c": ["a", []]}}, ["'c'", "texts", "[]"]),
    "bounds of a category": (one(["a", "b"]), {"bounds": {"c": (0, 1)}}, ["'c'", "categories, not bounds"]),
    "step of a category": (one(["a", "b"]), {"step": {"c": 1}}, ["'c'", "categories, not bounds, limits or a step"]),
    "three bounds": (TWO, {"bounds": {"c": (0, 1, 2)}}, ["'c'", "pair", "(0, 1, 2)"]),
    "one bound": (TWO, {"bounds": {"c": 5}}, ["'c'", "pair", "5"]),
    "open bounds": (TWO, {"bounds": {"c": (0, None)}}, ["'c'", "pair", "(0, None)"]),
    "infinite bounds": (TWO, {"bounds": {"c": (0, np.inf)}}, ["'c'", "finite numbers", "inf"]),
    "bounds the wrong way round": (TWO, {"bounds": {"c": (2, 1)}}, ["'c'", "lower < upper", "[2, 1]"]),
    "negative step": (TWO, {"step": {"c": -1}}, ["'c'", "positive", "-1"]),
    "step beyond the bounds": (TWO, {"step": {"c": 5}}, ["'c'", "step", "fit between", "[1, 5]", "Got 5"]),
    "step as a text": (TWO, {"step": {"c": "1"}}, ["'c'", "positive number", "'1'"]),
    "negative difficulty": (TWO, {"difficulty": {"c": -1}}, ["'c'", "at least 0", "-1"]),
    "infinite difficulty": (TWO, {"difficulty": {"c": np.inf}}, ["'c'", "at least 0", "inf"]),
    "difficulty as a text": (TWO, {"difficulty": {"c": "hard"}}, ["'c'", "at least 0", "'hard'"]),
    "unknown blank mode": (TWO, {"blanks": {"c": "fill"}}, ["'c'", "shift, reach, freeze", "'fill'"]),
    "shift without order": (
        one(["a", "b", "x"]),
        {"blanks": {"c": "shift"}},
        ["'c'", "no order", "'reach' or 'freeze'"],
    ),
    "broken format": (TWO, {"formats": {"c": "{:,.0f"}}, ["'c'", "format", "'{:,.0f'"]),
    "number format for texts": (one(["a", "b"]), {"formats": {"c": "{:,.0f}"}}, ["'c'", "format", "'a'"]),
    "label not a text": (TWO, {"labels": {"c": 5}}, ["'c'", "label", "5"]),
}


@pytest.mark.parametrize("name", BAD_COLUMNS)
def test_bad_columns_are_refused_with_column_rule_and_value(name: str) -> None:
    frame, overrides, words = BAD_COLUMNS[name]
    with pytest.raises((SchemaError, DataError)) as refusal:
        Schema.infer(frame, **overrides)
    for word in words:
        assert word in str(refusal.value)


def test_what_the_user_says_wins() -> None:
    frame = pd.DataFrame(
        {"grade": [1, 2, 3], "rate": [0, 1, 1], "city": ["x", "y", "z"], "note": [None] * 3, "same": [4, 4, 4]}
    )
    schema = Schema.infer(
        frame,
        kinds={"grade": "ordinal"},
        categories={"city": ["y", "x", "z"], "note": ["n", "m", "o"]},
        bounds={"rate": (0, 5)},
        step={"rate": 0.5},
        immutable=["same"],
        increase_only=["grade"],
        decrease_only=["rate"],
        blanks={"rate": "reach"},
        labels={"rate": "Interest"},
        units={"rate": "%"},
        formats={"city": "<{}>"},
        difficulty={"city": 3},
    )
    assert [f.kind for f in schema] == ["ordinal", "continuous", "categorical", "categorical", "integer"]
    assert [f.direction for f in schema] == ["increase", "decrease", "any", "any", "fixed"]
    assert schema["grade"].categories == (1, 2, 3)
    assert schema["city"].categories == ("y", "x", "z")
    assert (schema["rate"].lower, schema["rate"].upper, schema["rate"].step) == (0, 5, 0.5)
    assert (schema["rate"].title, schema["rate"].show(2.5), schema["rate"].blank_mode) == ("Interest", "2.5 %", "reach")
    assert schema["city"].show("x") == "<x>"
    assert [f.blank_mode for f in schema] == ["reach", "reach", "reach", "reach", "freeze"]
    assert schema["city"].difficulty == 3
    assert schema.actionable == [0, 1, 2, 3]
    assert Schema.infer(frame[["grade", "rate", "same"]], mutable=["grade"]).actionable == [0]


def test_update_changes_only_what_it_says() -> None:
    schema = Schema.infer(TWO, increase_only=["c"], units={"c": "$"})
    assert schema.update() == schema
    assert schema.update(mutable=["c"])["c"].direction == "increase"
    assert schema.update(mutable=["c"])["d"].direction == "fixed"
    assert schema.update(immutable=["c"]).update(mutable=["c", "d"])["c"].direction == "any"
    assert schema.update(decrease_only=["c"])["c"].direction == "decrease"
    assert schema.update(bounds={"c": (0, 9)})["c"] == Feature(
        "c", "integer", lower=0, upper=9, direction="increase", unit="$"
    )
    for wrong in ({"mutable": "c"}, {"immutable": ["x"]}, {"bounds": {"c": (1,)}}, {"step": {"c": 0.5}}):
        with pytest.raises(SchemaError, match=r"'[cx]'"):
            schema.update(**wrong)  # type: ignore[arg-type]


def test_widened_includes_the_rows_and_refuses_what_it_cannot_place(schema: Schema, people: pd.DataFrame) -> None:
    wide = schema.widened(people.assign(age=[1, None, 99], purpose=["plane", "", "car"]))
    assert (wide["age"].lower, wide["age"].upper) == (1, 99)
    assert wide["purpose"].categories == ("boat", "car", "home", "plane")
    assert wide["income"] == schema["income"]
    assert schema.widened(dict.fromkeys(schema.names)) == schema
    assert schema.widened({**ROW, "age": "46"})["age"].upper == 46
    for column, value, rule in (
        ("age", "old", "whole numbers"),
        ("age", 1.5, "whole numbers"),
        ("income", np.inf, "finite numbers"),
        ("level", "top", "say where 'top' belongs"),
        ("owns", 2, "say where 2 belongs"),
    ):
        with pytest.raises((DataError, SchemaError), match=f"'{column}'.*{rule}"):
            schema.widened({**ROW, column: value})


def test_a_schema_prints_as_a_table_that_a_person_can_check() -> None:
    schema = Schema(
        (
            Feature("income", "integer", lower=0, upper=250_000, unit="$", step=500),
            Feature("two\nlines", "continuous", lower=-0.5, upper=0.25, direction="increase", blank="reach"),
            Feature("level", "ordinal", categories=("low", "mid", "high"), direction="fixed"),
        )
    )
    assert str(schema).splitlines() == [
        "feature    kind        values          may change  step  if blank",
        "income     integer     0 … 250,000 $   any         500   reach",
        "two lines  continuous  -0.5 … 0.25     up only     auto  reach",
        "level      ordinal     low, mid, high  no          -     freeze",
    ]


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = texts.filter(lambda text: not is_blank(text))
numbers = st.floats(-1e12, 1e12, allow_subnormal=False) | st.integers(-(10**9), 10**9).map(float)
category_lists = st.lists(words, min_size=2, max_size=5, unique=True) | st.lists(
    st.integers(-(10**6), 10**6) | st.floats(-1e6, 1e6), min_size=2, max_size=5, unique=True
)


@st.composite
def features(draw: st.DrawFn, name: str) -> Feature:
    kind = draw(st.sampled_from(["continuous", "integer", "binary", "categorical", "ordinal"]))
    ordered = kind != "categorical"
    common: dict[str, Any] = {
        "direction": draw(st.sampled_from(["any", "increase", "decrease", "fixed"] if ordered else ["any", "fixed"])),
        "blank": draw(st.sampled_from([None, "shift", "reach", "freeze"] if ordered else [None, "reach", "freeze"])),
        "label": draw(texts),
        "unit": draw(texts),
        "format": draw(st.sampled_from(["", "{}", "<{}> km", '{}"\\n\n'])),
        "difficulty": draw(st.floats(0, 1e6)),
    }
    if kind in ("continuous", "integer"):
        limit = st.integers(-(10**9), 10**9).map(float) if kind == "integer" else numbers
        low, high = sorted(draw(st.lists(limit, min_size=2, max_size=2, unique=True)))
        steps = st.integers(1, int(high - low)) if kind == "integer" else st.floats(1e-12, high - low)
        step = draw(st.none() | steps) if high - low > 1e-12 else None
        return Feature(name, kind, lower=low, upper=high, step=step, **common)  # type: ignore[arg-type]
    values = draw(category_lists)
    if kind == "binary":
        values = draw(st.just([False, True]) | st.just(values[:2]))
    return Feature(name, kind, categories=tuple(values), **common)  # type: ignore[arg-type]


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    nasty = st.sampled_from(['a"b', "a.b", "ä\n", "-", "'", "\x7f", "#", "]"])
    names = draw(st.lists(texts | nasty, min_size=1, max_size=4, unique=True))
    return Schema(tuple(draw(features(name)) for name in names))


@LAW
@given(schemas())
def test_toml_round_trip(schema: Schema) -> None:
    text = schema.to_toml()
    back = Schema.from_toml(text)
    assert back == schema
    for before, after in zip(schema, back, strict=True):
        assert [type(c) for c in after.categories] == [type(c) for c in before.categories]
    assert back.to_toml() == text


def test_toml_file_round_trip(tmp_path: Path, schema: Schema) -> None:
    path = tmp_path / "schema.toml"
    text = schema.to_toml(path)
    assert path.read_text(encoding="utf-8") == text
    assert Schema.from_toml(path) == schema
    assert Schema.from_toml(str(path)) == schema
    assert '[features.age]\nkind = "integer"\nbounds = [20, 45]\n' in text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nowhere.toml", ["no schema file", "nowhere.toml", "to_toml"]),
        ("a = \n", ["not valid TOML"]),
        ("a = 1\n", ["armin_schema = 1", "None"]),
        ("armin_schema = 2\n", ["armin_schema = 1", "2"]),
        ("armin_schema = 1\n", ["[features.NAME]"]),
        ("armin_schema = 1\n[features]\na = 1\n", ["[features.a]", "table", "1"]),
        ("armin_schema = 1\n[features.a]\nstep = 1\n", ["[features.a]", "kind"]),
        ("armin_schema = 1\n[features.a]\nkind = 'integer'\nbound = [0, 1]\n", ["[features.a]", "'bound'", "bounds"]),
        ("armin_schema = 1\n[features.a]\nkind = 'integer'\nbounds = [0]\n", ["[features.a]", "[lower, upper]", "[0]"]),
        ("armin_schema = 1\n[features.a]\nkind = 'integer'\nbounds = 3\n", ["[features.a]", "[lower, upper]", "3"]),
        ("armin_schema = 1\n[features.a]\nkind = 'integer'\nbounds = ['x', 1]\n", ["[features.a]", "number", "'x'"]),
        ("armin_schema = 1\n[features.a]\nkind = 'binary'\ncategories = 'ab'\n", ["[features.a]", "list", "'ab'"]),
        ("armin_schema = 1\n[features.a]\nkind = 'integer'\nbounds = [0, 1]\nstep = 'x'\n", ["step", "number", "'x'"]),
        ("armin_schema = 1\n[features.a]\nkind = 'integer'\nbounds = [1, 0]\n", ["'a'", "lower < upper"]),
    ],
)  # fmt: skip
def test_bad_schema_files_are_refused(text: str, words: list[str]) -> None:
    with pytest.raises(SchemaError) as refusal:
        Schema.from_toml(text)
    for word in words:
        assert word in str(refusal.value)


@LAW
@given(schemas(), st.data())
def test_codes_round_trip_through_values(schema: Schema, data: st.DataObject) -> None:
    rows = []
    for feature in schema:
        low, high = feature.low_code, feature.high_code
        code = st.floats(low, high) if feature.kind == "continuous" else st.integers(int(low), int(high)).map(float)
        rows.append(data.draw(st.lists(code | st.just(np.nan), min_size=3, max_size=3)))
    codes = np.array(rows).T
    frame = schema.decode(codes)
    np.testing.assert_array_equal(schema.encode(frame), codes)
    for feature, column in zip(schema, codes.T, strict=True):
        for code, shown in zip(column, frame[feature.name].tolist(), strict=True):
            value = feature.value(code)
            assert (value is None and np.isnan(code)) or feature.code(value) == code
            assert (value is None and is_blank(shown)) or value == shown
            assert isinstance(feature.show(value), str)
    assert schema.widened(frame) == schema


@LAW
@given(st.floats(-1e9, 1e9, allow_subnormal=False))
def test_numbers_are_shown_unaltered_up_to_rounding_dirt(number: float) -> None:
    shown = float(plain_number(number).replace(",", ""))
    assert shown == pytest.approx(number, rel=1e-5)
    cents = round(number, 2)
    assert float(plain_number(cents).replace(",", "")) == cents or abs(cents) > 1e8
    assert plain_number(number) != "-0"


@pytest.mark.parametrize(
    ("feature", "value", "shown", "amount"),
    [
        (Feature("a", "integer", lower=0, upper=9, unit="$"), 34500, "$34,500", "$34,500"),
        (Feature("a", "continuous", lower=0, upper=9, unit="€"), -0.5, "-€0.5", "€0.5"),
        (Feature("a", "continuous", lower=0, upper=9, unit="km"), 34371.23, "34,371.23 km", "34,371.23 km"),
        (Feature("a", "continuous", lower=0, upper=9), float(np.float32(0.1)), "0.1", "0.1"),
        (Feature("a", "continuous", lower=0, upper=9, step=0.5), 2.0, "2.0", "2.0"),
        (Feature("a", "integer", lower=0, upper=9, format="{:d} kg"), 5, "5 kg", "5 kg"),
        (Feature("a", "continuous", lower=0, upper=1, format="{:.0%}"), 0.25, "25%", "25%"),
        (Feature("a", "ordinal", categories=("x", "y", "z"), format="<{}>"), "y", "<y>", None),
        (Feature("a", "binary", categories=(False, True)), True, "True", None),
        (Feature("a", "integer", lower=0, upper=9), None, "not given", None),
    ],
)
def test_values_and_amounts_in_words(feature: Feature, value: Any, shown: str, amount: str | None) -> None:
    assert feature.show(value) == shown
    if amount is not None:
        assert feature.show_amount(-float(value)) == amount


def test_amounts_of_an_order_are_levels() -> None:
    level = Feature("a", "ordinal", categories=("x", "y", "z"))
    assert (level.show_amount(1.0), level.show_amount(-2.0)) == ("1 level", "2 levels")


def test_numpy_values_become_plain_ones() -> None:
    feature = Feature("a", "categorical", categories=(np.int64(1), np.str_("b"), np.float64(0.5)))  # type: ignore[arg-type]
    assert [type(c) for c in feature.categories] == [int, str, float]
    assert feature.code(np.int32(1)) == 0
    assert feature.code("1") == 0  # a form sends texts


def test_schema_looks_up_by_name_and_place(schema: Schema) -> None:
    assert schema["age"] is schema[0]
    assert schema.position("owns") == 3
    assert len(schema) == 5
    assert [f.name for f in schema] == schema.names
    with pytest.raises(SchemaError, match=r"'zip' is not a column.*age, income"):
        schema["zip"]
    with pytest.raises(SchemaError, match="'a' occur"):
        Schema((Feature("a", "integer", lower=0, upper=1), Feature("a", "integer", lower=0, upper=1)))
