"""Rules between features: said in English, enforced in the problem, and checked again at the end."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from armin import ARMIN, Schema
from armin.actions import build_grid
from armin.errors import ArminError, AuditError, SchemaError
from armin.explain.advise import pose
from armin.problem.rules import apply_rules
from armin.recourse.audit import check_action
from armin.schema import AtMostOne, Condition, Feature, Forbid, Implies, Order, Rule, Together

from worlds import make_world

SCHEMA = Schema(
    (
        Feature("total", "integer", lower=0, upper=5, label="all years"),
        Feature("part", "integer", lower=0, upper=5, label="years here"),
        Feature("owner", "binary", categories=("no", "yes")),
        Feature("city", "categorical", categories=("Bonn", "Kyoto", "Lima")),
        Feature("level", "ordinal", categories=("low", "mid", "high")),
    )
)
RULES = [
    Order(("part", "total")),
    Implies(Condition("owner", "is", "yes"), Condition("total", "is at least", 3)),
    Implies(Condition("city", "changes"), Condition("level", "increases")),
    Implies(Condition("part", "decreases"), Condition("owner", "is not", "yes")),
    Implies(Condition("level", "is at most", "mid"), Condition("part", "does not change")),
    Forbid("city", "Bonn", "Lima"),
    Forbid("owner", None, "no"),
    Together(("total", "part")),
    AtMostOne(("owner", "city", "level")),
]
ENGLISH = [
    "years here must be at most all years.",
    "If owner is “yes”, then all years is at least 3.",
    "If city changes, then level increases.",
    "If years here decreases, then owner is not “yes”.",
    "If level is at most “mid”, then years here does not change.",
    "city must not change from “Bonn” to “Lima”.",
    "owner must not change to “no”.",
    "all years and years here must change together or not at all.",
    "At most one of owner, city and level may change.",
]


@pytest.mark.parametrize(("rule", "text"), list(zip(RULES, ENGLISH, strict=True)))
def test_rules_read_as_sentences_and_survive_a_file(rule, text):
    schema = SCHEMA.with_rules(rule)
    assert str(rule.message(schema)) == text
    assert f"Rule: {text}" in str(schema)
    assert Schema.from_toml(schema.to_toml()) == schema
    assert schema.update(immutable=["city"]).rules == (rule,)


def row_with_blanks(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    high = np.array([f.high_code for f in SCHEMA])
    candidates = np.repeat(np.floor(rng.uniform(size=(1, 5)) * (high + 1)), 4, axis=0)
    row = candidates[0].copy()
    for i in rng.choice(5, int(rng.integers(0, 3)), replace=False):
        row[i] = np.nan
        candidates[:, i] = np.floor(rng.uniform(size=4) * (high[i] + 1))
    return row, candidates


@settings(deadline=None, max_examples=150, derandomize=True)
@given(seed=st.integers(0, 10**6), which=st.sets(st.integers(0, len(RULES) - 1), min_size=1, max_size=3))
def test_the_problem_allows_exactly_what_the_rules_allow(seed, which):
    rng = np.random.default_rng(seed)
    schema = SCHEMA.with_rules(*(RULES[i] for i in sorted(which)))
    row, candidates = row_with_blanks(rng)
    locked = frozenset({"level"} if rng.uniform() < 0.3 else ())
    full = build_grid(schema, row, candidates, max_options=4, frozen=locked)
    thinned, pairs = apply_rules(full, candidates)
    kept = {
        tuple((m.position, m.targets[j]) for m, j in zip(thinned.moves, c, strict=True))
        for c in itertools.product(*(range(m.size) for m in thinned.moves))
        if all(pair.allowed[c[pair.first], c[pair.second]] for pair in pairs)
    }
    kept = {frozenset((p, t) for p, t in c if not np.isnan(t)) for c in kept}
    wanted = set()
    for choice in itertools.product(*(range(m.size) for m in full.moves)):
        after = full.apply(choice, candidates)
        if all(rule.allows(schema, candidates, after).all() for rule in schema.rules):
            picked = zip(full.moves, choice, strict=True)
            wanted.add(frozenset((m.position, m.targets[j]) for m, j in picked if j))
    assert kept == wanted


@settings(deadline=None, max_examples=60, derandomize=True)
@given(seed=st.integers(0, 10**6))
def test_a_rules_own_table_is_what_asking_about_every_pair_says(seed):
    """On observed values every option but the first is a change, so that both must say the same of every rule."""
    rng = np.random.default_rng(seed)
    candidates = np.floor(rng.uniform(size=(1, 5)) * [f.high_code + 1 for f in SCHEMA])
    moves = {m.position: m for m in build_grid(SCHEMA, candidates[0], candidates, max_options=6).moves}
    compared = 0
    for rule in itertools.chain.from_iterable(each.pairs() for each in RULES):
        where = [SCHEMA.position(name) for name in rule.features]
        first, second = moves[where[0]], moves[where[-1]]
        if first is not second:
            for one, other in ((first, second), (second, first)):
                table = rule.table(SCHEMA, one, other, candidates)
                np.testing.assert_array_equal(table, Rule.table(rule, SCHEMA, one, other, candidates))
                compared += table.size
    assert compared > 0


@pytest.mark.parametrize("rule", RULES, ids=ENGLISH)
def test_the_last_check_knows_every_rule(rule):
    schema = SCHEMA.with_rules(rule)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        before = np.floor(rng.uniform(size=(2, 5)) * [6, 6, 2, 3, 3])
        after = np.floor(rng.uniform(size=(2, 5)) * [6, 6, 2, 3, 3])
        if rule.allows(schema, before, after).all():
            check_action(schema, before[0], before, after, max_changes=None)
        else:
            with pytest.raises(AuditError, match="breaks a rule"):
                check_action(schema, before[0], before, after, max_changes=None)
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("kind", ["linear", "forest"])
@pytest.mark.parametrize("method", ["auto", "milo"])
def test_advice_obeys_rules_end_to_end(kind, method):
    rules = (AtMostOne(("amount", "city")), Implies(Condition("owner", "changes"), Condition("amount", "changes")))
    free = bound = 0
    for seed in range(8):
        world = make_world(seed, kind, blanks=1)
        options = {
            "desired": "yes",
            "n_samples": 8,
            "n_fresh": 0,
            "sampler": "donors",
            "max_options": 6,
            "method": method,
        }
        plain = ARMIN.from_settings(world.classifier, world.schema, **options).fit(world.X).explain(world.row)
        ruled = (
            ARMIN.from_settings(world.classifier, world.schema.with_rules(*rules), **options)
            .fit(world.X)
            .explain(world.row)
        )
        changed = {c.feature.name for c in ruled.changes}
        assert not {"amount", "city"} <= changed
        assert "owner" not in changed or "amount" in changed
        if plain.cost is not None and ruled.cost is not None:
            assert ruled.cost >= plain.cost - 1e-9
            free, bound = free + 1, bound + (ruled.cost > plain.cost + 1e-9)
    assert free
    assert bound, "no rule was ever binding: the test shows nothing"


def test_completions_that_break_a_rule_are_not_plausible():
    rng = np.random.default_rng(0)
    part = rng.integers(0, 6, 300)
    X = pd.DataFrame({"total": part + rng.integers(0, 4, 300), "part": part})
    y = (X["total"] + X["part"] > 8).astype(int)
    schema = Schema.infer(X).with_rules(Order(("part", "total")))
    explainer = ARMIN.from_settings(
        LogisticRegression().fit(X, y), schema, desired=1, sampler="uniform", n_fresh=0
    ).fit(X)
    sample = pose(explainer.current, schema.encode({"total": 3, "part": None})[0], (), 0.75).sample
    assert (sample.values[:, 0] >= sample.values[:, 1]).all()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda: Order(("total", "wealth")), "'wealth' is not a column"),
        (lambda: Order(("total", "city")), "compares numbers"),
        (lambda: Implies(Condition("city", "increases"), Condition("owner", "changes")), "has no order"),
        (lambda: Implies(Condition("city", "is"), Condition("owner", "changes")), "needs a value"),
        (lambda: Implies(Condition("city", "changes", "Bonn"), Condition("owner", "changes")), "takes no value"),
        (lambda: Together(("city",)), "at least two different"),
        (lambda: Implies(Condition("city", "was", "Bonn"), Condition("owner", "changes")), "relation must be one of"),
    ],
)
def test_refusals(rule, message):
    with pytest.raises(SchemaError, match=message):
        SCHEMA.with_rules(rule())


def test_unknown_rules_in_a_file():
    text = SCHEMA.to_toml() + '\n[[rules]]\nrule = "never"\n'
    with pytest.raises(SchemaError, match="at_most_one, forbid, implies, linear, order, together"):
        Schema.from_toml(text)
    with pytest.raises(SchemaError, match="wrong or missing keys"):
        Schema.from_toml(SCHEMA.to_toml() + '\n[[rules]]\nrule = "order"\nlarger = "total"\n')


def plans(*pairs):
    """Codes before and after for three candidates, of whom each pair says the years here."""
    before = np.tile([3.0, 2.0, 0.0, 0.0, 1.0], (len(pairs), 1))
    after = before.copy()
    before[:, 1], after[:, 1] = zip(*pairs, strict=True)
    return before, after


@pytest.mark.parametrize(
    ("relation", "value", "holds"),
    [
        ("is", 3, [False, True, False]),
        ("is not", 3, [True, False, True]),
        ("is at least", 3, [False, True, True]),
        ("is at most", 3, [True, True, False]),
        ("changes", None, [True] * 3),
        ("does not change", None, [False] * 3),
        ("increases", None, [True] * 3),
        ("decreases", None, [False] * 3),
    ],
)
def test_a_condition_holds_as_its_words_say(relation, value, holds):
    """After is 2, 3 and 4: one candidate stays, two rise. A change speaks of the plan, so of all candidates."""
    before, after = plans((2, 2), (2, 3), (2, 4))
    assert Condition("part", relation, value).holds(SCHEMA, before, after).tolist() == holds


def test_nothing_changes_where_nothing_changes_for_anybody():
    before, after = plans((2, 2), (3, 3), (4, 4))
    told = {relation: Condition("part", relation).holds(SCHEMA, before, after).all()
            for relation in ("changes", "does not change", "increases", "decreases")}  # fmt: skip
    assert told == {"changes": False, "does not change": True, "increases": False, "decreases": False}
    down = Condition("part", "decreases").holds(SCHEMA, *plans((2, 2), (3, 1), (4, 4)))
    assert down.all()


@pytest.mark.parametrize(
    ("rule", "before", "after", "allowed"),
    [
        (Order(("part", "total")), [3, 3], [3, 4], False),
        (Order(("part", "total")), [4, 3], [3, 3], True),
        (Order(("part", "total")), [2, 3], [1, 3], True),  # broken already
        (Together(("total", "part")), [2, 2], [3, 2], False),
        (Together(("total", "part")), [2, 2], [3, 3], True),
        (AtMostOne(("total", "part")), [2, 2], [3, 2], True),
        (AtMostOne(("total", "part")), [2, 2], [3, 3], False),
        (Implies(Condition("total", "is", 5), Condition("part", "is at least", 3)), [4, 2], [5, 2], False),
        (Implies(Condition("total", "is", 5), Condition("part", "is at least", 3)), [4, 2], [5, 3], True),
        (Implies(Condition("total", "is", 5), Condition("part", "is at least", 3)), [5, 2], [5, 1], True),  # already
    ],
)
@pytest.mark.parametrize("n", [1, 7])
def test_rules_by_hand(rule, before, after, allowed, n):
    rest = [0.0, 0.0, 1.0]
    found = rule.allows(SCHEMA, np.tile([*before, *rest], (n, 1)), np.tile([*after, *rest], (n, 1)))
    assert found.tolist() == [allowed] * n


@pytest.mark.parametrize(
    ("before", "after", "allowed"), [("Bonn", "Lima", False), ("Kyoto", "Lima", True), ("Lima", "Lima", True)]
)
def test_a_forbidden_step_by_hand(before, after, allowed):
    city = SCHEMA["city"]
    old, new = (np.array([[3.0, 2.0, 0.0, city.code(value), 1.0]]) for value in (before, after))
    assert Forbid("city", "Bonn", "Lima").allows(SCHEMA, old, new).tolist() == [allowed]
    assert Forbid("city", None, "Lima").allows(SCHEMA, old, new).tolist() == [before == after]


@pytest.mark.parametrize(
    "rule",
    [
        Order(("total", "total")),
        AtMostOne(("total",)),
        AtMostOne(("total", "total")),
        AtMostOne(["total", "part"]),
        Together(("total", "part", "part")),
        Forbid("city", "Bonn", "Rome"),
        Forbid("city", "Rome", "Bonn"),
        Implies(Condition("city", "is", "Rome"), Condition("owner", "changes")),
        Implies(Condition("owner", "changes"), Condition("total", "is at least", "many")),
    ],
)
def test_what_the_schema_does_not_know_is_refused(rule):
    with pytest.raises(ArminError):
        SCHEMA.with_rules(rule)


def test_a_rule_on_three_features_must_say_its_pairs():
    assert [rule.features for rule in AtMostOne(("owner", "city", "level")).pairs()] == [
        ("owner", "city"), ("owner", "level"), ("city", "level"),
    ]  # fmt: skip
    assert Order(("part", "total")).pairs() == [Order(("part", "total"))]


def test_a_feature_that_a_rule_leaves_no_option_stands_still():
    """The total cannot move, so the part cannot exceed it, and has nowhere else to go."""
    schema = Schema(
        (
            Feature("total", "integer", lower=0, upper=5, direction="fixed"),
            Feature("part", "integer", lower=0, upper=5, direction="increase"),
            Feature("other", "integer", lower=0, upper=5),
        )
    ).with_rules(Order(("part", "total")))
    row = np.array([3.0, 3.0, 1.0])
    grid, pairs = apply_rules(build_grid(schema, row, row[None, :]), row[None, :])
    assert [schema.names[move.position] for move in grid.moves] == ["other"]
    assert pairs == ()
    row = np.array([4.0, 3.0, 1.0])
    grid, pairs = apply_rules(build_grid(schema, row, row[None, :]), row[None, :])
    part, _ = grid.moves
    assert part.values.tolist() == [[3.0, 4.0]]
    assert part.targets.size == part.senses.size == 2
