"""Several plans to choose from: each is another way, and whoever lists all choices finds no better ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import armin.explain.ways as module
from armin import ARMIN
from armin.arrays import BoolArray, FloatArray
from armin.explain.advise import pose
from armin.explain.others import Way, choose_ways, dominates
from armin.problem.stated import Stated
from armin.recourse import Recourse

from worlds import make_world

SEEDS = st.integers(0, 10_000)
NOTE = "others.no_surer"


def way(names: str, cost: float, share: float) -> Way:
    return Way(frozenset(ord(name) - ord("a") for name in names), cost, share)


def named(ways: Sequence[Way]) -> list[str]:
    return ["".join(chr(ord("a") + d) for d in sorted(one.features)) for one in ways]


def clash(one: Way, other: Way) -> bool:
    return one.features <= other.features or one.features >= other.features


def good(first: Way, ways: Sequence[Way]) -> int:
    """How many ways neither the first plan nor another one dominates."""
    return sum(not any(dominates(other, one) for other in (first, *ways)) for one in ways)


# which ways are chosen


def test_other_ways_change_other_features_and_come_by_cost() -> None:
    pool = [way("abc", 9.0, 0.99), way("d", 3.0, 0.9), way("b", 2.0, 0.85), way("bd", 4.0, 0.95)]
    first = way("a", 1.0, 0.8)
    assert named(choose_ways(first, pool, 4).ways) == ["b", "d"]  # "abc" and "bd" contain what others do
    assert choose_ways(first, pool, 4).worse == (False, False)
    assert named(choose_ways(first, pool, 1).ways) == ["b"]
    assert choose_ways(first, pool, 0).ways == ()
    # the first plan may do all that another way does, and more
    assert named(choose_ways(way("ab", 1.0, 0.8), pool, 4).ways) == ["b", "d"]


def test_surer_ways_go_before_cheaper_ones() -> None:
    pool = [way("b", 2.0, 0.8), way("c", 3.0, 0.9), way("d", 4.0, 0.85)]
    first = way("a", 1.0, 0.8)
    assert named(choose_ways(first, pool, 1).ways) == ["c"]
    found = choose_ways(first, pool, 3)
    assert named(found.ways) == ["b", "c", "d"]
    assert found.worse == (True, False, True)
    assert found.good == 1


def test_a_way_as_cheap_and_as_sure_as_another_is_no_worse() -> None:
    found = choose_ways(way("a", 1.0, 0.8), [way("b", 1.0, 0.8), way("c", 1.0, 0.7)], 2)
    assert found.worse == (False, True)


def test_a_better_way_is_not_hidden_so_that_others_look_good() -> None:
    pool = [way("b", 2.0, 1.0), way("c", 2.1, 0.9), way("d", 2.2, 1.0)]
    found = choose_ways(way("a", 1.0, 0.8), pool, 2)
    assert named(found.ways) == ["b", "c"]
    assert found.worse == (False, True)


def test_few_features_do_not_keep_out_many_ways() -> None:
    """Of "ab" alone, or "a" and "b", the latter are more ways, though dearer."""
    first = way("c", 1.0, 1.0)
    pool = [way("ab", 2.0, 1.0), way("a", 3.0, 1.0), way("b", 4.0, 1.0)]
    assert named(choose_ways(first, pool, 2).ways) == ["a", "b"]
    assert named(choose_ways(first, pool, 1).ways) == ["ab"]


def test_never_more_ways_than_were_asked_for() -> None:
    """Two ways of which one hides a better one must not be taken for too few."""
    pool = [way("be", 1.0, 0.8), way("bd", 2.0, 1.0), way("e", 1.0, 1.0), way("ef", 2.0, 1.0)]
    assert len(choose_ways(way("a", 1.0, 0.8), pool, 2).ways) == 2


SOME = st.builds(
    Way,
    st.frozensets(st.integers(0, 4), min_size=1, max_size=3),
    st.integers(1, 6).map(float),
    st.sampled_from([0.8, 0.9, 1.0]),
)


@settings(deadline=None, max_examples=150, derandomize=True)
@given(first=SOME, pool=st.lists(SOME, max_size=8), count=st.integers(1, 3))
def test_no_other_set_of_ways_is_better(first: Way, pool: list[Way], count: int) -> None:
    found = choose_ways(first, pool, count)
    legal = [
        ways
        for size in range(count + 1)
        for ways in itertools.combinations([w for w in pool if not w.features >= first.features], size)
        if not any(clash(a, b) for a, b in itertools.combinations(ways, 2))
    ]
    assert any({id(one) for one in found.ways} == {id(one) for one in ways} for ways in legal)
    kept = [one for one, worse in zip(found.ways, found.worse, strict=True) if not worse]
    assert found.good == good(first, found.ways)

    def hidden(ways: Sequence[Way]) -> bool:
        """Whether a way that dominates one of them could stand in its place."""
        return any(
            dominates(other, one) and not any(clash(other, rest) for rest in ways if rest is not one)
            for one in ways
            for other in pool
            if not other.features >= first.features
        )

    assert not hidden(kept)
    best = max(len(ways) for ways in legal if good(first, ways) == len(ways) and not hidden(ways))
    assert found.good >= best
    more = max(len(ways) for ways in legal if all(any(one is other for other in ways) for one in kept))
    assert len(found.ways) == more


# which ways are found


def all_ways(stated: Stated) -> list[Way]:
    """Every choice that works, by listing."""
    ways = []
    for choice in itertools.product(*(range(option.size) for option in stated.problem.options)):
        if stated.problem.is_solved_by(choice):
            features = frozenset(d for d, j in enumerate(choice) if j)
            ways.append(Way(features, stated.cost_of(choice), stated.share(stated.problem.accepted(choice))))
    return ways


def as_way(plan: Recourse, stated: Stated) -> Way:
    names = [option.name for option in stated.problem.options]
    features = frozenset(names.index(change.feature.name) for change in plan.changes)
    return Way(features, plan.cost or 0.0, plan.share or 0.0)


def does_all(one: Recourse, other: Recourse) -> bool:
    """Whether a plan makes each change of another one, at least as far."""
    mine = {change.feature.name: change.cost for change in one.changes}
    return all(mine.get(change.feature.name, -1.0) >= change.cost * (1 - 1e-9) for change in other.changes)


def spares(one: Way, other: Way) -> bool:
    """Whether a way does no more than another, costs no more and is as sure."""
    same = one.cost <= other.cost * (1 + 1e-9) and one.share >= other.share - 1e-9
    return same and (one.features < other.features or (one.features == other.features and dominates(one, other)))


@settings(deadline=None, max_examples=25, derandomize=True)
@given(seed=SEEDS, count=st.integers(2, 3))
def test_whoever_lists_all_choices_finds_no_better_ways(seed: int, count: int) -> None:
    world = make_world(seed)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", sampler="donors",
        n_samples=12, n_fresh=0, max_changes=3, max_options=4,
    ).fit(world.X)  # fmt: skip
    plans = explainer.alternatives(world.row, count)
    if not plans or not plans[0].changes:
        return
    assert plans[0] == explainer.explain(world.row)
    assert [plan.rank for plan in plans] == list(range(1, len(plans) + 1))
    fitted = explainer.current
    stated = pose(fitted, explainer.schema.encode(world.row)[0], (), fitted.settings.confidence).stated
    first, *others = (as_way(plan, stated) for plan in plans)
    assert [one.cost for one in others] == sorted(one.cost for one in others)
    for one, other in itertools.permutations(plans, 2):
        assert not does_all(one, other)
    for plan, one in zip(plans[1:], others, strict=True):
        assert (NOTE in {note.code for note in plan.notes}) == any(dominates(other, one) for other in (first, *others))
    # those that change all that the first plan changes, but something by less, only fill up
    shown, others = others, [one for one in others if not one.features >= first.features]
    assert not any(clash(one, other) for one, other in itertools.combinations(others, 2))
    known = [one for one in all_ways(stated) if not one.features >= first.features]
    needed = [one for one in known if not any(spares(other, one) for other in known)]
    for one in others:
        rest = [other for other in others if other is not one]
        for other in needed:
            if not any(clash(other, kept) for kept in rest):
                assert not dominates(other, one)
                assert good(first, [*rest, other]) <= good(first, others)
    if len(shown) < count - 1 or len(others) < len(shown):
        assert not any(all(not clash(one, other) for other in others) for one in needed)


@pytest.mark.parametrize(("seed", "count", "worse"), [(16, 3, 2), (30, 3, 0), (31, 2, 0), (74, 3, 0)])
def test_what_fresh_completions_do_not_confirm_is_replaced(seed: int, count: int, worse: int) -> None:
    """A path has the surest plans by one sample; where another disagrees, more plans are looked at."""
    world = make_world(seed)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", sampler="donors",
        n_samples=12, n_fresh=60, max_changes=3, max_options=5, grid="human",
    ).fit(world.X)  # fmt: skip
    plans = explainer.alternatives(world.row, 3)
    assert len(plans) == count
    assert sum(NOTE in {note.code for note in plan.notes} for plan in plans) == worse


class Flatterer:
    """Accepts everybody."""

    def accepts(self, codes: FloatArray) -> BoolArray:
        return np.ones(codes.shape[0], dtype=bool)


def test_shares_are_those_of_the_model_itself_where_its_reading_disagrees(monkeypatch: pytest.MonkeyPatch) -> None:
    world = make_world(0, blanks=2)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", sampler="donors", n_samples=12, n_fresh=50
    )
    plans = explainer.fit(world.X).alternatives(world.row, 3)
    assert len(plans) > 1
    monkeypatch.setattr(module, "_Reading", lambda read: Flatterer())
    again = explainer.alternatives(world.row, 3)
    assert [(p.cost, p.share) for p in again] == [(p.cost, p.share) for p in plans]
