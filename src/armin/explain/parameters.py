"""The parameters of all methods: each once, with its default and what it may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import Any, Literal, Self

import numpy as np

from armin.actions import GRIDS, Grid
from armin.costs import Cost, as_cost
from armin.errors import ParameterError
from armin.problem import Problem, Solution
from armin.promise.promise import Promise
from armin.sampling import NativeMissing, Sampler, as_imputer, as_sampler
from armin.schema import Schema

__all__ = [
    "AnswerParameters", "Decision", "ExpertOptions", "Parameters", "Reapply", "all_parameters", "check_parameters",
    "check_whole", "constraints", "parameter_names", "positive_share", "with_options",
]  # fmt: skip

Decision = Literal["auto", "complete", "blank"] | None
"""What has been decided about the person: see :class:`armin.ARMIN`."""
Reapply = Literal["disclosed", "blank", "either"]
"""Who judges afterwards: see :class:`armin.ARMIN`."""


@dataclass(frozen=True)
class Constraint:
    """A test, the rule in words that stands in a refusal ("must be ..."), and what to do instead."""

    holds: Callable[[Any], bool]
    rule: str
    hint: str = ""


def _must(holds: Callable[[Any], bool], rule: str, hint: str = "") -> dict[str, Constraint]:
    """A constraint as a field's metadata."""
    return {"constraint": Constraint(holds, rule, hint)}


def _number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _whole(least: int, *, or_none: bool = False) -> dict[str, Constraint]:
    def holds(value: Any) -> bool:
        if value is None:
            return or_none
        return isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) >= least

    return _must(holds, f"a whole number of at least {least}{', or None' if or_none else ''}")


def _one_of(*choices: Any) -> dict[str, Constraint]:
    words = ", ".join(repr(choice) for choice in choices[:-1]) + f" or {choices[-1]!r}"
    return _must(lambda value: any(type(value) is type(c) and value == c for c in choices), f"one of {words}")


def positive_share() -> dict[str, Constraint]:
    """The constraint of a confidence."""
    return _must(
        lambda value: _number(value) and 0 < value <= 1, "in (0, 1]",
        " 0.75 asks that three of four plausible completions are accepted.",
    )  # fmt: skip


METHODS = ("auto", "search", "milo", "enumerate", "subsample", "blackbox")


@dataclass(frozen=True)
class ExpertOptions:
    """What few need to set: how many completions are drawn, which changes are listed, and how plans are found.

    Parameters
    ----------
    margin : a safety distance: ask for this much more probability than the decision needs
    n_samples : how many completions to draw; not for ImputationAR, which has one
    n_fresh : how many fresh completions to judge the action by; 0 for none
    checks : raise the demand on the drawn completions until fresh ones agree with the confidence as well; needs
        ``n_fresh``. Only ARMIN does so
    max_options : at most this many options per number, where these are listed
    grid : "exact" for the cheapest of all values that the schema allows, as far as the model lets that be known;
        "human" for a list of round numbers, "paper" for equal steps from the person's value, "published" for equal
        steps from the lower bound
    tolerance : on the exact grid, by how much of the proved minimum a plan with rounder numbers may exceed it
    method : "auto", "search", "milo", "enumerate", "subsample" (the paper's heuristic), "blackbox", or a function from
        a problem to a solution
    solver : "highs" or "gurobi", where a MILO is solved
    time_limit : seconds of search for one answer, whatever is solved on the way; None for no limit

    Examples
    --------
    >>> ExpertOptions(n_samples=200, time_limit=10.0).n_samples
    200
    """

    margin: float = field(default=0.0, metadata=_must(lambda v: _number(v) and 0 <= v < 1, "a probability in [0, 1)"))
    n_samples: int = field(default=100, metadata=_whole(1))
    n_fresh: int = field(default=1000, metadata=_whole(0))
    checks: bool = field(default=True, metadata=_must(lambda v: isinstance(v, bool | np.bool_), "True or False"))
    max_options: int = field(default=100, metadata=_whole(2))
    grid: Grid = field(default="exact", metadata=_one_of(*GRIDS))
    tolerance: float = field(
        default=0.01, metadata=_must(lambda v: _number(v) and 0 <= v <= 1, "in [0, 1]", " 0.01 is one percent.")
    )
    method: str | Callable[[Problem], Solution] = field(
        default="auto",
        metadata=_must(
            lambda v: callable(v) or v in METHODS,
            f"one of {', '.join(map(repr, METHODS))}, or a function from a problem to a solution",
        ),
    )
    solver: Literal["highs", "gurobi"] = field(default="highs", metadata=_one_of("highs", "gurobi"))
    time_limit: float | None = field(
        default=60.0,
        metadata=_must(lambda v: v is None or (_number(v) and v > 0), "a positive number of seconds, or None"),
    )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The options by name, as scikit-learn asks for them; ``explainer.set_params(options__time_limit=5)`` "
        "sets one.
        """
        return {one.name: getattr(self, one.name) for one in fields(self)}

    def __sklearn_clone__(self) -> Self:
        return self  # nothing in it changes


def with_options(options: ExpertOptions, changed: Mapping[str, Any]) -> ExpertOptions:
    """The options with some others.

    >>> with_options(ExpertOptions(), {"time": 5})
    Traceback (most recent call last):
    armin.errors.ParameterError: ExpertOptions has no option 'time'. It has margin, n_samples, n_fresh, checks, \
max_options, grid, tolerance, method, solver, time_limit.
    """
    known = [one.name for one in fields(ExpertOptions)]
    for name in changed:
        if name not in known:
            raise ParameterError(f"ExpertOptions has no option {name!r}. It has {', '.join(known)}.")
    return replace(options, **changed) if changed else options


@dataclass(eq=False, repr=False)
class AnswerParameters:
    """The parameters that may vary from answer to answer without learning anything again."""

    _: KW_ONLY
    decision: Decision = field(default="auto", metadata=_one_of("auto", "complete", "blank", None))
    reapply: Reapply = field(default="disclosed", metadata=_one_of("disclosed", "blank", "either"))
    max_changes: int | None = field(default=4, metadata=_whole(1, or_none=True))
    random_state: int | None = field(default=0, metadata=_whole(0, or_none=True))
    options: ExpertOptions = field(
        default=ExpertOptions(),
        metadata=_must(
            lambda v: isinstance(v, ExpertOptions), "an ExpertOptions", " Such as options=ExpertOptions(time_limit=5)."
        ),
    )


@dataclass(eq=False, repr=False)
class Parameters(AnswerParameters):
    """The parameters that all methods have; :class:`armin.ARMIN` describes them."""

    classifier: Any
    schema: Schema = field(
        metadata=_must(lambda v: isinstance(v, Schema), "a Schema", " Make one with armin.Schema.infer(X_train).")
    )
    _: KW_ONLY
    desired: Any
    threshold: float | None = field(
        default=None,
        metadata=_must(lambda v: v is None or (_number(v) and 0 < v <= 1), "a probability in (0, 1], or None"),
    )
    cost: str | Cost | Callable[..., float] = "tlps"
    sampler: str | Sampler | NativeMissing | Callable[..., Any] = "chained"


def parameter_names(method: type[Parameters]) -> list[str]:
    """All parameters of a method, the experts' options among them."""
    front = [one.name for one in fields(method) if one.name != "options"]
    return [*front, *(one.name for one in fields(ExpertOptions))]


def all_parameters(explainer: Parameters) -> dict[str, Any]:
    """The values of all parameters, the experts' options among them."""
    front = {one.name: getattr(explainer, one.name) for one in fields(explainer) if one.name != "options"}
    return front | explainer.options.get_params()


def constraints(method: type[Parameters]) -> Mapping[str, Constraint]:
    """What the parameters of a method may be, by name; what makes objects of its own (cost, sampler, imputer, promise,
    desired) refuses by itself, with the choices that there are.
    """
    every = (*fields(method), *fields(ExpertOptions))
    return {one.name: one.metadata["constraint"] for one in every if "constraint" in one.metadata}


def check_parameters(method: type[Parameters], given: Mapping[str, Any]) -> None:
    """Refuse the first parameter that breaks its rule.

    >>> from armin import ARMIN
    >>> check_parameters(ARMIN, {"solver": "foo"})
    Traceback (most recent call last):
    armin.errors.ParameterError: The 'solver' parameter of ARMIN must be one of 'highs' or 'gurobi'. Got 'foo' instead.
    """
    name = method.__name__
    for what, constraint in constraints(method).items():
        if what in given and not constraint.holds(given[what]):
            shown = type(given[what]).__name__ if what == "schema" else repr(given[what])
            raise ParameterError(
                f"The {what!r} parameter of {name} must be {constraint.rule}. Got {shown} instead.{constraint.hint}"
            )
    schema = given.get("schema")
    if schema is not None and not schema.actionable:
        raise ParameterError(
            f"Every feature of the schema is immutable, so {name} has nothing to suggest. "
            "Allow at least one feature to change."
        )
    if "cost" in given:
        as_cost(given["cost"])
    if "sampler" in given:
        sampler = given["sampler"]
        as_sampler(sampler.judge if isinstance(sampler, NativeMissing) else sampler)
    if "imputer" in given:
        as_imputer(given["imputer"])
    if "promise" in given:
        Promise.of(given["promise"])


def check_whole(owner: str, what: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    rule = _whole(least)["constraint"]
    if not rule.holds(value):
        raise ParameterError(f"The {what!r} parameter of {owner} must be {rule.rule}. Got {value!r} instead.")
