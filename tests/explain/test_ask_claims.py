"""Every sentence of ask or act, checked against brute force over what it claims."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from armin import ARMIN
from armin.explain.ask import AskOrAct, Question
from armin.explain.draw import candidates_of, fresh_of
from armin.explain.world import find_world

from blank_worlds import MODELS, blank_world

CODES = {
    "question.alone", "question.same", "question.no_help", "question.lost", "question.opens", "question.cheaper",
    "question.as_now", "question.surer", "question.no_plan", "question.undecided", "question.free",
    "question.with_others",
}  # fmt: skip


def explained(explainer: ARMIN, row: dict[str, Any], question: Question) -> list[Any]:
    """What the person really gets for each value that was tried."""
    answers = [explainer.explain({**row, question.feature.name: told.value}) for told in question.told]
    for told, answer in zip(question.told, answers, strict=True):
        assert (answer.outcome, answer.cost, answer.changes) == (told.plan.outcome, told.plan.cost, told.plan.changes)
    return answers


def check_question(explainer: ARMIN, world: Any, plan: Any, question: Question) -> set[str]:
    """Recompute every number that stands in a sentence about one blank; the codes of the sentences."""
    row, name = world[3], question.feature.name
    answers = explained(explainer, row, question)
    weights = np.array([told.weight for told in question.told])
    found = np.array([answer.cost is not None for answer in answers])
    costs = np.array([np.nan if answer.cost is None else answer.cost for answer in answers])
    mean = float(weights[found] @ costs[found] / weights[found].sum()) if found.any() else None
    for message in question.messages:
        assert message.code in CODES
        told = message.values
        if message.code == "question.alone":
            assert not plan.world.conditioned
            assert told["share"] == pytest.approx(accepted_alone(explainer, row, name), abs=0.08)  # five sigmas
        elif message.code == "question.with_others":
            assert plan.outcome == "tell"
            assert not question.alone
        elif message.code == "question.same":
            assert plan.outcome != "tell"  # what is in the way must be told
            check_same(explainer, row, plan, question, told)
        elif message.code in ("question.no_help", "question.lost"):
            assert not found.any()
            assert plan.found == (message.code == "question.lost")
        elif message.code == "question.opens":
            assert not plan.found
            assert told["share"] == pytest.approx(weights[found].sum())
            assert told["cost"] == pytest.approx(mean)
        elif message.code in ("question.cheaper", "question.as_now"):
            assert told["cost"] == pytest.approx(mean)
            assert told.get("now", plan.cost) == plan.cost
        elif message.code == "question.surer":
            shares = np.array([answer.share for answer in answers if answer.cost is not None])
            assert told["share"] == pytest.approx(float(weights[found] @ shares / weights[found].sum()), abs=1e-6)
            assert told["now"] == plan.share
        elif message.code == "question.no_plan":
            assert told["share"] == pytest.approx(weights[~found].sum())
        elif message.code == "question.free":
            free = [answer.outcome == "already_accepted" for answer in answers]
            assert told["share"] == pytest.approx(float(weights @ np.array(free, dtype=float)))
    return {message.code for message in question.messages}


def accepted_alone(explainer: ARMIN, row: dict[str, Any], name: str) -> float:
    """How often telling one blank is enough, by other draws and the model's own word."""
    fitted, position = explainer.current, explainer.schema.position(name)
    codes = fitted.schema.encode(row)[0]
    draws = fitted.sampler.sample(codes, 3000, np.random.default_rng(7)).values
    rows = np.repeat(codes[None, :], len(draws), axis=0)
    rows[:, position] = draws[:, position]
    return float(fitted.decision.accepts(rows).mean())


def check_same(explainer: ARMIN, row: dict[str, Any], plan: Any, question: Question, told: dict[str, Any]) -> None:
    """Acting now works for at least the stated share of everybody with each value that was tried."""
    fitted = explainer.current
    for one in question.told:
        codes = fitted.schema.encode({**row, question.feature.name: one.value})[0]
        there = find_world(fitted, codes)
        sample = fresh_of(fitted, there, codes) or candidates_of(fitted, there, codes)
        works = fitted.decision.accepts(plan.apply_codes(fitted.schema, sample.values))
        assert float(sample.weights[works].sum() / sample.weights.sum()) >= told["share"] - 1e-9
        assert one.plan.found


def check_answer(answer: AskOrAct, blanks: int) -> None:
    """What the whole says follows from its questions."""
    codes = {message.code for message in answer.messages}
    plan = answer.plan
    if "ask.no_plan" in codes:
        assert not plan.found
        assert len(answer.questions) == blanks
        assert all(told.plan.cost is None for question in answer.questions for told in question.told)
    if "ask.act" in codes:
        assert plan.found
        assert len(answer.questions) == blanks
        assert not any(question.worth for question in answer.questions)
    if "ask.same" in codes:
        assert not any(question.matters for question in answer.questions)
    if "ask.accepted" in codes:
        assert plan.world.submitted
    if "ask.all_told" in codes:
        assert plan.outcome == "tell"
        assert plan.world.submitted is False
    if "ask.tell" in codes:
        assert answer.best is not None


def check_rows(seeds: range) -> set[str]:
    seen: set[str] = set()
    for seed in seeds:
        kind = sorted(MODELS)[seed % len(MODELS)]
        world = blank_world(seed, kind, blanks=1 + seed % 3)
        X, model, schema, row = world
        decision, reapply = (
            ["auto", "complete", None][seed % 3 if seed % 2 else 0],
            ["disclosed", "either"][seed % 5 == 0],
        )
        explainer = ARMIN.from_settings(
            model, schema, desired="yes", n_samples=10, n_fresh=40, sampler="donors", max_changes=2, max_options=5,
            grid="human",
            decision=decision, reapply=reapply,
        ).fit(X)  # fmt: skip
        answer = explainer.ask(row, n_values=3)
        check_answer(answer, sum(value is None for value in row.values()))
        seen |= {message.code for message in answer.messages}
        for question in answer.questions:
            seen |= check_question(explainer, world, answer.plan, question)
    return seen


def test_every_sentence_is_true_of_what_was_tried() -> None:
    seen = check_rows(range(24))
    assert {"question.alone", "question.same", "question.cheaper", "ask.act", "ask.accepted"} <= seen


@pytest.mark.slow
def test_every_sentence_is_true_on_five_hundred_rows() -> None:
    assert len(check_rows(range(1000, 1500)) & CODES) >= 8
