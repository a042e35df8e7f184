"""The tools for maintainers: what they store comes back, what they compare is told apart, what they count is so."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from hard import HARD_KINDS, hard_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import KINDS

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from lab.same import differ, plain  # noqa: E402
from lab.same.freeze import form_of  # noqa: E402
from lab.same.frozen_answers import FROZEN, frozen_answers  # noqa: E402
from lab.same.problems import answer  # noqa: E402
from lab.same.rebuild import problem_of  # noqa: E402
from lab.same.store import read, write  # noqa: E402
from lab.walk import imports, longest_chain, public_names  # noqa: E402


@settings(deadline=None, max_examples=60)
@given(kind=st.sampled_from(HARD_KINDS), seed=st.integers(0, 2**32 - 1))
def test_a_stored_problem_is_the_same_problem(tmp_path_factory, kind, seed):
    rng = np.random.default_rng(seed)
    problem = hard_problem(rng, kind)
    folder = tmp_path_factory.mktemp("stored")
    write(folder, "one", [form_of(problem)])
    (form,) = read(folder, "one")
    assert as_text(form) == as_text(form_of(problem))
    again = problem_of(form)
    assert (again.required, again.max_changes) == (problem.required, problem.max_changes)
    for _ in range(5):
        choice = tuple(int(rng.integers(option.size)) for option in problem.options)
        assert again.inputs(choice).tobytes() == problem.inputs(choice).tobytes()
        assert again.cost(choice) == problem.cost(choice)
        assert again.allows(choice) == problem.allows(choice)
        with np.errstate(all="ignore"):
            if kind != "mixture":  # whose verdict near the cut is another one
                assert again.accepted(choice).tolist() == problem.accepted(choice).tolist()


def as_text(form) -> str:
    return json.dumps(form, default=lambda array: [array.dtype.name, array.tolist()])


@settings(deadline=None, max_examples=60)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1))
def test_plain_models_decide_as_those_of_the_package(kind, seed):
    problem = hard_problem(np.random.default_rng(seed), kind)
    inputs = problem.candidates
    with np.errstate(all="ignore"):
        found = plain.accepts(form_of(problem)["model"], inputs)
        assert found.tolist() == problem.model.settles(inputs).tolist()


def test_a_sample_of_the_frozen_problems_is_answered_as_before():
    expected, seen = frozen_answers(), 0
    for number, form in enumerate(read(FROZEN, "problems")):
        if number % 100 or form["name"].startswith("large"):
            continue
        problem = problem_of(form)
        for question in form["questions"]:
            name = f"{form['name']} {' '.join(map(str, question))}"
            assert not [each for each in differ.compare("problems", {name: expected[name]},
                        {name: answer(problem, question)}) if each.kind == "differs"]  # fmt: skip
            seen += 1
    assert seen > 80
    assert len(expected) == 11_501


def plan(cost, choice, status="optimal"):
    return {"status": status, "cost": cost, "choice": choice, "bound": cost}


@pytest.mark.parametrize(
    ("before", "after", "kinds"),
    [
        (plan(1.0, [0, 1]), plan(1.0, [0, 1]), []),
        (plan(1.0, [0, 1]), plan(1.0, [1, 0]), ["tie", "tie"]),
        (plan(1.0, [0, 1]), plan(1.0 + 2**-52, [0, 1]), ["differs", "differs"]),
        (plan(1.0, [0, 1]), plan(1.0, [0, 1], "feasible"), ["differs"]),
        ([plan(1.0, [1]), plan(2.0, [2])], [plan(1.0, [2]), plan(3.0, [1])], ["tie", "tie", "tie", "tie"]),
        ([plan(1.0, [1])], [plan(1.0, [1]), plan(2.0, [2])], ["differs"]),
        ({"html": "a"}, "(nothing)", ["differs"]),
    ],
)
def test_what_differs_and_what_is_tied(before, after, kinds):
    found = [each.kind for each in differ.compare("part", {"name": before}, {"name": after})]
    assert found == kinds


def test_a_wanted_difference_has_its_reason(tmp_path):
    file = tmp_path / "reasons.toml"
    file.write_text('[[accepted]]\nname = "part hard-*"\nfield = "cost"\nreason = "rounded"\n', encoding="utf-8")
    before = {"hard-1": plan(1.0, [1]), "plain-1": plan(1.0, [1])}
    after = {"hard-1": plan(2.0, [1]), "plain-1": plan(2.0, [1])}
    found = list(differ.compare("part", before, after, differ.read_reasons(file)))
    assert [(each.name, each.field, each.kind) for each in found] == [
        ("hard-1", "cost", "accepted"), ("hard-1", "bound", "differs"),
        ("plain-1", "cost", "differs"), ("plain-1", "bound", "differs"),
    ]  # fmt: skip
    assert "rounded" in str(found[0])
    assert differ.read_reasons(tmp_path / "absent.toml") == []


def test_imports_for_types_and_inside_functions_are_no_links_of_a_chain(tmp_path):
    known = {name: tmp_path / f"{name}.py" for name in ("a", "b", "c", "d", "e")}
    known["a"].write_text(
        "from typing import TYPE_CHECKING\nimport b\nif TYPE_CHECKING:\n    import c\n"
        "try:\n    import e\nexcept ImportError:\n    pass\ndef f():\n    import d\n"
    )
    known["b"].write_text("import e\n")
    for name in ("c", "d"):
        known[name].write_text("import b\n")
    known["e"].write_text("")
    assert imports("a", known["a"], known) == {"b", "e"}
    assert imports("a", known["a"], known, every=True) == {"b", "c", "d", "e"}
    assert longest_chain({name: imports(name, file, known) for name, file in known.items()}) == ["a", "b", "e"]
    assert len(longest_chain({"a": {"b"}, "b": {"a", "c"}, "c": set()})) == 3


def test_public_names():
    import ast

    tree = ast.parse("class A:\n    def b(self): ...\n    def _c(self): ...\ndef _d(): ...\ndef e(): ...\n")
    assert public_names("m", tree) == {"m.A", "m.A.b", "m.e"}
    assert public_names("_m", tree) == set()
