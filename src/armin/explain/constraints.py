"""What each parameter may be: one table for every method, checked in ``fit`` and before every answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from armin.costs import as_cost
from armin.errors import ParameterError
from armin.promise.promise import Promise
from armin.sampling import NativeMissing, as_imputer, as_sampler
from armin.schema import Schema

__all__ = ["CONSTRAINTS", "check_parameters", "check_whole"]


@dataclass(frozen=True)
class Constraint:
    """A test, the rule in words that stands in a refusal ("must be ..."), and what to do instead."""

    holds: Callable[[Any], bool]
    rule: str
    hint: str = ""


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _whole(least: int, *, or_none: bool = False) -> Constraint:
    def holds(value: Any) -> bool:
        if value is None:
            return or_none
        return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least

    return Constraint(holds, f"a whole number of at least {least}{', or None' if or_none else ''}")


def _one_of(*choices: Any) -> Constraint:
    words = ", ".join(repr(choice) for choice in choices[:-1]) + f" or {choices[-1]!r}"
    return Constraint(lambda value: any(type(value) is type(c) and value == c for c in choices), f"one of {words}")


METHODS = ("auto", "search", "milo", "enumerate", "subsample", "blackbox")

CONSTRAINTS: Mapping[str, Constraint] = {
    "schema": Constraint(
        lambda value: isinstance(value, Schema), "a Schema", " Make one with armin.Schema.infer(X_train)."
    ),
    "threshold": Constraint(
        lambda value: value is None or (_number(value) and 0 < value <= 1), "a probability in (0, 1], or None"
    ),
    "margin": Constraint(lambda value: _number(value) and 0 <= value < 1, "a probability in [0, 1)"),
    "confidence": Constraint(
        lambda value: _number(value) and 0 < value <= 1,
        "in (0, 1]",
        " 0.75 asks that three of four plausible completions are accepted.",
    ),
    "decision": _one_of("auto", "complete", "blank", None),
    "reapply": _one_of("disclosed", "blank", "either"),
    "n_samples": _whole(1),
    "n_fresh": _whole(0),
    "max_changes": _whole(1, or_none=True),
    "max_options": _whole(2),
    "grid": _one_of("human", "paper", "published"),
    "method": Constraint(
        lambda value: callable(value) or value in METHODS,
        f"one of {', '.join(map(repr, METHODS))}, or a function from a problem to a solution",
    ),
    "solver": _one_of("highs", "gurobi"),
    "time_limit": Constraint(
        lambda value: value is None or (_number(value) and value > 0), "a positive number of seconds, or None"
    ),
    "random_state": _whole(0, or_none=True),
    "checks": Constraint(lambda value: isinstance(value, bool | np.bool_), "True or False"),
}
"""By the parameter's name, for every method that has it. What makes objects of its own (cost, sampler, imputer,
promise, desired) refuses by itself, with the choices that there are."""


def check_parameters(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse the first parameter that breaks its rule.

    >>> check_parameters("ARMIN", {"solver": "foo"})
    Traceback (most recent call last):
    armin.errors.ParameterError: The 'solver' parameter of ARMIN must be one of 'highs' or 'gurobi'. Got 'foo' instead.
    """
    for what, constraint in CONSTRAINTS.items():
        if what in parameters and not constraint.holds(parameters[what]):
            given = parameters[what]
            shown = repr(given) if what != "schema" else type(given).__name__
            raise ParameterError(
                f"The {what!r} parameter of {name} must be {constraint.rule}. Got {shown} instead.{constraint.hint}"
            )
    schema = parameters.get("schema")
    if schema is not None and not schema.actionable:
        raise ParameterError(
            f"Every feature of the schema is immutable, so {name} has nothing to suggest. "
            "Allow at least one feature to change."
        )
    if "cost" in parameters:
        as_cost(parameters["cost"])
    if "sampler" in parameters:
        sampler = parameters["sampler"]
        as_sampler(sampler.judge if isinstance(sampler, NativeMissing) else sampler)
    if "imputer" in parameters:
        as_imputer(parameters["imputer"])
    if "promise" in parameters:
        Promise.of(parameters["promise"])


def check_whole(owner: str, what: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    rule = _whole(least)
    if not rule.holds(value):
        raise ParameterError(f"The {what!r} parameter of {owner} must be {rule.rule}. Got {value!r} instead.")
