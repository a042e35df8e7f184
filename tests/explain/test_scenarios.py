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
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, Schema
from armin.errors import ModelError
from armin.explain.advise import pose
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


def submitted_after(row: dict[str, Any], answer: Any) -> dict[str, Any]:
    """What the person writes down after the plan: a blank that it sets is told, other blanks stay."""
    after = dict(row)
    for change in answer.changes:
        if row[change.feature.name] is None:
            after[change.feature.name] = None if change.mode == "shift" else change.after
        else:
            after[change.feature.name] = change.after
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
    assert answer.resubmitted == accepts(world, submitted_after(row, answer))
    if answer.world.accepted:
        assert answer.outcome == "already_accepted"
        assert "rejected" not in str(answer.world.message)
        return
    posed = pose(explainer.current, schema.encode(row)[0], (), 0.75)
    after = answer.apply(schema.decode(posed.sample.values, like=X))
    share = float((model.predict(after) == "yes").mean())
    if reapply != "disclosed":
        assert answer.resubmitted
    if reapply != "blank":
        assert share >= 0.75 - 1e-9
        assert answer.validity.share == pytest.approx(share)
    if answer.world.decision == "complete" and posed.sample.kept:
        assert not (model.predict(schema.decode(posed.sample.values, like=X)) == "yes").any()
    if not answer.changes and decision != "complete":
        # rejected as it stands, and nothing to change: telling is what there is to do
        assert answer.outcome == (
            "tell" if reapply == "disclosed" and not answer.world.submitted else "already_accepted"
        )


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
        told = model.predict(schema.decode(stated.grid.apply(choice, stated.candidates), like=X)) == "yes"
        if reapply != "blank" and told.sum() < need:
            continue
        if reapply != "disclosed":
            after = dict(row)
            for move, j in zip(stated.grid.moves, choice, strict=True):
                feature = schema[move.position]
                if j and (row[feature.name] is not None or move.mode == "reach"):
                    after[feature.name] = feature.value(float(move.targets[j]))
            if not accepts(world, after):
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
@settings(deadline=None, max_examples=4, derandomize=True)
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
        assert (single.cost is None) == (point is None)
        if point is not None:
            assert single.cost == pytest.approx(point.cost)
            assert reapply == "disclosed" or point.resubmitted


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
