"""Files that mean harm: each is refused, or does nothing within stated limits. See docs/security.md."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
import re
import struct
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import all_estimators
from typer.testing import CliRunner

from armin import ARMIN, Feature, Schema
from armin.bundle import inspect_bundle, load_bundle, save_bundle, try_bundle
from armin.bundle.allowed import ALLOWED
from armin.bundle.archive import PARTS, write_stored
from armin.bundle.boosters import check_boosters, check_lightgbm, check_xgboost
from armin.bundle.checks import check_model
from armin.bundle.model import dump_model, load_model
from armin.bundle.trees import parts_of
from armin.bundle.types import unknown_types
from armin.cli import app
from armin.errors import DataError, MissingDependencyError, ModelError, ParameterError, SchemaError
from armin.models.kinds import Above
from armin.models.nodes import OneTree, plant

from worlds import World, make_world

pytest.importorskip("skops")

RNG = np.random.default_rng(0)
X = np.abs(RNG.normal(size=(60, 3)))
Y = (X.sum(axis=1) > 2.2).astype(int)
LETTERS = pd.DataFrame({"a": list("xyyzzz") * 10, "b": np.arange(60.0)})
TYPED = LETTERS.assign(a=pd.Categorical(LETTERS["a"]))


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(3)


@pytest.fixture(scope="module")
def fitted(world: World) -> ARMIN:
    return ARMIN(world.classifier, world.schema, desired="yes", n_samples=20).fit(world.X)


@pytest.fixture
def packed(fitted: ARMIN, tmp_path: Path) -> Path:
    return save_bundle(tmp_path / "b.armin", fitted)


def rewrite(file: Path, new: dict[str, bytes], compression: int = zipfile.ZIP_STORED, **manifest: Any) -> None:
    """Change parts of a bundle, with checksums that fit."""
    with zipfile.ZipFile(file) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()} | new
    said = json.loads(parts.pop("manifest.json")) | manifest
    listed = {n: {"bytes": len(p), "sha256": hashlib.sha256(p).hexdigest()} for n, p in parts.items()}
    said["parts"] = {name: entry for name, entry in listed.items() if name != "signature.json"}
    file.write_bytes(write_stored({"manifest.json": json.dumps(said).encode()} | parts, compression))


def unpacked(data: bytes) -> dict[str, bytes]:
    """The files in a zip file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def nodes_of(root: Any) -> Iterator[dict[str, Any]]:
    """All objects inside JSON."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
        stack.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())


# attributes that contradict each other


def put(name: str, value: Any) -> Callable[[Any], None]:
    """Set an attribute."""
    return lambda model: vars(model).__setitem__(name, value)


def inside(kind: str, change: Callable[[Any], None]) -> Callable[[Any], None]:
    """Change the first part of a class."""
    return lambda model: change(next(part for part in parts_of(model) if type(part).__name__ == kind))


def edited(name: str, edit: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Edit an attribute in place."""
    return lambda model: edit(vars(model)[name])


def first(index: int, value: Any) -> Callable[[Any], None]:
    return lambda array: array.__setitem__(index, value)


def rare() -> OneHotEncoder:
    return OneHotEncoder(max_categories=2, drop="first").fit(LETTERS[["a"]])


def histograms() -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype", min_samples_leaf=3).fit(
        TYPED, (LETTERS["a"] == "z") ^ (LETTERS["b"] > 30)
    )


def numbers() -> OneHotEncoder:
    return OneHotEncoder().fit(np.array([[1.0], [2.0], [3.0]]))


FORGED: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "columns of a one-hot encoder": (lambda: OneHotEncoder().fit(LETTERS[["a"]]), put("_n_features_outs", [1])),
    "what a one-hot encoder drops": (rare, edited("_drop_idx_after_grouping", first(0, 7))),
    "where rare categories go": (rare, put("_default_to_infrequent_mappings", [np.array([1, 1, 99])])),
    "categories out of order": (numbers, put("categories_", [np.array([3.0, 2.0, 1.0])])),
    "ranks out of order": (
        lambda: OrdinalEncoder().fit(np.array([[1.0], [2.0]])),
        put("categories_", [np.array([2.0, 1.0])]),
    ),
    "an encoder without a width": (numbers, lambda model: vars(model).pop("n_features_in_")),
    "width of polynomials": (lambda: PolynomialFeatures().fit(X), put("_n_out_full", 10**6)),
    "degree of polynomials": (lambda: PolynomialFeatures().fit(X), put("_max_degree", 10**9)),
    "knots of a spline": (
        lambda: SplineTransformer().fit(X),
        inside("BSpline", lambda spline: put("_t" if "_t" in vars(spline) else "t", np.zeros(3))(spline)),
    ),
    "width of splines": (lambda: SplineTransformer().fit(X), put("n_features_out_", 10**9)),
    "support vectors": (lambda: SVC(kernel="linear").fit(X, Y), put("_n_support", np.array([999, 999], np.int32))),
    "weights of support vectors": (lambda: SVC().fit(X, Y), put("_dual_coef_", np.zeros((1, 1)))),
    "kind of machine": (lambda: SVC().fit(X, Y), put("_impl", "epsilon_svr")),
    "a tree in a forest": (
        lambda: RandomForestClassifier(2, random_state=0).fit(X, Y),
        lambda model: put("n_features_in_", 10**6)(model.estimators_[1]),
    ),
    "a bagged tree": (
        lambda: BaggingClassifier(DecisionTreeClassifier(), 2).fit(X, Y),
        lambda model: put("n_features_in_", 1)(model.estimators_[1]),
    ),
    "a tree that is none": (lambda: DecisionTreeClassifier().fit(X, Y), put("tree_", "none")),
    "what boosting starts from": (
        lambda: GradientBoostingClassifier(n_estimators=2).fit(X, np.arange(60) % 3),
        inside("DummyClassifier", put("class_prior_", np.array([0.5, 0.5]))),
    ),
    "categories of histograms": (
        histograms,
        inside("_BinMapper", put("bin_thresholds_", [np.array([0.0, 999.0]), np.arange(3.0)])),
    ),
    "categories that are none": (
        histograms,
        inside("_BinMapper", put("is_categorical_", np.zeros(2, np.uint8))),
    ),
    "columns before histograms": (
        histograms,
        inside("ColumnTransformer", lambda columns: columns.transformers_.pop(1)),
    ),
    "arguments of a function": (
        lambda: FunctionTransformer(np.cbrt).fit(X),
        put("kw_args", {"where": False}),
    ),
    "texts that are files": (lambda: CountVectorizer().fit(["aa bb"]), put("input", "filename")),
    "texts that are open files": (lambda: TfidfVectorizer().fit(["aa bb"]), put("input", "file")),
    "words beyond the table": (lambda: CountVectorizer().fit(["aa bb"]), put("vocabulary_", {"aa": 0, "bb": 10**6})),
    "a pattern that never ends": (lambda: CountVectorizer().fit(["aa"]), put("token_pattern", r"(a|a?)+$")),
    "a sparse matrix": (
        lambda: LogisticRegression().fit(X, Y).sparsify(),
        lambda model: model.coef_.indices.__setitem__(0, 10**6),
    ),
    "not a number": (lambda: LogisticRegression().fit(X, Y), put("coef_", np.array([[np.nan, 1.0, 1.0]]))),
    "an infinite bias": (lambda: LogisticRegression().fit(X, Y), put("intercept_", np.array([np.inf]))),
    "not a number in a network": (
        lambda: MLPClassifier((2,), max_iter=2).fit(X, Y),
        lambda model: model.coefs_[0].__setitem__((0, 0), np.nan),
    ),
    "not a number in naive Bayes": (lambda: GaussianNB().fit(X, Y), put("theta_", np.full((2, 3), np.nan))),
    "no number as a spread": (lambda: GaussianNB().fit(X, Y), put("var_", np.full((2, 3), np.nan))),
    "no number as a share": (lambda: GaussianNB().fit(X, Y), put("class_prior_", np.full(2, np.nan))),
    "anything as a weight": (lambda: LogisticRegression().fit(X, Y), put("coef_", np.array([[0, 1, np.nan]], object))),
    "no number in a calibration": (
        lambda: CalibratedClassifierCV(LogisticRegression(), cv=2).fit(X, Y),
        inside("_SigmoidCalibration", put("a_", np.nan)),
    ),
    "no number in a leaf": (
        lambda: DecisionTreeClassifier().fit(X, Y),
        lambda model: model.tree_.value.fill(np.nan),
    ),
    "no number in a split": (
        lambda: RandomForestClassifier(2).fit(X, Y),
        lambda model: model.estimators_[0].tree_.threshold.fill(np.nan),
    ),
    "no number in boosting": (
        lambda: GradientBoostingClassifier(n_estimators=2).fit(X, Y),
        lambda model: model.estimators_[0, 0].tree_.value.fill(np.inf),
    ),
    "no number in histograms": (histograms, lambda model: model._predictors[0][0].nodes.__setitem__("value", np.nan)),
    "no number before histograms": (histograms, put("_baseline_prediction", np.array([[np.nan]]))),
    "a scale of another width": (lambda: StandardScaler().fit(X), put("scale_", np.ones(2))),
    "a million jobs": (lambda: RandomForestClassifier(2).fit(X, Y), put("n_jobs", 10**6)),
    "an attribute before a method": (lambda: StandardScaler().fit(X), put("transform", "mine")),
    "a place in a table": (
        lambda: RandomForestClassifier(2, random_state=np.random.RandomState(0)).fit(X, Y),
        lambda model: model.random_state.set_state(("MT19937", np.zeros(624, np.uint32), 5000, 0, 0.0)),
    ),
}


@pytest.mark.parametrize("attack", FORGED)
@pytest.mark.filterwarnings("ignore")
def test_forged_attributes_are_refused(attack: str) -> None:
    make, forge = FORGED[attack]
    model = make()
    check_model(model)  # as it was fitted, there is nothing to say against it
    forge(model)
    with pytest.raises(DataError, match="broken"):
        check_model(model)


def forged_bundle(world: World, file: Path) -> Path:
    """The file of the review: a one-hot encoder that counts fewer columns than it fills."""
    classifier = copy.deepcopy(world.classifier)
    encoder = next(p for p in parts_of(classifier) if type(p).__name__ == "OneHotEncoder" and hasattr(p, "categories_"))
    encoder._n_features_outs = [1 for _ in encoder._n_features_outs]
    rewrite(file, {"model.skops": dump_model(classifier)})
    return file


def test_a_forged_encoder_does_not_reach_the_heap(world: World, packed: Path) -> None:
    file = forged_bundle(world, packed)
    assert inspect_bundle(file)["trust"] == []  # its types are harmless; what they hold is not
    with pytest.raises(DataError, match=r"OneHotEncoder is broken: '_n_features_outs'.*--trust"):
        load_bundle(file)


def test_a_vectorizer_reads_no_files(world: World, packed: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("password hunter", "utf-8")
    model = make_pipeline(CountVectorizer(input="filename"), LogisticRegression()).fit([str(secret)] * 4, [0, 1] * 2)
    rewrite(packed, {"model.skops": dump_model(model)})
    with pytest.raises(DataError, match="CountVectorizer is broken: 'input'"):
        load_bundle(packed)


@pytest.mark.filterwarnings("ignore")
def test_what_is_not_on_the_list_needs_trust(tmp_path: Path) -> None:
    from sklearn.neighbors import NearestCentroid

    frame = pd.DataFrame(X, columns=list("abc"))
    model = NearestCentroid().fit(frame, Y)
    assert unknown_types(dump_model(model)) == ["sklearn.neighbors._nearest_centroid.NearestCentroid"]
    explainer = ARMIN(model, Schema.infer(frame), desired=1, method="blackbox", n_samples=5).fit(frame)
    with pytest.raises(ModelError, match="NearestCentroid"):
        save_bundle(tmp_path / "b", explainer)


def test_who_packs_hears_what_would_be_refused(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=list("abc"))
    model = make_pipeline(FunctionTransformer(np.cbrt, kw_args={"dtype": float}), LogisticRegression()).fit(frame, Y)
    explainer = ARMIN(model, Schema.infer(frame), desired=1, n_samples=5).fit(frame)
    with pytest.raises(ModelError, match=r"would be refused.*FunctionTransformer is broken: 'kw_args'.*trust=True"):
        save_bundle(tmp_path / "b", explainer)
    file = save_bundle(tmp_path / "b", explainer, trust=True)
    with pytest.raises(DataError, match="kw_args"):
        load_bundle(file)
    load_bundle(file, trust=True)


def fitted_one(name: str, kind: Any) -> Any:
    """An estimator of the list, fitted to something that suits it."""
    base = LogisticRegression().fit(X, Y)
    given: dict[str, tuple[Any, ...]] = {
        "GridSearchCV": (base, {"C": [1.0]}),
        "RandomizedSearchCV": (base, {"C": [1.0, 2.0]}),
        "FeatureUnion": ([("a", StandardScaler())],),
        "Pipeline": ([("a", StandardScaler()), ("b", base)],),
        "ColumnTransformer": ([("a", StandardScaler(), [0]), ("b", OneHotEncoder(), [1])],),
        "VotingClassifier": ([("a", base), ("b", DecisionTreeClassifier())],),
        "StackingClassifier": ([("a", base), ("b", DecisionTreeClassifier())],),
    }
    wraps = ("RFE", "RFECV", "SequentialFeatureSelector", "SelectFromModel", "CalibratedClassifierCV",
             "FixedThresholdClassifier", "TunedThresholdClassifierCV", "FrozenEstimator")  # fmt: skip
    more: dict[str, Any] = {"n_iter": 1} if name == "RandomizedSearchCV" else {}
    model = kind(*given.get(name, (base,) if name in wraps else ()), **more)
    if name in ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"):
        return model.fit(["aa bb", "cc aa"])
    if name in ("LabelBinarizer", "LabelEncoder"):
        return model.fit(Y)
    if name == "IsotonicRegression":
        return model.fit(X[:, 0], Y)
    return model.fit((X > 1).astype(int) if name == "CategoricalNB" else X, Y)


@pytest.mark.filterwarnings("ignore")
def test_everything_on_the_list_loads_as_it_was_fitted() -> None:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401

    known = {f"{kind.__module__}.{kind.__name__}": kind for _, kind in all_estimators()}
    tried = 0
    for full in sorted(ALLOWED & set(known)):
        name = full.rpartition(".")[2]
        if name.startswith(("Select", "Generic")) and name != "SelectFromModel":
            continue  # the function that scores needs trust, as before
        data = dump_model(fitted_one(name, known[full]))
        assert unknown_types(data) == [], name
        load_model(data, trust=False)
        tried += 1
    assert tried >= len(ALLOWED) - 12  # older releases lack some


@pytest.mark.filterwarnings("ignore")
def test_lightgbm_is_looked_at_before_lightgbm_looks() -> None:
    lightgbm = pytest.importorskip("lightgbm")
    many = {"num_leaves": 6, "min_child_samples": 3, "verbose": -1, "min_data_per_group": 3, "cat_smooth": 1}
    wanted = (LETTERS["a"] == "z") ^ (LETTERS["b"] > 30)
    model = lightgbm.LGBMClassifier(n_estimators=3, max_cat_to_onehot=1, **many).fit(TYPED, wanted)
    text = model.booster_.model_to_string()
    check_lightgbm(text)
    data = dump_model(model)
    load_model(data, trust=False)
    assert "\ncat_threshold=" in text
    with pytest.raises(DataError, match="leaf_value"):
        check_lightgbm(
            re.sub(r"(?m)^leaf_value=\S+", lambda found: "leaf_value=" + "nan".ljust(len(found[0]) - 11), text)
        )
    for twice in ("left_child=1", "left_child=\u0661"):
        with pytest.raises(DataError, match="Booster is broken"):
            check_lightgbm(text.replace("\nleft_child=", f"\n{twice}\nleft_child=", 1))
    forged = {
        "split_feature": "999999", "left_child": "999999", "right_child": "0", "threshold": "77",
        "cat_boundaries": "0 9999999", "leaf_value": "1", "num_leaves": "1000000", "num_cat": "5",
        "tree_sizes": "99999999", "max_feature_idx": "-1",
    }  # fmt: skip
    for name, value in forged.items():
        lines = text.split("\n")
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{name}="))
        rest = lines[at].partition("=")[2].split()[1:]
        kept = [] if name in ("cat_boundaries", "num_leaves", "num_cat", "leaf_value") else rest
        if name == "threshold":  # a set of categories beyond the table
            kept, value = [value] * len(rest), "77"
        lines[at] = f"{name}={' '.join([value, *kept])}"
        with pytest.raises(DataError, match="Booster is broken"):
            check_lightgbm("\n".join(lines))
        entries = unpacked(data)
        old, new = (json.dumps(json.dumps(one))[1:-1].encode() for one in (text, "\n".join(lines)))
        assert old in entries["schema.json"]
        entries["schema.json"] = entries["schema.json"].replace(old, new)
        with pytest.raises(DataError, match="Booster is broken"):
            load_model(write_stored(entries), trust=False)


def xgboosts() -> dict[str, Any]:
    """Models of XGBoost in all the forms that it keeps them in."""
    xgboost = pytest.importorskip("xgboost")
    few = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
    sets = xgboost.XGBClassifier(**few, enable_categorical=True, max_cat_to_onehot=1, min_child_weight=0)
    plain = xgboost.XGBClassifier(**few)
    return {
        "plain": plain.fit(X, Y), "three": xgboost.XGBClassifier(**few).fit(X, np.arange(60) % 3),
        "pruned": xgboost.XGBClassifier(**few, gamma=2.0, tree_method="exact").fit(X, Y),
        "dart": xgboost.XGBClassifier(**few, booster="dart").fit(X, Y),
        "linear": xgboost.XGBClassifier(n_estimators=2, booster="gblinear").fit(X, Y),
        "sets": sets.fit(TYPED, LETTERS["a"] == "y"),
    }  # fmt: skip


def tree_of(told: Any) -> Any:
    return told["learner"]["gradient_booster"]["model"]["trees"][0]


def at(name: str, place: int, value: Any) -> Callable[[Any], None]:
    """Set one number of the first tree."""
    return lambda told: tree_of(told)[name].__setitem__(place, value)


XGBOOST: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "in circles": ("plain", at("left_children", 1, 0)),
    "two ways to one node": ("plain", at("left_children", 0, 2)),
    "a node that is not there": ("plain", at("left_children", 0, 10**6)),
    "half a leaf": ("plain", at("right_children", 0, -1)),
    "a node before the first": ("plain", at("right_children", 0, -5)),
    "parents of others": ("plain", at("parents", 1, 2)),
    "a feature that is not there": ("plain", at("split_indices", 0, 10**8)),
    "not a number": ("plain", at("split_conditions", -1, float("nan"))),
    "a class that is not there": (
        "plain", lambda told: told["learner"]["gradient_booster"]["model"].update(tree_info=[0, 0, 10**6])),
    "a hundred million classes": (
        "plain", lambda told: told["learner"]["learner_model_param"].update(num_class=str(10**8))),
    "more nodes than listed": ("plain", lambda told: tree_of(told)["tree_param"].update(num_nodes="99")),
    "leaves of many numbers": ("plain", lambda told: tree_of(told)["tree_param"].update(size_leaf_vector="9")),
    "steps beyond the trees": (
        "plain", lambda told: told["learner"]["gradient_booster"]["model"].update(iteration_indptr=[0, 1, 99])),
    "weights of trees": ("dart", lambda told: told["learner"]["gradient_booster"].update(weight_drop=[1.0])),
    "weights of columns": (
        "linear", lambda told: told["learner"]["gradient_booster"]["model"].update(weights=[1.0])),
    "a set beyond its table": ("sets", at("categories_sizes", 0, 10**6)),
    "a set before its table": ("sets", at("categories_segments", 0, -4)),
    "a category of half a gigabyte": ("sets", at("categories", 0, 2**31 - 1)),
    "a set that is none": ("sets", lambda told: tree_of(told).update(categories_nodes=[])),
}  # fmt: skip


def ubjson(thing: Any) -> bytes:
    """As XGBoost writes it, but for arrays of one type."""
    if isinstance(thing, dict):
        inside = b"".join(b"L" + struct.pack(">q", len(k.encode())) + k.encode() + ubjson(v) for k, v in thing.items())
        return b"{" + inside + b"}"
    if isinstance(thing, list):
        return b"[#L" + struct.pack(">q", len(thing)) + b"".join(map(ubjson, thing))
    if isinstance(thing, str):
        return b"SL" + struct.pack(">q", len(thing.encode())) + thing.encode()
    return b"D" + struct.pack(">d", thing) if isinstance(thing, float) else b"L" + struct.pack(">q", thing)


@pytest.mark.filterwarnings("ignore")
def test_xgboost_is_looked_at_before_xgboost_looks() -> None:
    """Each of these crashes XGBoost or takes all memory, unless it is only wrong."""
    models = xgboosts()
    told = {name: json.loads(bytes(model.get_booster().save_raw("json"))) for name, model in models.items()}
    for name, model in models.items():
        load_model(dump_model(model), trust=False)
        check_xgboost(ubjson(told[name]))
        assert name != "sets" or tree_of(told[name])["categories"]
    for name, forge in XGBOOST.values():
        forged = json.loads(json.dumps(told[name]))
        forge(forged)
        with pytest.raises(DataError, match="Booster is broken"):
            check_xgboost(ubjson(forged))
    for config in ({"nthread": str(10**6)}, {"learner": {"generic_param": {"nthread": "-99999"}}}):
        with pytest.raises(DataError, match="nthread"):
            check_xgboost(ubjson({"Config": config, "Model": told["plain"]}))


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"{}x", b'{"learner": {}}', b"[$Z#L" + struct.pack(">q", 2**60), b"[" * 99, b"SL" + b"\xff" * 8,
     b"[#L" + struct.pack(">q", 2**60), b"{i\x01aTi\x01aT}"],
)  # fmt: skip
def test_what_xgboost_would_not_write_is_not_read(data: bytes) -> None:
    with pytest.raises(DataError, match="Booster is broken"):
        check_xgboost(data)


@pytest.mark.filterwarnings("ignore")
def test_a_booster_is_made_from_what_was_looked_at() -> None:
    """A number that was given before stands for what had it first, whatever stands behind it the second time."""
    pytest.importorskip("xgboost")
    entries = unpacked(dump_model(xgboosts()["plain"]))
    outline = json.loads(entries["schema.json"])
    booster = next(node for node in nodes_of(outline) if node.get("__class__") == "Booster")
    for part in (booster["content"]["content"]["handle"], booster["content"]):
        forged = json.loads(json.dumps(part).replace('.bin"', '.other"'))
        first = {"a": forged} | outline["content"]["content"]
        evil = outline | {"content": outline["content"] | {"content": first}}
        name = next(node["file"] for node in nodes_of(forged) if "file" in node)
        files = entries | {"schema.json": json.dumps(evil).encode(), name: b"{}"}
        with pytest.raises(DataError, match="Booster is broken: 'handle'"):
            load_model(write_stored(files), trust=False)
    handle = booster["content"]["content"]["handle"]
    for wrong in ({"__loader__": "NdArrayNode"}, {"file": "nowhere"}):
        booster["content"]["content"]["handle"] = handle | wrong
        with pytest.raises(DataError, match="Booster is broken: 'handle'"):
            check_boosters(outline, entries)


@pytest.mark.parametrize(("field", "value"), [("feature", 7), ("left", 99), ("right", -3)])
def test_trees_that_are_read_lead_nowhere_else(field: str, value: int) -> None:
    """Whatever a library says about its trees, compiled code only follows what exists."""
    parts = {
        "feature": np.array([0, -1, -1]), "threshold": np.zeros(3), "left": np.array([1, -1, -1]),
        "right": np.array([2, -1, -1]), "nan_left": np.zeros(3, bool), "value": np.zeros((3, 1)),
    }  # fmt: skip
    plant([OneTree(**parts)], [0.0], Above(0.0), 1)
    parts[field][0] = value
    with pytest.raises(ModelError, match="It is damaged"):
        plant([OneTree(**parts)], [0.0], Above(0.0), 1)


def test_donors_that_point_out_of_the_file_are_refused(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        outline, entries = json.loads(archive.read("learned.json")), unpacked(archive.read("learned.npz"))
    places = [dict(node["v"]) for node in nodes_of(outline) if node.get("$") == "Matching"]
    largest = 2**63 - 1  # one more is the smallest
    for field, value in (
        ("first", 10**6), ("size", 10**6), ("first", -5), ("means", np.inf), ("first", largest), ("size", largest),
    ):  # fmt: skip
        name = places[0][field]["v"]
        array = np.load(io.BytesIO(entries[name])).copy()
        array[0] = value
        stream = io.BytesIO()
        np.save(stream, array)
        rewrite(packed, {"learned.npz": write_stored(entries | {name: stream.getvalue()})})
        with pytest.raises(DataError, match="donors"):
            load_bundle(packed)


# sizes


@pytest.mark.parametrize("part", ["schema.toml", "settings.json", "people.json", "learned.json"])
def test_a_part_that_unpacks_to_more_than_it_may_is_refused_unread(
    packed: Path, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some kilobytes of zeros and brackets that would become gigabytes of objects."""
    rewrite(packed, {part: b"[" * (PARTS[part] + 1)}, zipfile.ZIP_DEFLATED)
    assert packed.stat().st_size < 2**20
    for read in (load_bundle, inspect_bundle):
        with pytest.raises(DataError, match=f"{part}.*would unpack to"):
            read(packed)


def test_a_size_that_is_a_lie_ends_at_the_limit(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The directory of the zip file says ten bytes, and the data go on."""
    import armin.bundle.archive as archive

    reads: list[int] = []

    class Endless:
        def __enter__(self) -> Endless:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def read(self, size: int) -> bytes:
            reads.append(size)
            return bytes(size)

    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *args: Endless())
    info = zipfile.ZipInfo("schema.toml")
    info.file_size = 10
    with zipfile.ZipFile(packed) as opened, pytest.raises(DataError, match="unpacks to more than"):
        archive.read_entry(opened, info, PARTS["schema.toml"], "x")
    assert sum(reads) <= PARTS["schema.toml"] + max(reads)


def test_a_list_of_a_million_entries_is_not_read(packed: Path) -> None:
    whole = bytearray(packed.read_bytes())
    struct.pack_into("<I", whole, len(whole) - 10, 50_000_000)
    packed.write_bytes(bytes(whole))
    with pytest.raises(DataError, match="lists its contents in 50,000,000 bytes"):
        load_bundle(packed)
    packed.write_bytes(bytes(whole) + b"a comment")
    with pytest.raises(DataError, match="no zip file"):
        load_bundle(packed)


@pytest.mark.parametrize(
    "form", ["{:>1500000000}", "{:.999999999f}", "{0.__class__}", "{!r}", "{:{}}", "{}{}", "km", "{:,.0f}" + "x" * 200]
)
def test_formats_are_plain(form: str) -> None:
    with pytest.raises(SchemaError, match=r"format of 'km' must be a text.*plain number format"):
        Feature("km", "continuous", lower=0, upper=9, format=form)


def test_a_format_in_a_bundle_takes_no_memory(packed: Path) -> None:
    with zipfile.ZipFile(packed) as archive:
        text = archive.read("schema.toml").decode()
    place = text.index("[features.rate]") + len("[features.rate]")
    rewrite(packed, {"schema.toml": f'{text[:place]}\nformat = "{{:>1500000000}}"{text[place:]}'.encode()})
    with pytest.raises(SchemaError, match="plain number format"):
        load_bundle(packed)


@pytest.mark.parametrize("part", ["learned", "model"])
def test_an_array_is_not_taken_twice(packed: Path, part: str) -> None:
    """A thousand references to one array would be a thousand arrays."""
    with zipfile.ZipFile(packed) as archive:
        learned, model = json.loads(archive.read("learned.json")), archive.read("model.skops")
    if part == "learned":
        name = next(node["v"] for node in nodes_of(learned) if node.get("$") == "array")
        learned["v"].append(["background_", [{"$": "array", "v": name}] * 2])
        rewrite(packed, {"learned.json": json.dumps(learned).encode()})
    else:
        entries = unpacked(model)
        outline = json.loads(entries["schema.json"])
        state = outline["content"]["content"]
        array = next(node for node in nodes_of(outline) if node.get("__loader__") == "NdArrayNode" and "file" in node)
        state["more"] = array | {"__id__": 10**6}
        rewrite(packed, {"model.skops": write_stored(entries | {"schema.json": json.dumps(outline).encode()})})
    with pytest.raises(DataError, match=r"named before|claim its file"):
        load_bundle(packed)


def test_an_array_is_looked_at_whatever_its_name() -> None:
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (2**40,)})
    entries = unpacked(dump_model(LogisticRegression().fit(X, Y)))
    outline = json.loads(entries["schema.json"])
    outline["content"]["content"]["coef_"]["file"] = "coef.bin"
    forged = entries | {"schema.json": json.dumps(outline).encode(), "coef.bin": head.getvalue()}
    with pytest.raises(DataError, match="not what it claims"):
        load_model(write_stored(forged), trust=False)


@pytest.mark.parametrize(("name", "value"), [("n_samples", 10**9), ("n_fresh", 10**12), ("max_options", 10**8)])
def test_a_bundle_asks_for_a_bounded_number_of_draws(packed: Path, name: str, value: int) -> None:
    with zipfile.ZipFile(packed) as archive:
        settings = json.loads(archive.read("settings.json"))
    settings["v"] = [[key, value if key == name else one] for key, one in settings["v"]]
    rewrite(packed, {"settings.json": json.dumps(settings).encode()})
    with pytest.raises(DataError, match=rf"{name} = .*At most 1,000,000"):
        load_bundle(packed)
    load_bundle(packed, trust=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [(".".join("a" * 200_000) + " = 1\n", "more than 50 parts"), ('["a"' + ' . "a"' * 99 + "]\n", "more than 50 parts"),
     ("a = " + "[" * 99_999, "nested too deeply"), (f"a = {'9' * 9999}\n", "digits")],
)  # fmt: skip
def test_a_schema_is_read_in_time(packed: Path, text: str, reason: str) -> None:
    """Half a megabyte of dots took the parser hours."""
    with pytest.raises(SchemaError, match=f"not valid TOML.*{reason}"):
        Schema.from_toml(text + "\n")
    rewrite(packed, {"schema.toml": text.encode()})
    with pytest.raises(DataError, match="schema cannot be read"):
        inspect_bundle(packed)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such modes")
def test_nobody_else_reads_a_bundle(fitted: ARMIN, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        file = save_bundle(tmp_path / "b.armin", fitted)
    finally:
        os.umask(before)
    assert file.stat().st_mode & 0o777 == 0o600


def test_nobody_waits_for_a_bundle_with_a_link(fitted: ARMIN, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that others write to, a file of the name that is written first would get the people's data."""
    monkeypatch.setattr("armin.bundle.archive.secrets.token_hex", lambda count: "guessed")
    theirs = tmp_path / "theirs"
    (tmp_path / ".b.armin.guessed.part").symlink_to(theirs)
    with pytest.raises(DataError, match="cannot be written"):
        save_bundle(tmp_path / "b.armin", fitted)
    assert not theirs.exists()


# what is found, not what is claimed


def test_inspect_does_not_believe_the_manifest(packed: Path, fitted: ARMIN) -> None:
    lies = {"features": ["nothing"], "model": ["Harmless"], "settings": {"confidence": 0.99}, "desired": ["no"],
            "people": 7, "trust": ["all"], "letter": ["xx"], "signed": {"key": "theirs", "valid": True}}  # fmt: skip
    rewrite(packed, {}, **lies)
    found = inspect_bundle(packed)
    assert found["features"] == fitted.schema.names
    assert found["model"] == ["ColumnTransformer", "LogisticRegression"]
    assert found["settings"]["n_samples"] == 20
    assert (found["desired"], found["people"], found["trust"], found["letter"]) == (["yes"], 0, [], [])
    assert found["signed"] is None
    assert "ChainedEquations" in found["learned"]["classes"]
    assert found["learned"]["rows"] == 120  # people


@pytest.mark.parametrize("said", [5, None, {"a": 1}, [1, ["x"]], "text"])
def test_inspect_shows_a_manifest_of_strange_types(packed: Path, said: Any) -> None:
    rewrite(packed, {}, kept=said, title=said, created=said, armin=said, libraries=said, rows=said)
    shown = CliRunner().invoke(app, ["inspect", str(packed)])
    assert shown.exit_code == 0, shown.output


def test_catboost_which_follows_whatever_its_file_says_needs_trust(tmp_path: Path) -> None:
    catboost = pytest.importorskip("catboost")
    frame = pd.DataFrame(X, columns=list("abc"))
    model = catboost.CatBoostClassifier(2, depth=2, verbose=False, allow_writing_files=False).fit(frame, Y)
    explainer = ARMIN(model, Schema.infer(frame), desired=1, sampler="uniform", n_samples=5, n_fresh=20).fit(frame)
    with pytest.raises(ModelError, match=r"catboost\.core\.CatBoostClassifier"):
        save_bundle(tmp_path / "b", explainer)
    file = save_bundle(tmp_path / "b", explainer, trust=True)
    assert inspect_bundle(file)["trust"] == ["catboost.core.CatBoostClassifier"]  # no pickle
    with pytest.raises(ModelError, match=r"catboost\.core\.CatBoostClassifier"):
        load_bundle(file)
    row = frame[model.predict(frame) == 0].head(1)
    there, here = (one.explain(row) for one in (load_bundle(file, trust=True).explainer, explainer))
    assert (there.outcome, there.cost, there.changes) == (here.outcome, here.cost, here.changes)


# signatures


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Two pairs of keys, as openssl writes them, and one of another kind."""
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    folder, found = tmp_path_factory.mktemp("keys"), {}
    for name in ("bank", "other", "curve"):
        key: Any = generate_private_key(SECP256R1()) if name == "curve" else Ed25519PrivateKey.generate()
        found[name], found[f"{name}.pub"] = folder / f"{name}.pem", folder / f"{name}.pub.pem"
        found[name].write_bytes(key.private_bytes(form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()))
        found[f"{name}.pub"].write_bytes(
            key.public_key().public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo)
        )
    return found


def test_a_signature_says_who_packed_it(fitted: ARMIN, keys: dict[str, Path], tmp_path: Path) -> None:
    file = save_bundle(tmp_path / "b", fitted, sign=keys["bank"])
    found = inspect_bundle(file)["signed"]
    assert found["valid"] is True
    assert found["key"].startswith("ed25519:")
    load_bundle(file)
    load_bundle(file, trusted_keys=[keys["other.pub"], keys["bank.pub"]])
    with pytest.raises(DataError, match=rf"must be signed with a key that is trusted here.*signed with {found['key']}"):
        load_bundle(file, trusted_keys=[keys["other.pub"]])
    with pytest.raises(DataError, match="signed by nobody"):
        load_bundle(save_bundle(tmp_path / "c", fitted), trusted_keys=[keys["bank.pub"]])


def test_a_key_is_more_than_its_short_name(
    fitted: ARMIN, keys: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another key with the same sixteen digits can be searched for."""
    file = save_bundle(tmp_path / "b", fitted, sign=keys["other"])
    monkeypatch.setattr("armin.bundle.sign.key_name", lambda key: "ed25519:0000000000000000")
    load_bundle(file, trusted_keys=[keys["other.pub"]])
    with pytest.raises(DataError, match="must be signed with a key that is trusted here"):
        load_bundle(file, trusted_keys=[keys["bank.pub"]])


def test_what_was_signed_cannot_be_changed(fitted: ARMIN, keys: dict[str, Path], tmp_path: Path) -> None:
    file = save_bundle(tmp_path / "b", fitted, sign=keys["bank"], title="Loans")
    whole = file.read_bytes()
    rewrite(file, {}, title="Better loans")
    assert inspect_bundle(file)["signed"]["valid"] is False
    with pytest.raises(DataError, match="changed after it was signed"):
        load_bundle(file, trusted_keys=[keys["bank.pub"]])
    file.write_bytes(whole)
    with zipfile.ZipFile(save_bundle(tmp_path / "c", fitted, sign=keys["other"])) as other:
        theirs = other.read("signature.json")
    rewrite(file, {"signature.json": theirs})  # somebody else's signature of another manifest
    with pytest.raises(DataError, match="changed after it was signed"):
        load_bundle(file, trusted_keys=[keys["bank.pub"]])
    for broken in (b"{}", b"[" * 9999, b'{"algorithm": "none", "key": "", "signature": ""}'):
        rewrite(file, {"signature.json": broken})
        with pytest.raises(DataError, match="signature cannot be read"):
            load_bundle(file)


def test_keys_of_another_kind_are_refused(fitted: ARMIN, keys: dict[str, Path], tmp_path: Path) -> None:
    for wrong in ("curve", "bank.pub"):
        with pytest.raises(ParameterError, match=r"Ed25519 private key as PEM.*openssl genpkey"):
            save_bundle(tmp_path / "b", fitted, sign=keys[wrong])
    with pytest.raises(ParameterError, match="cannot be read"):
        save_bundle(tmp_path / "b", fitted, sign=tmp_path / "none.pem")
    assert not (tmp_path / "b").exists()
    file = save_bundle(tmp_path / "b", fitted, sign=keys["bank"])
    with pytest.raises(ParameterError, match="Ed25519 public key"):
        load_bundle(file, trusted_keys=[keys["bank"]])


def test_without_the_library_nothing_is_believed(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    signature = {"algorithm": "ed25519", "key": "A" * 43 + "=", "signature": "A" * 86 + "=="}
    rewrite(packed, {"signature.json": json.dumps(signature).encode()})
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert inspect_bundle(packed)["signed"]["valid"] is None
    with pytest.raises(MissingDependencyError, match=r"armin\[sign\]"):
        load_bundle(packed, trusted_keys=["key.pem"])


# a trial


def test_a_trial_lets_a_good_bundle_in(packed: Path) -> None:
    try_bundle(packed)


@pytest.mark.slow
def test_a_trial_passes_a_refusal_on(world: World, packed: Path) -> None:
    with pytest.raises(DataError, match="OneHotEncoder is broken"):
        try_bundle(forged_bundle(world, packed))


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory")
def test_a_trial_ends_what_crashes_or_takes_too_much(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match=r"did not survive its trial.*0\.1 GB"):
        try_bundle(packed, memory=100 * 2**20)
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    monkeypatch.setenv("PYTHONPATH", f"{hostile}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    (hostile / "skops.py").write_text("while True: pass", "utf-8")
    with pytest.raises(DataError, match=r"did not survive its trial.*(signal (24|9)|more than 4 seconds)"):
        try_bundle(packed, seconds=1)
    (hostile / "skops.py").write_text("import os; os.abort()", "utf-8")
    with pytest.raises(DataError, match=r"did not survive its trial.*signal 6"):
        try_bundle(packed)
