"""The ways to solve one problem exactly, and how "auto" picks one."""

from __future__ import annotations

from collections.abc import Callable

from armin.errors import ParameterError
from armin.models.kinds import LinearModel, Model, ReluNetwork, ScoreMixture, TreeEnsemble
from armin.problem import Problem, Solution
from armin.solve.stopping import Callback

__all__ = ["EXACT", "Method", "check_time_limit", "listing_is_quick", "picked"]

FEW_STEPS = 200_000
"""Up to this many steps, "auto" lists all choices: for each of them, the model's inputs, and the size of the model for
each candidate."""


def check_time_limit(time_limit: float | None) -> None:
    """Raise unless this is a time limit."""
    if time_limit is not None and not time_limit > 0:
        raise ParameterError(f"The 'time_limit' must be a positive number of seconds, or None. Got {time_limit!r}.")


Method = Callable[[Problem, str, float | None, Callback | None], Solution]


def _auto(problem: Problem, solver: str, time_limit: float | None, callback: Callback | None) -> Solution:
    return EXACT[picked(problem, "auto")](problem, solver, time_limit, callback)


def picked(problem: Problem, method: str) -> str:
    """The method that "auto" stands for; others stand for themselves.

    A sum is a row of a program, and programs bound linear models well: there a search that must split is slower.
    """
    if method != "auto":
        return method
    if listing_is_quick(problem):
        return "enumerate"
    return "milo" if problem.sums and not problem.blocks and isinstance(problem.model, LinearModel) else "search"


def listing_is_quick(problem: Problem) -> bool:
    """Whether brute force takes a few milliseconds, so that nothing needs to be compiled."""
    model = problem.model
    each = model.n_inputs + problem.n_candidates * _size(model)
    sizes = [option.size - 1 for option in problem.options]
    # most problems have too many choices with two changes, which is seen sooner than how many there are in all
    if problem.limit > 1 and (sum(sizes) ** 2 - sum(size * size for size in sizes)) // 2 * each > FEW_STEPS:
        return False
    return problem.n_choices * each <= FEW_STEPS


def _size(model: Model) -> int:
    """About how many steps one row takes."""
    if isinstance(model, TreeEnsemble):
        return model.n_trees
    if isinstance(model, ReluNetwork):
        return sum(bias.size for bias in model.biases)
    return sum(_size(term.model) for term in model.terms) if isinstance(model, ScoreMixture) else 1


def _search(problem: Problem, solver: str, time_limit: float | None, callback: Callback | None) -> Solution:
    from armin.solve.search import search

    return search(problem, time_limit, callback)


def _enumerate(problem: Problem, solver: str, time_limit: float | None, callback: Callback | None) -> Solution:
    from armin.solve.enumerate import solve_by_enumeration

    return solve_by_enumeration(problem, time_limit, callback)


def _milo(problem: Problem, solver: str, time_limit: float | None, callback: Callback | None) -> Solution:
    from armin.solve.milo import solve_by_milo

    return solve_by_milo(problem, solver, time_limit, callback=callback)


EXACT: dict[str, Method] = {"auto": _auto, "search": _search, "enumerate": _enumerate, "milo": _milo}
"""The exact methods by name: functions of problem, solver, time limit and callback, which import what they need."""
