"""The letter: right words for every outcome, in every language, for nobody but the right person, on one page."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import re
import sys
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingClassifier

from armin import ARMIN
from armin.baselines import ImputationAR
from armin.datasets import make_loans
from armin.errors import DataError, MissingDependencyError, ParameterError, SchemaError
from armin.problem import Status
from armin.promise import Calibration
from armin.recourse import Change, Recourse, Validity
from armin.recourse.certificate import Certificate
from armin.sampling import NativeMissing
from armin.schema import Feature, Schema
from armin.words import catalogue
from armin.words.own import check_words, read_words
from armin_desk.letter import check_reference, new_reference, write_letter
from armin_desk.letter.content import Notice, sections

pytest.importorskip("jinja2", reason="armin-desk needs jinja2")

SCHEMA = Schema(
    (
        Feature("balance", "integer", lower=0, upper=200, unit="%", label="the use of your credit lines"),
        Feature("loans", "integer", lower=0, upper=9, label="the number of loans", direction="decrease"),
        Feature("income", "integer", lower=0, upper=250_000, unit="$", label="your yearly income"),
        Feature("purpose", "categorical", categories=("new car", "used car", "repairs"), label="the purpose"),
        Feature("months", "integer", lower=0, upper=120, unit="months", label="the time since your last late payment"),
        Feature("age", "integer", lower=18, upper=99, direction="fixed", label="your age"),
    )
)
ROW = {"balance": 72, "loans": 3, "income": None, "purpose": "new car", "months": None, "age": 41}
DAY = datetime.date(2026, 11, 15)


def change(name, mode, before, after, amount, cost=0.1):
    return Change(SCHEMA[name], mode, before, after, amount, cost)


BALANCE, INCOME = change("balance", "observed", 72, 41, -31, 0.4), change("income", "shift", None, None, 1500.0, 0.3)
LOANS, PURPOSE = change("loans", "observed", 3, 2, -1, 0.2), change("purpose", "observed", "new car", "used car", None)
PLAN = Recourse(
    method="ARMIN", status=Status.OPTIMAL, desired=("approved",), changes=(BALANCE, INCOME, LOANS, PURPOSE), cost=1.0,
    cost_name="TLPS", cost_range=None, confidence=0.75, validity=Validity(78, 100), fresh=Validity(785, 1000),
    blanks=(SCHEMA["income"], SCHEMA["months"]), bound=1.0, seconds=0.1, solver="search",
)  # fmt: skip
LESS = replace(
    PLAN, changes=(change("balance", "observed", 72, 20, -52), change("loans", "observed", 3, 1, -2)), cost=1.4
)
MORE = replace(PLAN, changes=(change("income", "shift", None, None, 6500.0), LOANS, PURPOSE), cost=1.6)
NOTHING = {"changes": (), "cost": None, "validity": None, "fresh": None}
OUTCOMES = {
    "plan": PLAN,
    "best_so_far": replace(PLAN, status=Status.FEASIBLE, bound=0.8),
    "falls_short": replace(PLAN, fresh=Validity(728, 1000)),
    "already_accepted": replace(PLAN, changes=(), cost=0.0),
    "no_recourse": replace(PLAN, status=Status.INFEASIBLE, **NOTHING),
    "out_of_time": replace(PLAN, status=Status.UNKNOWN, **NOTHING),
}


def letter(plans=PLAN, row=ROW, **more):
    return write_letter(plans, row, **{"schema": SCHEMA, "date": DAY, **more})


def flat(text):
    return " ".join(text.replace("\xa0", " ").split())


class Page(HTMLParser):
    """What a browser makes of the HTML: its elements, and the text that people see."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.seen, self.hidden = [], [], 0
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.hidden += tag == "style"

    def handle_endtag(self, tag):
        self.hidden -= tag == "style"

    def handle_data(self, data):
        if not self.hidden:
            self.seen.append(data)

    @property
    def text(self):
        return flat(" ".join(self.seen))


# --- what it says -----------------------------------------------------------------------------------------------------

SAYS = {
    ("plan", "en"): ("Do all of the following", "no allowed plan asks for less. This is proved"),
    ("best_so_far", "en"): ("not proven the cheapest yet", "up to 20 % less"),
    ("falls_short", "en"): ("works in 75 % of the cases and found none; this one comes closest",),
    ("already_accepted", "en"): ("Nothing needs to change: for 78 % of the plausible ways",),
    ("no_recourse", "en"): ("No plan exists, because", "proved, not guessed", "not let us ask you to change: your age"),
    ("out_of_time", "en"): ("the time for the search ran out. One may exist", "not a proof"),
    ("plan", "de"): ("Tun Sie alles Folgende", "Das ist bewiesen", "um 1.500 $, gleich wie hoch"),
    ("best_so_far", "de"): ("noch nicht bewiesen", "bis zu 20 % weniger"),
    ("falls_short", "de"): ("in 75 % der Fälle wirkt, und keinen gefunden; dieser kommt dem am nächsten",),
    ("already_accepted", "de"): ("Es muss sich nichts ändern: Für 78 % der plausiblen",),
    ("no_recourse", "de"): ("Es gibt keinen Plan, denn", "bewiesen, nicht geschätzt"),
    ("out_of_time", "de"): ("Die Zeit für die Suche war zu Ende", "kein Beweis"),
}


@pytest.mark.parametrize(("outcome", "language"), SAYS)
def test_every_outcome_has_its_words(outcome, language):
    made = letter(OUTCOMES[outcome], language=language, applicant="Ada Lovelace", organisation="The Bank\nAsk Bo, 123")
    seen = Page(made.html).text
    assert OUTCOMES[outcome].outcome == outcome
    words = [*SAYS[outcome, language], "Ada Lovelace", "The Bank", "Ask Bo, 123", made.reference]
    words.append("15 November 2026" if language == "en" else "15. November 2026")
    for never in ("Valid until", "Gültig bis", "December", "Dezember"):  # nothing supports a date
        assert never not in seen
    words.append("You did not tell us: " if language == "en" else "Sie haben uns dies nicht gesagt: ")
    for said in words:
        assert said in seen, said
        assert said in flat(made.text), said
    for (other, tongue), sayings in SAYS.items():
        if (other, tongue) != (outcome, language):
            assert not all(said in seen for said in sayings), other


@pytest.mark.parametrize("outcome", sorted({outcome for outcome, _ in SAYS}))
@pytest.mark.parametrize("language", ["en", "de"])
def test_information_states_no_decision(outcome, language):
    plan = replace(OUTCOMES[outcome], world=replace(OUTCOMES[outcome].world, decision=None))
    for made in (
        letter(plan, language=language, notice=False),
        letter(OUTCOMES[outcome], language=language, notice=False),
    ):
        seen = Page(made.html).text
        for never in (
            "We could not",
            "This is the decision",
            "Dear",
            "sincerely",
            "Wir konnten",
            "Das ist die Entscheidung",
            "Grüßen",
        ):
            assert never not in seen
            assert never not in flat(made.text)
        assert ("It is not a decision" if language == "en" else "keine Entscheidung über einen Antrag") in seen
        assert not made.draft
        assert "<h1>What the program says" in made.html or "<h1>Was das Programm sagt" in made.html
    assert "Nothing has been decided" in flat(letter(replace(PLAN, world=plan.world), notice=False).text)
    assert "Nothing has been decided" in flat(letter(replace(PLAN, world=plan.world)).text)
    with pytest.raises(ParameterError, match="sent by nobody to nobody"):
        letter(plan, notice=False, organisation="The Bank")


def test_nothing_is_enough_that_is_less_than_was_asked_for():
    for plan in (PLAN, OUTCOMES["falls_short"]):
        assert "enough" not in flat(letter(replace(plan, changes=(LOANS,))).text)


def test_the_plan_is_numbered_and_the_shares_are_the_honest_ones():
    text = flat(letter((PLAN, LESS, MORE)).text)
    assert "1. Lower the use of your credit lines from 72 % to 41 %. 2. Raise your yearly income by $1,500" in text
    assert "asked for an answer that holds for at least 75 % of them" in text
    low, high = PLAN.fresh.interval()
    assert f"between {low:.0%} and {high:.0%}".replace("%", " %") in text
    assert "about 78 would succeed and about 22 would not" in text
    assert "We tried this" not in flat(letter(replace(PLAN, fresh=None)).text)


def test_a_complete_row_has_nothing_to_be_unsure_of():
    plan = replace(PLAN, changes=(LOANS,), blanks=(), fresh=None, validity=Validity(1, 1))
    text = flat(letter(plan, {**ROW, "income": 30_000, "months": 4}).text)
    assert "We could not accept your application. This is the decision on your application as it stands." in text
    assert "You told us everything that we asked for." in text
    assert "Nothing had to be assumed" in text
    assert "plausible" not in text


def reasons(*plans):
    case = letter(plans).text.split("PRINCIPAL REASONS")[1].split("YOUR PLAN")[0]
    return re.findall(r"- (.*)", case)


def test_reasons_are_what_the_plans_change_in_their_order():
    assert reasons(replace(PLAN, changes=(LOANS,)), MORE) == ["The number of loans: now 3"]
    other = replace(PLAN, changes=(INCOME, PURPOSE))
    assert reasons(replace(PLAN, changes=(LOANS,)), other) == [
        "The number of loans: now 3", "Your yearly income: not given", "The purpose: now new car",
    ]  # fmt: skip
    months = replace(PLAN, changes=(change("months", "shift", None, None, 6.0),))
    assert len(reasons(PLAN, months)) == 4


def test_the_cheapest_is_not_claimed_of_a_plan_with_a_cheaper_one_beside_it():
    assert "no allowed plan asks for less" in letter((PLAN, LESS)).text
    chosen = flat(letter((LESS, PLAN)).text)
    assert "no allowed plan asks for less" not in chosen
    assert "one of the other ways below asks for less" in chosen


def test_at_most_three_other_ways_and_none_for_the_accepted():
    def count(made):
        return sum("Works for" in item for item in re.findall(r"<li>(.*?)</li>", made.html))

    assert count(letter((PLAN, LESS, MORE, LESS, MORE, LESS))) == 3
    assert count(letter((OUTCOMES["already_accepted"], LESS))) == 0


def test_locked_features_are_named_and_respected():
    plan = replace(PLAN, changes=(LOANS,))
    assert "You told us that you cannot change the purpose." in flat(letter(plan, locked=["purpose"]).text)
    assert "cannot change: the purpose" in flat(letter(OUTCOMES["no_recourse"], locked=["purpose"]).text)
    with pytest.raises(DataError, match="'loans', which is locked"):
        letter(plan, locked=["loans"])
    with pytest.raises(SchemaError, match="'colour' is not a column"):
        letter(plan, locked=["colour"])
    with pytest.raises(ParameterError, match="list of column names"):
        letter(plan, locked="loans")


def test_a_promise_is_said_in_the_language_of_the_letter():
    said = {}
    for language in ("en", "de"):
        for level, best in ((0.8, 0.8), (None, 0.8), (None, 0.0)):
            tested = Calibration(0.9, 0.95, level, best, 1.0, 1200, "same", (), held_out=False)
            grounds = Certificate(
                PLAN.status, 1.0, 0.0, 0.75, PLAN.validity, PLAN.fresh, None, tested, None, 2, "donors", 100, 0
            )
            plan = replace(PLAN, certificate=grounds)
            notice = Notice(plan, (), SCHEMA, (), DAY, DAY, catalogue(language))
            sure = next(part for part in sections(notice) if part.name == "sure")
            said[language, level is not None, best] = flat(" ".join(sure.before))
    assert "1,200 real people. From this we can promise: at least 90 %" in said["en", True, 0.8]
    assert "may have known" in said["en", True, 0.8]
    assert "and cannot: what we can promise is 80 %" in said["en", False, 0.8]
    assert "too small to promise" in said["en", False, 0.0]
    assert "1.200 wirklichen Menschen" in said["de", True, 0.8]


def test_real_answers_say_how_blanks_were_treated():
    loans = make_loans(600)
    explainer = ARMIN.from_settings(loans.classifier, loans.schema, desired="approved", n_fresh=200).fit(loans.X)
    plans = explainer.alternatives(loans.applicant)
    assert "We did not settle on one guess." in flat(write_letter(plans, loans.applicant, schema=loans.schema).text)
    guessed = ImputationAR.from_settings(loans.classifier, loans.schema, desired="approved", n_fresh=200).fit(loans.X)
    text = flat(write_letter(guessed.explain(loans.applicant), loans.applicant, schema=loans.schema).text)
    assert "with one guess" in text
    assert "did not settle" not in text


def test_blanks_that_the_model_treats_itself_are_not_called_guesses():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=300).round(1), "b": rng.integers(0, 9, 300).astype(float)})
    y = (X["a"] + 0.3 * X["b"] > 1.5).astype(int)
    X.loc[::5, "a"] = np.nan
    model = HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=4).fit(X, y)
    schema, row = Schema.infer(X, step={"a": 0.5}), {"a": None, "b": 1}
    explainer = ARMIN.from_settings(model, schema, desired=1, sampler=NativeMissing(), max_options=10, n_fresh=100).fit(
        X
    )
    text = flat(write_letter(explainer.explain(row), row, schema=schema).text)
    assert "We left the blanks blank" in text
    assert "settle on one guess" not in text


# --- the languages ----------------------------------------------------------------------------------------------------

numbers = st.builds(
    lambda kind, unit, style, step, direction, label: Feature(
        "x", kind, lower=-1e7, upper=1e7, unit=unit, format=style, step=step, direction=direction, label=label
    ),
    st.sampled_from(["continuous", "integer"]), st.sampled_from(["", "$", "€", "%", "k$", "months"]),
    st.sampled_from(["", "{:,.0f} km", "{:.2f}"]), st.sampled_from([None, 1.0, 5.0]),
    st.sampled_from(["any", "increase", "decrease"]), st.sampled_from(["", "the size"]),
)  # fmt: skip
lists = st.builds(
    lambda kind, direction: Feature("x", kind, categories=("a", "b c") if kind == "binary" else ("a", "b c", "d"),
                                    direction="any" if kind == "categorical" else direction),
    st.sampled_from(["binary", "categorical", "ordinal"]), st.sampled_from(["any", "increase", "decrease"]),
)  # fmt: skip


@st.composite
def changes(draw):
    feature = draw(numbers | lists)
    if feature.is_number:
        size = st.integers(-(10**7), 10**7)
        value = size if feature.kind == "integer" else size | st.floats(-1e7, 1e7).map(float)
    else:
        value = st.sampled_from(feature.categories)
    mode = draw(st.sampled_from(["observed", "shift", "reach"]))
    amounts = st.sampled_from([-2.0, -1.0, 1.0, 2.0]) if not feature.is_number else st.sampled_from([-1500.0, 2.0, 2e6])
    if mode == "shift":
        return Change(feature, mode, None, None, draw(amounts), 1.0)
    before = draw(value) if mode == "observed" else None
    amount = draw(amounts) if mode == "observed" and feature.is_ordered else None
    return Change(feature, mode, before, draw(value), amount, 1.0)


@settings(deadline=None, max_examples=100)
@given(changes())
def test_german_sentences_hold_the_same_digits(made):
    said = made.message.text("de")
    assert re.sub(r"\D", "", said) == re.sub(r"\D", "", made.to_dict()["sentence"])
    assert not re.search(r"\b(Raise|Lower|Change|Bring|Make)\b", said)


def test_german_values():
    rate = Feature("rate", "continuous", lower=0, upper=1e7, unit="€", step=0.5)
    km = Feature("km", "continuous", lower=0, upper=1e7, format="{:,.1f} km")
    grade = Feature("grade", "ordinal", categories=("a", "b", "c"))
    german = catalogue("de")
    assert rate.said(1234567.5).said(german) == "1.234.567,5 €"
    assert rate.said(None).said(german) == "nicht angegeben"
    assert km.said(1234.5).said(german) == "1.234,5 km"
    assert [grade.said_amount(amount).said(german) for amount in (-1, 2)] == ["1 Stufe", "2 Stufen"]


# --- a company's own words --------------------------------------------------------------------------------------------


def test_own_words_labels_and_values_with_the_rest_as_packaged(tmp_path):
    (tmp_path / "de.toml").write_text(
        '[plan]\ntitle = "Ihr Weg"\n[labels]\nloans = "Zahl der Kredite"\n[values.purpose]\n"new car" = "Neuwagen"\n'
        '[units]\nmonths = "Monate"\n[decisions]\napproved = "bewilligt"\n', "utf-8"
    )  # fmt: skip
    months = replace(PLAN, changes=(change("months", "shift", None, None, 6.0),))
    text = flat(letter((PLAN, months), language="de", templates=tmp_path).text)
    for said in ("IHR WEG", "Senken Sie „Zahl der Kredite“ (derzeit 3) auf 2.", "(derzeit „Neuwagen“) zu „used car“",
                 "um 6 Monate", "„bewilligt“", "WIE SICHER DAS IST"):  # fmt: skip
        assert said in text


def test_own_language_falls_back_to_english(tmp_path):
    (tmp_path / "fr.toml").write_text('[plan]\ntitle = "Votre plan"\n', "utf-8")
    made = letter(language="fr", templates=tmp_path)
    assert "Votre plan" in made.html
    assert "Principal reasons" in made.html
    assert '<html lang="fr">' in made.html


def test_own_template_and_style(tmp_path):
    (tmp_path / "letter.css").write_text("body { color: #123456 } a > b {}", "utf-8")
    (tmp_path / "letter.txt.j2").write_text(
        "{{ organisation }}: {{ sections | length }}, {{ texts.own.motto }}", "utf-8"
    )
    (tmp_path / "en.toml").write_text('[own]\nmotto = "Fair & square"\n', "utf-8")
    made = letter(templates=tmp_path, organisation="R & D")
    assert "a > b {}" in made.html
    assert made.text == "R & D: 6, Fair & square"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("en.toml", "[plan\n", "en.toml are not valid TOML"),
        ("en.toml", "[plan]\ntitle = 3\n", "'plan.title' of language 'en' must be a text"),
        ("en.toml", "plan = 3\n", "plan must be a table"),
        ("en.toml", "labels = 3\n", "labels must be a table"),
        ("en.toml", "fields = 3\n", "fields must be a table"),
        ("en.toml", "[fields]\norganisation = 3\n", "'organisation' of the letter must be a list of texts"),
        ("en.toml", '[plan]\ntitle = "for {whom}"\n', "asks for {whom}, which it is not given"),
        ("en.toml", "[language]\nnumbers = 3\n", "must be a list of texts"),
        ("en.toml", '[language]\nlocale = "xx_YY"\n', "must be a locale"),
        ("en.toml", '[plan]\ngap = "{gap:roman}"\n', "writes {gap} as roman, which is not known"),
        ("en.toml", '[plan]\ntitle = "{"\n', "cannot be read"),
        ("en.toml", '[plan]\ntitle = "\\u001b[2J"\n', "holds a control character"),
        ("fr.toml", '[plan]\ntitle = { one = "plan" }\n', "needs the form 'other'"),
        ("letter.html.j2", "{{ nonsense }}", "'nonsense' is undefined"),
        ("letter.html.j2", "{% if %}", "cannot be used"),
        ("letter.txt.j2", "{{ 1 / 0 }}", "cannot be used"),
    ],
)
def test_mistakes_in_own_files_are_named(tmp_path, name, content, message):
    (tmp_path / name).write_text(content, "utf-8")
    with pytest.raises(ParameterError, match=re.escape(message)):
        letter(templates=tmp_path)


def test_unknown_language_lists_those_there_are():
    for language in ("fr", "../en", ""):
        with pytest.raises(ParameterError, match="must be one of: de, en"):
            letter(language=language)
    with pytest.raises(ParameterError, match="must be a folder"):
        letter(templates="/no/such/folder")


# --- own words from a bundle, which anybody may have made ----------------------------------------------------------


def test_words_by_language_say_what_the_folder_says(tmp_path):
    (tmp_path / "de.toml").write_text('[plan]\ntitle = "Ihr Weg"\n[own]\nmotto = "A & B"\n', "utf-8")
    (tmp_path / "fr.toml").write_text('[plan]\ntitle = "Votre plan"\n', "utf-8")
    (tmp_path / "letter.css").write_text("p { color: #123456 }", "utf-8")
    words = check_words(read_words(tmp_path))
    assert sorted(words) == ["de", "fr"]
    for language in ("de", "en", "fr"):
        same = {"language": language, "reference": "R"}
        assert letter(words=words, **same).text == letter(templates=tmp_path, **same).text
    assert "#123456" not in letter(words=words).html  # a layout comes from a folder only


def test_words_of_a_folder_go_before_those_of_a_bundle(tmp_path):
    (tmp_path / "en.toml").write_text('[plan]\ntitle = "Our way"\n', "utf-8")
    made = letter(words={"en": {"plan": {"title": "Their way"}}}, templates=tmp_path)
    assert "Our way" in made.html
    assert "Their way" not in made.html


def test_words_are_text_and_never_code():
    words = {"en": {"letter": {"greeting_unknown": "Hi <script>alert(1)</script> {{ 7 * 7 }}"}}}
    made = letter(words=words)
    assert "Hi <script>alert(1)</script> { 7 * 7 }" in made.text
    assert "Hi &lt;script&gt;alert(1)&lt;/script&gt; { 7 * 7 }" in made.html
    for code in ("{applicant.__class__}", "{applicant[0]}", "{applicant!r:>99999999}", "{:99999999}"):
        with pytest.raises(ParameterError):
            check_words({"en": {"letter": {"greeting": f"Dear {code}"}}})


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["en"], "mapping of language to tables"),
        ({"en": "x"}, "mapping of language to tables"),
        ({"en": {"plan": "x"}}, "must be a table"),
        ({"en": {"plan": {"title": "{whom}"}}}, "asks for {whom}"),
        ({"klingon": {"plan": {"title": "x"}}}, "must be a locale"),
    ],
)
def test_mistakes_in_words_for_a_bundle_are_named(words, message):
    with pytest.raises((ParameterError, DataError), match=re.escape(message)):
        check_words(words)


# --- hostile words ----------------------------------------------------------------------------------------------------

EVIL = "<script>alert(1)</script>\"'&{{ 7 * 7 }}{desired}"


def test_hostile_words_are_shown_as_text():
    schema = Schema(
        (
            Feature("loans", "integer", lower=0, upper=9, label=EVIL, unit="<b>"),
            Feature("purpose", "categorical", categories=("<img src=x>", "b"), label="<i>p"),
        )
    )
    plan = replace(
        PLAN, desired=("<u>yes",), blanks=(), fresh=None, validity=Validity(1, 1),
        changes=(Change(schema["loans"], "observed", 3, 2, -1.0, 1.0),
                 Change(schema["purpose"], "observed", "<img src=x>", "b", None, 1.0)),
    )  # fmt: skip
    made = write_letter(
        plan, {"loans": 3, "purpose": "<img src=x>"}, schema=schema, applicant=EVIL, organisation=EVIL, reference=EVIL
    )
    page = Page(made.html)
    assert {tag for tag, _ in page.tags}.isdisjoint({"script", "img", "b", "i", "u"})
    assert page.seen.count(EVIL) == 3  # organisation twice, reference
    assert f"Dear {EVIL}," in page.text
    assert f"Lower {EVIL} from 3 <b> to 2 <b>." in page.text
    assert "49" not in page.text
    assert "Change <i>p from “<img src=x>” to “b”." in page.text


def test_a_name_cannot_write_lines_of_its_own():
    made = letter(applicant="Ada\n\nDECISION\nAccepted\u202e\x07")
    assert "Dear Ada DECISION Accepted," in made.text
    assert "\u202e" not in made.html
    assert "नर्मदा\u200d" in letter(applicant="नर्मदा\u200d").html


# --- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_the_page_stands_alone_and_is_accessible(outcome):
    made = letter((OUTCOMES[outcome], LESS), language="de")
    page = Page(made.html)
    tags = [tag for tag, _ in page.tags]
    assert page.tags[0] == ("html", {"lang": "de"})
    assert tags.count("h1") == tags.count("main") == tags.count("title") == 1
    assert tags.index("h1") < tags.index("h2")
    assert {"script", "link", "img", "iframe"}.isdisjoint(tags)
    assert not any({"src", "href", "style", "onclick"} & attrs.keys() for _, attrs in page.tags)
    assert not re.search(r"url\(|@import|https?:", made.html)
    style = re.search(r"<style>(.*?)</style>", made.html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in made.content_security_policy


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_ink_is_readable_on_every_paper():
    css = resources.files("armin_desk.letter").joinpath("templates/letter.css").read_text("utf-8")
    inks = set(re.findall(r"[ {]color: (#[0-9a-f]{6})", css))
    assert len(inks) >= 3
    for ink in inks:
        for paper in ("#ffffff", "#eef4fb"):
            assert (luminance(paper) + 0.05) / (luminance(ink) + 0.05) >= 7, (ink, paper)


def test_no_text_is_small():
    css = resources.files("armin_desk.letter").joinpath("templates/letter.css").read_text("utf-8")
    sizes = [float(size) for size in re.findall(r"([\d.]+)pt", css)]
    assert len(sizes) >= 6
    assert min(sizes) == 10.5


def boxes(box):
    """A box of a laid out page, and all in it."""
    yield box
    for child in getattr(box, "children", ()):
        yield from boxes(child)


def pages_of(made, paper):
    weasyprint = pytest.importorskip("weasyprint", reason="laying out pages needs weasyprint, the extra 'pdf'")
    size = weasyprint.CSS(string=f"@page {{ size: {paper} }}")
    return [list(boxes(page._page_box)) for page in weasyprint.HTML(string=made.html).render(stylesheets=[size]).pages]


MM = 96 / 25.4


@pytest.mark.parametrize("paper", ["A4", "Letter"])
def test_the_address_stands_in_the_window_and_nothing_beside_it(paper):
    lines = ("Ada Lovelace", "Park Lane 1", "Top floor", "12345 Town")
    sender = "Bank\n" + "\n".join(f"Line {i} of the address of the sender" for i in range(5))
    until = datetime.date(2026, 12, 31)
    first = pages_of(letter(recipient=lines, organisation=sender, applicant="Ada", valid_until=until), paper)[0]
    texts = {box.text.strip(): box for box in first if hasattr(box, "text")}
    for line in lines:
        box = texts[line]
        assert box.position_y >= 63 * MM - 2
        assert box.position_y + box.height <= 82 * MM  # both windows: DIN 5008 form B ends at 90 mm, a US #10 earlier
        assert box.position_x >= 24.9 * MM
        assert box.position_x + box.width <= 105 * MM
    for text, box in texts.items():
        if text not in lines and box.position_x < 137 * MM and text:  # as far as any of the two windows may move
            assert box.position_y + box.height < 51.8 * MM or box.position_y > 92 * MM, text


@pytest.mark.parametrize(("language", "paper"), [("en", "Letter"), ("de", "A4")])
def test_a_heading_stays_with_its_text(language, paper):
    made = letter((PLAN, LESS, MORE), language=language, applicant="Ada Lovelace", organisation="Bank\nStreet 1")
    for more in range(4, 16, 3):  # headings are pushed towards the end of the page, by less than their height
        space = f'<div style="height: {more}mm"></div>'
        longer = replace(made, html=made.html.replace("<h1>", f"{space}<h1>"))
        pages = pages_of(longer, paper)
        assert len(pages) > 1
        for page in pages:
            named = [box for box in page if box.element_tag in ("h2", "p", "li") and getattr(box, "height", 0)]
            assert named[-1].element_tag != "h2"


def test_a_draft_says_so_on_its_face():
    for language, said in (("en", "Draft. It does not name who sends it"), ("de", "Entwurf. Er nennt nicht")):
        draft = letter(language=language)
        assert draft.draft
        assert said in Page(draft.html).text
        assert flat(draft.text).startswith(said.upper())
        assert "[" not in Page(draft.html).text  # no blank to be filled in, as if it were a form
    sent = letter(organisation="Bank")
    assert not sent.draft
    assert "Draft" not in sent.html + sent.text


def test_a_date_is_the_companys_own():
    text = flat(letter(valid_until=datetime.date(2026, 12, 31)).text)
    assert "Valid until: 31 December 2026" in text
    assert "This date is our own: after 31 December 2026, please ask for a new letter." in text


def test_pdf(tmp_path):
    pytest.importorskip("weasyprint", reason="a PDF needs weasyprint, the extra 'pdf'")
    path = letter(language="de").to_pdf(tmp_path / "letter.pdf", paper="Letter")
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    for packed in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        with contextlib.suppress(zlib.error):
            content += zlib.decompress(packed)
    for mark in (b"/MarkInfo", b"/StructTreeRoot", b"/Marked true", b"/Lang (de)", b"/DisplayDocTitle true", b"/Title"):
        assert mark in content, mark  # tagged, with a language and a title: for people who listen to it
    with pytest.raises(ParameterError, match="'A4' or 'Letter'"):
        letter().to_pdf(path, paper="A5")


def test_a_pdf_fetches_nothing(tmp_path, caplog):
    pytest.importorskip("weasyprint", reason="a PDF needs weasyprint, the extra 'pdf'")
    secret = tmp_path / "secret.svg"
    secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text>secret</text></svg>', "utf-8")
    made = letter()
    sizes = [
        len(replace(made, html=made.html.replace("</main>", f'<img alt="" src="{src}"></main>'))
            .to_pdf(tmp_path / "out.pdf").read_bytes())
        for src in (secret.as_uri(), (tmp_path / "nothing.svg").as_uri())
    ]  # fmt: skip
    assert abs(sizes[0] - sizes[1]) < 50
    assert any("secret.svg" in record.getMessage() for record in caplog.records)


def test_a_missing_library_is_named(monkeypatch, tmp_path):
    made = letter()
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MissingDependencyError, match=re.escape("armin-desk[pdf]")):
        made.to_pdf(tmp_path / "x.pdf")


def test_optional_libraries_are_imported_only_when_used():
    for entry in resources.files("armin_desk.letter").iterdir():
        if entry.name.endswith(".py"):
            assert not re.search(r"^(from|import) weasyprint", entry.read_text("utf-8"), re.MULTILINE), entry


# --- the right person, and the reference ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plans", "row", "message"),
    [
        (PLAN, {**ROW, "income": 5}, "must belong together"),
        (PLAN, {**ROW, "age": None}, "must belong together"),
        ((PLAN, replace(PLAN, desired=("rejected",))), ROW, "must belong together"),
        (PLAN, {**ROW, "loans": 4}, "made for another row: its 'loans'"),
        (PLAN, {**ROW, "loans": 99}, "must be in"),
        (PLAN, pd.DataFrame([ROW, ROW]), "one row. Got 2"),
    ],
)
def test_a_plan_for_somebody_else_is_refused(plans, row, message):
    with pytest.raises(DataError, match=message):
        letter(plans, row)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"plans": ()}, "at least one Recourse"),
        ({"plans": ("x",)}, "at least one Recourse"),
        ({"applicant": None}, "'applicant' of a letter must be a text"),
        ({"applicant": "a" * 201}, "at most 200 characters"),
        ({"valid_until": DAY - datetime.timedelta(days=1)}, "not before that of the letter, 2026-11-15"),
        ({"valid_until": "soon"}, "'valid_until' must be a date"),
        ({"fields": ["organisation"]}, "'fields' of a letter must be a mapping"),
    ],
)
def test_other_refusals(arguments, message):
    with pytest.raises(ParameterError, match=message):
        letter(**arguments)


def test_the_reference_is_the_callers_or_random():
    assert letter(reference="  A-17 ").reference == "A-17"
    first, second = letter().reference, letter().reference
    assert first != second
    assert check_reference(first)
    assert check_reference(second)


@settings(deadline=None, max_examples=15)
@given(st.text(max_size=20), st.binary(min_size=16, max_size=32))
def test_every_slip_of_one_character_or_one_swap_is_found(content, secret):
    reference = new_reference(content, secret=secret)
    assert reference == new_reference(content, secret=secret)
    assert reference != new_reference(content, secret=secret + b"x")
    assert re.fullmatch(r"[0-9A-Z]{5}-[0-9A-Z]{5}-\d\d", reference)
    plain = reference.replace("-", "")
    assert check_reference(plain.lower())
    for i, right in enumerate(plain):
        for wrong in "0123456789ABCDEFGHJKMNPQRSTVWXYZ":
            assert check_reference(plain[:i] + wrong + plain[i + 1 :]) == (wrong == right)
        swapped = plain[:i] + plain[i : i + 2][::-1] + plain[i + 2 :]
        assert check_reference(swapped) == (swapped == plain)


def test_reference_refusals():
    assert not check_reference("")
    assert not check_reference("DJGZF-52FHD-4１")
    with pytest.raises(ParameterError, match="together, or neither"):
        new_reference("content")
    with pytest.raises(ParameterError, match="at least 16 bytes"):
        new_reference("content", secret=b"short")
