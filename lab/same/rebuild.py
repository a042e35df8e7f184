"""Frozen problems in the package's own problem language: the one file here that names what problems are made of."""

from __future__ import annotations

from functools import partial
from typing import Any

from armin.models.decide import AmongLinked
from armin.models.kinds import (
    Above,
    Among,
    BlackBox,
    Decision,
    LinearModel,
    Model,
    ReluNetwork,
    ScoreMixture,
    Term,
    TreeEnsemble,
)
from armin.models.maps import Map
from armin.problem import Block, JointTable, Options, PairRule, Problem, SumRule
from lab.same import plain

Form = dict[str, Any]


def problem_of(form: Form) -> Problem:
    """The problem that was frozen as ``form``."""
    return Problem(
        candidates=form["candidates"],
        options=tuple(Options(o["name"], o["columns"], o["outcomes"], o["costs"]) for o in form["options"]),
        model=model_of(form["model"]),
        required=form["required"],
        weights=form["weights"],
        max_changes=form["max_changes"],
        aggregate=form["aggregate"],
        rules=tuple(PairRule(rule["first"], rule["second"], rule["allowed"]) for rule in form["rules"]),
        sums=tuple(SumRule(tuple(rule["features"]), tuple(rule["parts"]), rule["most"]) for rule in form["sums"]),
        forbidden=frozenset(map(tuple, form["forbidden"])),
        forbidden_sets=frozenset(map(frozenset, form["forbidden_sets"])),
        forbidden_cores=frozenset(map(frozenset, form["forbidden_cores"])),
        blocks=tuple(Block(tuple(b["members"]), b["columns"], JointTable(b["table"])) for b in form["blocks"]),
    )


def model_of(form: Form) -> Model:
    """The model of a frozen problem."""
    if form["kind"] == "blackbox":
        return BlackBox(partial(plain.accepts, form["inside"]), form["n_inputs"])
    if form["kind"] == "mixture":
        terms = tuple(_term_of(term) for term in form["terms"])
        return ScoreMixture(terms, form["cut"], form["near"], partial(plain.verdict, form), form["n_inputs"])
    decision = _decision_of(form["decision"])
    if form["kind"] == "linear":
        return LinearModel(form["weights"], form["intercept"], decision)
    if form["kind"] == "relu":
        return ReluNetwork(tuple(form["weights"]), tuple(form["biases"]), decision)
    given = {name: value for name, value in form.items() if name not in ("kind", "decision")}
    return TreeEnsemble(decision=decision, **given)


def _decision_of(form: Form) -> Decision:
    if form["kind"] == "above":
        return Above(form["cut"])
    accepted, outputs = tuple(form["accepted"]), form["outputs"]
    if form["kind"] == "quarters":
        return AmongLinked(accepted, outputs, partial(plain.quarters, accepted), form["near"])
    return Among(accepted, outputs)


def _term_of(form: Form) -> Term:
    model = model_of(form["model"])
    assert isinstance(model, LinearModel | TreeEnsemble)  # noqa: S101  no other was frozen
    return Term(model, form["coefficients"], tuple(_map_of(each) for each in form["maps"]), form["columns"])


def _map_of(form: Form) -> Map:
    if form["kind"] == "step":
        return Map.step(form["shift"])
    if form["kind"] == "table":
        return Map.table(form["xs"], form["ys"])
    return {"line": Map.line, "logistic": Map.logistic}[form["kind"]](form["slope"], form["shift"])
