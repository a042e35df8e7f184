"""The exact search: the proven optimum over all candidates, one driver over an engine for each kind of model.

Engines are compiled at their first use on a machine and kept in a cache on disk.
"""

from __future__ import annotations

from armin.models.kinds import BlackBox, LinearModel, ReluNetwork, ScoreMixture, TreeEnsemble
from armin.problem import PathPoint, Problem, Solution
from armin.solve.repeat import Differ, check_several, repeat
from armin.solve.search.drive import Drive, Engine, drive
from armin.solve.search.goals import FEW_CHOICES, Cheapest, Frontier, Several
from armin.solve.search.split import SplitEngine
from armin.solve.stopping import Callback, Until, uncounted

__all__ = ["search", "search_best", "search_path"]


def search(problem: Problem, time_limit: float | None = None, callback: Callback | None = None) -> Solution:
    """Search for the cheapest choice, whatever the model.

    Parameters
    ----------
    problem : the problem
    time_limit : seconds, or None for no limit
    callback : called now and then with the best so far; returning False stops the search

    Returns
    -------
    Solution
        Proved, or the best so far with a true bound where time, the callback or an interrupt stopped it.

    Examples
    --------
    >>> import numpy as np
    >>> from armin.models.kinds import Above, BlackBox
    >>> box = BlackBox(lambda rows: rows[:, 0] >= 3, n_inputs=1)
    >>> problem = Problem.from_tables([[1.0], [2.0]], {0: [0, 1, 2]}, {0: [0, 1, 2]}, box, required=2)
    >>> search(problem).choice
    (2,)
    """
    return drive(problem, Cheapest(problem), _engine, time_limit, callback).solution()


def search_path(
    problem: Problem,
    time_limit: float | None = None,
    callback: Callback | None = None,
    least: float | None = None,
    until: Until | None = None,
) -> list[PathPoint]:
    """Search for every breakpoint of the cost-confidence curve.

    Parameters
    ----------
    problem, time_limit, callback : as in :func:`search`; what the problem requires does not matter
    least : only requirements of this weight and more matter; all if None
    until : as in :func:`armin.solve.solve_path`

    Returns
    -------
    list of PathPoint
        As :func:`armin.solve.solve_path`. All carry the time and the nodes of the whole search.

    Examples
    --------
    >>> import numpy as np
    >>> from armin.models.kinds import Above, LinearModel
    >>> model = LinearModel(np.array([[1.0]]), np.array([-4.0]), Above(0.0))
    >>> problem = Problem.from_tables([[1.0], [2.0], [2.0]], {0: [0, 1, 2, 3]}, {0: [0, 1, 2, 3]}, model, required=1)
    >>> [(point.solution.cost, point.weight) for point in search_path(problem)]
    [(2.0, 2.0), (3.0, 3.0)]
    """
    goal, known, end = Frontier(problem, least), 0, False

    def enough(state: Drive) -> bool:
        nonlocal known, end
        points = [] if until is None else state.settled(goal)
        if until is not None and len(points) > known:
            known = len(points)
            with uncounted():  # what the caller does is not the search
                end = until(points)
        return end

    state = drive(problem, goal, _engine, time_limit, callback, enough=None if until is None else enough)
    return state.settled(goal) if end else state.points(goal)


def search_best(
    problem: Problem,
    count: int,
    time_limit: float | None = None,
    callback: Callback | None = None,
    differ: Differ = "sets",
) -> list[Solution]:
    """Search for the cheapest choices that differ, the cheapest first.

    Parameters
    ----------
    problem, time_limit, callback : as in :func:`search`
    count : how many
    differ : as in :func:`armin.solve.solve_best`

    Returns
    -------
    list of Solution
        If there are fewer, a last one without a choice says why: infeasible (there is no other) or unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from armin.models.kinds import Above, ReluNetwork
    >>> net = ReluNetwork((np.array([[1.0], [1.0]]), np.array([[1.0]])), (np.zeros(1), np.array([-6.0])), Above(0.0))
    >>> problem = Problem.from_tables(
    ...     [[2, 1], [3, 1]], {0: [0, 2, 4], 1: [0, 5]}, {0: [0, 1, 2], 1: [0, 1.5]}, net, required=2
    ... )
    >>> [(solution.choice, solution.cost) for solution in search_best(problem, 3)]
    [((0, 1), 1.5), ((2, 0), 2.0), ((1, 1), 2.5)]
    >>> [(s.choice, s.status.value) for s in search_best(problem, 3, differ="cores")]
    [((0, 1), 'optimal'), ((2, 0), 'optimal'), (None, 'infeasible')]
    """
    check_several(count, differ)
    if differ == "choices" or problem.sums:
        return repeat(problem, count, differ, lambda p, left: search(p, left, callback), time_limit)
    # asking a linear model about one more choice takes longer than finding the next one, where there are many
    cores, quick = differ == "cores", isinstance(problem.model, LinearModel) and problem.n_choices > FEW_CHOICES
    goal = Several(problem, count, cores, one_by_one=cores or quick)
    return drive(problem, goal, _engine, time_limit, callback).plans(goal)


def _engine(problem: Problem, apart: bool) -> Engine:
    """The engine for the problem's model; asking the model where a bound would need numbers and there are none."""
    engine: Engine | None = None
    if problem.sums and problem.blocks:
        engine = None  # neither way to cut a problem into parts knows the other's
    elif problem.sums:
        engine = SplitEngine(problem, _engine)
    elif problem.blocks and not isinstance(problem.model, BlackBox):
        with uncounted():
            from armin.solve.search.parts import PartsEngine
            from armin.solve.thin import ready

            ready()
        engine = PartsEngine(problem, apart, _engine)
    elif isinstance(problem.model, LinearModel):
        with uncounted():
            from armin.solve.search.linear.engine import start_linear

        engine = start_linear(problem, problem.model, apart)
    elif isinstance(problem.model, ReluNetwork):
        with uncounted():
            from armin.solve.search.relu.engine import start_relu

        engine = start_relu(problem, problem.model)
    elif isinstance(problem.model, TreeEnsemble):
        with uncounted():
            from armin.solve.search.trees.engine import start_trees

        engine = start_trees(problem, problem.model, apart)
    elif isinstance(problem.model, ScoreMixture):
        with uncounted():
            from armin.solve.search.mixed.engine import start_mixed

        engine = start_mixed(problem, problem.model, apart)
    if engine is None:
        from armin.solve.search.blackbox import BlackBoxEngine

        engine = BlackBoxEngine(problem)
    return engine
