"""One share per plan: judged once, rounded by one rule, the same in print, HTML, JSON, page and letter."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier

from armin import ARMIN, Schema
from armin.explain.advise import pose
from armin.explain.judge import judge_path
from armin.problem import Status
from armin.recourse import Recourse, RecoursePath
from armin.words import Catalogue, catalogue
from armin.words.numbers import of_hundred, round_percent
from armin_desk.contract import AlternativesAsked, Asked, LetterAsked
from armin_desk.letter import write_letter
from armin_desk.problems import ProblemError
from armin_desk.service import Service
from armin_desk.settings import DeskSettings

LANGUAGES = ("en", "de")
MODELS = {
    "linear": LogisticRegression(),
    "trees": RandomForestClassifier(12, max_depth=4, random_state=0),
    "network": MLPClassifier((6,), solver="lbfgs", max_iter=300, random_state=0),
}


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


@pytest.fixture(scope="module", params=MODELS)
def served(request: pytest.FixtureRequest) -> tuple[Service, list[dict[str, Any]]]:
    """A desk, and rejected people with blanks that matter."""
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=(600, 2)).round(1)
    X = pd.DataFrame({"a": hidden[:, 0], "b": hidden[:, 1]})
    X["c"] = (0.6 * X["a"] + 0.8 * rng.normal(size=600)).round(1)
    X["d"] = rng.integers(0, 6, 600)
    y = np.where(X["a"] + X["b"] + 0.7 * X["c"] + 0.5 * X["d"] + 0.4 * rng.normal(size=600) > 2.5, "yes", "no")
    model = MODELS[request.param].fit(X.to_numpy(), y)
    schema = Schema.infer(X, immutable=["a"], units={"d": "month|months"})
    explainer = ARMIN.from_settings(
        model, schema, desired="yes", n_samples=40, n_fresh=400, max_changes=2, max_options=8
    ).fit(X)
    rows = []
    for i in np.flatnonzero(model.predict(X.to_numpy()) == "no"):
        rows.append({**X.iloc[i].to_dict(), "a": None, **({"c": None} if i % 2 else {})})
        if len(rows) == 3:
            break
    bundle = SimpleNamespace(explainer=explainer, title="", people=(), manifest={})
    return Service(bundle, DeskSettings()), rows


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def read(html: str) -> str:
    parser = _Text()
    parser.feed(re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL))
    return plain(" ".join(" ".join(parser.parts).split()))


def percentages(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)? %", plain(text)))


def allowed(plan: Recourse, words: Catalogue) -> set[str]:
    """All percentages that may stand beside a plan: its share, the interval of it, what was asked for, and by
    how much a cheaper plan may be cheaper."""
    assert plan.fresh is not None
    low, high = plan.fresh.interval()
    least, _ = plan.fresh.interval(0.9)
    said = {words.percent(share) for share in (plan.share, low, high, 0.95, plan.tolerance)}
    return {plain(one) for one in said | {words.at_least(least), words.at_least(plan.confidence)}}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_plan_has_one_share_wherever_it_is_told(served: tuple[Service, list[dict[str, Any]]], language: str) -> None:
    service, rows = served
    words, explainer = catalogue(language), service.bundle.explainer
    told = 0
    for row in rows:
        path = explainer.path(row)
        for plan in (*explainer.alternatives(row, 2), *path):
            if not plan.changes or plan.share >= 1:
                continue
            told += 1
            share, may = plain(words.percent(plan.share)), allowed(plan, words)
            data = plan.to_dict()
            assert data["share"] == plan.share == data["fresh"]["share"]
            assert share in plan.text(language)
            assert percentages(plan.text(language)) <= may
            if language == "en":
                assert share in read(plan._repr_html_())
                assert percentages(read(plan._repr_html_())) <= may
            page = service.told(Asked(row=row, languages=(language,)), plan)["said"][language]
            number = share.removesuffix(" %")
            assert re.search(rf"\b{re.escape(number)} (of|von) 100\b", plain(page["headline"])), page["headline"]
            assert plain(page["dots"]).startswith(f"{number} ")
            assert page["full"] == of_hundred(plan.share)
            assert plain(page["point"]["value"]).startswith(f"{share}:")
            assert share in plain(" ".join(page["sure"]))
            assert percentages(" ".join(page["sure"])) <= may
            letter = read(write_letter(plan, row, schema=service.schema, language=language).html)
            assert share in letter
            assert percentages(letter) <= may
    assert told >= 5


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_path_shows_the_shares_of_its_plans(served: tuple[Service, list[dict[str, Any]]], language: str) -> None:
    service, rows = served
    words = catalogue(language)
    for row in rows:
        path = service.bundle.explainer.path(row)
        shares = [plan.share for plan in path]
        said = [plain(words.percent(share)) for share in shares]
        lines = path.text(language).splitlines()[1 : len(shares) + 1]
        assert [re.match(r"\s*(\S+ %)", line)[1] for line in lines] == said
        if language == "en":
            assert re.findall(r"(\S+ %) \d", read(path._repr_html_())) == said
        found = service.path(Asked(row=row, languages=(language,)))
        assert shares == [point["share"] for point in path.to_list()]
        offered = [share for share in shares if share >= 0.5]
        assert [point["share"] for point in found["points"]] == offered
        values = [plain(point["recourse"]["said"][language]["point"]["value"]) for point in found["points"]]
        assert [value.split(":")[0] for value in values] == said[len(said) - len(offered) :]
        assert path.to_frame()["share"].tolist() == shares
        steps = path.plot(language=language).lines[0]
        assert list(steps.get_xdata()) == shares
        if offered:
            assert said[-1] in plain(found["said"][language]["reach"])
            assert said[-1] in plain(found["said"][language]["surest"])


def test_each_point_of_a_path_is_dearer_and_surer_and_asks_for_what_it_keeps(
    served: tuple[Service, list[dict[str, Any]]],
) -> None:
    service, rows = served
    for row in rows:
        path = service.bundle.explainer.path(row)
        assert (np.diff([plan.cost for plan in path]) > 0).all()
        assert (np.diff([plan.share for plan in path]) > 0).all()
        for plan in path:
            assert plan.confidence == plan.certificate.confidence == plan.share
            assert path.at(plan.share) is plan


def test_the_point_that_was_chosen_is_the_plan_of_the_letter_and_of_the_other_ways(
    served: tuple[Service, list[dict[str, Any]]],
) -> None:
    service, (row, *_) = served
    points = service.path(Asked(row=row, languages=("en",)))["points"]
    for point in (points[0], points[len(points) // 2], points[-1]):
        asked = AlternativesAsked(row=row, languages=("en",), point=point["share"], count=2)
        first, *others = service.alternatives(asked)["plans"]
        assert first["changes"] == point["recourse"]["changes"]
        assert first["share"] == point["share"]
        assert all(other["cost"]["value"] >= point["cost"] * (1 - 1e-9) for other in others)
    letter = read(service.letter(LetterAsked(row=row, point=points[0]["share"])).html)
    assert all(change["sentence"] in letter for change in points[0]["recourse"]["changes"])
    assert plain(catalogue().percent(points[0]["share"])) in letter


def test_a_point_that_is_not_on_the_path_is_refused(served: tuple[Service, list[dict[str, Any]]]) -> None:
    service, rows = served
    share = service.path(Asked(row=rows[0]))["points"][0]["share"]
    for asked in ({"point": share - 1e-6}, {"point": 1.0 if share < 1 else 0.5, "confidence": 0.5}):
        with pytest.raises(ProblemError) as caught:
            service.alternatives(AlternativesAsked(row=rows[0], **asked))
        assert caught.value.errors[0][0] == "point"


def test_a_dearer_plan_that_is_no_surer_is_no_point_of_a_path(served: tuple[Service, list[dict[str, Any]]]) -> None:
    service, rows = served
    plan = service.bundle.explainer.explain(rows[0])
    fresh = [
        replace(plan, cost=float(i), fresh=replace(plan.fresh, accepted=k)) for i, k in enumerate((9, 20, 20, 8, 21))
    ]
    kept = RecoursePath.judged([replace(plan, fresh=None, validity=None), *fresh], 0.5, Status.OPTIMAL)
    assert [point.cost for point in kept] == [0.0, 1.0, 4.0]
    assert kept.at(20 / plan.fresh.of).cost == 1.0
    assert kept.at(1.0) is None


@given(st.floats(0, 1))
@example(0.925)
@example(0.285)
@example(0.295)
@example(0.999)
@example(0.0049)
@example(0.995)
def test_of_a_hundred_is_the_percentage(share: float) -> None:
    rounded, _ = round_percent(share)
    assert abs(of_hundred(share) - rounded) < 1
    if rounded == int(rounded):
        assert of_hundred(share) == rounded
    assert (of_hundred(share) == 100) == (share == 1)
    assert (of_hundred(share) == 0) == (share == 0)
    for language in LANGUAGES:
        words = catalogue(language)
        assert words.percent(share).replace("\u00a0%", "") == words.hundred(share)


def test_no_cheaper_plan_that_both_samples_confirm_is_passed_over(served: tuple[Service, list[dict[str, Any]]]) -> None:
    """Where fresh completions refuse the cheapest plan, the next one that they confirm is the answer."""
    explainer: Any = served[0].bundle.explainer
    raised = 0
    for level in (0.6, 0.7, 0.8, 0.9):
        one = explainer.at(level)
        for row in served[1]:
            answer = one.explain(row)
            codes = one.schema.encode(pd.DataFrame([row]))[0]
            posed = pose(one.current, codes, (), level)
            assert posed.fresh is not None
            weights, costs = posed.fresh.weights, []
            points, _ = judge_path(one.current, posed.world, posed.stated, posed.fresh)
            for point in points:
                enough = posed.stated.problem.enough(float(posed.stated.problem.weights[point.accepted].sum()))
                fresh = float(weights[point.fresh].sum() / weights.sum())
                if enough and fresh >= level - 1e-9:
                    costs.append(point.solution.cost)
                elif enough and not costs:
                    raised += 1
            if costs and answer.changes:
                assert answer.bound * (1 - 1e-9) <= answer.cost <= min(costs) * (1 + answer.tolerance + 1e-9)
                assert answer.share >= level - 1e-9
    assert raised
