"""What must hold for every row, model and setting, judged by the user's own estimator in user units."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin import ARMIN
from armin.baselines import ImputationAR, RobustAR
from armin.explain import Explainer
from armin.explain.advise import Posed, pose
from armin.explain.draw import Sample
from armin.explain.state import state
from armin.problem import Status
from armin.sampling import MeanImputer
from armin.sampling.base import Draws

from worlds import MODELS, make_world

SEEDS = st.integers(0, 10_000)
LAW = settings(deadline=None, max_examples=12, derandomize=True)
KINDS = pytest.mark.parametrize("kind", sorted(MODELS))


def fitted(world, cls=ARMIN, **parameters) -> Explainer:
    given_ = {"n_samples": 12, "n_fresh": 0, "sampler": "donors", "max_changes": 3, "max_options": 6, **parameters}
    if cls is ImputationAR:
        given_.pop("n_samples")
    return cls.from_settings(world.classifier, world.schema, desired="yes", **given_).fit(world.X)


def candidates_of(explainer: Explainer, row: dict) -> Sample:
    """The completions that ``explain`` optimises over."""
    return posed(explainer, row).sample


def posed(explainer: Explainer, row: dict) -> Posed:
    """The question that ``explain`` answers."""
    fitted = explainer.current
    return pose(fitted, explainer.schema.encode(row)[0], (), fitted.settings.confidence)


def follow(frame: pd.DataFrame, recourse) -> pd.DataFrame:
    """Do as told: apply the changes in user units, with no help from the library."""
    after = frame.copy()
    for change in recourse.changes:
        name, feature = change.feature.name, change.feature
        if change.mode == "shift" and feature.is_number:
            after[name] = after[name] + change.amount
        elif change.mode == "shift":
            levels = list(feature.categories)
            after[name] = [levels[levels.index(v) + round(change.amount)] for v in after[name]]
        elif change.mode == "reach" and change.direction in ("up", "down"):
            rank = (lambda v: v) if feature.is_number else list(feature.categories).index
            better = max if change.direction == "up" else min
            after[name] = [better(v, change.after, key=rank) for v in after[name]]
        else:
            after[name] = change.after
    return after


def brute_force(explainer: Explainer, row: dict, confidence: float) -> float:
    """The optimum by asking the user's own predict about every choice of the grid."""
    case = posed(explainer, row).stated
    best = math.inf
    need = math.ceil(confidence * len(case.candidates) - 1e-9)
    for choice in itertools.product(*(range(move.size) for move in case.grid.moves)):
        if sum(1 for j in choice if j) > 3:
            continue
        cost = case.cost_of(choice)
        if cost < best:
            frame = explainer.schema.decode(case.grid.apply(choice, case.candidates), like=explainer.fitted_.like)
            if (explainer.classifier.predict(frame) == "yes").sum() >= need:
                best = cost
    return best


@KINDS
@LAW
@given(
    seed=SEEDS,
    blanks=st.integers(0, 3),
    confidence=st.sampled_from([0.3, 0.5, 0.75, 0.9, 1.0]),
    method=st.sampled_from(["auto", "milo", "subsample", "blackbox"]),
)
def test_every_action_keeps_its_promise_and_its_schema(kind, seed, blanks, confidence, method):
    world = make_world(seed, kind, blanks)
    explainer = fitted(world, confidence=confidence, method=method)
    recourse = explainer.explain(world.row)
    if not recourse.found:
        assert recourse.cost is None
        assert recourse.changes == ()
        return
    if recourse.world.accepted:  # decided about the row with its blanks: no completion has a say
        assert recourse.changes == ()
        return
    before = world.schema.decode(candidates_of(explainer, world.row).values, like=world.X)
    after = follow(before, recourse)
    accepted = world.classifier.predict(after) == "yes"
    assert accepted.sum() == recourse.validity.accepted
    assert accepted.sum() >= math.ceil(confidence * len(before) - 1e-9)
    assert len(recourse.changes) <= 3
    world.schema.encode(after)  # raises if any value is illegal
    codes_before, codes_after = world.schema.encode(before), world.schema.encode(after)
    for i, feature in enumerate(world.schema):
        moved = codes_after[:, i] - codes_before[:, i]
        assert feature.direction != "fixed" or not moved.any()
        assert feature.direction != "increase" or moved.min() >= 0
        assert feature.direction != "decrease" or moved.max() <= 0


@KINDS
@settings(deadline=None, max_examples=3, derandomize=True)
@given(seed=SEEDS, confidence=st.sampled_from([0.5, 0.75, 1.0]), method=st.sampled_from(["auto", "milo"]))
def test_the_optimum_is_what_brute_force_finds_through_predict(kind, seed, confidence, method):
    world = make_world(seed, kind)
    explainer = fitted(world, confidence=confidence, n_samples=6, max_options=4, method=method)
    recourse = explainer.explain(world.row)
    best = brute_force(explainer, world.row, confidence)
    if recourse.status is Status.INFEASIBLE:
        assert best == math.inf
    else:
        assert recourse.status is Status.OPTIMAL
        assert recourse.cost == pytest.approx(best)


@KINDS
@settings(deadline=None, max_examples=4, derandomize=True)
@given(seed=SEEDS)
def test_cost_never_falls_as_confidence_rises_and_the_path_agrees_at_every_step(kind, seed):
    world = make_world(seed, kind)
    n = 6
    explainer = fitted(world, n_samples=n)
    path = explainer.path(world.row)
    costs = []
    for k in range(1, n + 1):
        single = explainer.set_params(confidence=k / n).explain(world.row)
        point = path.at(k / n)
        assert (single.cost is None) == (point is None)
        if single.cost is not None:
            assert single.cost == pytest.approx(point.cost)
            costs.append(single.cost)
    assert costs == sorted(costs)
    assert [p.cost for p in path] == sorted({p.cost for p in path})


@KINDS
@settings(deadline=None, max_examples=4, derandomize=True)
@given(seed=SEEDS)
def test_full_confidence_is_robust_recourse(kind, seed):
    world = make_world(seed, kind)
    certain = fitted(world, confidence=1.0).explain(world.row)
    robust = fitted(world, cls=RobustAR).explain(world.row)
    assert certain.status is robust.status
    assert certain.cost == pytest.approx(robust.cost)


class OneGuess:
    """A sampler that always fills the blanks with the mean."""

    def fit(self, X, schema):
        self.imputer = MeanImputer().fit(X, schema)
        return self

    def sample(self, row, n, rng):
        return Draws.equal(np.repeat(self.imputer.impute(row)[None, :], n, axis=0))


@KINDS
@settings(deadline=None, max_examples=4, derandomize=True)
@given(seed=SEEDS)
def test_one_sample_is_imputation(kind, seed):
    world = make_world(seed, kind)
    one = fitted(world, sampler=OneGuess(), n_samples=1, decision=None).explain(world.row)
    naive = fitted(world, cls=ImputationAR, imputer="mean").explain(world.row)
    assert one.status is naive.status
    assert one.cost == pytest.approx(naive.cost)


@settings(deadline=None, max_examples=6, derandomize=True)
@given(seed=SEEDS)
def test_the_order_of_candidates_does_not_matter(seed):
    world = make_world(seed)
    explainer = fitted(world)
    codes, fitted_ = world.schema.encode(world.row)[0], explainer.current
    asked = posed(explainer, world.row)
    draws = asked.sample
    order = np.random.default_rng(seed).permutation(len(draws.values))
    shuffled = Sample(draws.values[order], draws.weights[order])
    first = fitted_.settings.solving(asked.stated.problem)
    second = fitted_.settings.solving(state(fitted_, asked.world, codes, shuffled, (), 0.75).problem)
    assert first.status is second.status
    assert first.cost == pytest.approx(second.cost)


@settings(deadline=None, max_examples=5, derandomize=True)
@given(seed=SEEDS)
def test_same_input_same_answer_in_any_company(seed):
    world = make_world(seed, "forest")
    explainer = fitted(world, n_fresh=50)
    others = world.X.head(3)
    frame = pd.concat([pd.DataFrame([world.row]), others, pd.DataFrame([world.row])], ignore_index=True)
    many = explainer.explain_many(frame)
    alone = explainer.explain(world.row)
    assert not many.failures
    for answer in (many[0], many[-1]):
        assert [c.to_dict() for c in answer.changes] == [c.to_dict() for c in alone.changes]
        assert answer.fresh == alone.fresh
    assert len(many.to_frame()) == 5


def test_jobs_do_not_change_answers():
    world = make_world(3, "forest")
    explainer = fitted(world, n_fresh=50)
    frame = world.X.head(6).copy()
    frame.loc[2, "rate"] = np.nan
    alone, together = explainer.explain_many(frame, n_jobs=1), explainer.explain_many(frame, n_jobs=2)
    assert alone.to_frame().equals(together.to_frame())


def test_conditioning_keeps_only_completions_that_the_model_rejects():
    for seed in range(10):
        world = make_world(seed, blanks=3)
        explainer = fitted(world)
        sample = candidates_of(explainer, world.row)
        if sample.kept:
            assert not explainer.fitted_.oracle.accepts(sample.values).any()
