"""The desk's API: what it answers, what it refuses, and what it keeps to itself."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from armin import ARMIN, Promise, Schema
from armin.baselines import ImputationAR
from armin.datasets import make_loans
from armin.errors import DataError, ParameterError
from armin.promise import Pattern
from armin.schema.shown import Shown
from armin.words import catalogue

pytest.importorskip("fastapi")
pytest.importorskip("httpx")
uvicorn = pytest.importorskip("uvicorn")
pytestmark = pytest.mark.filterwarnings("ignore:Using `httpx`")

from fastapi.testclient import TestClient  # noqa: E402

from armin.bundle import save_bundle  # noqa: E402
from armin_desk.app import create_app  # noqa: E402
from armin_desk.contract import AlternativesAsked, contract_of  # noqa: E402
from armin_desk.demo import demo_people  # noqa: E402
from armin_desk.said import said_recourse  # noqa: E402
from armin_desk.serve import serve  # noqa: E402
from armin_desk.service import Service, warm_up  # noqa: E402
from armin_desk.settings import DeskSettings  # noqa: E402

LOANS = make_loans()
ROW = LOANS.applicant
KEY = "correct-horse-battery"
POSTS = ("recourse", "path", "alternatives", "ask", "letter")


def bundle_of(explainer, people=()):
    return SimpleNamespace(explainer=explainer, title="Loans", people=people, manifest={})


@pytest.fixture(scope="module")
def explainer():
    return ARMIN(LOANS.classifier, LOANS.schema, desired="approved").fit(LOANS.X)


@pytest.fixture(scope="module")
def app(explainer):
    return create_app(bundle_of(explainer, demo_people(LOANS)))


@pytest.fixture(scope="module")
def client(app):
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def timeless(data):
    """An answer without what differs from run to run: seconds, and the random reference."""
    return re.sub(r'"(seconds|sampling|building|solving)": [0-9.e+-]+', "", json.dumps(data, sort_keys=True))


def is_problem(response, status, field=None):
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    data = response.json()
    assert data["status"] == status
    assert data["title"]
    assert data["detail"]
    if field is not None:
        assert data["field"] == field
    assert "Traceback" not in response.text
    assert ".py" not in response.text
    return data


# --- what it answers ---


def test_schema_describes_the_form(client):
    form = client.get("/api/v1/schema").json()
    by_name = {feature["name"]: feature for feature in form["features"]}
    assert list(by_name) == LOANS.schema.names
    assert by_name["Income"] | {"help": "", "errors": {}} == {
        "name": "Income", "label": "Income", "kind": "integer", "unit": "$", "lower": 0, "upper": 250_000, "step": None,
        "categories": None, "mutable": False, "direction": "fixed", "blank_mode": "freeze", "help": "", "errors": {},
        "hint": "From $0 to $250,000. A plan never asks you to change this.",
        "unlock": "I could change this after all: Income", "tell": "Tell: Income",
        "short": "Income", "section": "", "asks": "", "group": "", "order": None, "example": "",
        "seen": [0, 250_000], "beyond": "",
    }  # fmt: skip
    assert by_name["Income"]["errors"]["range"] == (
        "Income is outside the limits. From $0 to $250,000. Correct it, or leave it blank."
    )
    assert by_name["Education"]["categories"][0] == {"value": "HighSchool", "label": "HighSchool"}
    assert form["desired"] == ["approved"]
    assert form["confidence"] == 0.75
    assert form["promise"] is None
    assert [person["name"] for person in form["people"]] == ["Alex", "Bo", "Charlie"]
    assert "en" in form["languages"]


def test_recourse_is_the_explainers(client, explainer):
    answer = client.post("/api/v1/recourse", json={"row": ROW}).json()
    reference = answer.pop("reference")
    assert timeless(answer) == timeless(explainer.explain(ROW).to_dict())
    assert reference != client.post("/api/v1/recourse", json={"row": ROW}).json()["reference"]


def test_why_a_blank_is_blank_is_noted(client, explainer):
    row = {**ROW, "Education": None}
    asked = {"row": row, "why": {"Income": "private", "Education": "unknown"}, "languages": ["en", "de"]}
    answer = client.post("/api/v1/recourse", json=asked).json()
    assert {blank["feature"]: blank["why"] for blank in answer["blanks"]} == asked["why"]
    for language, words in (("en", "You prefer not to say Income."), ("de", "Sie möchten nicht angeben: Income.")):
        assert [words in note for note in answer["said"][language]["notes"]].count(True) == 1
    # it says more and changes nothing
    plain = client.post("/api/v1/recourse", json={"row": row}).json()
    assert answer["changes"] == plain["changes"]
    assert answer["notes"][:-1] == plain["notes"]
    assert "why" not in plain["blanks"][0]


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ({"Age": "private"}, "'why' must name columns that are blank. Got 'Age', which is told"),
        ({"Income": "secret"}, "unknown or private"),
        ({"Shoes": "private"}, "unknown or private"),
    ],
)
def test_a_reason_that_cannot_be_meant_is_refused(client, why, words):
    answer = client.post("/api/v1/recourse", json={"row": ROW, "why": why})
    assert answer.status_code == 422
    assert words in answer.json()["detail"]
    assert answer.json()["field"] == "why"


def test_a_value_beyond_what_was_seen_is_answered_and_described(client):
    answer = client.post("/api/v1/recourse", json={"row": {**ROW, "Age": 80}}).json()
    assert any("seen nobody with Age: 80" in note for note in answer["notes"])
    age = next(one for one in client.get("/api/v1/schema").json()["features"] if one["name"] == "Age")
    assert (age["lower"], age["upper"], age["seen"]) == (0, 120, [20, 70])
    assert age["help"].startswith("A whole number from 0 to 120. The model knows 20 to 70.")
    refused = client.post("/api/v1/recourse", json={"row": {**ROW, "Age": 121}})
    assert (refused.status_code, refused.json()["field"]) == (422, "Age")


def test_a_letter_as_pdf(client):
    pytest.importorskip("weasyprint")
    letter = client.post("/api/v1/letter", json={"row": ROW, "format": "pdf"})
    assert letter.headers["content-type"] == "application/pdf"
    assert letter.content.startswith(b"%PDF-")
    assert client.post("/api/v1/letter", json={"row": ROW, "format": "doc"}).status_code == 422


def test_what_is_hard_for_one_person_weighs_more(client, explainer):
    said = {"ExistingLoans": "very hard"}
    answer = client.post("/api/v1/recourse", json={"row": ROW, "difficulty": said}).json()
    del answer["reference"]
    assert timeless(answer) == timeless(explainer.with_difficulty(said).explain(ROW).to_dict())
    assert answer["changes"] != client.post("/api/v1/recourse", json={"row": ROW}).json()["changes"]
    wrong = client.post("/api/v1/recourse", json={"row": ROW, "difficulty": {"ExistingLoans": "terrible"}})
    assert "easy, usual, hard, very hard" in is_problem(wrong, 422, "difficulty")["detail"]
    is_problem(client.post("/api/v1/recourse", json={"row": ROW, "difficulty": {"Shoes": "hard"}}), 422, "difficulty")


def test_null_empty_and_missing_are_the_same_blank(client):
    whole = {name: value for name, value in ROW.items() if name != "Income"}
    answers = [
        client.post("/api/v1/recourse", json={"row": row}).json()
        for row in (whole, {**whole, "Income": None}, {**whole, "Income": ""}, {**whole, "Income": "  "})
    ]
    assert len({timeless({**answer, "reference": ""}) for answer in answers}) == 1
    assert [blank["feature"] for blank in answers[0]["blanks"]] == ["Income"]


def test_confidence_and_locks_are_heeded_and_forgotten(client):
    base = client.post("/api/v1/recourse", json={"row": ROW}).json()
    bold = client.post("/api/v1/recourse", json={"row": ROW, "confidence": 0.3}).json()
    assert bold["confidence"]["asked"] == 0.3
    assert bold["cost"]["value"] < base["cost"]["value"]
    moved = base["changes"][0]["feature"]
    locked = client.post("/api/v1/recourse", json={"row": ROW, "locked": [moved]}).json()
    assert moved not in [change["feature"] for change in locked["changes"]]
    again = client.post("/api/v1/recourse", json={"row": ROW}).json()
    assert timeless({**again, "reference": ""}) == timeless({**base, "reference": ""})


def test_path_alternatives_and_ask(client, explainer):
    path = client.post("/api/v1/path", json={"row": ROW}).json()
    assert path["asked"] == 0.75
    assert path["end"] in ("optimal", "infeasible")
    costs = [point["cost"] for point in path["points"]]
    assert costs == sorted(costs)
    assert path["points"][-1]["recourse"]["changes"]
    plans = client.post("/api/v1/alternatives", json={"row": ROW, "count": 2}).json()["plans"]
    assert [p["cost"]["value"] for p in plans] == [p.cost for p in explainer.alternatives(ROW, 2)]
    ask = client.post("/api/v1/ask", json={"row": ROW}).json()
    assert ask["format"] == "armin.ask/2"
    assert [question["feature"] for question in ask["questions"]] == ["Income"]


def test_reasons_and_ideas_are_the_explainers(client, explainer):
    body = {"row": LOANS.applicant, "languages": ["de", "en"]}
    why = client.post("/api/v1/reasons", json=body).json()
    assert {k: v for k, v in why.items() if k != "said"} == json.loads(explainer.reasons(LOANS.applicant).to_json())
    assert why["said"]["en"]["reasons"][0]["sentence"] == why["statements"][0]["sentence"]
    assert why["said"]["de"]["headline"] != why["said"]["en"]["headline"]
    idea = client.post("/api/v1/what_if", json=body | {"changes": {"ExistingLoans": 1, "Age": None}}).json()
    mine = explainer.what_if(LOANS.applicant, {"ExistingLoans": 1})
    assert timeless({k: v for k, v in idea.items() if k != "said"}) == timeless(json.loads(mine.to_json()))
    assert idea["said"]["en"]["steps"] == [change["sentence"] for change in idea["plan"]["changes"]]
    is_problem(client.post("/api/v1/what_if", json=body), 422, "changes")
    is_problem(client.post("/api/v1/what_if", json=body | {"changes": {"ExistingLoans": 99}}), 422, "ExistingLoans")
    is_problem(client.post("/api/v1/what_if", json=body | {"changes": {"Debt": 1}}), 422, "Debt")
    is_problem(client.post("/api/v1/reasons", json=body | {"reference": "best"}), 422, "reference")


def test_somebody_who_is_accepted_gets_no_plan_to_choose(client):
    row = demo_people(LOANS)[2]["row"]
    assert client.post("/api/v1/recourse", json={"row": row}).json()["outcome"] == "already_accepted"
    assert len(client.post("/api/v1/alternatives", json={"row": row}).json()["plans"]) == 1


def test_demo_people_tell_three_stories(explainer):
    alex, bo, charlie = (explainer.explain(person["row"]) for person in demo_people(LOANS))
    assert (alex.outcome, len(alex.blanks)) == ("plan", 1)
    assert (bo.outcome, len(bo.blanks)) == ("plan", 2)
    assert (charlie.outcome, len(charlie.blanks)) == ("already_accepted", 0)


def test_letter_carries_the_choice_and_its_own_policy(client):
    pytest.importorskip("jinja2")
    body = {"row": ROW, "applicant": "Ada <b>Lovelace</b>", "reference": "ABC-1", "decided": True}
    first = client.post("/api/v1/letter", json=body)
    assert first.status_code == 200, first.text
    assert first.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" not in first.headers["content-security-policy"]
    assert "Ada &lt;b&gt;Lovelace" in first.text
    assert "ABC-1" in first.text
    second = client.post("/api/v1/letter", json={**body, "choice": 1})
    assert second.text != first.text
    german = client.post("/api/v1/letter", json={**body, "language": "de"})
    assert german.text != first.text
    is_problem(client.post("/api/v1/letter", json={**body, "language": "xx"}), 422, "language")
    is_problem(client.post("/api/v1/letter", json={**body, "choice": 99}), 422, "choice")
    is_problem(client.post("/api/v1/letter", json={**body, "applicant": "a\nb"}), 422, "applicant")


ENGLISH = (
    "approved",
    "Income",
    "ExistingLoans",
    "existing loans",
    "Purpose",
    "the purpose",
    "Education",
    "NewCar",
    "Masters",
)


def test_the_demo_speaks_german_throughout(tmp_path):
    pytest.importorskip("jinja2")
    pytest.importorskip("skops")
    from armin.bundle import load_bundle
    from armin_desk.demo import save_demo_bundle

    with TestClient(create_app(load_bundle(save_demo_bundle(tmp_path))), base_url="http://localhost") as client:
        form, plain = (client.get(f"/api/v1/schema{which}").json() for which in ("?language=de", ""))
        assert [f["label"] for f in form["features"]][:3] == ["Alter", "Einkommen", "Verwendungszweck"]
        assert form["features"][2]["categories"][0] == {"value": "NewCar", "label": "Neuwagen"}
        assert (form["desired"], form["decisions"]) == (["approved"], {"approved": "bewilligt"})
        assert client.get("/api/v1/schema?language=en").json() == plain
        assert plain["features"][2]["label"] == "the purpose"
        is_problem(client.get("/api/v1/schema?language=xx"), 422, "language")
        for person in demo_people(LOANS):
            body = {"row": person["row"], "language": "de"}
            page = client.post("/api/v1/letter", json=body).text
            assert "bewilligt" in page
            assert not [word for word in ENGLISH if word in page]
        page = client.post("/api/v1/letter", json={"row": ROW, "language": "de"}).text
        assert "Senken Sie „Zahl der laufenden Kredite“ (derzeit 2) auf 0." in page
        assert "(derzeit „Neuwagen“) zu „Reparaturen“" in page
        assert "approved" in client.post("/api/v1/letter", json={"row": ROW}).text


def test_a_bundles_texts_are_used_and_templates_come_from_the_command_line(explainer, tmp_path):
    pytest.importorskip("jinja2")
    own = bundle_of(explainer)
    own.letter = {"fr": {"plan": {"title": "Votre plan"}}}
    with TestClient(create_app(own), base_url="http://localhost") as client:
        assert client.get("/api/v1/schema").json()["languages"] == ["de", "en", "fr"]
        page = client.post("/api/v1/letter", json={"row": ROW, "language": "fr"})
        assert "Votre plan" in page.text
    (tmp_path / "letter.css").write_text("p { color: #123456 }", "utf-8")
    (tmp_path / "it.toml").write_text('[plan]\ntitle = "Il piano"\n', "utf-8")
    with TestClient(create_app(own, DeskSettings(templates=tmp_path)), base_url="http://localhost") as client:
        assert client.get("/api/v1/schema").json()["languages"] == ["de", "en", "fr", "it"]
        page = client.post("/api/v1/letter", json={"row": ROW, "language": "it"})
        assert "#123456" in page.text
        assert "Il piano" in page.text


def test_an_answer_is_said_in_the_languages_that_are_wanted(client):
    plain = client.post("/api/v1/recourse", json={"row": ROW}).json()
    assert "said" not in plain
    found = client.post("/api/v1/recourse", json={"row": ROW, "languages": ["de", "en", "de"]}).json()
    assert list(found["said"]) == ["de", "en"]
    assert found["said"]["en"]["changes"] == [change["sentence"] for change in found["changes"]]
    assert "Änderung" in found["said"]["de"]["headline"]
    is_problem(client.post("/api/v1/recourse", json={"row": ROW, "languages": ["xx"]}), 422, "languages")
    path = client.post("/api/v1/path", json={"row": ROW, "languages": ["de"]}).json()
    assert all(point["recourse"]["said"]["de"]["point"]["value"] for point in path["points"])
    assert all(point["recourse"]["said"]["de"]["headline"] for point in path["points"])
    plans = client.post("/api/v1/alternatives", json={"row": ROW, "languages": ["en"]}).json()["plans"]
    assert [("another way" in plan["said"]["en"]["proof"]) for plan in plans] == [i > 0 for i in range(len(plans))]


def test_the_words_of_the_page_need_no_key_and_follow_the_reader(explainer):
    with TestClient(create_app(bundle_of(explainer), DeskSettings(api_key="k")), base_url="http://localhost") as client:
        for wanted, language in (("de-AT,en", "de"), ("fr,en-GB", "en"), ("fr", "en"), ("", "en"), ("," * 500, "en")):
            found = client.get("/words.json", params={"languages": wanted})
            assert (found.status_code, found.json()["language"]) == (200, language)
            assert found.json()["names"] == {"de": "Deutsch", "en": "English"}
        assert client.get("/words.json").json()["texts"]["title"] == "What can I do?"


def test_health_metrics_and_openapi(client):
    client.post("/api/v1/recourse", json={"row": ROW})
    assert client.get("/healthz").json() == {"status": "ok"}
    text = client.get("/metrics").text
    found = re.search(r'armin_requests_total\{method="POST",route="/api/v1/recourse",status="200"\} (\d+)', text)
    assert found is not None
    assert int(found[1]) >= 1
    assert re.search(r'armin_request_seconds_bucket\{le="30.0",route="/api/v1/recourse"\} [1-9]', text)
    assert gauge(client, "process_resident_memory_bytes") > 1e6
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    assert {f"/api/v1/{name}" for name in POSTS} <= set(paths)


def test_the_page_and_every_answer_carry_the_headers(client):
    answers = [client.get("/nowhere"), client.post("/api/v1/recourse", json={"row": ROW})]
    assert {answer.headers["cache-control"] for answer in answers} == {"no-store"}
    for response in (client.get("/"), *answers):
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in response.headers["content-security-policy"]
        assert "unsafe" not in response.headers["content-security-policy"]
        assert "access-control-allow-origin" not in response.headers
    assert client.get("/").headers["content-type"].startswith("text/html")


def test_a_method_without_confidence_says_so():
    naive = ImputationAR(LOANS.classifier, LOANS.schema, desired="approved").fit(LOANS.X)
    with TestClient(create_app(bundle_of(naive)), base_url="http://localhost") as client:
        assert client.get("/api/v1/schema").json()["confidence"] is None
        assert client.post("/api/v1/recourse", json={"row": ROW}).status_code == 200
        is_problem(client.post("/api/v1/recourse", json={"row": ROW, "confidence": 0.9}), 422, "confidence")


# --- what it refuses ---

JSON = {"content-type": "application/json"}
DEEP = b'{"row": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_001
HOSTILE = {
    "empty": (b"", 400, None),
    "not JSON": (b"{row: 1}", 400, None),
    "cut off": (b'{"row": {"Age": 3', 400, None),
    "NaN": (b'{"row": {"Age": NaN}}', 400, None),
    "infinity": (b'{"row": {"Age": -Infinity}}', 400, None),
    "huge exponent": (b'{"row": {"Age": 1e999}}', 422, "Age"),
    "huge number": (b'{"row": {"Age": ' + b"9" * 400 + b"}}", 422, "Age"),
    "endless number": (b'{"row": {"Age": ' + b"9" * 10_000 + b"}}", 400, None),
    "deep object": (DEEP, 413, None),
    "deep list": (b"[" * 30_000, 400, None),
    "rather deep": (b'{"row": {"Age": ' + b"[" * 300 + b"]" * 300 + b"}}", 422, "Age"),
    "twice": (b'{"row": {}, "row": {"Age": 3}}', 400, None),
    "latin-1": (b'{"row": {"Purpose": "\xe9"}}', 400, None),
    "half a character": (b'{"row": {"Purpose": "\\ud800"}}', 400, None),
    "half a character as name": (b'{"row": {"\\udfff": 1}}', 400, None),
    "UTF-16": ('{"row": {}}'.encode("utf-16"), 400, None),
    "byte order mark": (b'\xef\xbb\xbf{"row": {}}', 400, None),
    "a list": (b"[]", 422, None),
    "a number": (b"1", 422, None),
    "null": (b"null", 422, None),
    "no row": (b"{}", 422, "row"),
    "row is a list": (b'{"row": []}', 422, "row"),
    "row is null": (b'{"row": null}', 422, "row"),
    "all blank": (b'{"row": {}}', 422, None),
    "value is a list": (b'{"row": {"Age": [32]}}', 422, "Age"),
    "value is an object": (b'{"row": {"Age": {"$gt": 0}}}', 422, "Age"),
    "text for a number": (b'{"row": {"Age": "32; DROP TABLE people"}}', 422, "Age"),
    "digits as text": (b'{"row": {"Age": "32"}}', 422, "Age"),
    "true for a number": (b'{"row": {"Age": true}}', 422, "Age"),
    "a fraction": (b'{"row": {"Age": 32.5}}', 422, "Age"),
    "below": (b'{"row": {"Age": -1}}', 422, "Age"),
    "above": (b'{"row": {"Income": 250001}}', 422, "Income"),
    "unknown category": ('{"row": {"Purpose": "Ωmega \u202e"}}'.encode(), 422, "Purpose"),
    "number for a category": (b'{"row": {"Purpose": 7}}', 422, "Purpose"),
    "NUL": (b'{"row": {"Purpose": "New\\u0000Car"}}', 422, "Purpose"),
    "long text": (b'{"row": {"Purpose": "' + b"x" * 5000 + b'"}}', 422, "Purpose"),
    "unknown column": (b'{"row": {"Age": 32, "Shoe": 45}}', 422, "Shoe"),
    "prototype": (b'{"row": {"__proto__": 1, "__class__": 2}}', 422, "__proto__"),
    "long unknown column": (b'{"row": {"' + b"x" * 5000 + b'": 1}}', 422, "x" * 59 + "…"),
    "unknown parameter": (b'{"row": {"Age": 32}, "admin": true}', 422, "admin"),
    "locked is a text": (b'{"row": {"Age": 32}, "locked": "Age"}', 422, "locked"),
    "locked unknown": (b'{"row": {"Age": 32}, "locked": ["Shoe"]}', 422, "locked"),
    "locked numbers": (b'{"row": {"Age": 32}, "locked": [1]}', 422, "locked"),
    "many locked": (json.dumps({"row": {"Age": 32}, "locked": ["Age"] * 1001}).encode(), 422, "locked"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("route", ["recourse", "path"])
def test_hostile_bodies_get_a_clear_refusal(client, name, route):
    body, status, field = HOSTILE[name]
    data = is_problem(client.post(f"/api/v1/{route}", content=body, headers=JSON), status, field)
    assert len(json.dumps(data)) < 20_000


@pytest.mark.parametrize(
    ("route", "more", "field"),
    [
        ("recourse", {"confidence": 0}, "confidence"),
        ("recourse", {"confidence": 1e-300}, "confidence"),
        ("recourse", {"confidence": 1.01}, "confidence"),
        ("recourse", {"confidence": "0.5"}, "confidence"),
        ("recourse", {"confidence": True}, "confidence"),
        ("recourse", {"count": 3}, "count"),
        ("alternatives", {"count": 0}, "count"),
        ("alternatives", {"count": 6}, "count"),
        ("alternatives", {"count": 10**30}, "count"),
        ("alternatives", {"count": 2.5}, "count"),
        ("path", {"confidence": 0.5}, "confidence"),
        ("letter", {"choice": -1}, "choice"),
        ("letter", {"applicant": "x" * 201}, "applicant"),
        ("letter", {"language": "../en"}, "language"),
        ("letter", {"reference": "<script>"}, "reference"),
    ],
)
def test_parameters_out_of_their_rule_are_named(client, route, more, field):
    data = is_problem(client.post(f"/api/v1/{route}", json={"row": ROW, **more}), 422, field)
    for jargon in ("input should", "pattern", "tuple", "dictionary"):
        assert jargon not in data["detail"]


def test_a_parameter_is_refused_by_the_rule_that_describes_it(client):
    paths = client.get("/api/v1/openapi.json").json()["paths"]

    def described(route):
        body = paths[f"/api/v1/{route}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert (body["required"], body["additionalProperties"]) == (["row"], False)
        assert "$ref" not in json.dumps(body)
        return body["properties"]

    count, choice = described("alternatives")["count"], described("letter")["choice"]
    assert (count["minimum"], count["maximum"], count["default"]) == (1, 5, 3)
    assert (choice["minimum"], choice["maximum"], choice["default"]) == (0, 4, 0)
    for route, name, rule in (("alternatives", "count", count), ("letter", "choice", choice)):
        for wrong in (int(rule["minimum"]) - 1, int(rule["maximum"]) + 1):
            data = is_problem(client.post(f"/api/v1/{route}", json={"row": ROW, name: wrong}), 422, name)
            assert data["detail"] == f"{name!r} must be {rule['title']}. Got {wrong} instead."
    assert described("letter")["language"]["enum"] == ["de", "en"]
    assert described("path")["locked"]["items"]["enum"] == LOANS.schema.names
    columns = described("recourse")["row"]["properties"]
    assert list(columns) == LOANS.schema.names
    for name, column in columns.items():
        limits, feature = column["anyOf"][0], LOANS.schema[name]
        if feature.is_number:
            edges = [(limits["minimum"], 200), (limits["minimum"] - 1, 422), (limits["maximum"] + 1, 422)]
        else:
            edges = [(limits["enum"][0], 200), ("something else", 422)]
        for value, status in edges:
            answer = client.post("/api/v1/recourse", json={"row": {**ROW, name: value}})
            assert answer.status_code == status, answer.text
            assert status == 200 or f"Got {value!r} instead." in answer.json()["detail"]


def test_the_contract_hands_on_a_whole_row_and_each_lock_once():
    asked = contract_of(LOANS.schema)["path"].model_validate(
        {"row": {"Age": 32}, "locked": ["Purpose", "Age", "Purpose"]}
    )
    assert asked.row == dict.fromkeys(LOANS.schema.names) | {"Age": 32}
    assert list(asked.row) == LOANS.schema.names
    assert asked.locked == ("Purpose", "Age")


def test_extreme_but_legal_input_is_answered(client):
    for more in (
        {"confidence": 1e-6},
        {"confidence": 1.0},
        {"locked": LOANS.schema.names},
        {"locked": ["Age"] * 900},
    ):
        assert client.post("/api/v1/recourse", json={"row": ROW, **more}).status_code == 200
    assert client.post("/api/v1/recourse", json={"row": {"Age": 32}}).status_code == 200  # all else is blank


def test_every_wrong_field_is_named_at_once(client):
    row = {"Age": "old", "Income": -5, "Shoe": 1}
    data = is_problem(client.post("/api/v1/recourse", json={"row": row}), 422)
    assert {(e["field"], e["pointer"]) for e in data["errors"]} == {
        ("Age", "#/row/Age"), ("Income", "#/row/Income"), ("Shoe", "#/row/Shoe"),
    }  # fmt: skip
    told = [error["detail"] for error in data["errors"]]
    assert "Column 'Income' must be in [0, 250000], or blank. Got -5 instead." in told


def test_ten_thousand_unknown_columns(explainer):
    limits = DeskSettings(max_bytes=1_000_000)
    with TestClient(create_app(bundle_of(explainer), limits), base_url="http://localhost") as client:
        body = {"row": {f"column {i}": i for i in range(10_000)}}
        data = is_problem(client.post("/api/v1/recourse", json=body), 422, "column 0")
        assert len(data["errors"]) <= 20
        is_problem(client.post("/api/v1/recourse", json={"row": dict.fromkeys(map(str, range(10_001)))}), 422, "row")


def test_a_large_body_is_refused_before_it_is_read(client):
    is_problem(client.post("/api/v1/recourse", content=b" " * 70_000, headers=JSON), 413)
    read = []

    def pieces():
        for i in range(1000):
            read.append(i)
            yield b" " * 1024

    is_problem(client.post("/api/v1/recourse", content=pieces(), headers=JSON), 413)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 415),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "application/jsonp"}, 415),
        ({"content-type": "APPLICATION/JSON ; charset=utf-8"}, 200),
        ({"content-type": "application/json", "x-odd": "\x7f" * 4000}, 200),
        ({"content-type": "application/json", "content-length": "abc"}, 400),
        ({"content-type": "application/json", "content-length": "-1"}, 400),
        ({"content-type": "application/json", "content-length": "9" * 5000}, 413),
        ({"content-type": "application/json", "host": "evil.example"}, 400),
        ({"content-type": "application/json", "host": "localhost.evil.example"}, 400),
        ({"content-type": "application/json", "host": ""}, 400),
        ({"content-type": "application/json", "host": "[::1]evil.example"}, 400),
        ({"content-type": "application/json", "host": "localhost:99999"}, 200),
        ({"content-type": "application/json", "host": "[::1]:80"}, 200),
        ({"content-type": "application/json", "x-api-key": "unasked"}, 200),
    ],
)
def test_odd_headers(client, headers, status):
    response = client.post("/api/v1/recourse", content=json.dumps({"row": ROW}).encode(), headers=headers)
    if status == 200:
        assert response.status_code == 200
    else:
        is_problem(response, status)


@pytest.mark.parametrize("path", ["/", "/desk.js", "/desk.css", "/icon.svg", "/words.json?languages=de"])
def test_a_browser_keeps_the_files_of_the_page_and_asks_whether_they_are_the_same(client, path):
    plain = client.get(path, headers={"Accept-Encoding": "identity"})
    packed = client.get(path, headers={"Accept-Encoding": "gzip"})
    assert (plain.status_code, plain.content) == (200, packed.content)
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert {plain.headers["vary"], packed.headers["vary"]} == {"Accept-Encoding"}
    assert int(packed.headers["content-length"]) < len(plain.content) or path == "/icon.svg"
    tag = plain.headers["etag"]
    assert (tag, plain.headers["cache-control"]) == (packed.headers["etag"], "no-cache")
    same = client.get(path, headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert client.get(path, headers={"If-None-Match": '"another"'}).status_code == 200
    head = client.head(path, headers={"Accept-Encoding": "identity"})
    assert (head.status_code, head.headers["content-length"]) == (200, str(len(plain.content)))


def test_wrong_methods_and_paths_are_problems(client):
    for route in POSTS:
        for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "BREW"):
            response = client.request(method, f"/api/v1/{route}")
            is_problem(response, 405)
            assert response.headers["allow"] == "POST"
    is_problem(client.post("/api/v1/schema"), 405)
    is_problem(client.get("/api/v1/nothing"), 404)
    is_problem(client.get("/docs"), 404)


@pytest.mark.parametrize(
    "path",
    ["/../app.py", "/..%2fapp.py", "/%2e%2e/settings.py", "/static/../../service.py", "//etc/passwd", "/etc/passwd",
     "/..\\app.py", "/%00", "/index.html%00.js", "/app.py", "/desk.css/", "/desk.css/../../app.py"],
)  # fmt: skip
def test_no_file_but_the_pages_own_is_served(client, path):
    response = client.get(path)
    assert response.status_code in (200, 404)
    if response.status_code == 200:  # the client itself made the path harmless
        assert response.headers["content-type"].startswith(("text/html", "text/css"))
    assert "import annotations" not in response.text
    assert "root:" not in response.text


# --- who may ask, and what is written down ---


def test_the_key_guards_everything_but_health_and_the_page(explainer):
    limits = DeskSettings(api_key=KEY, hosts=("*",))
    with TestClient(
        create_app(bundle_of(explainer, demo_people(LOANS)), limits), base_url="http://any.example"
    ) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200
        guarded = [("GET", "/api/v1/schema"), ("GET", "/metrics"), ("GET", "/api/v1/openapi.json"), ("GET", "/nowhere")]
        for method, path in [*guarded, *(("POST", f"/api/v1/{name}") for name in POSTS)]:
            for headers in ({}, {"x-api-key": ""}, {"x-api-key": KEY[:-1]}, {"x-api-key": b"\xff" + KEY.encode()}):
                is_problem(client.request(method, path, headers=headers), 401)
        assert client.get("/api/v1/schema", headers={"x-api-key": KEY}).status_code == 200


def test_serve_refuses_an_open_desk_without_a_key_and_what_is_no_bundle(tmp_path):
    for host in ("0.0.0.0", "::", "192.0.2.7", "desk.example"):  # noqa: S104  refused
        with pytest.raises(ParameterError, match="needs a key"):
            serve(tmp_path / "x.armin", host=host)
    with pytest.raises(ParameterError, match="at least 16"):
        serve(tmp_path / "x.armin", host="0.0.0.0", api_key="short")  # noqa: S104  refused
    with pytest.raises(ParameterError, match="no bundle"):
        serve(tmp_path / "x.armin")
    (tmp_path / "bad.armin").write_bytes(b"not a bundle")
    for workers in (1, 2):
        with pytest.raises(DataError):
            serve(tmp_path / "bad.armin", port=0, workers=workers)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(ParameterError, match=r"cannot listen .* in use"):
            serve(tmp_path / "bad.armin", port=taken.getsockname()[1])
        with pytest.raises(ParameterError, match="from 0 to 65535"):
            serve(tmp_path / "bad.armin", port=65536)
    with pytest.raises(ParameterError, match="plain ASCII"):
        DeskSettings(api_key="schlüssel")


def test_logs_hold_nothing_personal(client, caplog):
    caplog.set_level(logging.DEBUG)
    row = {**ROW, "Income": 123_457}
    client.post("/api/v1/recourse", json={"row": row})
    client.post("/api/v1/letter", json={"row": row, "applicant": "Zaphod"})
    client.post("/api/v1/recourse?name=Zaphod", json={"row": {**row, "Purpose": "Zaphod"}})
    client.get("/Zaphod/123457")
    client.request("ZAPHOD", "/")
    lines = [record.getMessage() for record in caplog.records if record.name == "armin_desk"]
    assert re.fullmatch(r"POST /api/v1/recourse 200 \d+ ms [0-9a-f]{8}", lines[0])
    assert re.fullmatch(r"GET other 404 \d+ ms [0-9a-f]{8}", lines[3])
    ours = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpx"))
    for secret in ("123457", "123,457", "Zaphod", "ZAPHOD", "NewCar", "testclient"):
        assert secret not in ours
    assert "Zaphod" not in client.get("/metrics").text


def test_an_unforeseen_error_shows_a_number_and_nothing_else(explainer, caplog, monkeypatch):
    def explode(self, asked):
        raise ValueError(f"secret {asked.row['Age']}")

    monkeypatch.setattr(Service, "recourse", explode)
    with TestClient(create_app(bundle_of(explainer)), base_url="http://localhost") as client:
        data = is_problem(client.post("/api/v1/recourse", json={"row": {**ROW, "Age": 47}}), 500)
    number = re.search(r"number is ([0-9a-f]{8})", data["detail"])
    assert number is not None
    assert "secret" not in json.dumps(data)
    (line,) = [r.getMessage() for r in caplog.records if r.levelno == logging.ERROR]
    assert number[1] in line
    assert "ValueError" in line
    assert "secret" not in caplog.text
    assert "47" not in re.sub(r"line \d+|error \w+|\d+ ms", "", line)


# --- many at once ---


def test_twenty_people_at_once_each_get_their_own_answer(client, explainer):
    rows = [
        {**ROW, "Age": 22 + i, "ExistingLoans": i % 4, "Income": None if i % 2 else 20_000 + 500 * i} for i in range(20)
    ]
    asked = [
        {"row": row, "confidence": 0.6 + i / 100, "locked": ["Purpose"] * (i % 3 == 0)} for i, row in enumerate(rows)
    ]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda body: client.post("/api/v1/recourse", json=body).json(), asked))
    for body, answer in zip(asked, answers, strict=True):
        answer.pop("reference")
        alone = explainer.at(body["confidence"]).explain(body["row"], locked=body["locked"])
        assert timeless(answer) == timeless(alone.to_dict())


def test_answering_changes_nothing_in_the_explainer(explainer):
    before = dict(vars(explainer))
    service = Service(bundle_of(explainer), DeskSettings(time_limit=3.0))
    for more in ({}, {"locked": ("Purpose",), "confidence": 0.9}):
        asked = AlternativesAsked(row=ROW, count=2, **more)
        for answer in (service.recourse, service.path, service.alternatives, service.ask):
            answer(asked)
    after = dict(vars(explainer))
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


@pytest.fixture(scope="module")
def promising():
    half = len(LOANS.X) // 2
    promise = Promise(0.8, n_people=60)
    explainer = ARMIN(LOANS.classifier, LOANS.schema, desired="approved", promise=promise, confidence=0.5)
    explainer.fit(LOANS.X[:half], people=LOANS.X[half:]).calibrate(blanks=["Income"])
    return explainer


def test_the_world_is_a_part_of_the_question(client, explainer):
    answer = client.post("/api/v1/recourse", json={"row": ROW, "decision": "none"}).json()
    assert (answer["world"]["decision"], answer["world"]["reapply"]) == (None, "disclosed")
    assert answer["cost"] == explainer.at(0.75).set_params(decision=None).explain(ROW).to_dict()["cost"]
    assert client.post("/api/v1/recourse", json={"row": ROW}).json()["world"]["decision"] == "complete"
    for name, value in (("decision", "blank"), ("reapply", "blank"), ("reapply", "either")):
        problem = is_problem(client.post("/api/v1/path", json={"row": ROW, name: value}), 422, name)
        assert "does not take them" in problem["detail"]
        whole = {**ROW, "Income": 20_000}
        assert client.post("/api/v1/recourse", json={"row": whole, name: value}).status_code == 200
    is_problem(client.post("/api/v1/recourse", json={"row": ROW, "decision": "later"}), 422, "decision")


def test_a_promise_is_made_for_the_blanks_that_were_tested(promising):
    with TestClient(create_app(bundle_of(promising)), base_url="http://localhost") as client:
        promise = client.get("/api/v1/schema").json()["promise"]
        assert (promise["share"], promise["assurance"]) == (0.8, 0.9)
        assert [(test["blanks"], test["locked"]) for test in promise["tested"]] == [(["Income"], [])]
        answer = client.post("/api/v1/recourse", json={"row": ROW}).json()
        level = promising.calibrations_[Pattern(("Income",))].used_level
        assert answer["confidence"]["asked"] == level
        assert answer["certificate"]["promise"]["kept"] is True
        assert client.post("/api/v1/ask", json={"row": ROW}).json()["notes"] == answer["notes"]
        other = client.post("/api/v1/recourse", json={"row": ROW, "confidence": 0.33}).json()
        assert other["confidence"]["asked"] == 0.33
        assert other["certificate"]["promise"] is None


def test_blanks_that_were_not_tested_get_an_answer_without_a_promise_and_no_test(promising, monkeypatch):
    monkeypatch.setattr("armin.explain.methods.calibrate", None)  # calling it would be an error
    before = dict(promising.calibrations_)
    level = before[Pattern(("Income",))].used_level
    assert level > promising.confidence  # so the higher one is taken
    with TestClient(create_app(bundle_of(promising)), base_url="http://localhost") as client:
        for more in ({"row": {**ROW, "Education": None}}, {"row": ROW, "locked": ["Purpose", "Purpose"]}):
            answer = client.post("/api/v1/recourse", json=more).json()
            assert answer["certificate"]["promise"] is None
            assert answer["notes"][0].startswith("This advice makes no promise")
            assert answer["confidence"]["asked"] == level
            path = client.post("/api/v1/path", json=more).json()
            assert path["asked"] == level
            plans = [point["recourse"] for point in path["points"]]
            plans += client.post("/api/v1/alternatives", json=more).json()["plans"]
            assert all(plan["notes"][0] == answer["notes"][0] for plan in plans)
            assert client.post("/api/v1/ask", json=more).json()["notes"][0] == answer["notes"][0]
            assert client.post("/api/v1/letter", json=more).status_code == 200
        whole = client.post("/api/v1/recourse", json={"row": {**ROW, "Income": 20_000}}).json()
        assert whole["notes"] == []  # nothing is blank, so the plan is certain
    assert promising.calibrations_ == before


class Held(ARMIN):
    """An explainer that waits until it is let go."""

    gate: threading.Event

    def explain(self, row, *, locked=()):
        assert self.gate.wait(60)
        return super().explain(row, locked=locked)


def held(explainer):
    twin = Held(LOANS.classifier, LOANS.schema, desired="approved")
    twin.__dict__.update(vars(explainer))
    Held.gate = threading.Event()
    return twin


def gauge(client, name):
    return float(re.search(rf"^{name} (\S+)$", client.get("/metrics").text, re.MULTILINE)[1])


def until(condition, seconds=500.0):  # far more than a busy machine takes
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def test_a_full_desk_says_so_and_recovers(explainer):
    limits = DeskSettings(concurrency=1, queue=1, patience=60.0)
    with TestClient(create_app(bundle_of(held(explainer)), limits), base_url="http://localhost") as client:
        with ThreadPoolExecutor(2) as pool:
            first = [pool.submit(client.post, "/api/v1/recourse", json={"row": ROW}) for _ in range(2)]
            assert until(
                lambda: gauge(client, "armin_searches_running") == gauge(client, "armin_searches_waiting") == 1
            )
            refused = client.post("/api/v1/recourse", json={"row": ROW})
            is_problem(refused, 503)
            assert int(refused.headers["retry-after"]) > 0
            assert client.get("/healthz").status_code == 200  # the server itself is awake
            Held.gate.set()
            assert [future.result().status_code for future in first] == [200, 200]
        assert client.post("/api/v1/recourse", json={"row": ROW}).status_code == 200
        assert gauge(client, "armin_searches_running") == gauge(client, "armin_searches_waiting") == 0


def test_whoever_waits_too_long_for_a_turn_or_an_answer_is_told(explainer):
    limits = DeskSettings(concurrency=1, queue=5, patience=0.3, time_limit=0.2, grace=1.5)
    with TestClient(create_app(bundle_of(held(explainer)), limits), base_url="http://localhost") as client:
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(client.post, "/api/v1/recourse", json={"row": ROW})
            assert until(lambda: gauge(client, "armin_searches_running") == 1)
            is_problem(client.post("/api/v1/recourse", json={"row": ROW}), 503)
            is_problem(first.result(), 504)
        Held.gate.set()
        assert until(lambda: gauge(client, "armin_searches_running") == 0)  # the thread was not lost


@pytest.fixture(scope="module")
def slow():
    """An explainer that needs far longer than any test has, and a row for it."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{i}": rng.integers(0, 100, 500) for i in range(12)})
    y = np.where(np.sin(X / 12).sum(axis=1) > 2, "yes", "no")
    network = make_pipeline(StandardScaler(), MLPClassifier((40, 40), max_iter=60, random_state=0)).fit(X, y)
    explainer = ARMIN.from_settings(
        network, Schema.infer(X), desired="yes", method="search", max_changes=6, time_limit=600.0, sampler="marginal",
        n_fresh=0, confidence=0.95,
    ).fit(X)  # fmt: skip
    row = X[network.predict(X) == "no"].iloc[0].to_dict() | {"x0": None, "x1": None}
    return explainer, row


class Live:
    """A real server on a real socket, in a thread."""

    def __init__(self, app):
        self.server = uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False))
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)

    def __enter__(self):
        self.thread.start()
        assert until(lambda: self.server.started)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self.thread.join(60)
        self.socket.close()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_search_stops_when_its_caller_leaves(slow):
    httpx = pytest.importorskip("httpx")
    explainer, row = slow
    limits = DeskSettings(concurrency=1, time_limit=600.0)
    with (
        Live(create_app(bundle_of(explainer), limits)) as live,
        httpx.Client(base_url=f"http://127.0.0.1:{live.port}", timeout=60, trust_env=False) as client,
    ):
        body = json.dumps({"row": row}).encode()
        head = (
            f"POST /api/v1/recourse HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection(("127.0.0.1", live.port)) as caller:
            caller.sendall(head.encode() + body)
            assert until(lambda: gauge(client, "armin_searches_running") == 1)
        # the limit is an hour and a half by the slow clock of tests: only leaving can end it before
        assert until(lambda: gauge(client, "armin_searches_running") == 0)
        assert gauge(client, "armin_searches_stopped_total") == 1


def test_a_body_that_does_not_arrive(explainer, caplog):
    httpx = pytest.importorskip("httpx")
    head = (
        "POST /api/v1/path HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"
    )
    with (
        Live(create_app(bundle_of(explainer), DeskSettings(patience=0.5))) as live,
        httpx.Client(base_url=f"http://127.0.0.1:{live.port}", timeout=60, trust_env=False) as client,
    ):
        with socket.create_connection(("127.0.0.1", live.port), timeout=60) as caller:
            caller.sendall(head.encode())
            assert caller.recv(100).startswith(b"HTTP/1.1 408 ")
        with socket.create_connection(("127.0.0.1", live.port)) as caller:
            caller.sendall(head.encode())
        assert until(lambda: 'status="499"' in client.get("/metrics").text)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_time_limit_ends_in_an_honest_answer(slow):
    explainer, row = slow
    limits = DeskSettings(time_limit=1.0, grace=120.0)
    with TestClient(create_app(bundle_of(explainer), limits), base_url="http://localhost") as client:
        answer = client.post("/api/v1/recourse", json={"row": row}).json()
        assert answer["outcome"] in ("best_so_far", "out_of_time")
        plans = client.post("/api/v1/alternatives", json={"row": row, "count": 5}).json()["plans"]
        assert all(plan["outcome"] != "plan" for plan in plans)


def test_warming_up_works_with_and_without_people(explainer):
    for people in ((), demo_people(LOANS)):
        warm_up(Service(bundle_of(explainer, people), DeskSettings()))


# --- processes ---


class Workers:
    """A desk with two workers, in a process of its own."""

    def __init__(self, folder, bundle, limits):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        script = folder / "run.py"  # a file, since a spawned worker imports its parent's
        call = f"serve({str(bundle)!r}, port={self.port}, workers=2, settings={limits!r})"
        script.write_text(
            "from armin_desk.serve import serve\nfrom armin_desk.settings import DeskSettings\n"
            f"if __name__ == '__main__':\n    {call}\n"
        )
        self.parent = subprocess.Popen([sys.executable, str(script)], stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.parent.send_signal(signal.SIGTERM)
        self.parent.wait(60)

    def ask(self, route="/metrics", **more):
        """On a new connection each time, so that any worker may answer; None if the connection breaks."""
        httpx = pytest.importorskip("httpx")
        url = f"http://127.0.0.1:{self.port}{route}"
        try:
            return httpx.request("POST" if more else "GET", url, timeout=120, trust_env=False, **more)
        except httpx.TransportError:
            return None

    def held(self):
        """By worker, the requests that it works on or lets wait."""
        with ThreadPoolExecutor(8) as pool:  # at once, so that no worker can take them all
            texts = [answer.text for answer in pool.map(lambda _: self.ask(), range(16)) if answer is not None]
        found = {}
        for text in texts:
            gauges = re.findall(r'^armin_searches_(?:running|waiting)\{pid="(\d+)"\} (\S+)$', text, re.MULTILINE)
            pids = {int(pid) for pid, _ in gauges}
            found |= {pid: sum(int(float(number)) for one, number in gauges if int(one) == pid) for pid in pids}
        return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_killing_a_worker_loses_only_the_requests_that_it_held(tmp_path, slow):
    explainer, row = slow
    bundle = save_bundle(tmp_path / "slow.armin", explainer)
    limits = DeskSettings(time_limit=10.0, grace=120.0, patience=120.0)
    with Workers(tmp_path, bundle, limits) as desk, ThreadPoolExecutor(20) as pool:
        assert until(lambda: len(desk.held()) == 2, 120)
        asked = []

        def both_at_work():
            asked.append(pool.submit(desk.ask, "/api/v1/recourse", json={"row": row}))
            return len([n for n in desk.held().values() if n]) == 2

        assert until(lambda: len(asked) < 20 and both_at_work())
        held = desk.held()
        victim = min(held, key=lambda pid: held[pid])
        assert all(held.values())  # both are at work when one is killed
        os.kill(victim, signal.SIGKILL)
        new = desk.ask("/api/v1/schema")
        assert new is not None
        assert new.status_code == 200
        answers = [future.result() for future in asked]
        assert sum(answer is None for answer in answers) == held[victim]
        assert all(answer.status_code == 200 for answer in answers if answer is not None)
        assert until(lambda: victim not in (now := desk.held()) and len(now) == 2, 180)  # it is replaced and forgotten
        assert desk.ask("/api/v1/recourse", json={"row": row}).status_code == 200
        counted = re.findall(r'^armin_requests_total.*"/api/v1/recourse",status="200"} (\S+)$', desk.ask().text, re.M)
        assert float(counted[0]) >= sum(answer is not None for answer in answers)  # by all workers, also the dead one


@pytest.mark.parametrize(
    ("weeks", "text"),
    [
        (0, "at once"), (1, "about one week"), (8, "about eight weeks"), (9, "about two months"),
        (26, "about six months"), (103, "about 24 months"), (104, "about two years"), (None, ""),
    ],
)  # fmt: skip
def test_how_long_a_plan_takes(explainer, weeks, text):
    plan = explainer.explain({**ROW, "Income": 30_000})
    slow = tuple(replace(change, feature=replace(change.feature, shown=Shown(weeks=weeks))) for change in plan.changes)
    assert said_recourse(replace(plan, changes=slow), catalogue(), explainer.schema)["time"] == text
