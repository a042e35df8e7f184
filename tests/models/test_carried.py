"""Columns that are carried along: the model sees the very values of the row, and advice is exact all the same."""

from __future__ import annotations

import datetime
import re
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import ARMIN, Promise, Schema
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.errors import ParameterError, SchemaError
from armin.explain.memory import SurrogateJudge, mismatched
from armin.schema import AtMostOne, Carried, Feature

ZIPS = [f"{z:05d}" for z in range(30)]
FEW: dict[str, Any] = {"desired": "yes", "n_samples": 15, "n_fresh": 30}


def people(n: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"K{seed}-{i}" for i in range(n)],
            "zip": rng.choice(ZIPS, n),
            "income": rng.integers(10, 100, n),
            "debt": rng.integers(0, 50, n),
            "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), unit="D"),
        }
    )


def labels(X: pd.DataFrame) -> np.ndarray[Any, Any]:
    return np.where(X["income"] - X["debt"] + 30 * (X["zip"].astype(int) > 15) > 35, "yes", "no")


X = people(400)
SCHEMA = Schema.infer(X, carried=["id", "zip", "when"])
ALONG = [SCHEMA.position(name) for name in SCHEMA.carried]


@cache
def model(final: str) -> Any:
    last = LogisticRegression() if final == "linear" else RandomForestClassifier(5, max_depth=4, random_state=0)
    # a zip code that was not seen, and a blank one, is an error here
    encode = make_column_transformer((OneHotEncoder(), ["zip"]), (StandardScaler(), ["income", "debt"]))
    return make_pipeline(encode, last).fit(X, labels(X))


@cache
def explainer(final: str, method: str = "auto") -> ARMIN:
    return ARMIN.from_settings(model(final), SCHEMA, method=method, **FEW).fit(X)


def rejected(final: str) -> pd.DataFrame:
    return X[model(final).predict(X) == "no"]


@pytest.mark.parametrize("final", ["linear", "forest"])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_the_read_model_equals_predict_for_any_zip_code(final: str, data: st.DataObject) -> None:
    zips = data.draw(st.sampled_from(ZIPS))
    fitted, _ = explainer(final).current.at({"id": "x", "zip": zips, "income": 20, "debt": 5, "when": None})
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    rows = pd.DataFrame({"income": rng.integers(10, 100, 40), "debt": rng.integers(0, 50, 40)})
    codes = SCHEMA.encode(rows)
    told = rows.assign(id="x", zip=zips, when=pd.NaT)[list(X.columns)]
    expected = model(final).predict(told) == "yes"
    np.testing.assert_array_equal(fitted.read.model.accepts(fitted.read.encode(codes)), expected)
    np.testing.assert_array_equal(fitted.decision.accepts(codes), expected)


@pytest.mark.parametrize("final", ["linear", "forest"])
def test_search_blackbox_and_the_model_agree(final: str) -> None:
    rows = rejected(final).head(2)
    for i, (_, row) in enumerate(rows.iterrows()):
        told = row.to_dict() | ({"debt": None} if i % 2 else {})
        plans = [explainer(final, method).explain(told) for method in ("auto", "search", "milo", "blackbox")]
        assert len({round(plan.cost, 9) for plan in plans if plan.cost is not None}) == 1
        if not i % 2:
            after = plans[0].apply(rows.iloc[[i]])
            assert model(final).predict(after).tolist() == ["yes"]
            assert after[SCHEMA.carried].equals(rows.iloc[[i]][SCHEMA.carried])


def test_many_at_once_get_what_each_gets_alone() -> None:
    rows = rejected("linear").head(12)
    many = explainer("linear").explain_many(rows)
    assert not many.failures
    alone = [explainer("linear").explain(row) for _, row in rows.iterrows()]
    assert list(many) == alone
    assert len({plan.cost for plan in alone}) > 1


def counted(pipeline: Any, patch: pytest.MonkeyPatch) -> list[int]:
    """How many rows the pipeline is asked about, call by call."""
    asked: list[int] = []
    plain = type(pipeline).predict

    def predict(self: Any, rows: Any, **said: Any) -> Any:
        asked.append(len(rows))
        return plain(self, rows, **said)

    patch.setattr(type(pipeline), "predict", predict)
    return asked


@pytest.mark.parametrize("final", ["linear", "forest"])
def test_the_model_is_asked_about_a_block_at_once(final: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = rejected(final).head(12).astype(object)
    rows.iloc[3:6, rows.columns.get_loc("debt")] = None
    rows.iloc[5:8, rows.columns.get_loc("id")] = None
    rows.iloc[8, rows.columns.get_loc("when")] = "on a Tuesday"  # in no type of the training data
    alone = [explainer(final).explain(row) for _, row in rows.iterrows()]
    assert list(explainer(final).explain_many(rows)) == alone
    plain = rejected(final).head(24)
    asked = counted(model(final), monkeypatch)
    explainer(final).explain_many(plain)
    assert len(asked) == 4  # as many as blocks of rows


@pytest.mark.parametrize("final", ["linear", "forest"])
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 999))
def test_law_judges_asked_together_say_what_each_says(final: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    guesses, expected = [], []
    for i in range(5):
        told = {"id": rng.choice([f"N{i}", None]), "zip": rng.choice(ZIPS), "income": 20, "debt": 5, "when": None}
        fitted, codes = explainer(final).current.at(told)
        guess = SurrogateJudge(fitted.read, fitted.decision)
        rows = np.repeat(codes[None], 6, axis=0)
        rows[:, SCHEMA.position("income")] = rng.integers(10, 100, 6)
        said = fitted.decision.accepts(rows)
        lied = bool(rng.random() < 0.5)
        guess.supposed(rows, np.append(~said[:1], said[1:]) if lied else said)
        guesses.append(guess)
        expected.append(lied)
    assert mismatched([*guesses, None]).tolist() == [*expected, False]


def test_one_row_that_the_model_refuses_has_no_say_about_the_others() -> None:
    rows = rejected("linear").head(4)
    judges = [explainer("linear").current.at(row.to_dict())[0].decision for _, row in rows.iterrows()]
    codes = SCHEMA.encode(rows)
    codes[:, ALONG] = 0.0
    strange = explainer("linear").current.carrying(Carried({"id": ["x"], "zip": ["99999"], "when": [None]})).decision
    guesses = [SurrogateJudge(explainer("linear").current.read, judge) for judge in [*judges, strange]]
    for guess, row in zip(guesses, [*codes, codes[0]], strict=True):
        guess.supposed(row[None], np.zeros(1, dtype=bool))
    assert not mismatched(guesses[:-1]).any()
    with pytest.raises(ValueError, match="unknown categories"):
        mismatched(guesses)


class Spy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Keeps what it is shown."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, seen: list[pd.DataFrame]) -> None:
        self.seen = seen

    def fit(self, X: pd.DataFrame, y: object = None) -> Spy:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: pd.DataFrame) -> np.ndarray[Any, Any]:
        self.seen.append(X)
        return np.where(X["income"] > 60, "yes", "no")


@pytest.mark.parametrize(
    "given_along",
    [
        {"id": "Z9", "zip": "00003", "when": pd.Timestamp("2024-05-05")},
        {"id": "Z9", "zip": "99999", "when": datetime.datetime(2030, 1, 1)},
        {"id": "", "zip": None, "when": None},
        {},
    ],
)
def test_the_model_sees_the_very_values_in_the_very_types(given_along: dict[str, Any]) -> None:
    seen: list[pd.DataFrame] = []
    spied = ARMIN.from_settings(Spy(seen), SCHEMA, method="blackbox", **FEW).fit(X)
    seen.clear()
    spied.explain({"income": 30, "debt": None, **given_along})
    assert seen
    for frame in seen:
        for name in SCHEMA.carried:
            assert frame[name].dtype == X[name].dtype
            value = given_along.get(name)
            blank = value is None or value == ""
            assert frame[name].isna().all() if blank else (frame[name] == value).all()


def test_rows_may_leave_them_out_and_forms_too() -> None:
    spied = ARMIN.from_settings(Spy([]), SCHEMA, method="blackbox", **FEW).fit(X)
    full = spied.explain({"id": "a", "zip": "00001", "income": 30, "debt": 4, "when": None})
    assert full == spied.explain({"income": 30, "debt": 4})
    assert full == spied.explain(pd.Series({"debt": 4, "income": 30}))
    assert full == spied.explain(pd.DataFrame({"debt": [4], "income": [30]}))
    assert full == spied.explain(["a", "00001", 30, 4, None])
    assert full == spied.explain_many(pd.DataFrame({"debt": [4], "income": [30]}))[0]


def test_promises_are_tested_on_people_with_their_own_values() -> None:
    promising = ARMIN.from_settings(model("linear"), SCHEMA, promise=Promise(0.7, n_people=25), **FEW)
    others = people(160, seed=1)
    promising.fit(X, people=others)
    assert 0 < promising.calibrate(blanks=["debt"]).used_level <= 1
    book = Carried(promising.carried_)
    fitted = promising.current.carrying(book)
    codes = promising.others_
    assert set(codes[:, ALONG[0]].astype(int)) <= set(range(len(book)))
    shown = SCHEMA.decode(codes, like=fitted.like, carried=book)
    known = others.set_index("id").loc[shown["id"]].reset_index()[list(X.columns)]
    pd.testing.assert_frame_equal(shown.reset_index(drop=True), known, check_dtype=False)
    np.testing.assert_array_equal(fitted.decision.accepts(codes), model("linear").predict(known) == "yes")
    with pytest.raises(ParameterError, match="'blanks' names 'id', which is carried along"):
        promising.calibrate(blanks=["id"])


def test_a_bundle_keeps_the_promise_and_the_answers(tmp_path: Any) -> None:
    promising = ARMIN.from_settings(model("linear"), SCHEMA, promise=Promise(0.7, n_people=25), **FEW)
    promising.fit(X, people=people(160, seed=1)).calibrate(blanks=["debt"])
    row = {"id": "new", "zip": "00003", "income": 30, "debt": None, "when": pd.Timestamp("2024-02-02")}
    file = save_bundle(tmp_path / "a.armin", promising, people=[{"name": "A", "row": row}])
    loaded = load_bundle(file)
    assert loaded.explainer.explain(row) == promising.explain(row)
    assert loaded.explainer.explain(loaded.people[0]["row"]) == promising.explain(row)
    again = load_bundle(save_bundle(tmp_path / "b.armin", loaded.explainer))
    assert again.explainer.carried_ == promising.carried_
    assert any("carried along" in sentence for sentence in loaded.manifest["kept"])


@pytest.mark.parametrize("sampler", ["chained", "forest"])
def test_a_bundle_does_not_say_that_it_keeps_what_is_carried_along(sampler: str, tmp_path: Any) -> None:
    """Training rows' identifiers are not in the file, unless a promise is tested on these people."""
    packed = ARMIN.from_settings(model("linear"), SCHEMA, sampler=sampler, **FEW).fit(X)
    said = " ".join(inspect_bundle(save_bundle(tmp_path / "a.armin", packed))["kept"])
    assert "training values of" not in said or not {"id", "zip", "when"} & set(re.findall(r"\w+", said))
    assert "id," not in said


def test_asking_and_the_path_know_them() -> None:
    row = rejected("linear").iloc[0].to_dict() | {"debt": None}
    one = explainer("linear")
    assert one.path(row).points
    assert one.ask(row, n_values=3).questions
    assert one.alternatives(row)[0].cost == one.explain(row).cost
    assert one.stress(row).curves


def test_what_cannot_be_meant_is_refused() -> None:
    with pytest.raises(SchemaError, match="'id' is carried along as it is, so no rule can speak of it"):
        SCHEMA.with_rules(AtMostOne(("income", "id")))
    with pytest.raises(SchemaError, match="can only be 'fixed'"):
        Feature("id", "carried", direction="increase")
    with pytest.raises(SchemaError, match="no bounds, limits, step or categories"):
        Feature("id", "carried", categories=("a", "b"))
    with pytest.raises(SchemaError, match="advice cannot change it"):
        SCHEMA.update(mutable=["zip", "debt"])
    assert Schema.from_toml(SCHEMA.to_toml()) == SCHEMA
    assert SCHEMA.update(carried=["debt"])["debt"].is_carried
    assert SCHEMA.widened(X.assign(zip="77777")) == SCHEMA


def test_the_desk_takes_them_and_does_without_them(tmp_path: Any) -> None:
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    from armin_desk.app import create_app

    row = {"id": "Z9", "zip": "00003", "income": 20, "debt": 40, "when": "2024-02-02"}
    file = save_bundle(tmp_path / "a.armin", explainer("linear"), people=[{"name": "A", "row": row}])
    with TestClient(create_app(load_bundle(file)), base_url="http://localhost") as client:
        form = client.get("/api/v1/schema").json()
        fields = {field["name"]: field for field in form["features"]}
        assert (fields["zip"]["kind"], fields["zip"]["mutable"], fields["zip"]["categories"]) == (
            "carried",
            False,
            None,
        )
        assert form["people"][0]["row"] == row
        answer = client.post("/api/v1/recourse", json={"row": row}).json()
        assert answer["cost"]["value"] == explainer("linear").explain(row).cost
        other = client.post("/api/v1/recourse", json={"row": row | {"zip": "00029"}}).json()
        assert other["cost"]["value"] == explainer("linear").explain(row | {"zip": "00029"}).cost
        assert other["cost"]["value"] != answer["cost"]["value"]
        wrong = client.post("/api/v1/recourse", json={"row": row | {"zip": ["00029"]}})
        assert wrong.status_code == 422


def test_a_function_with_arguments_filled_in_still_needs_trust() -> None:
    from functools import partial

    from sklearn.preprocessing import FunctionTransformer
    from sklearn.utils import check_array

    from armin.bundle.model import dump_model
    from armin.bundle.types import unknown_types

    frame = X[["income", "debt"]]
    for function, harmless in ((partial(check_array, dtype=float), True), (partial(np.clip, a_min=0, a_max=1), False)):
        stored = make_pipeline(FunctionTransformer(function), LogisticRegression()).fit(frame, labels(X))
        assert (unknown_types(dump_model(stored)) == []) == harmless
