"""The exact search: the proven optimum over all candidates, one engine for each kind of model.

Engines are compiled at their first use on a machine and kept in a cache on disk.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from armin.models.kinds import LinearModel, ReluNetwork, TreeEnsemble
from armin.problem import PathPoint, Problem, Solution

__all__ = ["Callback", "search", "search_best", "search_path"]

Callback = Callable[[Solution], bool | None]
"""Called now and then with the best so far; returning False stops the search."""

_announced: set[str] = set()


def search(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> Solution:
    """Search for the cheapest choice, whatever the model.

    Parameters
    ----------
    problem : the problem
    time_limit : seconds, or None for no limit
    callback : called now and then with the best so far; returning False stops the search

    Examples
    --------
    >>> import numpy as np
    >>> from armin.models.kinds import Above, BlackBox
    >>> box = BlackBox(lambda rows: rows[:, 0] >= 3, n_inputs=1)
    >>> problem = Problem.from_tables([[1.0], [2.0]], {0: [0, 1, 2]}, {0: [0, 1, 2]}, box, required=2)
    >>> search(problem).choice
    (2,)
    """
    found: Solution = _engine(problem).one(problem, time_limit, callback)
    return found


def search_path(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> list[PathPoint]:
    """Search for every breakpoint of the cost-confidence curve; see :func:`armin.solve.path.solve_path`."""
    points: list[PathPoint] = _engine(problem).path(problem, time_limit, callback)
    return points


def search_best(problem: Problem, count: int, time_limit: float | None = None) -> list[Solution]:
    """Search for the cheapest choices that change different features; see :func:`armin.solve.best.solve_best`."""
    found: list[Solution] = _engine(problem).best(problem, count, time_limit)
    return found


class _Engine(NamedTuple):
    """The three questions that each engine answers."""

    one: Callable[..., Any]
    path: Callable[..., Any]
    best: Callable[..., Any]


def _engine(problem: Problem) -> _Engine:
    if isinstance(problem.model, LinearModel):
        from armin.solve.search.linear import best_linear, path_linear, search_linear

        _announce("linear models", "nodes.dive")
        return _Engine(search_linear, path_linear, best_linear)
    if isinstance(problem.model, ReluNetwork):
        from armin.solve.search.relu import search_relu, search_relu_best, search_relu_path

        _announce("networks", "loop.run")
        return _Engine(search_relu, search_relu_path, search_relu_best)
    if isinstance(problem.model, TreeEnsemble):
        from armin.solve.search.trees import best_trees, path_trees, search_trees

        _announce("trees", "nodes.explore")
        return _Engine(search_trees, path_trees, best_trees)
    from armin.solve.search.blackbox import search_black_box, search_black_box_best, search_black_box_path

    return _Engine(search_black_box, search_black_box_path, search_black_box_best)


def _announce(what: str, kernel: str) -> None:
    """Say once that compiling takes a while, unless there is compiled code on disk."""
    if what in _announced:
        return
    _announced.add(what)
    folder = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(folder)] if folder else [Path(__file__).parent, Path.home() / ".cache" / "numba"]
    if not any(next(place.rglob(f"{kernel}-*.nbi"), None) for place in places if place.is_dir()):
        logging.getLogger("armin").warning(
            "ARMIN compiles its search for %s now, once on this machine: this takes up to a minute.", what
        )
