"""The bundle: the loaded explainer says what the packed one said, and nothing in a file is believed unchecked."""

from __future__ import annotations

import io
import json
import struct
import sys
import tempfile
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import armin.costs
import armin.sampling
from armin import ARMIN, Promise, Schema
from armin.baselines import ImputationAR, RobustAR
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.bundle.archive import PARTS, write_stored
from armin.bundle.like import describe_types, frame_of_types
from armin.bundle.plain import KNOWN, Reader, Writer
from armin.costs import TableCost, TotalLogPercentileShift
from armin.datasets import make_loans
from armin.errors import ArminError, DataError, ModelError, ParameterError
from armin.registry import import_all
from armin.sampling import (
    ChainedEquations,
    ForestDonors,
    GaussianCopula,
    Marginal,
    MICEImputer,
    NativeMissing,
    NearestDonors,
)

from sealed import packed_zip, rewrite
from worlds import MODELS, World, make_world

pytest.importorskip("skops")

DAY = datetime(2026, 5, 1, tzinfo=UTC)


def said(explainer: Any, row: Any) -> dict[str, Any]:
    """The answer without what a clock says, and where it comes from."""
    data: dict[str, Any] = explainer.explain(row).to_dict()
    del data["proof"]["seconds"], data["proof"]["steps"]
    del data["certificate"]["fingerprint"]  # only who comes from a bundle knows its model's
    return data


def there_and_back(explainer: Any, **options: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = save_bundle(Path(folder) / "b.armin", explainer, created=DAY, trust=options.get("trust", False))
        return load_bundle(file, **options).explainer


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(3)


@pytest.fixture(scope="module")
def fitted(world: World) -> ARMIN:
    return ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=20).fit(world.X)


@pytest.fixture
def packed(fitted: ARMIN, tmp_path: Path) -> Path:
    return save_bundle(tmp_path / "b.armin", fitted, created=DAY)


# the same answers


WORLDS = given(
    seed=st.integers(0, 10_000),
    kind=st.sampled_from(sorted(MODELS)),
    method=st.sampled_from([ARMIN, RobustAR, ImputationAR]),
    sampler=st.sampled_from(
        [
            "chained",
            "donors",
            "marginal",
            "uniform",
            ChainedEquations(numbers="matching", donors=3),
            NearestDonors(7),
            ForestDonors(trees=2),
            GaussianCopula(),
        ]
    ),
    cost=st.sampled_from(
        [
            "tlps",
            "mps",
            "l1",
            "l2",
            "changes",
            TableCost({"city": {"Lima": 0.5}}, "l2"),
            TotalLogPercentileShift(2.0, "kde"),
        ]
    ),
    imputer=st.sampled_from(["mean", "knn", "mice"]),
    holes=st.integers(0, 3),
    threshold=st.sampled_from([None, 0.4]),
)


@settings(max_examples=6, deadline=None, phases=[Phase.generate])
@WORLDS
def test_a_loaded_explainer_says_the_same(**drawn: Any) -> None:
    check_same(**drawn)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, phases=[Phase.generate])
@WORLDS
def test_a_loaded_explainer_says_the_same_at_length(**drawn: Any) -> None:
    check_same(**drawn)


def check_same(
    seed: int, kind: str, method: Any, sampler: Any, cost: Any, imputer: str, holes: int, threshold: float | None
) -> None:
    world = make_world(seed, kind, holes)
    more: dict[str, Any] = {"n_samples": 8} if method is not ImputationAR else {"imputer": imputer}
    explainer = method.from_settings(
        world.classifier,
        world.schema,
        desired="yes",
        sampler=sampler,
        cost=cost,
        threshold=threshold,
        n_fresh=20,
        max_changes=2,
        **more,
    )
    X = world.X.astype(object).mask(np.random.default_rng(seed).random(world.X.shape) < 0.05)
    explainer.fit(X.astype(world.X.dtypes.replace({np.dtype("int64"): np.dtype("float64")}).to_dict()))
    loaded = there_and_back(explainer)
    assert type(loaded) is method
    rows = [world.row, *world.X.head(1).to_dict("records")]
    for row in rows:
        assert said(loaded, row) == said(explainer, row)
    assert [p.cost for p in loaded.path(world.row)] == [p.cost for p in explainer.path(world.row)]


def test_parameters_survive_and_it_can_be_fitted_again(world: World, fitted: ARMIN) -> None:
    loaded = there_and_back(fitted)
    before, after = fitted.get_params(deep=False), loaded.get_params(deep=False)
    for name in set(before) - {"classifier"}:
        assert before[name] == after[name], name
    assert said(loaded.fit(world.X), world.row) == said(fitted, world.row)


LIBRARY_MODELS: dict[str, Callable[[], Any]] = {
    "hist": lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=5),
    "calibrated": lambda: CalibratedClassifierCV(LogisticRegression(), ensemble=False),
    "search": lambda: GridSearchCV(LogisticRegression(), {"C": [1.0, 2.0]}),
    "logs": lambda: make_pipeline(FunctionTransformer(np.cbrt), LogisticRegression()),
    "xgboost": lambda: pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, max_depth=2),
    "lightgbm": lambda: pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=3, min_child_samples=5, verbose=-1),
}


@pytest.mark.parametrize("name", sorted(LIBRARY_MODELS))
def test_models_that_are_checked_need_no_trust(name: str) -> None:
    world = make_world(5)
    encoder = world.classifier[0]
    y = (world.y == "yes").astype(int)
    classifier = make_pipeline(encoder, LIBRARY_MODELS[name]()).fit(world.X, y)
    explainer = ARMIN.from_settings(classifier, world.schema, desired=1, n_samples=5, max_changes=1, n_fresh=20).fit(
        world.X
    )
    assert said(there_and_back(explainer), world.row) == said(explainer, world.row)


def test_native_missing_and_arrays() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    classifier = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, X.sum(axis=1) > 0.5)
    schema = Schema.infer(X)
    explainer = ARMIN(classifier, schema, desired=True, sampler=NativeMissing("donors")).fit(X)
    row = [-1.0, np.nan, -0.5]
    loaded = there_and_back(explainer)
    assert isinstance(loaded.sampler, NativeMissing)
    assert loaded.fitted_.decision.like is None
    assert said(loaded, row) == said(explainer, row)


def test_column_types_survive() -> None:
    frame = pd.DataFrame(
        {
            "small": np.array([1, 2], dtype="int8"),
            "half": np.array([1, 2], dtype="float32"),
            "maybe": pd.array([1, None], dtype="Int64"),
            "flag": [True, False],
            "flag?": pd.array([True, None], dtype="boolean"),
            "plain": pd.Series(["a", "b"], dtype=object),
            "default": ["a", "b"],
            "text": pd.Series(["a", "b"], dtype="string"),
            "letters": pd.Categorical(["a", "b"], categories=["b", "a"], ordered=True),
            "numbers": pd.Categorical([3, 5]),
            "flags": pd.Categorical([True, False]),
        }
    )
    back = frame_of_types(json.loads(json.dumps(describe_types(frame))))
    assert back is not None
    assert back.empty
    assert back.dtypes.to_dict() == frame.dtypes.to_dict()
    assert back["letters"].dtype.ordered
    with pytest.raises(ModelError, match="'when'"):
        describe_types(pd.DataFrame({"when": pd.Categorical(pd.to_datetime(["2020-01-01"]))}))


def test_categories_of_every_type_survive() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"yes": rng.choice([True, False], 60), "k": rng.choice([1, 2, 10], 60), "x": rng.normal(size=60)})
    classifier = LogisticRegression().fit(X, X["x"] + X["yes"] > 0.5)
    schema = Schema.infer(X, kinds={"k": "categorical"})
    explainer = ARMIN.from_settings(classifier, schema, desired=np.True_, n_samples=10).fit(X)
    row = {"yes": None, "k": 2, "x": -1.0}
    assert said(there_and_back(explainer), row) == said(explainer, row)


def test_a_promise_survives(world: World) -> None:
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", promise=Promise(0.5, n_people=12), n_samples=8, n_fresh=0
    )
    explainer.fit(world.X[:60], people=world.X[60:])
    before = said(explainer, world.row)
    loaded = there_and_back(explainer)
    assert list(loaded.calibrations_) == list(explainer.calibrations_) != []
    np.testing.assert_array_equal(loaded.people_, explainer.people_)
    assert said(loaded, world.row) == before
    assert "Tested on 12 real people" in json.dumps(before)


# the file


def test_the_same_input_gives_the_same_bytes(fitted: ARMIN, world: World, tmp_path: Path) -> None:
    boosted = make_pipeline(world.classifier[0], GradientBoostingClassifier(n_estimators=3)).fit(world.X, world.y)
    for i, explainer in enumerate([fitted, ARMIN(boosted, world.schema, desired="yes").fit(world.X)]):
        one = save_bundle(tmp_path / f"{i}a.armin", explainer, created=DAY)
        two = save_bundle(tmp_path / f"{i}b.armin", explainer, created=DAY)
        assert one.read_bytes() == two.read_bytes()
        three = save_bundle(tmp_path / f"{i}c.armin", load_bundle(one).explainer, created=DAY)
        first, third = (zipfile.ZipFile(file).read("learned.npz") for file in (one, three))
        assert first == third


def test_the_date(fitted: ARMIN, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert inspect_bundle(save_bundle(tmp_path / "b", fitted))["created"] == "1970-01-02T00:00:00Z"


def test_inspect_says_what_is_inside(packed: Path, fitted: ARMIN, monkeypatch: pytest.MonkeyPatch) -> None:
    import skops.io

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("inspect must not load")

    monkeypatch.setattr(skops.io, "loads", never)
    monkeypatch.setattr(joblib, "load", never)
    found = inspect_bundle(packed)
    assert found["format"] == "armin.bundle/1"
    assert found["method"] == "ARMIN"
    assert found["desired"] == ["yes"]
    assert found["settings"]["n_samples"] == 20
    assert found["model"] == ["ColumnTransformer", "LogisticRegression"]
    assert found["features"] == fitted.schema.names
    assert found["created"] == "2026-05-01T00:00:00Z"
    assert found["trust"] == []
    assert found["bytes"] == packed.stat().st_size
    assert any("120 training rows" in sentence for sentence in found["kept"])
    json.dumps(found, allow_nan=False)
    with zipfile.ZipFile(packed) as archive:
        assert set(found["parts"]) | {"manifest.json", "signature.json"} == set(archive.namelist())


@pytest.mark.parametrize(
    ("sampler", "words"),
    [("donors", "all 120 training rows, as they are"), ("uniform", "the sampler: nothing"), ("marginal", "Marginal")],
)
def test_what_is_kept_is_said(world: World, sampler: str, words: str, tmp_path: Path) -> None:
    explainer = ARMIN(world.classifier, world.schema, desired="yes", sampler=sampler).fit(world.X)
    assert any(words in sentence for sentence in inspect_bundle(save_bundle(tmp_path / "b", explainer))["kept"])


def test_no_more_training_rows_than_it_says(tmp_path: Path) -> None:
    """Beyond the rows to start from, the values that chained equations saw are not in the file."""
    loans = make_loans(3000)
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    loaded = load_bundle(save_bundle(tmp_path / "b", explainer)).explainer
    assert len(loaded.fitted_.sampler.start_.neighbours_.codes) == 2000
    for values in loaded.fitted_.sampler.marginal_.observed_:
        assert len(np.unique(values)) == 1
    assert len(np.unique(explainer.fitted_.sampler.marginal_.observed_[1])) > 100  # the explainer at hand keeps its own


def test_slim_leaves_out_what_is_not_looked_at_and_answers_the_same(world: World) -> None:
    codes, row = world.schema.encode(world.X), world.schema.encode(world.row)[0]
    chained, forest = ChainedEquations().fit(codes, world.schema), ForestDonors(trees=2).fit(codes, world.schema)
    mice = MICEImputer().fit(codes, world.schema)
    thin = [chained.slim(), forest.slim(), mice.slim().chain_]
    assert all(len(np.unique(values)) == 1 for one in thin for values in one.marginal_.observed_)
    assert not hasattr(mice.slim().chain_, "start_")
    for sampler in (chained, forest):
        before, after = (one.sample(row, 30, np.random.default_rng(0)).values for one in (sampler, sampler.slim()))
        np.testing.assert_array_equal(before, after)
    np.testing.assert_array_equal(mice.impute(row), mice.slim().impute(row))
    whole = [chained, forest, mice.chain_]
    assert all(len(np.unique(one.marginal_.observed_[1])) > 10 for one in whole)  # those at hand keep theirs
    assert hasattr(mice.chain_, "start_")


def test_each_says_what_it_keeps(world: World) -> None:
    codes = world.schema.encode(world.X)
    codes[:, 4] = 1.0  # a column without variation has no regression
    chained, normal = ChainedEquations(), ChainedEquations(numbers="normal")
    said = {str(one): " ".join(one.fit(codes, world.schema).kept()) for one in (chained, normal)}
    assert "all training values of level." in said[str(chained)]
    assert "the training values of amount, rate, as donors." in said[str(chained)]
    assert "as donors" not in said[str(normal)]
    table = TableCost({"city": {"Lima": 0.5}}, "l2").fit(codes, world.schema)
    assert [one.partition(",")[0] for one in table.kept()] == ["TableCost", "WeightedL2"]
    marginal = Marginal().fit(codes, world.schema)
    assert "sorted, not linked" in marginal.kept()[0]
    marginal.observed_ = tuple(codes.T)
    assert "whole rows can be put together again" in marginal.kept()[0]


def test_a_class_may_say_itself_what_is_stored_of_it(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.setattr(Marginal, "stored", lambda self: {"observed_": self.observed_})
    monkeypatch.setattr(Marginal, "restored", classmethod(lambda cls, state: (cls, sorted(state))))
    writer = Writer(world.schema)
    text = writer.json(Marginal().fit(world.schema.encode(world.X), world.schema))
    assert Reader(world.schema, writer.arrays).read(text) == (Marginal, ["observed_"])


def test_people_and_title(fitted: ARMIN, world: World, tmp_path: Path) -> None:
    people = [
        {"name": "Ada", "story": "Says little.", "row": world.row},
        {"name": "Bo", "row": world.X.iloc[0].to_dict()},
    ]
    bundle = load_bundle(save_bundle(tmp_path / "b", fitted, title=" Loans\n now ", people=people))
    assert bundle.title == "Loans now"
    assert [person["name"] for person in bundle.people] == ["Ada", "Bo"]
    assert said(bundle.explainer, bundle.people[0]["row"]) == said(fitted, world.row)
    assert bundle.manifest["people"] == 2
    assert "Prepared applicants, complete with their values." in bundle.manifest["kept"]
    for wrong in ({"row": world.row}, {"name": "x", "row": {"amount": 3}}, {"name": "x", "row": None}, "Ada"):
        with pytest.raises(ArminError, match="applicant 1"):
            save_bundle(tmp_path / "b", fitted, people=[wrong])  # type: ignore[list-item]


GERMAN = {"de": {"labels": {"amount": "Betrag"}}}


def test_texts_travel_along(fitted: ARMIN, packed: Path, tmp_path: Path) -> None:
    assert (load_bundle(packed).letter, inspect_bundle(packed)["letter"]) == ({}, [])
    folder = tmp_path / "letters"
    folder.mkdir()
    (folder / "de.toml").write_text('[labels]\namount = "Betrag"\n', "utf-8")
    first = save_bundle(tmp_path / "1", fitted, letter=folder, created=DAY)
    again = save_bundle(tmp_path / "2", fitted, letter=load_bundle(first).letter, created=DAY)
    assert load_bundle(again).letter == GERMAN
    assert first.read_bytes() == again.read_bytes()
    assert inspect_bundle(again)["letter"] == ["de"]
    with pytest.raises(ArminError, match=r"asks for \{whom\}"):
        save_bundle(tmp_path / "3", fitted, letter={"de": {"plan": {"title": "{whom}"}}})
    (folder / "letter.txt.j2").write_text("{{ title }}", "utf-8")
    with pytest.raises(ParameterError, match=r"'letter\.txt\.j2' is a template, and a bundle carries texts only"):
        save_bundle(tmp_path / "3", fitted, letter=folder)
    assert not (tmp_path / "3").exists()


@pytest.mark.parametrize(
    "content",
    [b"{", b"[" * 100_000, b"\xff", b"[]", b'{"../x": ""}', b'{"de": 3}', b'{"../x": {}}', b'{"xx-evil": {}}',
     b'{"de": {"plan": {"title": 3}}}', b'{"de": {"plan": {"title": "{a.b}"}}}', b'{"letter.css": "p {}"}'],
)  # fmt: skip
def test_strange_texts_are_refused(packed: Path, content: bytes) -> None:
    rewrite(packed, {"letter.json": content})
    with pytest.raises(ArminError):
        load_bundle(packed)


def test_a_failed_write_leaves_the_old_file(fitted: ARMIN, packed: Path) -> None:
    before = packed.read_bytes()
    fitted_with_function = ARMIN(fitted.classifier, fitted.schema, desired="yes", cost=price).fit(make_world(3).X)
    with pytest.raises(ParameterError):
        save_bundle(packed, fitted_with_function)
    assert packed.read_bytes() == before
    with pytest.raises(DataError, match="cannot be written"):
        save_bundle(packed / "below", fitted)
    assert [p.name for p in packed.parent.iterdir()] == ["b.armin"]


# what cannot be stored


def price(feature: Any, before: Any, after: Any) -> float:
    return 1.0


def draw(row: dict[str, Any], n: int, rng: np.random.Generator) -> pd.DataFrame:
    return pd.DataFrame([row] * n)


@pytest.mark.parametrize(("option", "name"), [({"cost": price}, "price"), ({"sampler": draw}, "draw")])
@pytest.mark.parametrize("trust", [False, True])
def test_functions_are_refused_by_name(
    world: World, option: dict[str, Any], name: str, trust: bool, tmp_path: Path
) -> None:
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", **option).fit(world.X)
    with pytest.raises(ParameterError, match=f"'{name}'"):
        save_bundle(tmp_path / "b", explainer, trust=trust)
    assert not (tmp_path / "b").exists()


class OwnSampler(Marginal):
    """A sampler that ARMIN does not know."""


class OwnClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that nobody knows."""

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> OwnClassifier:
        self.classes_ = np.unique(y)
        self.feature_names_in_ = np.array(X.columns, dtype=object)
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        return np.where(X["amount"].to_numpy() > 4, "yes", "no")


@pytest.mark.parametrize("which", ["sampler", "classifier", "neighbours"])
def test_unknown_types_need_trust(world: World, which: str, tmp_path: Path) -> None:
    classifier, sampler, name = world.classifier, "marginal", "OwnSampler"
    if which == "sampler":
        sampler = OwnSampler()
    elif which == "classifier":
        classifier, name = OwnClassifier().fit(world.X, world.y), "OwnClassifier"
    else:
        classifier = make_pipeline(world.classifier[0], KNeighborsClassifier()).fit(world.X, world.y)
        name = r"KDTree|ArgKmin|EuclideanDistance"
    explainer = ARMIN.from_settings(
        classifier, world.schema, desired="yes", sampler=sampler, method="blackbox", n_samples=5
    )
    explainer.fit(world.X)
    file = tmp_path / "b.armin"
    with pytest.raises(ModelError, match=name) as refusal:
        save_bundle(file, explainer)
    assert "trust=True" in str(refusal.value)
    save_bundle(file, explainer, trust=True)
    needs = inspect_bundle(file)["trust"]
    assert needs
    with pytest.raises(ModelError, match="trust=True") as refusal:
        load_bundle(file)
    if which != "sampler":
        assert any(need in str(refusal.value) for need in needs)
    assert said(load_bundle(file, trust=True).explainer, world.row) == said(explainer, world.row)


class Trap:
    """Leaves a mark when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.mark,)


def test_a_pickle_is_not_opened_without_trust(packed: Path, tmp_path: Path) -> None:
    mark, stream = tmp_path / "mark", io.BytesIO()
    joblib.dump(Trap(mark), stream)
    for key, refusal in ((None, "is not signed"), ("own", "pickle")):
        rewrite(packed, {"model.pickle": stream.getvalue()}, ("model.skops",), key=key, trust=["model.pickle"])
        with pytest.raises(ArminError, match=refusal):
            load_bundle(packed)
        assert inspect_bundle(packed)["trust"] == ["model.pickle"]
    assert not mark.exists()
    with pytest.raises(ArminError):
        load_bundle(packed, trust=True)
    assert mark.exists()  # the trap works


def test_what_is_not_an_explainer_is_refused(world: World, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="LogisticRegression"):
        save_bundle(tmp_path / "b", LogisticRegression())  # type: ignore[arg-type]
    with pytest.raises(ArminError, match="not fitted"):
        save_bundle(tmp_path / "b", ARMIN(world.classifier, world.schema, desired="yes"))


def test_every_own_cost_sampler_and_imputer_can_be_stored() -> None:
    for module in (armin.costs, armin.sampling):
        for name in module.__all__:
            kind = getattr(module, name)
            if isinstance(kind, type) and issubclass(kind, BaseEstimator) and name != "NativeMissing":  # a marker
                assert KNOWN[name] is kind


def test_no_two_classes_are_stored_under_one_name() -> None:
    """The name is all that a bundle says about a class."""
    names = [name for package in ("armin.costs", "armin.sampling", "armin.promise") for name in import_all(package)]
    own = [one for name in names for one in vars(sys.modules[name]).values() if getattr(one, "__module__", "") == name]
    homes = {one.__name__: one for one in own if isinstance(one, type)}
    assert len(homes) == sum(isinstance(one, type) for one in own)
    assert all(kind.__module__.startswith("armin.") for kind in KNOWN.values())


# hostile and damaged files


def test_a_newer_format_is_refused(packed: Path) -> None:
    rewrite(packed, {"surprise.bin": b""}, format="armin.bundle/2", armin="9.1")
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match=r"newer ARMIN \(9\.1, format 2\).*update ARMIN"):
            read(packed)


@pytest.mark.parametrize(
    "part", ["schema.toml", "settings.json", "like.json", "learned.npz", "learned.json", "model.skops"]
)
def test_a_tampered_part_is_refused(packed: Path, part: str) -> None:
    with zipfile.ZipFile(packed) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = parts[part][:-1] + bytes([parts[part][-1] ^ 1])
    packed.write_bytes(write_stored(parts))
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match=f"{part}.*checksum"):
            read(packed)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(packed: Path, share: float) -> None:
    whole = packed.read_bytes()
    packed.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(DataError):
        load_bundle(packed)


@settings(max_examples=60, deadline=None, phases=[Phase.generate])
@given(data=st.data())
def test_damage_is_always_refused_on_purpose(data: st.DataObject) -> None:
    """Any bytes in place of any: an error that ARMIN raises on purpose, or the very same bundle."""
    whole = bytearray(DAMAGED.get_or_make())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(whole) - 1) | st.sampled_from(DAMAGED.idle()))
        whole[at] = data.draw(st.integers(0, 255))
    refused_or_same(bytes(whole))


def test_damage_where_nothing_is_said_changes_nothing() -> None:
    """Bytes of the zip file that say nothing, such as the time of day of a part, may be any: the bundle is the same."""
    whole = bytearray(DAMAGED.get_or_make())
    for at in DAMAGED.idle():
        whole[at] ^= 1
    assert bytes(whole) != DAMAGED.get_or_make()
    assert not refused_or_same(bytes(whole))


class DAMAGED:
    """A small bundle, made once."""

    whole: bytes = b""

    @classmethod
    def get_or_make(cls) -> bytes:
        if not cls.whole:
            world = make_world(2)
            explainer = ARMIN(world.classifier, world.schema, desired="yes", sampler="uniform").fit(world.X)
            with tempfile.TemporaryDirectory() as folder:
                cls.whole = save_bundle(Path(folder) / "b", explainer, created=DAY).read_bytes()
        return cls.whole

    @classmethod
    def idle(cls) -> list[int]:
        """Where the times of day of the parts stand: nobody looks at them."""
        with zipfile.ZipFile(io.BytesIO(cls.get_or_make())) as archive:
            return [part.header_offset + 10 for part in archive.infolist()]


def refused_or_same(content: bytes) -> bool:
    """Whether it is refused; where it is not, what was loaded is written again, and must be the same file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "b.armin"
        file.write_bytes(content)
        try:
            loaded = load_bundle(file)
        except ArminError:
            return True
        again = save_bundle(Path(folder) / "again", loaded.explainer, created=DAY).read_bytes()
        assert again == DAMAGED.get_or_make()
        with zipfile.ZipFile(io.BytesIO(again)) as archive:
            assert json.loads(archive.read("manifest.json")) == loaded.manifest
        return False


def test_strange_names_and_missing_parts_are_refused(packed: Path) -> None:
    whole = packed.read_bytes()
    for name in ("../evil.txt", "/etc/passwd", "x" * 300, "model.skops/", "letter.html"):
        packed.write_bytes(whole)
        rewrite(packed, {name: b"hello"})
        with pytest.raises(DataError, match="does not belong"):
            load_bundle(packed)
    for part in ("schema.toml", "settings.json", "like.json", "learned.json", "model.skops"):
        packed.write_bytes(whole)
        rewrite(packed, {}, drop=(part,))
        with pytest.raises(DataError):
            load_bundle(packed)
    packed.write_bytes(whole)
    rewrite(packed, {f"{i}": b"" for i in range(len(PARTS) + 2)})
    with pytest.raises(DataError, match="At most"):
        load_bundle(packed)


def test_no_bundle_at_all(tmp_path: Path) -> None:
    file = tmp_path / "b.armin"
    with pytest.raises(DataError, match="There is no bundle"):
        load_bundle(file)
    for content in (b"", b"hello", write_stored({"a.txt": b"x"}), write_stored({"manifest.json": b"{}"})):
        file.write_bytes(content)
        with pytest.raises(DataError):
            load_bundle(file)
    for text in (
        '{"format": "armin.bundle/1"}',
        '{"format": "armin.bundle/1", "parts": {"schema.toml": 3}}',
        "[" * 9999,
    ):
        file.write_bytes(write_stored({"manifest.json": text.encode()}))
        with pytest.raises(DataError):
            inspect_bundle(file)


def test_a_bomb_is_refused_unopened(packed: Path) -> None:
    """A part that claims three gigabytes in the directory of the zip file."""
    whole = bytearray(packed.read_bytes())
    at = whole.rfind(b"PK\x01\x02")
    struct.pack_into("<I", whole, at + 24, 3 * 2**30)
    packed.write_bytes(bytes(whole))
    with pytest.raises(DataError, match="would unpack to"):
        load_bundle(packed)


@pytest.mark.parametrize("part", ["learned.npz", "model.skops"])
def test_a_bomb_inside_a_part_is_refused(packed: Path, part: str) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    rewrite(packed, {part: write_stored({"0.npy": header.getvalue(), "schema.json": b"{}"})})
    with pytest.raises(DataError, match="not what it claims"):
        load_bundle(packed)
    rewrite(packed, {part: packed_zip({"0.npy": bytes(2**20)}, zipfile.ZIP_DEFLATED)})
    with pytest.raises(DataError, match="larger than it is"):
        load_bundle(packed)
    rewrite(packed, {part: write_stored({"0.npy": b"no array"})})
    with pytest.raises(DataError):
        load_bundle(packed)
    rewrite(packed, {part: b"no zip"})
    with pytest.raises(DataError):
        load_bundle(packed)


def skops_file(node: dict[str, Any]) -> bytes:
    return write_stored({"schema.json": json.dumps(node | {"protocol": 2, "_skops_version": "0.13"}).encode()})


ARGUMENTS = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode", "content": []}


@pytest.mark.parametrize(
    "node",
    [
        {"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"},
        {
            "__class__": "Popen",
            "__module__": "subprocess",
            "__loader__": "ConstructorFromReduceNode",
            "content": ARGUMENTS,
        },
        {
            "__class__": "main",
            "__module__": "armin.cli",
            "__loader__": "ConstructorFromReduceNode",
            "content": ARGUMENTS,
        },
        {"__class__": "runstring", "__module__": "numpy.testing", "__loader__": "FunctionNode"},
        {"__class__": "methodcaller", "__module__": "operator", "__loader__": "OperatorFuncNode", "attrs": ARGUMENTS},
    ],
)
def test_code_in_a_model_file_is_refused_by_name(packed: Path, node: dict[str, Any]) -> None:
    rewrite(packed, {"model.skops": skops_file(node)}, key=None)
    assert any(node["__class__"] in name for name in inspect_bundle(packed)["trust"])
    rewrite(packed, {})
    with pytest.raises(
        ModelError, match=rf"{node['__module__']}\.{node['__class__']}".replace(".", r"\.").replace(r"\\", "\\")
    ):
        load_bundle(packed)


@pytest.mark.parametrize("node", [{}, {"__loader__": "NoSuchNode"}, {"__loader__": "JsonNode", "content": "1"}])
def test_nonsense_in_a_model_file_is_refused(packed: Path, node: dict[str, Any]) -> None:
    rewrite(packed, {"model.skops": skops_file(node)})
    with pytest.raises(ArminError):
        load_bundle(packed)


@pytest.mark.parametrize(
    ("part", "content"),
    [
        ("learned.json", '{"$": "Popen", "v": []}'),
        ("learned.json", '{"$": "dict", "v": [["explain", 3]]}'),
        ("learned.json", '{"$": "dict", "v": [["oracle_", 3]]}'),
        ("learned.json", '{"$": "dict", "v": [["cost_", 3]]}'),
        ("learned.json", '{"$": "array", "v": "99.npy"}'),
        ("learned.json", "{}"),
        ("learned.json", "[" * 100 + "]" * 100),
        ("learned.json", "[" * 99999),
        ("settings.json", '{"$": "dict", "v": [["desired", "yes"], ["colour", "red"]]}'),
        ("settings.json", '{"$": "dict", "v": [["desired", "yes"], ["classifier", 1]]}'),
        ("settings.json", '{"$": "dict", "v": [["desired", "maybe"]]}'),
        ("settings.json", '{"$": "dict", "v": [["desired", "yes"], ["confidence", 7]]}'),
        ("like.json", '[{"$": "dict", "v": [["name", "amount"], ["type", "no such type"]]}]'),
        ("like.json", "[3]"),
        ("schema.toml", "armin_schema = 1"),
        ("schema.toml", "\x00"),
    ],
)
def test_parts_that_make_no_sense_are_refused(packed: Path, part: str, content: str) -> None:
    rewrite(packed, {part: content.encode()})
    with pytest.raises(ArminError):
        load_bundle(packed)
