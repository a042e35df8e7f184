"""What tables say twice is found, said, and kept; what they do not say is not made up."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from armin import Schema
from armin.schema import Derived, OneOf, Order, SchemaNote
from armin.schema.dependencies import find_dependencies
from armin.schema.guess import is_past, is_protected


def planted(seed: int, n: int = 400) -> tuple[pd.DataFrame, list[object]]:
    """A table in random order, and what was planted in it."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({name: rng.integers(2, 90, n) * 100 for name in ("income", "debt", "limit")})
    table["saved"] = np.where(rng.random(n) < 0.3, 0, rng.integers(1, 500, n))
    table["area"], table["days"] = rng.random(n).round(3) + 0.5, rng.integers(1, 30, n)
    made = {
        "dti": ("round(debt / income, 3)", (table["debt"] / table["income"]).round(3)),
        "use": ("round(100 * debt / limit, 1)", (100 * table["debt"] / table["limit"]).round(1)),
        "all": ("income + debt + limit", table["income"] + table["debt"] + table["limit"]),
        "left": ("income - debt", table["income"] - table["debt"]),
        "rate": ("round(debt / 12, 2)", (table["debt"] / 12).round(2)),
        "again": ("area", table["area"]),
        "work": ("area * days", table["area"] * table["days"]),
        "has_saved": ("saved > 0", (table["saved"] > 0).astype(int)),
    }
    for name, (_, values) in made.items():
        table[name] = values
    job, grade = rng.integers(0, 4, n), rng.integers(0, 4, n)
    for k in range(4):
        table[f"job_{k}"] = (job == k).astype(int)
    for k in range(1, 4):
        table[f"grade_{k}"] = (grade == k).astype(int)
    late = np.sort(rng.integers(0, 9, (n, 3)), axis=1)
    table[["late_90", "late_60", "late_30"]] = late
    rules: list[object] = [Derived(name, formula) for name, (formula, _) in made.items()]
    rules += [OneOf(tuple(f"job_{k}" for k in range(4))), OneOf(tuple(f"grade_{k}" for k in range(1, 4)), rest="other")]
    return table, [*rules, Order(("late_90", "late_60", "late_30"))]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("blanks", [0.0, 0.02])
def test_what_was_planted_is_found_and_nothing_else(seed: int, blanks: float) -> None:
    table, rules = planted(seed)
    table = table.mask(np.random.default_rng(seed).random(table.shape) < blanks)
    found = [one.rule for one in find_dependencies(table)]
    assert sorted(map(str, found)) == sorted(map(str, rules))


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_found_where_nothing_hangs_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({f"a{k}": rng.integers(0, 2 + 5 * k, 300) for k in range(8)})
    assert find_dependencies(table.assign(c=rng.normal(0, 1, 300))) == []


def test_what_is_found_is_said_once_with_its_evidence_and_kept() -> None:
    table, _ = planted(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SchemaNote)
        schema = Schema.infer(table, rules="find")
    (line,) = [one for one in str(caught[0].message).splitlines() if "Found in the data" in one]
    assert "Derived('dti', 'round(debt / income, 3)') in 400 of 400 rows" in line
    code = line.split("To settle it: rules=")[1][:-1]
    rules = eval(code, {"Derived": Derived, "OneOf": OneOf, "Order": Order})  # noqa: S307  our own answer
    with warnings.catch_warnings():
        warnings.simplefilter("error", SchemaNote)
        assert Schema.infer(table, rules=rules) == schema
        plain = Schema.infer(table)
    assert plain.names == list(table.columns)
    assert not schema["dti"].actionable
    assert schema["job"].columns == ("job_0", "job_1", "job_2", "job_3")
    with pytest.warns(SchemaNote, match="Found in the data"):
        opened = Schema.infer(table, increase_only=["dti"], rules="find")
    assert opened["dti"].direction == "increase"
    assert not opened["dti"].formula


def test_a_code_for_a_blank_is_a_blank_and_the_model_sees_the_code() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"score": rng.integers(300, 800, 200), "job": rng.choice(["cook", "clerk", "?"], 200)})
    table.loc[::10, "score"] = -9
    with pytest.warns(SchemaNote, match=r"Taken for blanks: -9 in 'score' \(20 rows\), '\?' in 'job'"):
        schema = Schema.infer(table)
    assert schema["score"].low_code >= 300
    assert schema["job"].categories == ("clerk", "cook")
    codes = schema.encode(table)
    assert np.array_equal(np.isnan(codes[:, 0]), table["score"] == -9)
    pd.testing.assert_frame_equal(schema.decode(codes, like=table), table)
    assert Schema.from_toml(schema.to_toml()) == schema
    with warnings.catch_warnings():
        warnings.simplefilter("error", SchemaNote)
        assert Schema.infer(table, sentinels={"score": [-9], "job": ["?"]}) == schema
        assert Schema.infer(table, sentinels={"score": [], "job": []})["score"].low_code == -9


def test_codes_that_could_be_values_are_asked_about_and_stay() -> None:
    table = pd.DataFrame({"days": [-1, 3, 8, 12, 30] * 20})
    with pytest.warns(SchemaNote, match=r"'days' holds -1 in 20 rows.*Does that stand for a blank\?"):
        schema = Schema.infer(table)
    assert schema["days"].low_code == -1


def test_names_of_traits_and_of_a_past_are_not_free() -> None:
    for name in ("WHITE", "foreign", "black"):
        assert is_protected(name)
    for name in ("PRIORS", "juv_fel_count", "FELON", "is_recid", "event"):
        assert is_past(name)
    assert not is_protected("white_goods")
    assert not is_protected("black_box_score")
    table = pd.DataFrame({name: [0, 1, 2] * 20 for name in ("WHITE", "foreign", "PRIORS", "juv_fel_count", "event")})
    with pytest.warns(SchemaNote, match="'PRIORS', 'juv_fel_count', 'event' are taken for a past"):
        schema = Schema.infer(table, rules=[])
    assert not any(feature.actionable for feature in schema)
    assert Schema.infer(table, rules=[], mutable=["PRIORS"])["PRIORS"].actionable
