"""The exact search: the proven optimum over all candidates, one engine for each kind of model.

Engines are compiled at their first use on a machine and kept in a cache on disk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from armin.models.kinds import LinearModel, ReluNetwork, TreeEnsemble
from armin.problem import Problem, Solution

__all__ = ["Callback", "search"]

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
    if isinstance(problem.model, LinearModel):
        from armin.solve.search.linear import search_linear

        _announce("linear models", "linear_nodes")
        return search_linear(problem, time_limit, callback)
    if isinstance(problem.model, ReluNetwork):
        from armin.solve.search.relu import search_relu

        _announce("networks", "relu_kernels")
        return search_relu(problem, time_limit, callback)
    if isinstance(problem.model, TreeEnsemble):
        from armin.solve.search.trees import search_trees

        _announce("trees", "trees_nodes")
        return search_trees(problem, time_limit, callback)
    from armin.solve.search.blackbox import search_black_box

    return search_black_box(problem, time_limit, callback)


def _announce(what: str, module: str) -> None:
    """Say once that compiling takes a while, unless there is compiled code on disk."""
    if what in _announced:
        return
    _announced.add(what)
    import os

    folder = os.environ.get("NUMBA_CACHE_DIR")
    places = [Path(folder)] if folder else [Path(__file__).parent / "__pycache__", Path.home() / ".cache" / "numba"]
    if not any(next(place.rglob(f"{module}.*.nbi"), None) for place in places if place.is_dir()):
        logging.getLogger("armin").warning(
            "ARMIN compiles its search for %s now, once on this machine: this takes up to a minute.", what
        )
