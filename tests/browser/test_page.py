"""The page of the desk, used as people use it: a real browser, a real server, a real model."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import ARMIN, Schema
from armin.datasets import make_loans
from armin.problem import Status
from armin.recourse import Change
from armin.report.words import percent
from armin.words.numbers import of_hundred

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("the page is tested with Debian's chromium, which is not installed", allow_module_level=True)
pytest.importorskip("fastapi")
uvicorn = pytest.importorskip("uvicorn")
sync_api = pytest.importorskip("playwright.sync_api")
axe_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
expect = sync_api.expect
expect.set_options(timeout=20_000)

SHOTS = Path("out/screenshots")
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 780}
EVIL = "<img src=x onerror=window.hacked=1>"
EVIL_CATEGORY = "\"><script>window.hacked=2</script>'"


@contextmanager
def serving(bundle: Any, **settings: Any) -> Iterator[str]:
    """The address of a desk that runs in a thread on a free port."""
    from armin_desk.app import create_app
    from armin_desk.settings import DeskSettings

    sock = socket.socket()
    sock.bind(("127.0.0.1", 0))
    config = uvicorn.Config(create_app(bundle, DeskSettings(**settings)), log_level="critical", lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    assert server.started, "the desk did not start"
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}/"
    finally:
        server.should_exit = True
        thread.join(10)


def packed(explainer: Any, title: str, people: list[dict[str, Any]]) -> Any:
    from armin.bundle import Bundle

    return Bundle(explainer, {"title": title, "desired": list(explainer.fitted_.oracle.target.labels)}, tuple(people))


@pytest.fixture(scope="module")
def loan_bundle() -> Any:
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    rich = {**loans.person, "Income": 120_000, "ExistingLoans": 0}
    people = [
        {
            "name": "Alex",
            "story": "Was rejected, and tells neither income nor education.",
            "row": {**loans.applicant, "Education": None},
        },
        {"name": "Kim", "story": "Was rejected, and told everything.", "row": loans.person},
        {"name": "Robin", "story": "Earns well and has no other loans.", "row": rich},
    ]
    return packed(explainer, "Loan desk", people)


@pytest.fixture(scope="module")
def desk(loan_bundle: Any) -> Iterator[str]:
    with serving(loan_bundle) as address:
        yield address


@pytest.fixture(scope="module")
def hostile_desk() -> Iterator[str]:
    """A desk whose labels, categories, people and title try to be markup."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "score": rng.integers(0, 100, 400),
            "kind": rng.choice([EVIL_CATEGORY, "plain"], 400),
            "member": rng.choice(["yes", "no"], 400),
        }
    )
    y = np.where(X["score"] + 25 * (X["kind"] == "plain") + 15 * (X["member"] == "yes") > 75, EVIL, "no")
    encoder = make_column_transformer((OneHotEncoder(), ["kind", "member"]), (StandardScaler(), ["score"]))
    model = make_pipeline(encoder, LogisticRegression()).fit(X, y)
    schema = Schema.infer(
        X, immutable=["score"], labels={"score": EVIL, "kind": f"kind {EVIL}"}, units={"score": "<b>"}
    )
    person = {"score": None, "kind": EVIL_CATEGORY, "member": "no"}
    people = [{"name": EVIL, "story": EVIL, "row": person}]
    explainer = ARMIN(model, schema, desired=EVIL).fit(X)
    with serving(packed(explainer, EVIL, people)) as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


class Visit:
    """One person at the desk, and what their browser saw."""

    def __init__(self, browser: Any, address: str, advice: dict[str, Any] | None = None, **options: Any) -> None:
        options = {"viewport": DESKTOP, "locale": "en-GB", "reduced_motion": "reduce"} | options
        self.address = address
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(20_000)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(f"{error}"))
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        if advice is not None:
            self.page.route("**/api/v1/ask", lambda route: route.fulfill(json=advice))
        self.page.goto(address)

    def load(self, name: str) -> Visit:
        self.page.get_by_role("button", name=re.compile(f"^{name}")).click()
        return self

    def press(self, applied: str = "refused") -> None:
        """Send the form as somebody who was refused, unless something else has been said."""
        if not self.page.locator("input[name=applied]:checked").count():
            self.page.locator(f"input[name=applied][value={applied}]").check()
        self.page.locator("#send").click()

    def ask(self, applied: str = "refused") -> Visit:
        self.press(applied)
        expect(self.page.locator("#answer")).to_have_attribute("aria-busy", "false")
        return self

    def settle(self, *, advice: bool = False) -> Visit:
        """Wait until what belongs to the plan has arrived; whether telling would help takes longer."""
        expect(self.page.locator(".waiting" if advice else ".card:not(#blanks) .waiting")).to_have_count(0)
        expect(self.page.locator("#answer")).to_have_attribute("aria-busy", "false")
        return self

    def field(self, label: str) -> Any:
        return self.page.locator("[data-feature]").filter(has=self.page.get_by_text(label, exact=True))

    def lock(self, label: str) -> None:
        """Turn "I cannot change this" on or off."""
        box = self.page.locator("#locks")
        if box.get_attribute("open") is None:
            box.locator("summary").click()
        self.page.get_by_role("switch", name=f"I cannot change this: {label}").click()

    @property
    def point(self) -> int:
        """The point of the path at which the slider stands."""
        return int(self.page.get_by_role("slider").get_attribute("data-point"))

    @property
    def headline(self) -> Any:
        return self.page.locator("#answer-title")

    @property
    def plan(self) -> list[str]:
        return self.page.locator(".step-sentence").all_inner_texts()

    @property
    def calls(self) -> list[str]:
        return [urlsplit(url).path.rsplit("/", 1)[-1] for url in self.asked if "/api/v1/" in url]

    def check_access(self, context: str | None = None) -> None:
        found = axe_playwright.Axe().run(self.page, context=context, options={"iframes": False})
        grave = [v for v in found.response["violations"] if v["impact"] in ("serious", "critical")]
        assert not grave, found.generate_report()

    def shoot(self, name: str, *, whole: bool = True) -> None:
        """A picture, by default of the whole page, in a window as tall as the page, so that nothing floats."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        size = self.page.viewport_size
        if whole:
            tall = self.page.evaluate("document.documentElement.scrollHeight")
            self.page.set_viewport_size({**size, "height": min(max(size["height"], tall), 6000)})
            self.page.evaluate("window.scrollTo(0, 0)")
        self.page.screenshot(path=SHOTS / f"desk-{name}.png")
        self.page.set_viewport_size(size)

    def close(self, expected: str | None = None) -> None:
        host = urlsplit(self.address).netloc
        strangers = [url for url in self.asked if urlsplit(url).netloc != host and urlsplit(url).scheme != "about"]
        stored = self.page.evaluate("[document.cookie, localStorage.length, sessionStorage.length]")
        complaints = [text for text in self.complaints if not (expected and expected in text)]
        self.context.close()
        assert strangers == []
        assert stored == ["", 0, 0]
        assert complaints == []


LANGUAGES = ("de", "en")


def service(bundle: Any) -> Any:
    """What the server says, without a server."""
    from armin_desk.service import Service
    from armin_desk.settings import DeskSettings

    return Service(bundle, DeskSettings())


@pytest.fixture(scope="module")
def advice(loan_bundle: Any) -> dict[str, Any]:
    """Whether telling would help Alex: a search of its own, so made once."""
    from armin_desk.contract import Asked

    row = dict(loan_bundle.people[0]["row"])
    found: dict[str, Any] = service(loan_bundle).told_ask(
        Asked(row=row, languages=LANGUAGES), loan_bundle.explainer.ask(row)
    )
    return found


@pytest.fixture
def visit(browser: Any, desk: str, advice: dict[str, Any]) -> Iterator[Callable[..., Visit]]:
    """Opens visits; each is checked at the end: no console message, nothing stored, no other host."""
    visits: list[tuple[Visit, str | None]] = []

    def open_(address: str = desk, expected: str | None = None, *, served: bool = False, **options: Any) -> Visit:
        visits.append((Visit(browser, address, None if served else advice, **options), expected))
        return visits[-1][0]

    yield open_
    for one, expected in visits:
        one.close(expected)


def answer_with(visit: Visit, bundle: Any, **changes: Any) -> None:
    """Kim's real answer, changed; for states that a real search reaches only by chance."""
    from armin_desk.contract import Asked

    row = dict(bundle.people[1]["row"])
    found = replace(bundle.explainer.explain(row), **changes)
    data = service(bundle).told(Asked(row=row, languages=LANGUAGES), found)
    visit.page.route("**/api/v1/recourse", lambda route: route.fulfill(json=json.loads(json.dumps(data, default=str))))


COUNTS = {1: "one change", 2: "two changes", 3: "three changes"}


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def offered(path: Any) -> list[Any]:
    """The points of a path that work at least as often as not: the others are no plans for anybody."""
    return [point for point in path if point.share >= 0.5]


def sentences(recourse: Any) -> list[str]:
    """The plan as the page writes it."""
    return [f"{text[0].upper()}{text[1:]}" for text in map(str, recourse.changes)]


# ---------------------------------------------------------------- the form


def test_form_comes_from_the_schema(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    v = visit()
    expect(v.page.locator("[data-feature]")).to_have_count(len(loan_bundle.schema.names))
    age = v.page.get_by_label("Age", exact=True)
    assert [age.get_attribute(name) for name in ("type", "inputmode", "autocomplete")] == ["text", "numeric", "off"]
    expect(v.field("Age")).to_contain_text("Usual values are 20 to 70.")
    expect(v.field("Income")).to_contain_text("From $0 to $250,000.")
    options = v.page.get_by_label("Education", exact=True).locator("option").all_inner_texts()
    why = ["I do not know", "Prefer not to say"]
    assert options == ["Left blank", "HighSchool", "Bachelor", "Masters", "Doctorate", *why]
    assert v.page.get_by_label("Why this is blank: Age").locator("option").all_inner_texts() == ["Left blank", *why]
    v.page.locator("#locks summary").click()
    assert v.page.get_by_role("switch", name=re.compile("^I cannot change this")).count() == 3
    v.check_access()
    v.shoot("empty")


def test_fill_and_leave_blanks(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    v = visit()
    v.page.get_by_label("Age", exact=True).fill("32")
    v.page.get_by_label("Income", exact=True).fill("31000")
    expect(v.page.get_by_label("Why this is blank: Income")).to_be_hidden()
    v.page.get_by_label("Income", exact=True).fill("")
    v.page.get_by_label("Why this is blank: Income").select_option("Prefer not to say")
    v.page.get_by_label("Education", exact=True).select_option("I do not know")
    v.page.get_by_label("The purpose", exact=True).select_option("NewCar")
    v.page.get_by_label("The number of existing loans", exact=True).fill("2")
    with v.page.expect_request("**/api/v1/recourse") as asked:
        v.ask()
    row = {"Age": 32, "Income": None, "Purpose": "NewCar", "Education": None, "ExistingLoans": 2}
    why = {"Income": "private", "Education": "unknown"}
    assert asked.value.post_data_json == {
        "row": row,
        "locked": [],
        "languages": ["de", "en"],
        "why": why,
        "decision": "auto",
    }
    # a field that was left empty is shown as what it is: not told
    expect(v.field("Education")).to_have_class(re.compile("is-blank"))
    expect(v.headline).to_be_focused()
    expected = loan_bundle.explainer.explain(row)
    assert v.plan == sentences(expected)
    told = v.page.locator(".blanks li strong").all_inner_texts()
    assert told == ["Income", "Education"]
    # typing tells again
    v.page.get_by_label("Income", exact=True).fill("50000")
    expect(v.field("Income")).not_to_have_class(re.compile("is-blank"))
    expect(v.page.locator("#stale")).to_be_visible()
    v.check_access()


def test_bad_entries_are_named_and_focused(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.load("Kim")
    v.page.get_by_label("Age", exact=True).fill("200")
    v.page.get_by_label("The number of existing loans", exact=True).fill("1.5")
    v.press()
    age = v.page.get_by_label("Age", exact=True)
    expect(v.page.locator("#form-errors p")).to_be_focused()
    expect(age).to_have_attribute("aria-invalid", "true")
    described = age.get_attribute("aria-describedby").split()
    said = " ".join(v.page.locator(f"#{one}").inner_text() for one in described)
    assert "Age is outside the limits. From 0 to 120." in said
    alert = v.page.get_by_role("alert")
    expect(alert).to_contain_text("2 fields need a look:")
    expect(alert).to_contain_text("existing loans must be a whole number")
    assert "recourse" not in v.calls
    v.check_access()
    v.shoot("error")
    alert.get_by_role("link", name=re.compile("^Age")).click()
    expect(age).to_be_focused()
    age.fill("40")
    expect(age).not_to_have_attribute("aria-invalid", "true")


def test_nothing_told_at_all(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.ask()
    expect(v.headline).to_have_text("Please tell at least one thing")
    expect(v.headline).to_be_focused()
    assert "recourse" not in v.calls


def test_an_error_of_the_server_goes_to_its_field(visit: Callable[..., Visit]) -> None:
    v = visit(expected="status of 422")
    problem = {"type": "about:blank", "title": "No", "status": 422, "detail": "Age is odd today.", "field": "Age"}
    v.page.route("**/api/v1/recourse", lambda route: route.fulfill(status=422, json=problem))
    v.load("Kim")
    v.press()
    expect(v.page.locator("#form-errors p")).to_be_focused()
    expect(v.field("Age").locator(".error")).to_have_text("Age is odd today.")


# ---------------------------------------------------------------- the answer


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_plan_slider_and_other_ways(
    visit: Callable[..., Visit], loan_bundle: Any, advice: dict[str, Any], scheme: str
) -> None:
    v = visit(color_scheme=scheme, served=scheme == "light")
    v.load("Alex").ask().settle(advice=True)
    explainer, row = loan_bundle.explainer, dict(loan_bundle.people[0]["row"])
    plan, path = explainer.explain(row), offered(explainer.path(row))
    assert v.plan == sentences(plan)
    share = of_hundred(plan.share)
    assert 0 < share < 100
    head = f"{COUNTS[len(plan.changes)].capitalize()} would lead to “approved” in {share} of 100 plausible cases."
    expect(v.headline).to_have_text(head)
    assert v.page.locator(".dots .yes").count() == share
    expect(v.page.locator("#plan .badge").first).to_have_text("Proved cheapest")
    expect(v.page.locator(".sure")).to_contain_text(plan.certificate.sentence)
    expect(v.page.locator("#live")).to_contain_text("The answer is ready.")

    # whether telling would help: the explainer's own words, for each blank
    questions = {question["label"]: question for question in advice["questions"]}
    for item in v.page.locator(".blanks li").all():
        question = questions.pop(item.locator("strong").inner_text())
        expect(item).to_contain_text(advice["said"]["en"]["questions"][question["feature"]])
        helps = "Telling could help" if advice["best"] else "Might change the plan"
        expect(item).to_contain_text(helps if question["matters"] else "No need to tell")
    assert not questions

    # the slider: keyboard only, one step at a time, and no question to the server for the plan
    slider = v.page.get_by_role("slider")
    start = next(i for i, point in enumerate(path) if point.changes == plan.changes)
    assert 0 < start < len(path) - 1
    assert v.point == start
    before = list(v.calls)
    slider.focus()
    v.page.keyboard.press("End")
    said = re.compile(rf"^{percent(path[-1].share)}: {COUNTS[len(path[-1].changes)]}$".replace(" ", r"\s"))
    expect(slider).to_have_attribute("aria-valuetext", said)
    assert v.plan == sentences(path[-1])
    expect(slider).to_be_focused()
    v.settle()
    assert sorted(set(v.calls[len(before) :])) == ["alternatives"]
    v.page.keyboard.press("Home")
    assert v.plan == sentences(path[0])
    for _ in range(start):
        v.page.keyboard.press("ArrowRight")
    assert v.plan == sentences(path[start])
    v.settle()

    # another way
    v.page.locator("#ways").get_by_role("radio").nth(1).check()
    plans = explainer.alternatives(row, 3)
    assert v.plan == sentences(plans[1])
    expect(v.page.locator("#plan .badge").first).to_have_text("Another way")
    expect(v.page.locator("#plan")).not_to_contain_text("no cheaper")
    v.check_access()
    v.page.locator("#ways").get_by_role("radio").nth(0).check()
    v.shoot(f"plan-{scheme}")
    v.page.evaluate("window.scrollTo(0, 0)")
    v.shoot(f"top-{scheme}", whole=False)
    ground = v.page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in re.findall(r"\d+", ground)[:3]) / 3
    assert (brightness < 60) if scheme == "dark" else (brightness > 220)


def shown_share(v: Visit) -> str:
    """What the card of the plan says of a hundred; its other sentences and the dots must say the same."""
    card = v.page.locator("#plan")
    head = re.search(r"(\S+) of 100|every case we tried", v.headline.inner_text())
    assert head is not None
    number = head[1] or "100"
    expect(card.locator(".sure")).to_contain_text(re.compile(rf"\b{re.escape(number)}\s%"))
    assert card.locator(".dots").get_attribute("aria-label") == f"{number} of 100"
    assert abs(card.locator(".dots .yes").count() - float(number)) < 1
    return f"{number}\u00a0%"


def test_the_slider_and_the_card_say_the_same_share_at_every_step(
    visit: Callable[..., Visit], loan_bundle: Any
) -> None:
    v = visit()
    v.load("Alex").ask().settle()
    path = offered(loan_bundle.explainer.path(dict(loan_bundle.people[0]["row"])))
    assert any(point.validity.share != point.share for point in path)  # or any share would do
    slider = v.page.get_by_role("slider")
    dot = v.page.locator(".dot.is-on")
    places = []
    slider.focus()
    v.page.keyboard.press("Home")
    for i, point in enumerate(path):
        expect(slider).to_have_attribute("data-point", str(i))
        value = slider.get_attribute("aria-valuetext")
        assert value.startswith(f"{shown_share(v)}:")
        assert plain(value).startswith(f"{percent(point.share)}:")
        assert v.page.locator("#sure-point strong").inner_text() == value
        assert v.plan == sentences(point)
        places.append((point.share, float(dot.get_attribute("cx"))))
        v.page.keyboard.press("ArrowRight")
    # the dots of the chart lie where the shares are, on a straight scale
    (low, left), (high, right) = places[0], places[-1]
    for share, x in places:
        assert x == pytest.approx(left + (share - low) / (high - low) * (right - left), abs=0.01)

    # the letter has the plan that the slider stands on, and its share
    v.page.keyboard.press("ArrowLeft")
    v.settle()
    v.page.locator("#plan .second-button").click()
    letter = v.page.frame_locator("#letter-page")
    for sentence in sentences(path[-2]):
        expect(letter.locator("body")).to_contain_text(sentence)
    expect(letter.locator("body")).to_contain_text(re.compile(percent(path[-2].share).replace(" ", r"\s")))
    v.shoot("slider")


def test_a_plan_beside_the_path_has_a_place_on_the_slider(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    from armin_desk.contract import Asked

    row = dict(loan_bundle.people[0]["row"])
    path = offered(loan_bundle.explainer.path(row))
    # all that two points of the path ask for: dearer than both, and as sure as the second
    changes = {change.feature.name: change for point in (path[2], path[4]) for change in point.changes}
    other = replace(path[4], changes=tuple(changes.values()), cost=path[4].cost * 1.01)
    assert other.changes not in [point.changes for point in path]
    data = service(loan_bundle).told(Asked(row=row, languages=LANGUAGES), other)
    v = visit()
    v.page.route("**/api/v1/recourse", lambda route: route.fulfill(json=json.loads(json.dumps(data, default=str))))
    v.load("Alex").ask().settle()
    slider = v.page.get_by_role("slider")
    expect(v.page.locator(".chart .dot")).to_have_count(len(path) + 1)
    assert slider.get_attribute("aria-valuetext").startswith(f"{shown_share(v)}:")
    assert v.plan == sentences(other)
    slider.focus()
    v.page.keyboard.press("End")
    assert v.plan == sentences(path[-1])
    v.shoot("beside")


def test_the_chart_can_be_clicked(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.load("Alex").ask().settle()
    dots = v.page.locator(".chart .dot")
    v.page.locator(".chart").scroll_into_view_if_needed()
    box = dots.last.bounding_box()
    v.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(v.page.get_by_role("slider")).to_have_attribute("data-point", str(dots.count() - 1))


def test_lock_changes_the_plan_at_once(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    v = visit()
    row = dict(loan_bundle.people[1]["row"])
    free, held = (loan_bundle.explainer.explain(row, locked=names) for names in ((), ("ExistingLoans",)))
    assert sentences(free) != sentences(held)
    v.load("Kim").ask()
    assert v.plan == sentences(free)
    v.lock("The number of existing loans")
    expect(v.page.locator(".step-sentence")).to_have_text(sentences(held))
    # and back
    v.lock("The number of existing loans")
    expect(v.page.locator(".step-sentence")).to_have_text(sentences(free))
    # and from the plan itself
    v.page.get_by_role("button", name=re.compile("^I cannot change this: the number of existing loans")).click()
    expect(v.page.locator(".step-sentence")).to_have_text(sentences(held))
    expect(v.page.get_by_role("switch", name="I cannot change this: The number of existing loans")).to_be_checked()
    expect(v.headline).to_be_focused()


def test_nothing_blank_means_no_slider(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.load("Kim").ask().settle()
    expect(v.page.locator(".sure")).to_contain_text("Nothing was left blank.")
    assert v.page.get_by_role("slider").count() == 0
    assert v.page.locator("#blanks").count() == 0
    assert "path" not in v.calls
    assert "ask" not in v.calls


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_already_accepted(visit: Callable[..., Visit], scheme: str) -> None:
    v = visit(color_scheme=scheme)
    v.load("Robin").ask().settle()
    expect(v.headline).to_have_text("Good news: nothing needs to change.")
    expect(v.page.locator("#plan")).to_contain_text("the decision is already “approved”")
    assert v.page.locator(".steps").count() == 0
    v.check_access()
    v.shoot(f"accepted-{scheme}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_plan_says_why_and_what_next(visit: Callable[..., Visit], scheme: str) -> None:
    v = visit(color_scheme=scheme)
    v.load("Kim")
    for label in ("The purpose", "Education", "The number of existing loans"):
        v.lock(label)
    v.ask().settle()
    expect(v.headline).to_have_text("No plan leads to “approved” this way.")
    why = v.page.locator("#why")
    expect(why).to_contain_text("This is proved, not guessed.")
    expect(why).to_contain_text(
        "You said that you cannot change: the purpose, Education, the number of existing loans."
    )
    expect(why).to_contain_text("The rules of this desk never change: Age, Income.")
    v.check_access()
    v.shoot(f"none-{scheme}")
    v.page.get_by_role("button", name="I could change this after all: the number of existing loans").click()
    expect(v.page.locator(".step-sentence")).to_have_count(1)
    expect(v.headline).to_be_focused()


@pytest.mark.parametrize("locks", [("The purpose", "The number of existing loans"), ("The number of existing loans",)])
def test_no_plan_is_offered_that_fails_more_often_than_it_works(
    visit: Callable[..., Visit], loan_bundle: Any, locks: tuple[str, ...]
) -> None:
    v = visit()
    v.load("Alex")
    for label in locks:
        v.lock(label)
    v.ask().settle()
    names = {"The purpose": "Purpose", "The number of existing loans": "ExistingLoans"}
    path = loan_bundle.explainer.path(dict(loan_bundle.people[0]["row"]), locked=[names[label] for label in locks])
    assert len(path) > len(offered(path))
    button = v.page.get_by_role("button", name=re.compile("^Show the plan that works in"))
    if path[-1].share < 0.5:
        expect(v.headline).to_have_text("No plan leads to “approved” this way.")
        expect(v.page.locator("#why")).to_contain_text("at least 75 %")
        expect(button).to_have_count(0)
        expect(v.page.get_by_role("slider")).to_have_count(0)
    elif path[-1].share < 0.75:
        button.click()
        assert v.plan == sentences(path[-1])
        expect(v.headline).to_be_focused()
        v.settle()
    else:
        v.page.get_by_role("slider").focus()
        v.page.keyboard.press("Home")
        assert v.plan == sentences(offered(path)[0])
    v.check_access()


def test_not_proven_best_yet(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    v = visit()
    answer_with(v, loan_bundle, status=Status.FEASIBLE, cost=1.2, bound=0.9)
    v.load("Kim").ask().settle()
    expect(v.page.locator("#plan .badge").first).to_have_text("Not proven best yet")
    expect(v.page.locator("#plan")).to_contain_text("another plan could cost up to 25 % less")
    assert len(v.plan) == 1
    v.check_access()
    v.shoot("so-far")


def test_time_ran_out(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    v = visit()
    nothing = {"changes": (), "cost": None, "cost_range": None, "validity": None, "fresh": None}
    answer_with(v, loan_bundle, status=Status.UNKNOWN, bound=0.9, **nothing)
    v.load("Kim").ask().settle()
    expect(v.headline).to_have_text("The time ran out before a plan was found.")
    expect(v.page.locator("#why")).to_contain_text("no plan costs less than 0.9")
    v.check_access()
    v.page.unroute("**/api/v1/recourse")
    v.page.get_by_role("button", name="Try again").click()
    expect(v.headline).to_have_text("One change would lead to “approved”.")


def test_busy_then_offline_then_well(visit: Callable[..., Visit]) -> None:
    v = visit(expected="Failed to load resource")
    problem = {"type": "about:blank", "title": "Busy", "status": 503, "detail": "Busy."}
    v.page.route("**/api/v1/recourse", lambda r: r.fulfill(status=503, json=problem, headers={"Retry-After": "4"}))
    v.load("Kim").ask()
    expect(v.headline).to_have_text("The desk is busy")
    expect(v.headline).to_be_focused()
    expect(v.page.locator("#answer")).to_contain_text("try again in 4 seconds")
    v.check_access()
    v.page.unroute("**/api/v1/recourse")
    v.page.route("**/api/v1/recourse", lambda r: r.abort("connectionrefused"))
    v.page.get_by_role("button", name="Try again").click()
    expect(v.headline).to_have_text("The desk cannot be reached")
    expect(v.page.get_by_label("Age", exact=True)).to_have_value("32")
    v.page.unroute("**/api/v1/recourse")
    v.page.get_by_role("button", name="Try again").click()
    expect(v.page.locator(".step-sentence")).to_have_count(1)


def test_a_search_can_be_stopped(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.page.route("**/api/v1/recourse", lambda route: None)  # an answer that never comes
    v.load("Kim")
    v.press()
    expect(v.headline).to_have_text("Looking for the easiest plan …")
    v.check_access()
    v.page.get_by_role("button", name="Stop").click()
    expect(v.headline).to_have_text("Stopped")
    expect(v.page.locator("#send")).to_be_enabled()


def test_a_key_is_asked_for(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    with serving(loan_bundle, api_key="open-sesame") as address:
        v = visit(address, expected="status of 401")
        expect(v.headline).to_have_text("This desk needs an access key")
        v.check_access()
        v.page.get_by_label("Access key", exact=True).fill("open-sesame")
        v.page.get_by_role("button", name="Open the desk").click()
        v.load("Kim").ask()
        expect(v.page.locator(".step-sentence")).to_have_count(1)


# ---------------------------------------------------------------- letter, print, language, phone


# ---------------------------------------------------------------- what was decided


def test_the_page_asks_first_what_was_decided(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.load("Alex")
    v.page.locator("#send").click()
    expect(v.page.locator("#form-errors")).to_contain_text("Say whether you have applied")
    expect(v.page.locator("#applied-error")).to_have_text("Say whether you have applied: the answer depends on it.")
    assert "recourse" not in v.calls
    v.check_access()
    v.page.locator("#form-errors a").click()
    expect(v.page.locator("input[name=applied]").first).to_be_focused()
    v.page.keyboard.press("Space")
    expect(v.page.locator("#applied-error")).to_be_empty()


def test_nobody_is_refused_who_has_not_applied(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    explainer = copy(loan_bundle.explainer).set_params(decision=None)
    v = visit()
    v.page.get_by_label("Age", exact=True).fill("50")
    with v.page.expect_request("**/api/v1/reasons") as asked:
        v.ask("not_yet")
    row = dict.fromkeys(loan_bundle.schema.names) | {"Age": 50}
    assert asked.value.post_data_json["decision"] == "none"
    v.settle()
    stand = v.page.locator("#stand")
    share = of_hundred(explainer.reasons(row).standing.share)
    assert 50 < share < 100
    expect(stand).to_contain_text(f"As you are, the decision would be “approved” in {share} of 100 plausible cases.")
    expect(stand).not_to_contain_text("spoke against")
    plan = explainer.explain(row)
    assert v.plan == sentences(plan)
    v.page.get_by_role("button", name="Letter / print").click()
    letter = v.page.frame_locator("#letter-page")
    expect(letter.locator("body")).to_contain_text("Nothing has been decided yet.")
    v.page.get_by_role("button", name="Close").click()
    v.check_access()


def test_whoever_was_accepted_is_asked_for_nothing(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.load("Robin").ask("accepted")
    expect(v.headline).to_have_text("You were accepted")
    expect(v.headline).to_be_focused()
    assert not {"recourse", "reasons", "path"} & set(v.calls)
    expect(v.page.locator("#answer")).not_to_contain_text("against")
    v.check_access()


@pytest.fixture(scope="module")
def blank_desk() -> Iterator[str]:
    """A desk whose model rejects whoever leaves the years blank, and hardly anybody else."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.integers(0, high, 600).astype(float) for name, high in (("pay", 100), ("years", 30))})
    y = np.where(X["pay"] + X["years"] > 45, "yes", "no")
    X.loc[rng.random(600) < 0.25, "years"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, np.where(X["years"].isna(), "no", y))
    schema = Schema.infer(X.dropna(), immutable=["years"])
    person = {"name": "Bee", "story": "", "row": {"pay": 95.0, "years": None}}
    with serving(packed(ARMIN(model, schema, desired="yes").fit(X), "Years", [person])) as address:
        yield address


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_a_blank_that_decides_is_said_to_decide_everywhere(
    visit: Callable[..., Visit], blank_desk: str, locale: str
) -> None:
    v = visit(blank_desk, served=True, locale=locale)
    v.load("Bee").ask().settle(advice=True)
    english = locale == "en-GB"
    expect(v.page.locator("#plan .badge").first).to_have_text("Tell more" if english else "Mehr angeben")
    item = v.page.locator(".blanks li")
    expect(item).to_have_count(1)
    expect(item).to_contain_text("This blank decides" if english else "Dieses leere Feld entscheidet")
    for never in ("No need", "need not", "does not touch", "nicht nötig", "nicht angegeben werden"):
        expect(v.page.locator("#blanks")).not_to_contain_text(never)
    v.check_access()


def test_letter(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.load("Alex").ask().settle()
    v.page.locator("#ways").get_by_role("radio").nth(1).check()
    sentence = v.plan[0]
    # a visitor gets information; a notice is for a case, about a decision that was entered
    v.page.get_by_role("button", name="Letter / print").click()
    expect(v.page.locator("#letter-note")).to_have_text("The letter is here. Read it before you print it.")
    letter = v.page.frame_locator("#letter-page")
    expect(letter.locator("ol").first).to_contain_text(sentence)
    expect(letter.locator("body")).to_contain_text("It is not a decision on an application")
    expect(letter.locator("body")).not_to_contain_text("could not accept")
    expect(v.page.get_by_label("Name on the letter (optional)")).to_be_hidden()
    v.page.get_by_role("button", name="Close").click()
    v.page.locator("#cases summary").click()
    v.page.get_by_role("button", name="Add the form as a case").click()
    v.page.get_by_role("button", name="Letter / print").click()
    expect(letter.locator("body")).to_contain_text("We could not accept your application.")
    expect(letter.locator("ol").first).to_contain_text(sentence)
    v.page.get_by_label("Name on the letter (optional)").fill("Ada <b>Lovelace")
    v.page.get_by_role("button", name="Put it on the letter").click()
    expect(letter.locator("body")).to_contain_text("Ada <b>Lovelace")
    styled = v.page.evaluate("document.getElementById('letter-page').contentDocument.adoptedStyleSheets.length")
    assert styled == 1  # the page's policy refuses inline styles; the letter's own must reach it all the same
    v.check_access("#letter")
    v.page.get_by_label("Name on the letter (optional)").fill("Alex")
    v.page.get_by_role("button", name="Put it on the letter").click()
    expect(letter.locator("body")).to_contain_text("Alex")
    v.shoot("letter", whole=False)
    v.page.evaluate("document.getElementById('letter-page').contentWindow.print = () => { window.printed = true; }")
    v.page.get_by_role("button", name="Print", exact=True).click()
    assert v.page.evaluate("window.printed")
    v.page.get_by_role("button", name="Close").click()
    expect(v.page.locator("#letter")).to_be_hidden()
    expect(v.page.get_by_role("button", name="Letter / print")).to_be_focused()


def test_print_view_of_the_page(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.load("Alex").ask().settle()
    v.page.emulate_media(media="print")
    expect(v.page.locator("#form")).to_be_hidden()
    expect(v.page.locator(".step-sentence").first).to_be_visible()
    expect(v.page.locator("#sure-slider")).to_be_hidden()


def test_german(visit: Callable[..., Visit]) -> None:
    v = visit(locale="de-DE")
    expect(v.page.locator("html")).to_have_attribute("lang", "de")
    v.load("Alex").ask().settle()
    expect(v.headline).to_have_text(re.compile("von 100 plausiblen Fällen zu „approved“ führen.$"))
    assert "Senken Sie „the number of existing loans“ (derzeit 2) auf 0." in v.plan
    assert "you" not in v.page.locator("#blanks").inner_text()
    v.check_access()
    v.page.get_by_role("button", name="English").click()
    expect(v.headline).to_have_text(re.compile("would lead to “approved” in .* plausible cases.$"))
    expect(v.page.get_by_label("Age", exact=True)).to_have_value("32")
    v.check_access()


def test_german_names_of_columns_values_and_decisions(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    from armin_desk.demo import GERMAN

    with serving(replace(loan_bundle, letter={"de": GERMAN})) as address:
        v = visit(address=address, locale="de-DE")
        v.load("Kim").ask().settle()
        expect(v.page.get_by_label("Alter", exact=True)).to_have_value("32")
        expect(v.page.get_by_label("Verwendungszweck", exact=True).locator("option:checked")).to_have_text("Neuwagen")
        expect(v.headline).to_have_text(re.compile("„bewilligt“"))
        assert "Senken Sie „Zahl der laufenden Kredite“ (derzeit 2) auf 0." in v.plan
        expect(v.page.locator("#ways")).to_contain_text("Ändern Sie „Verwendungszweck“ (derzeit „Neuwagen“) zu")
        v.load("Alex").ask().settle()
        expect(v.page.locator("#sure-point")).to_contain_text("Zahl der laufenden Kredite →")
        main = v.page.locator("#form, #answer")
        assert not re.search("existing loans|approved|NewCar|purpose", " ".join(main.all_inner_texts()))
        v.check_access()
        v.page.get_by_role("button", name="English").click()
        expect(v.headline).to_have_text(re.compile("would lead to “approved”"))
        expect(v.page.get_by_label("The purpose", exact=True).locator("option:checked")).to_have_text("NewCar")
        assert "Lower the number of existing loans from 2 to 0." in v.plan
        v.page.get_by_role("button", name="Deutsch").click()
        expect(v.page.get_by_label("Alter", exact=True)).to_have_value("32")


def test_german_numbers_inside_changes(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    v = visit(locale="de-DE")
    feature = replace(loan_bundle.schema["Income"], direction="increase", unit="€")
    change = Change(feature, "observed", 31_000, 34_500, 3500.0, 1.0)
    answer_with(v, loan_bundle, changes=(change,))
    v.load("Kim").ask().settle()
    assert v.plan == ["Erhöhen Sie „Income“ (derzeit 31.000 €) auf 34.500 €."]
    v.page.get_by_role("button", name="English").click()
    expect(v.page.locator(".step-sentence")).to_have_text("Raise Income from €31,000 to €34,500.")


def test_a_third_language_is_one_table(visit: Callable[..., Visit], loan_bundle: Any) -> None:
    french = {"page": {"title": "Que puis-je faire ?"}, "language": {"name": "Français", "locale": "fr"}}
    with serving(replace(loan_bundle, letter={"fr": french})) as address:
        v = visit(address=address, locale="fr-FR")
        expect(v.page.locator("#title")).to_have_text("Que puis-je faire ?")
        expect(v.page.get_by_role("button", name="Français")).to_have_attribute("aria-pressed", "true")
        v.load("Kim").ask().settle()
        expect(v.headline).to_have_text("One change would lead to “approved”.")  # what is missing is English


def test_a_language_that_cannot_be_fetched_leaves_the_page_as_it_is(visit: Callable[..., Visit]) -> None:
    v = visit(expected="Failed to load resource")
    v.load("Kim").ask().settle()
    v.page.route("**/words.json*", lambda route: route.abort("connectionrefused"))
    v.page.get_by_role("button", name="Deutsch").click()
    expect(v.page.locator("#live")).to_have_text("The desk cannot be reached")
    expect(v.headline).to_have_text("One change would lead to “approved”.")
    v.page.unroute("**/words.json*")
    v.page.get_by_role("button", name="Deutsch").click()
    expect(v.headline).to_have_text(re.compile("^Eine Änderung würde"))


def test_scripts_hold_no_language_of_their_own() -> None:
    """No script asks which language it is, and every word that it wants is in the catalogue, without formats."""
    from armin.words import catalogue
    from armin.words.check import holes

    page = catalogue().table["page"]
    assert all(how == {""} for text in page.values() for how in holes(text).values())
    wanted = set()
    for file in (Path(__file__).parents[2] / "desk/src/armin_desk/static").glob("*.js"):
        code = file.read_text()
        assert not re.search(r"language === |current\(\) ===", code)
        wanted |= set(re.findall(r'\bt\("(\w+)"', code))
    assert len(wanted) > 50
    assert wanted <= page.keys() | {"percent"}
    first = (Path(__file__).parents[2] / "desk/src/armin_desk/static/index.html").read_text()
    shown = re.findall(r'data-word="(\w+)"[^>]*>([^<]*)<', first)
    assert len(shown) > 10
    assert all(page[word] == text for word, text in shown)  # what is seen before the words have arrived


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_phone(visit: Callable[..., Visit], scheme: str) -> None:
    v = visit(viewport=PHONE, has_touch=True, is_mobile=True, color_scheme=scheme)
    fits = f"document.documentElement.scrollWidth <= {PHONE['width']}"  # innerWidth would grow with the page
    assert v.page.evaluate(fits)
    v.load("Alex").ask().settle()
    assert v.page.evaluate(fits)
    v.page.get_by_role("slider").focus()
    v.page.keyboard.press("End")
    v.settle()
    assert v.page.evaluate(fits)
    v.check_access()
    v.shoot(f"phone-{scheme}")
    v.page.evaluate("document.getElementById('answer').scrollIntoView()")
    v.shoot(f"phone-top-{scheme}", whole=False)


def test_keyboard_alone(visit: Callable[..., Visit]) -> None:
    v = visit()
    v.page.keyboard.press("Tab")
    expect(v.page.locator(".skip")).to_be_focused()
    v.page.keyboard.press("Enter")
    expect(v.page.locator("#answer")).to_be_focused()
    v.page.get_by_role("button", name=re.compile("^Kim")).focus()
    v.page.keyboard.press("Enter")
    v.page.locator("input[name=applied]").first.focus()
    v.page.keyboard.press("Space")
    v.page.get_by_label("Age", exact=True).focus()
    v.page.keyboard.press("Enter")
    expect(v.page.locator(".step-sentence")).to_have_count(1)
    expect(v.headline).to_be_focused()


# ---------------------------------------------------------------- safety


def test_hostile_names_stay_text(visit: Callable[..., Visit], hostile_desk: str) -> None:
    v = visit(hostile_desk)
    expect(v.page.locator(".eyebrow")).to_have_text(EVIL)
    v.page.locator(".person").click()
    v.ask().settle()
    expect(v.headline).to_contain_text(EVIL)
    body = v.page.locator("body")
    expect(body).to_contain_text(EVIL_CATEGORY)
    expect(v.page.locator("legend").first).to_be_visible()  # a question with two answers is not a list
    v.page.get_by_role("button", name="Letter / print").click()
    expect(v.page.locator("#letter-note")).to_have_text("The letter is here. Read it before you print it.")
    assert v.page.evaluate("window.hacked") is None
    for selector in ("img", "main script", "b"):
        assert v.page.locator(selector).count() == 0
        assert v.page.frame_locator("#letter-page").locator(selector).count() == 0
    v.page.get_by_role("button", name="Close").click()
    v.check_access()


def test_page_needs_no_exception_from_a_strict_policy(desk: str) -> None:
    from urllib.request import urlopen

    with urlopen(desk) as response:  # noqa: S310  our own server
        policy, text = response.headers["Content-Security-Policy"], response.read().decode()
    assert "unsafe" not in policy
    assert "default-src" in policy
    assert not re.search(r"\bstyle=|<style|\bon\w+=|<script(?![^>]*\bsrc=)|https?://", text)
    for file in (Path(__file__).parents[2] / "desk/src/armin_desk/static").glob("*.js"):
        code = file.read_text()
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|localStorage|console\.", code
        )
        assert set(re.findall(r"https?://[^\"'\s]+", code)) <= {"http://www.w3.org/2000/svg"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_where_you_stand_and_your_own_idea(visit: Callable[..., Visit], scheme: str) -> None:
    v = visit(color_scheme=scheme).load("Alex").ask().settle()
    stand = v.page.locator("#stand")
    expect(stand).to_contain_text("Your score is")
    expect(stand.locator("svg[role=img]")).to_have_count(1)
    assert 1 <= stand.locator("ol.weighed li").count() <= 4
    v.page.locator("#idea-which").select_option("ExistingLoans")
    v.page.locator("#idea-value").fill("x")
    v.page.get_by_role("button", name="Try it").click()
    assert "reasons" in v.calls
    assert "what_if" not in v.calls  # what is no number is not sent
    v.page.locator("#idea-value").fill("1")
    v.page.get_by_role("button", name="Try it").click()
    result = v.page.locator("#idea-result")
    expect(result).to_contain_text("With your idea the decision is")
    v.check_access()
    v.shoot(f"idea-{scheme}")
    v.page.locator("#idea-which").select_option("Purpose")
    assert v.page.locator("select#idea-value option").count() > 1
