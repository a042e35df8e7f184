"""Explainers are scikit-learn citizens: kept, copied, cloned, sent to other processes, and asked about themselves."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from copy import copy, deepcopy
from multiprocessing import get_context
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier

from armin import ARMIN, ExpertOptions
from armin.baselines import ImputationAR, RobustAR
from armin.costs import WeightedL1
from armin.errors import ArminError, NotFittedError, ParameterError
from armin.explain.parameters import constraints
from armin.problem import Solution
from armin.sampling import NearestDonors
from armin.solve import solve

from worlds import make_world

METHODS = [ARMIN, RobustAR, ImputationAR]
MODELS = ["linear", "forest", "network", "blackbox"]
SETTINGS: dict[str, Any] = {"desired": "yes", "sampler": "donors", "max_options": 6, "n_fresh": 20, "max_changes": 2}


def made(cls: type, kind: str, **more: Any) -> tuple[Any, Any]:
    """A world, and an explainer of it that is not fitted."""
    world = make_world(4, "tree" if kind == "blackbox" else kind)
    settings = SETTINGS | ({"method": "blackbox"} if kind == "blackbox" else {}) | more
    if cls is not ImputationAR:
        settings = {"n_samples": 10} | settings
    return world, cls.from_settings(world.classifier, world.schema, **settings)


def spelled(name: str) -> str:
    """A parameter as ``set_params`` names it."""
    return f"options__{name}" if name in ExpertOptions().get_params() else name


def advise(explainer: Any, row: dict[str, Any]) -> Any:
    """For another process."""
    return explainer.explain(row)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", MODELS)
def test_a_fitted_explainer_survives_every_way_to_be_kept(method: type, kind: str, tmp_path: Any) -> None:
    world, explainer = made(method, kind)
    answer = explainer.fit(world.X).explain(world.row)
    joblib.dump(explainer, tmp_path / "explainer.joblib")
    for other in (
        pickle.loads(pickle.dumps(explainer)),
        joblib.load(tmp_path / "explainer.joblib"),
        copy(explainer),
        deepcopy(explainer),
        clone(explainer).fit(world.X),
    ):
        twin = other.explain(world.row)
        assert twin == answer
        assert hash(twin) == hash(answer)
        assert twin.to_dict()["changes"] == answer.to_dict()["changes"]


@pytest.mark.parametrize("kind", MODELS)
def test_another_process_says_the_same(kind: str) -> None:
    world, explainer = made(ARMIN, kind)
    answer = explainer.fit(world.X).explain(world.row)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(advise, explainer, world.row).result() == answer


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "hist"])
def test_boosters_with_categories_and_blanks_are_kept_too(library: str) -> None:
    world = make_world(3, "tree")
    X = world.X.astype({"owner": "category", "city": "category"})
    y = (world.y == "yes").astype(int)
    if library == "xgboost":
        model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, max_depth=2, enable_categorical=True)
    elif library == "lightgbm":
        model = pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=5, num_leaves=4, verbose=-1)
    else:
        model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    explainer = ARMIN.from_settings(model.fit(X, y), world.schema, **(SETTINGS | {"desired": 1, "n_samples": 10})).fit(
        X
    )
    answer = explainer.explain(world.row)
    assert pickle.loads(pickle.dumps(explainer)).explain(world.row) == answer


@pytest.mark.parametrize("method", METHODS)
def test_cloning_keeps_the_fitted_classifier_and_forgets_the_rest(method: type) -> None:
    world, explainer = made(method, "linear", cost=WeightedL1(), sampler=NearestDonors())
    other = clone(explainer.fit(world.X))
    assert other.classifier is explainer.classifier
    assert other.schema is explainer.schema
    assert other.cost is not explainer.cost
    assert other.get_params().keys() == explainer.get_params().keys()
    with pytest.raises(NotFittedError):
        other.explain(world.row)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["linear", "forest"])
def test_parameters_are_stored_untouched_and_can_be_set(method: type, kind: str) -> None:
    _, explainer = made(method, kind)
    given = explainer.get_params(deep=False)
    assert method(**given).get_params(deep=False) == given
    assert explainer.set_params(**given) is explainer
    assert "classifier__" in " ".join(explainer.get_params())  # nested, as GridSearchCV wants it
    with pytest.raises(ValueError, match="Invalid parameter"):
        explainer.set_params(colour="red")


@pytest.mark.parametrize("method", METHODS)
def test_options_are_parameters_of_their_own(method: type) -> None:
    """They are seen, set, cloned and refused by name; the object that holds them does not change."""
    world = make_world(4, "linear")
    options = ExpertOptions(time_limit=5.0)
    explainer = method(world.classifier, world.schema, desired="yes", options=options)
    assert len(explainer.get_params(deep=False)) <= 13  # options beside at most twelve
    assert explainer.get_params()["options__time_limit"] == 5.0
    other = clone(explainer).set_params(options__time_limit=7.0, options__n_fresh=20, max_changes=1)
    assert (other.options, explainer.options) == (ExpertOptions(time_limit=7.0, n_fresh=20), options)
    flat = method.from_settings(world.classifier, world.schema, desired="yes", time_limit=7.0, n_fresh=20)
    assert flat.options == other.options
    assert flat.set_params(max_changes=1).fit(world.X).explain(world.row) == other.fit(world.X).explain(world.row)
    with pytest.raises(AttributeError):
        options.time_limit = 7.0
    with pytest.raises(ParameterError, match=r"ExpertOptions has no option 'speed'\. It has margin"):
        explainer.set_params(options__speed=3)
    with pytest.raises(ParameterError, match=f"{method.__name__} has no parameter 'speed'. It has .*time_limit"):
        method.from_settings(world.classifier, world.schema, desired="yes", speed=3)
    with pytest.raises(ParameterError, match=r"'options' parameter of .* must be an ExpertOptions"):
        explainer.set_params(options={"time_limit": 5}).fit(world.X)


@pytest.mark.parametrize("method", METHODS)
def test_what_needs_no_learning_may_change_after_fit_and_what_does_is_refused(method: type) -> None:
    world, explainer = made(method, "linear")
    explainer.fit(world.X)
    explainer.set_params(
        max_changes=1,
        random_state=3,
        options__n_fresh=5,
        options__time_limit=30.0,
        options__method="milo",
        options__solver="highs",
    )
    changed = explainer.explain(world.row)
    again = made(method, "linear", max_changes=1, random_state=3, n_fresh=5, time_limit=30.0, method="milo")[1]
    assert changed == again.fit(world.X).explain(world.row)
    for name, value in {
        "margin": 0.1, "threshold": 0.6, "cost": "l1", "sampler": "marginal", "desired": "no",
        "schema": world.schema.update(immutable=["amount"]), "classifier": clone(world.classifier),
        "method": "blackbox",
    }.items():  # fmt: skip
        other = copy(explainer).set_params(**{spelled(name): value})
        with pytest.raises(ParameterError, match=f"The '{name}' parameter of {method.__name__} was changed after fit"):
            other.explain(world.row)
    same = copy(explainer).set_params(sampler="donors", cost="tlps")  # said again, not changed
    assert same.explain(world.row) == changed


WRONG: dict[str, list[Any]] = {
    "schema": [None, {}],
    "threshold": ["0.5", 0, 1.5, True],
    "margin": ["0.1", -0.1, 1.0],
    "confidence": ["0.9", 0, 1.1, None, True],
    "decision": ["no", True, "Complete"],
    "reapply": [None, "tell", True],
    "checks": ["yes", 1, None],
    "n_samples": [0, 2.5, "10", True],
    "n_fresh": [-1, 1.5, None],
    "max_changes": [0, 1.5, "2"],
    "max_options": [1, None],
    "grid": ["fine", None],
    "tolerance": [-0.1, 1.1, "1 %", None],
    "method": ["foo", None, 3],
    "solver": ["foo", None],
    "time_limit": [0, -1, "5", True],
    "random_state": [-1, 0.5, "0"],
    "cost": ["foo", 3],
    "sampler": ["foo", 3],
    "imputer": ["foo", 3],
    "promise": [0, 1.0, "0.9", True],
}


def test_every_parameter_has_wrong_values_to_try() -> None:
    assert set().union(*map(constraints, METHODS)) - {"options"} <= set(WRONG)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_parameter_is_refused_by_fit_and_by_every_answer(method: type, name: str) -> None:
    world, explainer = made(method, "linear")
    if spelled(name) not in explainer.get_params():
        pytest.skip(f"{method.__name__} has no {name!r}")
    fitted = copy(explainer).fit(world.X)
    for value in WRONG[name]:
        with pytest.raises(ArminError, match=name):
            copy(explainer).set_params(**{spelled(name): value}).fit(world.X)
        with pytest.raises(ArminError, match=name):
            copy(fitted).set_params(**{spelled(name): value}).explain(world.row)


def test_the_tags_tell_the_truth_about_blanks() -> None:
    _, explainer = made(ARMIN, "linear")
    if hasattr(explainer, "__sklearn_tags__"):
        assert explainer.__sklearn_tags__().input_tags.allow_nan
    assert explainer._more_tags()["allow_nan"]


def test_answers_that_differ_are_unequal_and_time_does_not_count() -> None:
    world, explainer = made(ARMIN, "linear")
    explainer.fit(world.X)
    answer = explainer.explain(world.row)
    other = explainer.set_params(max_changes=1, confidence=1.0).explain(world.row)
    assert answer != other
    assert len({answer, explainer.set_params(max_changes=2, confidence=0.75).explain(world.row), other}) == 2


def by_listing(problem: Any) -> Solution:
    """A solver of one's own."""
    return solve(problem, "enumerate")


def test_a_method_may_be_a_function() -> None:
    world, explainer = made(ARMIN, "linear", method=by_listing, grid="human")
    own = explainer.fit(world.X).explain(world.row)
    assert own.cost == pytest.approx(made(ARMIN, "linear", grid="human")[1].fit(world.X).explain(world.row).cost)
    assert pickle.loads(pickle.dumps(explainer)).explain(world.row) == own


def test_arrays_in_arrays_out() -> None:
    """Without names, as scikit-learn has it: the explainer takes what the model takes."""
    world = make_world(2, "linear", blanks=0)
    numbers = world.X[["amount", "rate"]].to_numpy(dtype=float)
    from sklearn.linear_model import LogisticRegression

    from armin import Schema

    schema = Schema.infer(world.X[["amount", "rate"]])
    explainer = ARMIN.from_settings(LogisticRegression().fit(numbers, world.y), schema, desired="yes", n_fresh=0).fit(
        numbers
    )
    assert explainer.explain(np.array([0.0, np.nan])).found in (True, False)
