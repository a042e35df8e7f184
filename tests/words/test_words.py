"""One catalogue of messages: every language complete, every number rounded by one rule, every message plain data."""

from __future__ import annotations

import ast
import datetime
import json
import pickle
import re
import tomllib
from decimal import Decimal
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armin.errors import ParameterError
from armin.promise import LEVELS, Trials, choose_level
from armin.words import Message, Name, Quantity, catalogue, languages
from armin.words.catalogue import FORMATS
from armin.words.check import faults, holes, lacking, surplus
from armin.words.files import entries
from armin.words.numbers import floor_percent, round_percent

SOURCE = Path(__file__).parents[2] / "src/armin"
DESK = Path(__file__).parents[2] / "desk/src/armin_desk"
LAW = settings(deadline=None, max_examples=200)


def packaged(language):
    return tomllib.loads((resources.files("armin.words") / f"{language}.toml").read_text("utf-8"))


# --- the languages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", languages())
def test_a_language_lacks_nothing_and_has_nothing_too_much(language):
    table = packaged(language)
    assert lacking(table) == []
    assert surplus(table) == []
    assert list(faults(language, table, same_holes=True)) == []
    assert len(list(entries(table))) > 250


def test_a_poor_language_is_told_what_it_lacks():
    poor = {"plan": {"title": "Votre plan", "gap": "Plus"}, "own": {"motto": "x"}, "value": {"levels": "{n:roman}"}}
    assert "plan.title" not in lacking(poor)
    assert "plan.intro" in lacking(poor)
    assert surplus(poor) == ["own.motto"]
    found = " ".join(faults("fr", poor, same_holes=True))
    assert "'plan.gap' of language 'fr' leaves out gap" in found
    assert "writes {n} as roman" in found
    words = catalogue("fr", {"fr": poor})
    assert words.say("plan.title") == "Votre plan"
    assert words.say("reasons.title") == "Principal reasons"  # what is missing is English
    assert words.figure(12_345) == "12\u202f345"


def test_every_format_is_used_and_known():
    used = {
        how
        for _, text in entries(packaged("en"))
        if not isinstance(text, list)
        for h in holes(text).values()
        for how in h
    }
    assert used <= FORMATS.keys()
    for how in ("percent", "at_least", "figure", "count", "quoted", "and", "date"):
        assert how in used


def test_every_code_in_the_source_has_an_entry():
    """Codes that are written out; those that are put together are covered by the tests of what they say."""
    known = {code for code, _ in entries(packaged("en"))}
    found = set()
    for file in [*SOURCE.rglob("*.py"), *DESK.rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
                if name in ("Message", "say") and isinstance(node.args[0].value, str):
                    found.add(node.args[0].value)
    assert len(found) > 60
    assert found <= known


def test_nobody_reads_our_own_english():
    """No code looks into a sentence to find out what it says."""
    suspects = r"str\((?:note|error|recourse|message)\w*\)\.(?:startswith|partition|find|index|endswith)|" + (
        r"(?:sentence|headline|short)\w*\.(?:startswith|partition|split|find|index|endswith|slice|replace)\("
    )
    for file in [*SOURCE.rglob("*.py"), *DESK.rglob("*.py"), *DESK.rglob("*.js")]:
        assert not re.search(suspects, file.read_text("utf-8")), file


ROOMS = (
    "report", "recourse", "explain/stress.py", "explain/stressing.py", "explain/compare.py",
    "explain/ask.py", "explain/others.py", "explain/what_if.py", "reasons",
)  # fmt: skip
"""Where everything that people read comes from the catalogue; errors are for programmers, and are English."""
PLACES = {"offset points", "axes fraction", "lower left"}
"""Words of matplotlib for where things stand."""


def sentences_in(source):
    """Texts of two words or more that are neither docstrings, nor markup, nor part of an error."""
    tree = ast.parse(source)
    aside = set()
    for node in ast.walk(tree):
        makes_error = isinstance(node, ast.FunctionDef) and getattr(node.returns, "id", "").endswith("Error")
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, ast.Raise) or makes_error or docstring:
            aside |= {id(one) for one in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            if node.value in PLACES:
                continue
            bare = re.sub(r"<[^>]*>?|[\w-]+:[^;]*;|\{[^}]*\}", "|", node.value)  # tags, styles, holes
            if re.search(r"[^\W\d_]{2,}[,.:;]? +[^\W\d_]{2,}", bare):
                yield node.lineno, node.value


def test_no_sentence_stands_outside_the_catalogue():
    found = []
    for place in [*(SOURCE / room for room in ROOMS), DESK / "letter", DESK / "said.py"]:
        for file in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found += [f"{file.name}:{line}: {text}" for line, text in sentences_in(file.read_text("utf-8"))]
    assert found == []


def test_a_sentence_in_the_code_is_found():
    assert [text for _, text in sentences_in('x = f"the {n} blanks are, told"')] == [" blanks are, told"]
    assert list(sentences_in('ax.set_xlabel("cost of the change")')) == [(1, "cost of the change")]
    for fine in (
        '"""A docstring, fine."""',
        'raise ValueError("Not a number.")',
        "x = \"<td style='a: b'>\"",
        'f("a.b_c")',
        'def f() -> DataError:\n    return DataError("Not a number.")',
    ):
        assert list(sentences_in(fine)) == []


FOR_PROGRAMMERS = ("review.", "sampler.", "progress.", "failure.", "assess.", "compare.", "recheck.")
"""What whoever packs or tests a model reads; all else may reach the person that it is about."""
JARGON = re.compile(
    r"[Bb]lank mode|Lückenmodus|'(?:reach|shift|freeze)'|\b[Ss]chema|\b[Pp]arameter|\b[Ss]ampler|\bNaN\b"
    r"|\bNone\b|\bTrue\b|\w+\(\)|\w+_\w+|\w+="
)


@pytest.mark.parametrize("language", languages())
def test_no_developers_word_reaches_people(language):
    for code, text in entries(packaged(language)):
        if code.startswith(FOR_PROGRAMMERS) or isinstance(text, list):
            continue
        for form in text.values() if isinstance(text, dict) else [text]:
            bare = re.sub(r"\{[^}]*\}", "", form)
            assert code.startswith("language.") or not JARGON.search(bare), (code, form)
    assert JARGON.search("Set its blank mode to 'reach'.")


# --- numbers ----------------------------------------------------------------------------------------------------------


@LAW
@given(st.floats(0, 1))
def test_a_share_has_one_rounding_in_every_language(share):
    english, german = (catalogue(code).percent(share) for code in ("en", "de"))
    assert re.sub(r"\D", "", english) == re.sub(r"\D", "", german)
    english, german = (catalogue(code).at_least(share) for code in ("en", "de"))
    assert re.sub(r"\D", "", english) == re.sub(r"\D", "", german)
    assert floor_percent(share) <= Decimal(repr(share)) * 100 + Decimal("1e-7")


def test_halves_by_hand():
    assert [str(round_percent(share)[0]) for share in (0.925, 0.935, 0.575, 0.785, 0.005, 0.995)] == [
        "92", "94", "58", "78", "0.5", "99.5",
    ]  # fmt: skip
    assert catalogue("en").percent(0.925) == catalogue("de").percent(0.925) == "92\u00a0%"
    assert catalogue("de").percent(0.999) == "99,9\u00a0%"
    assert catalogue("de").at_least(0.9759) == "97,5\u00a0%"
    assert catalogue("de").percent(1e-12) == "unter 0,000001\u00a0%"
    assert catalogue("en").percent(1 - 1e-12) == "over 99.999999\u00a0%"


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", ["1,234,567.5", "12,500", "$1,200", "-$3", "1 month", "2 months", "1 flat", "3 flats", "5 May 2026"]),
        ("de", ["1.234.567,5", "12.500", "1.200 $", "-3 $", "1 Monat", "2 Monate", "1 flat", "3 flats", "5. Mai 2026"]),
    ],
)  # fmt: skip
def test_numbers_units_and_dates(language, said):
    words = catalogue(language)
    found = [words.number(1234567.5), words.figure(12_500.0)]
    found += [
        Quantity(number, unit).said(words)
        for number, unit in ((1200, "$"), (-3, "$"), (1, "months"), (2, "months"), (1, "flat|flats"), (3, "flat|flats"))
    ]
    assert [*found, words.date(datetime.date(2026, 5, 5)).replace("\u00a0", " ")] == said


def test_lists_quotes_and_plural_forms():
    en, de = catalogue("en"), catalogue("de")
    names = tuple(Name("labels", name, name) for name in "abc")
    assert (en.listed(names), de.listed(names), en.listed(names[:1])) == ("a, b and c", "a, b und c", "a")
    assert (en.quoted(("yes", "fine")), de.quoted("ja")) == ("“yes” or “fine”", "„ja“")
    assert [en.say("value.levels", n=n) for n in (0, 1, 2)] == ["0 levels", "1 level", "2 levels"]
    assert (en.word(3), de.word(1), en.word(40)) == ("three", "eine", "40")
    polish = catalogue("pl", {"pl": {"value": {"levels": {"one": "1", "few": "few", "many": "many", "other": "x"}}}})
    assert [polish.say("value.levels", n=n) for n in (1, 2, 5)] == ["1", "few", "many"]


def test_names_of_a_company_are_one_visible_line():
    own = {"de": {"labels": {"age": "Ihr\n\u202eAlter"}, "values": {"job": {"a": "Bäcker"}}, "units": {"km": "Meilen"}}}
    words = catalogue("de", own)
    assert Name("labels", "age", "age").said(words) == "Ihr Alter"
    assert Name("values", "a", "a", "job").said(words) == "Bäcker"
    assert Name("values", "b", "b", "job").said(words) == "b"
    assert (words.quantity(3, "km"), words.unit("month|months")) == ("3 Meilen", "months")


# --- messages ---------------------------------------------------------------------------------------------------------


def test_a_message_is_data():
    few = Message("draws.few", kept=1200, drawn=5000)
    assert few == Message("draws.few", drawn=5000, kept=1200) != Message("draws.few", kept=1, drawn=5000)
    assert len({few, Message("draws.few", drawn=5000, kept=1200)}) == 1
    assert pickle.loads(pickle.dumps(few)) == few
    assert (few["kept"], few.values) == (1200, {"kept": 1200, "drawn": 5000})
    assert str(few).startswith("Only 1,200 of 5,000 plausible completions")
    assert few.text("de").startswith("Nur 1.200 von 5.000")
    nested = Message("report.note", sentence=few, labels=(Name("labels", "a", "b"), Quantity(3, "$")))
    assert str(nested) == f"Note: {few}"
    assert json.loads(json.dumps(nested.to_dict())) == {
        "code": "report.note",
        "values": {
            "labels": ["b", {"number": 3, "unit": "$"}],
            "sentence": {"code": "draws.few", "values": {"drawn": 5000, "kept": 1200}},
        },
    }


def test_refusals():
    with pytest.raises(ParameterError, match=r"asks for \{kept\}, which it is not given. It may use: \{drawn\}"):
        str(Message("draws.few", drawn=3))
    with pytest.raises(ParameterError, match=r"'draws\.nothing' of language 'en' must be a text"):
        str(Message("draws.nothing"))
    for language in ("fr", "../en", ""):
        with pytest.raises(ParameterError, match="must be one of: de, en"):
            Message("draws.none", drawn=3).text(language)


def test_a_value_is_never_read_as_a_text_with_holes():
    assert "{desired} {0.__class__}" in str(Message("stuck.shift", features="{desired} {0.__class__}"))


def test_a_calibration_speaks_both_languages():
    works = np.tile(LEVELS >= 0.8, (60, 1))
    trials = Trials(LEVELS, np.ones_like(works), works)
    kept = choose_level(trials, promise=0.9)
    german = (
        "Geprüft an 60 wirklichen Menschen mit den gleichen Lücken, mit vollständigen Angaben abgelehnt: "
        "Von 60 Plänen mit 80 % Sicherheit wirkten alle."
    )
    assert kept.message.text("de").startswith(german)
    assert kept.sentence == str(kept.message)
    assert "missingness model" in choose_level(trials, promise=0.9, masks="model").sentence
    own = choose_level(trials, promise=0.9, masks="blanks of our own", held_out=False)
    assert "with blanks of our own" in own.sentence
    assert own.sentence.endswith("the model may know them.")
    lost = choose_level(Trials(LEVELS, np.ones_like(works), np.zeros_like(works)), promise=0.9)
    assert lost.message.code == "calibration.little"
    assert choose_level(Trials(LEVELS, np.zeros_like(works), works), promise=0.9).message.code == "calibration.nobody"
