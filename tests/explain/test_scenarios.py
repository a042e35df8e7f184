"""Which question is asked: what was decided about a row with blanks, and who judges after the plan."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from armin import ARMIN, Schema
from armin.bundle import load_bundle, save_bundle
from armin.errors import ModelError
from armin.explain.advise import pose
from armin.explain.calibrate import run_trials
from armin.problem import Status
from armin.sampling import NativeMissing
from armin.solve import solve

from blank_worlds import MODELS, blank_world

SEEDS = st.integers(0, 10_000)
KINDS = pytest.mark.parametrize("kind", MODELS)
DECISIONS = ["complete", "blank", None]


def explainer_for(world: Any, **more: Any) -> ARMIN:
    X, model, schema, _ = world
    given = {"n_samples": 8, "n_fresh": 0, "sampler": "donors", "max_changes": 2, "max_options": 6} | more
    return ARMIN.from_settings(model, schema, desired="yes", **given).fit(X)


def frame_of(row: dict[str, Any], X: pd.DataFrame) -> pd.DataFrame:
    """One row, as the model takes it."""
    return pd.DataFrame([row])[list(X.columns)].astype({c: X[c].dtype for c in X.columns if X[c].dtype != object})


def submitted_after(row: dict[str, Any], answer: Any, person: dict[str, Any]) -> dict[str, Any]:
    """What a person writes down after the plan: a blank to be reached is answered as it then is, other blanks stay."""
    after = dict(row)
    for change in answer.changes:
        name = change.feature.name
        if row[name] is not None:
            after[name] = change.after
        elif change.mode == "reach":
            own = person[name]
            there = change.sense and (own >= change.after if change.sense > 0 else own <= change.after)
            after[name] = own if there else change.after
    return after


def accepts(world: Any, row: dict[str, Any]) -> bool:
    X, model, _, _ = world
    return bool(model.predict(frame_of(row, X))[0] == "yes")


@KINDS
@settings(deadline=None, max_examples=6, derandomize=True)
@given(
    seed=SEEDS,
    decision=st.sampled_from(["auto", *DECISIONS]),
    reapply=st.sampled_from(["disclosed", "blank", "either"]),
)
def test_both_verdicts_are_those_of_the_model_and_the_plan_keeps_what_its_world_asks(kind, seed, decision, reapply):
    world = blank_world(seed, kind)
    X, model, schema, row = world
    explainer = explainer_for(world, decision=decision, reapply=reapply)
    answer = explainer.explain(row)
    assert answer.world.decision == ("blank" if decision == "auto" else decision)
    assert answer.world.reapply == reapply
    assert answer.world.submitted == accepts(world, row)
    if not answer.found:
        return
    posed = pose(explainer.current, schema.encode(row)[0], (), 0.75)
    people = schema.decode(posed.sample.values, like=X)
    rows = np.array([accepts(world, submitted_after(row, answer, one)) for one in people.to_dict("records")])
    assert answer.resubmitted == rows.all()
    if answer.world.accepted:
        assert answer.outcome == "already_accepted"
        assert "rejected" not in str(answer.world.message)
        return
    told = model.predict(answer.apply(people)) == "yes"
    works = {"disclosed": told.mean(), "blank": rows.mean(), "either": (told & rows).mean()}
    if reapply != "either":  # fresh completions, of which there are none here, see to both at once
        assert works[reapply] >= 0.75 - 1e-9
    assert answer.validity.share == pytest.approx(works[reapply])
    if answer.world.decision == "complete" and posed.sample.kept:
        assert not (model.predict(schema.decode(posed.sample.values, like=X)) == "yes").any()
    if not answer.changes and decision != "complete":
        # rejected as it stands, and nothing to change: telling is what there is to do
        assert answer.outcome == (
            "tell" if reapply == "disclosed" and not answer.world.submitted else "already_accepted"
        )


def submitted_by_hand(world: Any, stated: Any, choice: tuple[int, ...], person: np.ndarray | None) -> dict[str, Any]:
    """What a person, or None for somebody who is beyond no target, writes down after a choice of the grid."""
    _, _, schema, row = world
    after = dict(row)
    for move, j in zip(stated.grid.moves, choice, strict=True):
        feature, target = schema[move.position], float(move.targets[j])
        if j and row[feature.name] is not None:
            after[feature.name] = feature.value(target)
        elif j and move.mode == "reach":
            own, sense = target if person is None else float(person[move.position]), move.senses[j]
            after[feature.name] = feature.value(own if sense * (own - target) > 0 else target)
    return after


def brute_force(explainer: ARMIN, world: Any, reapply: str, decision: Any) -> float:
    """The optimum by asking the user's own predict about every choice of the grid, in user units."""
    X, model, schema, row = world
    codes = schema.encode(row)[0]
    if decision == "blank" and accepts(world, row):
        return 0.0
    stated = pose(explainer.current, codes, (), 0.75).stated
    need = math.ceil(0.75 * len(stated.candidates) - 1e-9)
    best = math.inf
    for choice in itertools.product(*(range(move.size) for move in stated.grid.moves)):
        if sum(1 for j in choice if j) > 2 or stated.cost_of(choice) >= best:
            continue
        if reapply != "blank":
            told = model.predict(schema.decode(stated.grid.apply(choice, stated.candidates), like=X)) == "yes"
            if told.sum() < need:
                continue
        who = {"disclosed": [], "blank": list(stated.candidates), "either": [None]}[reapply]
        rows = [accepts(world, submitted_by_hand(world, stated, choice, one)) for one in who]
        if rows and sum(rows) < (need if reapply == "blank" else 1):
            continue
        best = stated.cost_of(choice)
    return best


@KINDS
@settings(deadline=None, max_examples=2, derandomize=True)
@given(seed=SEEDS, decision=st.sampled_from(DECISIONS), reapply=st.sampled_from(["disclosed", "blank", "either"]))
def test_search_milo_and_brute_force_agree_in_every_world(kind, seed, decision, reapply):
    world = blank_world(seed, kind)
    settings_ = {"decision": decision, "reapply": reapply, "max_options": 4, "n_samples": 5}
    best = brute_force(explainer_for(world, **settings_), world, reapply, decision)
    for method in ("search", "milo", "enumerate"):
        answer = explainer_for(world, method=method, **settings_).explain(world[3])
        if best == math.inf:
            assert answer.status is Status.INFEASIBLE
        else:
            assert answer.status is Status.OPTIMAL
            assert answer.cost == pytest.approx(best)


@KINDS
@settings(deadline=None, max_examples=6, derandomize=True)
@given(seed=SEEDS, decision=st.sampled_from(DECISIONS))
def test_either_costs_at_least_as_much_as_told_and_as_blank(kind, seed, decision):
    world = blank_world(seed, kind)
    costs = {}
    for reapply in ("disclosed", "blank", "either"):
        answer = explainer_for(world, decision=decision, reapply=reapply).explain(world[3])
        costs[reapply] = math.inf if answer.cost is None else answer.cost
    assert costs["either"] >= max(costs["disclosed"], costs["blank"]) - 1e-9


@KINDS
@settings(deadline=None, max_examples=1, derandomize=True)
@given(seed=SEEDS)
def test_without_a_blank_all_worlds_agree(kind, seed):
    world = blank_world(seed, kind, blanks=0)
    answers = {
        explainer_for(world, decision=decision, reapply=reapply).explain(world[3]).changes
        for decision in ("auto", *DECISIONS)
        for reapply in ("disclosed", "blank", "either")
    }
    assert len(answers) == 1


@KINDS
@settings(deadline=None, max_examples=5, derandomize=True)
@given(seed=SEEDS)
def test_the_blank_world_is_the_models_own_view_where_no_blank_is_acted_on(kind, seed):
    X, model, schema, row = world = blank_world(seed, kind)
    frozen = Schema(tuple(replace(f, blank="freeze") for f in schema))
    own = explainer_for((X, model, frozen, row), sampler=NativeMissing(judge="donors"), decision=None).explain(row)
    blank = explainer_for((X, model, frozen, row), decision=None, reapply="blank").explain(row)
    assert own.status is blank.status
    assert own.cost == (None if blank.cost is None else pytest.approx(blank.cost))
    assert accepts(world, row) == bool(own.cost == 0)


@KINDS
@settings(deadline=None, max_examples=3, derandomize=True)
@given(seed=SEEDS, reapply=st.sampled_from(["disclosed", "blank", "either"]))
def test_the_path_holds_what_single_answers_hold(kind, seed, reapply):
    world = blank_world(seed, kind)
    explainer = explainer_for(world, decision=None, reapply=reapply, n_samples=6)
    path = explainer.path(world[3])
    for k in range(1, 7):
        single, point = explainer.set_params(confidence=k / 6).explain(world[3]), path.at(k / 6)
        assert reapply == "either" or (single.cost is None) == (point is None)
        if point is not None:
            # without fresh completions, a single answer looks at one verdict and then at the other
            assert single.cost <= point.cost + 1e-9
            assert reapply == "either" or single.cost == pytest.approx(point.cost)
            assert point.validity.share >= k / 6 - 1e-9


def test_a_model_that_takes_no_blanks_has_one_world_and_says_so():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=200).round(1), "b": rng.normal(size=200).round(1)})
    model = LogisticRegression().fit(X, np.where(X.sum(axis=1) > 0.5, "yes", "no"))
    row = {"a": None, "b": -1.0}
    explainer = ARMIN.from_settings(model, Schema.infer(X), desired="yes", n_samples=20, n_fresh=50).fit(X)
    answer = explainer.explain(row)
    assert (answer.world.decision, answer.world.reapply, answer.world.submitted) == ("complete", "disclosed", None)
    assert answer.resubmitted is None
    assert explainer.set_params(decision=None).explain(row).world.decision is None
    with pytest.raises(ModelError, match="decision='blank' needs a model that decides about blanks"):
        explainer.set_params(decision="blank").explain(row)
    for reapply in ("blank", "either"):
        with pytest.raises(ModelError, match=f"reapply='{reapply}' needs a model that decides about blanks"):
            explainer.set_params(decision="complete", reapply=reapply).explain(row)
    assert explainer.set_params(reapply="blank").explain({"a": 0.0, "b": -1.0}).found


def test_the_weight_of_the_row_lets_nothing_suffice_without_it():
    """The row with its blanks is one candidate more, as heavy as all others together."""
    world = blank_world(1, "boosting")
    explainer = explainer_for(world, decision=None, reapply="either")
    problem = explainer.problem(world[3])
    assert problem.n_candidates == 9
    assert problem.weights[-1] == problem.weights[:-1].sum()
    assert problem.required == problem.weights[-1] + 6
    everything_but_the_row = problem.weights[:-1].sum()
    assert not problem.enough(float(everything_but_the_row))
    assert solve(problem, "enumerate").status in (Status.OPTIMAL, Status.INFEASIBLE)


# models that have never seen a blank


def tolerant(kind: str, *, blanks: bool) -> tuple[ARMIN, pd.DataFrame, np.ndarray]:
    """A model that takes blanks, trained with some or without, and complete people whom it rejects."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({
        "income": rng.integers(0, 60, 500).astype(float), "debt": rng.integers(0, 30, 500).astype(float),
        "town": rng.choice(["a", "b", "c"], 500),
    })  # fmt: skip
    y = np.where(X["income"] - X["debt"] + 9 * (X["town"] == "a") + rng.normal(0, 4, 500) > 18, "yes", "no")
    seen = X.copy()
    if blanks:
        seen[["income", "town"]] = X[["income", "town"]].where(rng.random((500, 2)) > 0.2, None)
        seen["income"] = seen["income"].astype(float)
    final = {"forest": RandomForestClassifier(20, random_state=0), "boosting": HistGradientBoostingClassifier()}[kind]
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["town"]), remainder="passthrough", sparse_threshold=0
    )
    model = make_pipeline(encoder, final).fit(seen, y)
    explainer = ARMIN.from_settings(model, Schema.infer(X), desired="yes", n_samples=20, n_fresh=100).fit(seen)
    return explainer, X[model.predict(X) == "no"], y


@pytest.mark.parametrize("column", ["income", "town"])
@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_a_rejected_person_does_not_read_that_nothing_needs_to_change_since_a_blank_is_tolerated(kind, column):
    explainer, rejected, _ = tolerant(kind, blanks=False)
    accepted_with_blank = 0
    for i in range(12):
        row = rejected.iloc[i].to_dict() | {column: None}
        answer = explainer.explain(row)
        assert (answer.world.decision, answer.world.reapply) == ("complete", "disclosed")
        assert answer.outcome != "already_accepted"
        accepted_with_blank += bool(answer.world.submitted)
        assert [note.code for note in answer.notes].count("notes.never_blank") == 1
        assert answer.resubmitted is None  # nor is what it says about the blank after the plan
        assert explainer.set_params(decision="blank").explain(row).world.decision == "blank"  # the user's word
        assert explainer.set_params(decision="auto").current.never_blank(explainer.schema.encode(row)[0])
    assert column == "town" or accepted_with_blank  # it would have answered, and wrongly


@pytest.mark.parametrize("kind", ["forest", "boosting"])
def test_whether_a_model_knows_blanks_is_learned_column_by_column_and_kept(kind, tmp_path):
    explainer, rejected, _ = tolerant(kind, blanks=True)
    save_bundle(tmp_path / "b.armin", explainer, trust=True)
    for one in (explainer, load_bundle(tmp_path / "b.armin", trust=True).explainer):
        for blank, decision in ((["income"], "blank"), (["town", "income"], "blank"), (["debt"], "complete")):
            row = rejected.iloc[0].to_dict() | dict.fromkeys(blank)
            assert one.explain(row).world.decision == decision
        assert one.explain(rejected.iloc[0].to_dict() | {"debt": None, "town": None}).world.decision == "complete"


def test_a_model_that_fills_blanks_by_itself_knows_them_in_the_columns_that_it_fills():
    X = pd.DataFrame({"a": np.arange(60.0), "b": np.arange(60.0)[::-1] % 7, "c": np.arange(60.0) % 5})
    y = np.where(X["a"] > 30, "yes", "no")
    encoder = make_column_transformer((SimpleImputer(), ["b"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(5, random_state=0)).fit(X, y)
    explainer = ARMIN.from_settings(model, Schema.infer(X), desired="yes", n_samples=10, n_fresh=0).fit(X)
    assert explainer.explain({"a": 3, "b": None, "c": 1}).world.decision == "blank"
    assert explainer.explain({"a": None, "b": 1, "c": 1}).world.decision == "complete"
    assert explainer.explain({"a": None, "b": None, "c": 1}).world.decision == "complete"


# values that are to be reached


class Window:
    """Accepts a level between 5 and 8, and takes blanks: a model that is not monotone."""

    classes_ = np.array(["no", "yes"])

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        level = X["level"].to_numpy(dtype=float)
        return np.where((level >= 5) & (level <= 8), "yes", "no")


def windowed(reapply: str, **more: Any) -> tuple[ARMIN, pd.DataFrame]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"level": rng.integers(0, 13, 400).astype(float), "other": rng.integers(0, 9, 400).astype(float)})
    seen = X.where(rng.random(X.shape) > 0.1)
    schema = Schema.infer(
        X, kinds={"level": "integer", "other": "integer"}, increase_only=["level"], immutable=["other"]
    )
    given = {"n_samples": 40, "n_fresh": 400, "sampler": "marginal", "reapply": reapply, "method": "blackbox"} | more
    return ARMIN.from_settings(Window(), schema, desired="yes", **given).fit(seen), X


ROW_OF_SOMEBODY = {"level": None, "other": 3}


@pytest.mark.parametrize("reapply", ["blank", "either"])
def test_who_is_beyond_a_value_that_is_to_be_reached_says_so(reapply):
    """Bringing the level to at least 5 is of no use to the third of people who have 9 or more, and will write that."""
    explainer, X = windowed(reapply)
    assert explainer.explain(ROW_OF_SOMEBODY).outcome in ("no_recourse", "falls_short")
    found = explainer.at(0.6).explain(ROW_OF_SOMEBODY)
    assert found.changes
    assert not found.resubmitted
    assert found.share == pytest.approx((X["level"] <= 8).mean(), abs=0.08)
    assert explainer.at(0.6).recheck(found, ROW_OF_SOMEBODY).now.share == pytest.approx(found.share)


@pytest.mark.parametrize("reapply", ["blank", "either"])
def test_a_promise_is_tested_on_the_rows_that_people_would_submit(reapply):
    explainer, X = windowed(reapply, n_samples=200)
    schema = explainer.schema
    codes = schema.encode(X.head(60))
    masks = np.zeros(codes.shape, dtype=bool)
    masks[:, 0] = True
    asked = explainer.at(0.5).set_params(decision=None).current
    trials = run_trials(asked, codes, masks, levels=np.array([0.5]))
    plan = explainer.at(0.5).set_params(decision=None).path(ROW_OF_SOMEBODY).at(0.5)
    assert trials.planned.all()
    least = int(plan.changes[0].after)
    assert trials.worked[:, 0].tolist() == X["level"].head(60).clip(least).between(5, 8).tolist()
    assert not trials.worked.all()
