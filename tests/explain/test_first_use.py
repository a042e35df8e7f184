"""The first hour on one's own data: ways to use and misuse the product. Each works, or refuses with a way out.

Where a refusal or a note names a way out, the test takes it, literally.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes the next import work
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from typer.testing import CliRunner

from armin import ARMIN, Schema
from armin.bundle import load_bundle, save_bundle
from armin.cli import app
from armin.cli.files import read_csv
from armin.errors import ArminError, DataError, ModelError, ParameterError, SchemaError
from armin.schema import Feature, SchemaNote
from armin.schema.guess import is_history, is_identifier, is_protected
from armin_desk.letter import write_letter

N = 160
FEW: dict[str, Any] = {"n_samples": 10, "n_fresh": 20}


@cache
def table() -> pd.DataFrame:
    """What a person comes with: an identifier, dates, a zip code, protected traits, history, codes, a constant."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "customer_id": [f"C{i:04d}" for i in range(N)],
            "applied": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N), unit="D"),
            "zip": [f"{z:05d}" for z in rng.permutation(450)[:N]],
            "foreign_worker": rng.choice(["yes", "no"], N),
            "age": rng.integers(18, 80, N),
            "last_bill": rng.integers(0, 900, N),
            "income": rng.integers(10, 100, N),
            "debt": rng.integers(0, 50, N),
            "channel": "web",
        }
    )


@cache
def labels() -> Any:
    frame = table()
    worker = 10 * (frame["foreign_worker"] == "no")
    return np.where(frame["income"] - frame["debt"] + frame["age"] / 4 + worker > 45, 1, 0)


@cache
def model() -> Any:
    """A pipeline that takes all columns and looks at some."""
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), ["foreign_worker", "zip"]),
            (StandardScaler(), ["age", "income", "debt", "last_bill"]),
        ),
        LogisticRegression(),
    ).fit(table(), labels())


def guessed(frame: Any, **said: Any) -> tuple[Schema, list[str]]:
    """A schema, and what was decided without being told."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        schema = Schema.infer(frame, **said)
    return schema, [line for one in caught for line in str(one.message).splitlines()]


def settled(notes: list[str]) -> dict[str, Any]:
    """What the notes say would settle them, taken literally."""
    said: dict[str, Any] = {}
    for note in notes:
        (code,) = re.findall(r"To settle it: ([a-z_]+=\[[^]]*\])", note)
        name, _, value = code.partition("=")
        names = [word.strip().strip("'") for word in value.strip("[]").split(",")]
        said[name] = list(dict.fromkeys([*said.get(name, []), *names]))
    return said


@cache
def explainer() -> ARMIN:
    return ARMIN.from_settings(model(), guessed(table())[0], desired=1, **FEW).fit(table())


def someone(**told: Any) -> dict[str, Any]:
    row = table()[model().predict(table()) == 0].iloc[0].to_dict()
    return row | told


# the naive path


def test_the_naive_path_never_touches_what_nobody_may_change() -> None:
    schema, notes = guessed(table())
    assert not {"foreign_worker", "age"} & {f.name for f in schema if f.actionable}
    assert schema["age"].protected
    assert schema["foreign_worker"].protected
    rejected = table()[model().predict(table()) == 0].head(8)
    touched = {change.feature.name for plan in explainer().explain_many(rejected) for change in plan.changes}
    assert touched
    assert touched <= {"last_bill", "income", "debt"}
    assert schema.carried == ["customer_id", "applied", "zip"]
    assert {note.split()[0].strip("'") for note in notes} == {
        "customer_id", "applied", "zip", "foreign_worker", "age", "channel",
    }  # fmt: skip


def test_notes_are_gone_once_what_they_say_is_said() -> None:
    schema, notes = guessed(table())
    again, silent = guessed(table(), **settled(notes))
    assert again == schema
    assert silent == []


def test_the_other_way_out_of_a_note_works_too() -> None:
    _, notes = guessed(table()[["zip", "income"]])
    (kinds,) = re.findall(r"kinds=\{'zip': '(\w+)'\}", notes[0])
    schema, silent = guessed(table()[["zip", "income"]], kinds={"zip": kinds})
    assert (schema["zip"].kind, len(schema["zip"].categories), silent) == ("categorical", N, [])


def test_a_review_asks_and_each_answer_works() -> None:
    frame = table().assign(EDUCATION=np.arange(N) % 4 + 1, income_copy=labels() * 2.5 + 0.5, paid=["12,50"] * N)
    schema, _ = guessed(frame.drop(columns=["customer_id", "zip"]), protected=[], kinds={"paid": "carried"})
    review = schema.review(frame, labels())
    asked = {(q.column, q.about) for q in review}
    assert {
        ("foreign_worker", "protected"), ("age", "protected"), ("last_bill", "history"), ("EDUCATION", "codes"),
        ("EDUCATION", "direction"), ("income_copy", "leak"), ("applied", "carried"), ("channel", "constant"),
        ("paid", "numbers as text"),
    } <= asked  # fmt: skip
    assert ("income", "leak") not in asked
    said: dict[str, Any] = {"kinds": {"paid": "carried"}, "carried": ["applied"]}
    for question in review:
        code = question.message.values.get("code", "")
        found = re.fullmatch(r"(\w+)=\['(\w+)'\]", code)
        if found and found[1] != "increase_only":
            said.setdefault(found[1], []).append(found[2])
        found = re.fullmatch(r"kinds=\{'(\w+)': '(\w+)'\}", code)
        if found:
            said["kinds"][found[1]] = found[2]
    better, notes = guessed(frame.drop(columns=["customer_id", "zip"]), **said)
    assert notes == []
    left = {(q.column, q.about) for q in better.review(frame)} - {("paid", "numbers as text")}
    assert left == {
        ("applied", "carried"), ("paid", "carried"), ("age", "protected"), ("foreign_worker", "protected"),
        ("channel", "constant"),
    }  # fmt: skip
    assert "Frage" in review.text("de")
    assert "<ol>" in review._repr_html_()


@pytest.mark.parametrize(
    ("name", "sounds"),
    [
        ("sex", is_protected), ("Geschlecht", is_protected), ("AGE", is_protected), ("Alter", is_protected),
        ("race", is_protected), ("nationality", is_protected), ("Staatsangehörigkeit", is_protected),
        ("religion", is_protected), ("marital-status", is_protected), ("Familienstand", is_protected),
        ("ForeignWorker", is_protected), ("native-country", is_protected), ("personal_status_sex", is_protected),
        ("customer_id", is_identifier), ("Kundennummer", is_identifier), ("last_year_bill", is_history),
        ("ever_married_late", is_history), ("letzte_Rechnung", is_history), ("NumberOfTimes90DaysLate", is_history),
    ],
)  # fmt: skip
def test_names_that_say_it_all(name: str, sounds: Callable[[str], bool]) -> None:
    assert sounds(name)


@pytest.mark.parametrize(
    "values",
    [
        ["male single", "female div/dep/mar", "male div/sep", "male mar/wid"], ["Husband", "Wife", "Own-child"],
        ["M", "F"], ["m", "w", "d"], ["ledig", "verheiratet"], ["married", "single"],
    ],
)  # fmt: skip
def test_values_that_say_it_all(values: list[str]) -> None:
    frame = pd.DataFrame({"code": (values * 30)[:60], "income": range(60)})
    schema, (note,) = guessed(frame)
    assert (schema["code"].protected, schema["code"].actionable) == (True, False)
    assert settled([note]) == {"protected": ["code"]}
    free = schema.update(mutable=["code"])
    assert [q.about for q in free.review(frame) if q.column == "code"] == ["protected"]


@pytest.mark.parametrize(
    "values",
    [
        ["single family", "two family", "flat"], ["none", "guarantor", "co applicant"], ["white", "black", "red"],
        ["yes", "no"], ["S", "M", "L"], ["own", "rent", "other"], ["m", "km"],
    ],
)  # fmt: skip
def test_values_that_only_look_like_it(values: list[str]) -> None:
    schema, notes = guessed(pd.DataFrame({"code": (values * 30)[:60], "income": range(60)}))
    assert schema["code"].actionable
    assert notes == []


def test_one_question_about_a_series_of_columns_and_none_about_a_telephone() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(0, 9_000, (80, 6)), columns=[f"BILL_AMT{i}" for i in range(1, 7)])
    frame = frame.assign(own_telephone=rng.choice(["yes", "none"], 80))
    schema, _ = guessed(frame)
    review = schema.review(frame)
    assert {q.about for q in review} == {"history"}
    assert len(review) == 6
    (question,) = str(review).splitlines()[1:]
    code = question.partition("? ")[2].rstrip(".")
    assert code == f"immutable={[f'BILL_AMT{i}' for i in range(1, 7)]}"
    assert len(guessed(frame, immutable=[f"BILL_AMT{i}" for i in range(1, 7)])[0].review(frame)) == 0
    assert str(review).splitlines()[0] == "1 question about the columns:"
    assert review._repr_html_().count("<li>") == 1
    assert "klingen nach Vergangenem" in review.text("de")


@pytest.mark.parametrize("name", ["account_age", "percentage", "wage", "stage", "coverage", "vehicle age", "trace"])
def test_names_that_only_look_like_it(name: str) -> None:
    assert not is_protected(name)


# columns that used to be dead ends


def same_plan(frame: pd.DataFrame, schema: Schema) -> None:
    """A plan on all columns, with and without what is carried along."""
    fitted = ARMIN.from_settings(model(), schema, desired=1, **FEW).fit(frame)
    plan = fitted.explain(someone())
    assert plan.found
    assert model().predict(plan.apply(pd.DataFrame([someone()]))).tolist() == [1]


DEAD_ENDS: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], dict[str, Any]]] = {
    "as it comes": (lambda f: f, {}),
    "an identifier, named": (lambda f: f, {"carried": ["customer_id"]}),
    "a zip code as categories": (lambda f: f, {"categories": {"zip": sorted(table()["zip"])}}),
    "a zip code by its kind": (lambda f: f, {"kinds": {"zip": "categorical"}}),
    "an identifier by its kind": (lambda f: f, {"kinds": {"customer_id": "carried"}}),
    "dates as texts": (lambda f: f.assign(applied=f["applied"].astype(str)), {}),
    "dates as objects": (lambda f: f.assign(applied=f["applied"].dt.date.astype(object)), {}),
    "a column of blanks": (lambda f: f.assign(applied=None), {}),
    "arrow types": (lambda f: f.convert_dtypes(dtype_backend="pyarrow"), {}),
    "nullable types": (lambda f: f.convert_dtypes(), {}),
    "trailing spaces": (lambda f: f.assign(foreign_worker=f["foreign_worker"] + " "), {}),
    "some trailing spaces": (
        lambda f: f.assign(foreign_worker=[v + " " * (i % 2) for i, v in enumerate(f["foreign_worker"])]), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", DEAD_ENDS)
def test_no_column_is_a_dead_end(way: str) -> None:
    change, said = DEAD_ENDS[way]
    frame = change(table())
    schema, _ = guessed(frame, **said)
    if "trailing" in way:
        assert all(schema["foreign_worker"].code(v) == schema["foreign_worker"].code(v.strip()) for v in ("yes", "no "))
    if way == "trailing spaces":
        return  # the model knows other categories then
    same_plan(frame, schema)


def texts_of_numbers() -> pd.DataFrame:
    return table()[["debt"]].assign(income=[f"{v},5" for v in table()["income"]])


def test_numbers_as_text_refuse_with_two_ways_out_that_work() -> None:
    frame = texts_of_numbers()
    with pytest.raises(SchemaError, match=r"must hold numbers.*pandas.to_numeric.*carried=\['income'\]"):
        guessed(frame, kinds={"income": "continuous"})
    assert guessed(frame, carried=["income"])[0]["income"].is_carried
    numbers = frame.assign(income=pd.to_numeric(frame["income"].str.replace(",", ".")))
    assert guessed(numbers, kinds={"income": "continuous"})[0]["income"].kind == "continuous"


# misuse, each with its way out


class Bare(BaseEstimator):  # type: ignore[misc]
    """A model that does not say its labels."""

    def predict(self, rows: pd.DataFrame) -> Any:
        return np.where(rows["income"] > 60, "yes", "no")


def numbers() -> pd.DataFrame:
    return table()[["income", "debt"]]


def fit_on_numbers(classifier: Any, **said: Any) -> ARMIN:
    return ARMIN.from_settings(classifier, Schema.infer(numbers()), **{"desired": "yes", **FEW, **said}).fit(numbers())


def test_a_plain_function() -> None:
    def function(rows: pd.DataFrame) -> Any:
        return np.where(rows["income"] > 60, "yes", "no")

    with pytest.raises(ModelError) as refusal:
        fit_on_numbers(function, method="blackbox")
    assert "Got the function 'function'" in str(refusal.value)
    (code,) = re.findall(r"(class Rule: .*?\));", str(refusal.value))
    made: dict[str, Any] = {"function": function}
    exec(code, made)  # noqa: S102  the way out, literally
    assert fit_on_numbers(made["Rule"](), method="blackbox").explain({"income": 20, "debt": 3}).found


def test_a_model_without_classes() -> None:
    bare = Bare()
    with pytest.raises(ModelError, match=r"no 'classes_'.*model\.classes_ = \['no', 'yes'\]"):
        fit_on_numbers(bare, method="blackbox")
    bare.classes_ = ["no", "yes"]
    assert fit_on_numbers(bare, method="blackbox").explain({"income": 20, "debt": 3}).found


MISUSE: dict[str, tuple[Callable[[], Any], type[ArminError], str]] = {
    "a class": (lambda: fit_on_numbers(LogisticRegression), ModelError, r"Got the class.*\.fit\(X, y\)"),
    "a regression": (
        lambda: fit_on_numbers(LinearRegression().fit(numbers(), labels())), ModelError, "y >= target",
    ),
    "not fitted": (lambda: fit_on_numbers(LogisticRegression()), ArminError, r"fit\(X, y\) first"),
    "a list of rows": (lambda: Schema.infer([[1, 2]]), DataError, r"pandas\.DataFrame"),
    "a dict of columns": (lambda: Schema.infer({"a": [1, 2]}), DataError, r"pandas\.DataFrame"),
    "no rows": (lambda: Schema.infer(table().head(0)), SchemaError, "at least one row"),
    "an unknown column": (lambda: explainer().explain(someone(extra=1)), DataError, r"\.drop\(columns=\['extra'\]"),
    "a column left out": (
        lambda: explainer().explain({k: v for k, v in someone().items() if k != "debt"}), DataError, "as a blank",
    ),
    "all blank but an id": (
        lambda: explainer().explain(dict.fromkeys(someone()) | {"customer_id": "C1"}), DataError, "all blanks",
    ),
    "one row to explain_many": (lambda: explainer().explain_many(someone()), DataError, r"explain\(row\)"),
    "many rows to explain": (lambda: explainer().explain(table().head(2)), DataError, "explain_many"),
    "an unknown category": (
        lambda: explainer().explain(someone(foreign_worker="maybe")), DataError, "add the category to the schema",
    ),
    "out of bounds": (lambda: explainer().explain(someone(income=1e6)), DataError, r"schema\.update\(limits="),
    "a wrong label": (
        lambda: ARMIN(model(), explainer().schema, desired="yes").fit(table()), ParameterError, r"among the labels",
    ),
    "protected and free": (
        lambda: Feature("sex", "binary", categories=("f", "m"), direction="increase", protected=True), SchemaError,
        "set protected to false",
    ),
    "protected is no yes or no": (
        lambda: Feature("sex", "binary", categories=("f", "m"), protected="yes"),  # type: ignore[arg-type]
        SchemaError, "true or false",
    ),
    "an infinite number": (
        lambda: Schema.infer(numbers().assign(income=np.inf)), SchemaError, "by a number or a blank",
    ),
    "a nameless decision": (lambda: explainer().schema.with_decisions({1: ""}), SchemaError, "must be a text"),
    "labels without rows": (lambda: explainer().schema.review(y=labels()), DataError, r"review\(frame, y\)"),
    "too few labels": (lambda: explainer().schema.review(table(), [1]), DataError, "one label per row"),
}  # fmt: skip


@pytest.mark.parametrize("way", MISUSE)
def test_misuse_is_refused_with_a_way_out(way: str) -> None:
    do, error, says = MISUSE[way]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaNote)
        with pytest.raises(error, match=says):
            do()


def found(row: Any, given: ARMIN | None = None) -> bool:
    return (given or explainer()).explain(row).found


def wider() -> Schema:
    return explainer().schema.update(bounds={"income": (0, 10**6)})


def more_categories() -> Schema:
    known = explainer().schema["foreign_worker"].categories
    return guessed(table(), categories={"foreign_worker": [*known, "maybe"]})[0]


POOR = {"income": 20, "debt": 3}
WAYS_OUT: dict[str, Callable[[], Any]] = {
    "a class": lambda: found(POOR, fit_on_numbers(LogisticRegression().fit(numbers(), labels()), desired=1)),
    "a regression": lambda: found(
        POOR, fit_on_numbers(LogisticRegression().fit(numbers(), numbers()["income"] >= 50), desired=True)
    ),
    "not fitted": lambda: found(POOR, fit_on_numbers(LogisticRegression().fit(numbers(), labels()), desired=1)),
    "a list of rows": lambda: len(Schema.infer(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "b"]))) == 2,
    "a dict of columns": lambda: len(Schema.infer(pd.DataFrame({"a": [1, 2]}))) == 1,
    "no rows": lambda: len(guessed(table().head(1))[0]) == table().shape[1],
    "an unknown column": lambda: found(pd.DataFrame([someone(extra=1)]).drop(columns=["extra"])),
    "a column left out": lambda: all(explainer().explain(someone(debt=blank)).found for blank in (None, np.nan, "")),
    "all blank but an id": lambda: explainer().explain(dict.fromkeys(someone()) | {"income": 30}).outcome,
    "one row to explain_many": lambda: found(someone()),
    "many rows to explain": lambda: len(explainer().explain_many(table().head(2))) == 2,
    "an unknown category": lambda: more_categories()["foreign_worker"].code("maybe") == 2,
    "out of bounds": lambda: found(
        someone(income=900), ARMIN.from_settings(model(), wider(), desired=1, **FEW).fit(table())
    ),
    "a wrong label": lambda: found(someone()),  # one of the labels that the message lists
    "protected and free": lambda: Feature(
        "sex", "categorical", categories=("f", "m"), protected=False, direction="any"
    ).actionable,
    "protected is no yes or no": lambda: Feature(
        "sex", "binary", categories=("f", "m"), direction="fixed", protected=True
    ).protected,
    "an infinite number": lambda: all(
        Schema.infer(numbers().assign(income=numbers()["income"].where(numbers().index > 3, other)))["income"].is_number
        for other in (50, np.nan)
    ),
    "a nameless decision": lambda: explainer().schema.with_decisions({1: "granted"}).decisions,
    "labels without rows": lambda: explainer().schema.review(table(), labels()),
    "too few labels": lambda: explainer().schema.review(table(), labels()),
}  # fmt: skip


def test_each_refusal_has_a_way_out_that_is_tried() -> None:
    assert set(WAYS_OUT) == set(MISUSE)


@pytest.mark.parametrize("way", WAYS_OUT)
def test_the_way_out_of_misuse_works(way: str) -> None:
    """What the message of the same name in MISUSE says, done."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SchemaNote)
        assert WAYS_OUT[way]()


def test_the_number_of_the_row_is_no_advice(tmp_path: Path) -> None:
    """A file that pandas wrote with its index has a first column without a name."""
    numbers().to_csv(tmp_path / "own.csv")
    schema, (note,) = guessed(pd.read_csv(tmp_path / "own.csv"))
    assert schema.carried == ["Unnamed: 0"]
    assert settled([note]) == {"carried": ["Unnamed: 0"]}


def test_ways_out_of_rows_that_do_not_fit() -> None:
    wider = explainer().schema.update(bounds={"income": (0, 10**6)})
    assert ARMIN.from_settings(model(), wider, desired=1, **FEW).fit(table()).explain(someone(income=900)).found
    assert explainer().schema.widened(pd.DataFrame([someone(income=900)]))["income"].upper == 900
    assert explainer().explain(pd.DataFrame([someone(extra=1)]).drop(columns=["extra"])).found
    freed = explainer().schema.update(mutable=["age", "debt"])
    assert (freed["age"].protected, freed["age"].direction) == (False, "any")


# frames


class Lazy:
    """A table of no library that narwhals knows."""

    def __dataframe__(self) -> None:
        return None


def test_arrow_tables() -> None:
    arrow = pytest.importorskip("pyarrow")
    pytest.importorskip("narwhals")
    frame = arrow.Table.from_pandas(table())
    schema, _ = guessed(frame)
    assert schema == guessed(table())[0]
    fitted = ARMIN.from_settings(model(), schema, desired=1, **FEW).fit(frame)
    assert fitted.explain(someone()) == explainer().explain(someone())
    many = fitted.explain_many(frame.slice(0, 3))
    assert list(many) == list(explainer().explain_many(table().head(3)))
    with pytest.raises(DataError, match="pandas DataFrame first"):
        Schema.infer(Lazy())


def test_polars_frames() -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("narwhals")
    frame = polars.DataFrame(table().to_dict("list"))
    schema, _ = guessed(frame)
    assert schema == guessed(table())[0]
    fitted = ARMIN.from_settings(model(), schema, desired=1, **FEW).fit(frame)
    assert fitted.explain(someone()) == explainer().explain(someone())
    with pytest.raises(DataError, match=r"table\.collect\(\)"):
        Schema.infer(frame.lazy())
    assert Schema.infer(frame.lazy().collect().select("income"))["income"].kind == "integer"


# what is printed


def test_many_answers_print_as_a_table() -> None:
    many = explainer().explain_many(pd.concat([table().head(2), pd.DataFrame([someone(income=10**7)])]))
    lines = str(many).splitlines()
    assert len(lines) == 4
    assert lines[0].split() == ["row", "cost", "works", "for", "what", "to", "do"]
    assert "must be in" in lines[3]
    html = many._repr_html_()
    assert html.count("<tr>") == 4
    assert (
        "<script>"
        not in ARMIN.from_settings(model(), explainer().schema.update(labels={"debt": "<script>"}), desired=1, **FEW)
        .fit(table())
        .explain_many(table().head(2))
        ._repr_html_()
    )


def test_decisions_have_names_everywhere(tmp_path: Path) -> None:
    schema = explainer().schema.with_decisions({1: "granted", 0: "refused"})
    assert Schema.from_toml(schema.to_toml()) == schema
    named = ARMIN.from_settings(model(), schema, desired=1, **FEW).fit(table())
    plan = named.explain(someone())
    assert "“granted”" in str(plan)
    assert "“1”" not in str(plan)
    assert "granted" in plan.text("de")
    assert "granted" in write_letter([plan], someone(), schema=schema, organisation="Bank").text
    loaded = load_bundle(save_bundle(tmp_path / "a.armin", named)).explainer
    assert "“granted”" in str(loaded.explain(someone()))
    assert plan.to_dict()["desired"] == [1]


def test_names_with_spaces_and_a_library_that_remembers_others(tmp_path: Path) -> None:
    """LightGBM remembers 'loan amount' as 'loan_amount'; nothing is said on standard error on the way."""
    lightgbm = pytest.importorskip("lightgbm")
    frame = numbers().rename(columns={"income": "income (a year)", "debt": "debt owed"})
    trained = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1).fit(frame, labels())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = ARMIN.from_settings(trained, Schema.infer(frame), desired=1, **FEW).fit(frame)
        row = frame[trained.predict(frame) == 0].iloc[[0]]
        plan = given.explain(row)
        assert trained.predict(plan.apply(row)).tolist() == [1]
        assert given.reasons(row).exact
        loaded = load_bundle(save_bundle(tmp_path / "a.armin", given)).explainer
        assert loaded.explain(row) == plan


# everything that can be explained can be bundled


def by_type() -> Any:
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), make_column_selector(dtype_include="category")),
            (SimpleImputer(), make_column_selector(dtype_include=np.number)),
        ),
        LogisticRegression(),
    )


def vectorized() -> Any:
    skrub = pytest.importorskip("skrub")
    return make_pipeline(skrub.TableVectorizer(), HistGradientBoostingClassifier(max_iter=4))


BUNDLED: dict[str, Callable[[], Any]] = {
    "categories by type": lambda: HistGradientBoostingClassifier(max_iter=4, categorical_features="from_dtype"),
    "columns by type": by_type,
    "skrub": vectorized,
}
FILLED: dict[str, Callable[[], Any]] = {
    "nearest neighbours": lambda: make_pipeline(KNNImputer(), StandardScaler(), LogisticRegression()),
    "one after the other": lambda: make_pipeline(IterativeImputer(max_iter=2), LogisticRegression()),
    "with indicators": lambda: make_pipeline(KNNImputer(add_indicator=True), LogisticRegression()),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("way", [*BUNDLED, *FILLED])
def test_what_can_be_explained_can_be_bundled(way: str, tmp_path: Path) -> None:
    frame = numbers().astype(float)
    frame.loc[::9, "income"] = np.nan
    if way in BUNDLED:
        frame = frame.assign(worker=pd.Categorical(table()["foreign_worker"]))
    fitted = (BUNDLED | FILLED)[way]().fit(frame, labels())
    given = ARMIN.from_settings(fitted, Schema.infer(frame), desired=1, **FEW).fit(frame)
    asked = ARMIN.from_settings(fitted, Schema.infer(frame), desired=1, method="blackbox", **FEW).fit(frame)
    loaded = load_bundle(save_bundle(tmp_path / "a.armin", given)).explainer
    rows = frame[fitted.predict(frame) == 0].dropna().head(3)
    for row in [*rows.to_dict("records"), {**rows.iloc[0].to_dict(), "debt": None}]:
        plan = given.explain(row)
        assert plan == loaded.explain(row)
        other = asked.explain(row)
        assert (plan.world, plan.cost) == (other.world, pytest.approx(other.cost))
    if way in FILLED:
        given.set_params(reapply="blank")
        with pytest.raises(ModelError, match=r"reapply='disclosed', or ExpertOptions\(method='blackbox'\)"):
            given.explain({**rows.iloc[0].to_dict(), "debt": None})
        assert asked.set_params(reapply="blank").explain({**rows.iloc[0].to_dict(), "debt": None}).world.blanks


# from files


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hour")
    table().assign(decision=labels()).to_csv(folder / "train.csv", index=False)
    joblib.dump(model(), folder / "model.joblib")
    return folder


def call(*words: str) -> Any:
    return CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})


def test_from_a_file_to_a_plan(folder: Path) -> None:
    schema = call("schema", str(folder / "train.csv"), "--label-column", "decision")
    assert schema.exit_code == 0, schema.output
    assert "# 'age' is taken for a protected trait" in schema.stdout
    assert "# 'last_bill' sounds like history" in schema.stdout
    (folder / "schema.toml").write_text(schema.stdout, encoding="utf-8")
    found = Schema.from_toml(folder / "schema.toml")
    assert found.decisions == {}
    head, _, names = schema.stdout.partition("# [decisions]")
    assert names == '\n# "0" = "..."\n# "1" = "..."\n'
    named = head + f"# [decisions]{names}".replace("# ", "").replace('"1" = "..."', '"1" = "granted"')
    assert Schema.from_toml(named).called(1) == "granted"
    assert "decisions" not in call("schema", str(folder / "train.csv")).stdout
    assert {f.name for f in found if f.actionable} == {"last_bill", "income", "debt"}
    assert found.carried == ["customer_id", "applied", "zip"]


def test_pack_says_what_advice_may_touch(folder: Path) -> None:
    guessed(table().astype({"zip": int}))[0].to_toml(folder / "own.toml")
    trained = make_pipeline(
        make_column_transformer((StandardScaler(), ["age", "income", "debt", "last_bill"])), LogisticRegression()
    ).fit(table(), labels())
    joblib.dump(trained, folder / "own.joblib")
    packed = call(
        "pack", "--model", str(folder / "own.joblib"), "--trust", "--train", str(folder / "train.csv"),
        "--label-column", "decision", "--schema", str(folder / "own.toml"), "--desired", "1",
        "--output", str(folder / "own.armin"),
    )  # fmt: skip
    assert packed.exit_code == 0, packed.output
    assert "Advice may change: last_bill, income and debt." in packed.output
    assert "Protected: foreign_worker and age." in packed.output
    assert "Carried along: customer_id, applied and zip." in packed.output
    people = table()[trained.predict(table()) == 0].head(2).drop(columns=["applied"])
    people.to_csv(folder / "people.csv", index=False)
    told = call(
        "explain", str(folder / "people.csv"), "--bundle", str(folder / "own.armin"), "--id-column", "customer_id"
    )
    assert told.exit_code == 0, told.output
    assert f"Row {people['customer_id'].iloc[0]}:" in told.output


def test_a_model_that_is_not_read_is_a_note_on_the_command_line(folder: Path) -> None:
    numbers().assign(decision=labels()).to_csv(folder / "numbers.csv", index=False)
    Schema.infer(numbers()).to_toml(folder / "numbers.toml")
    joblib.dump(SVC().fit(numbers(), labels()), folder / "svc.joblib")
    packed = call(
        "pack", "--model", str(folder / "svc.joblib"), "--trust", "--train", str(folder / "numbers.csv"),
        "--label-column", "decision", "--schema", str(folder / "numbers.toml"), "--desired", "1",
        "--output", str(folder / "svc.armin"),
    )  # fmt: skip
    assert packed.exit_code == 0, packed.output
    assert "Note: An SVC is read when it has a linear kernel" in packed.output
    assert "BlackBoxWarning" not in packed.output


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a;b\n1,5;x\n2,25;y\n", [1.5, 2.25]),
        ("a;b\n1.234,5;x\n2;y\n", [1234.5, 2.0]),
        ("a;b\n1.5;x\n2;y\n", [1.5, 2.0]),
        ("a\tb\n1.5\tx\n2\ty\n", [1.5, 2.0]),
        ("a,b\n1.5,x\n2,y\n", [1.5, 2.0]),
        ('"a";"b, c"\n1,5;"x;y"\n2,0;y\n', [1.5, 2.0]),
        ("a,b\n1.5,x \n2, y\n", [1.5, 2.0]),
    ],
)
def test_files_as_spreadsheets_write_them(text: str, values: list[float], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    frame = read_csv(str(tmp_path / "a.csv"))
    assert frame.iloc[:, 0].tolist() == values
    assert frame.shape == (2, 2)
    schema = Schema((Feature("a", "continuous", lower=0, upper=2000), Feature("b", "binary", categories=("x", "y"))))
    if "x;y" not in text:
        assert schema.encode(read_csv(str(tmp_path / "a.csv"), schema))[:, 1].tolist() == [0.0, 1.0]
