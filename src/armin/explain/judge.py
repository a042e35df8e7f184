"""Step three: solve, and let the user's own model have the last word."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import AuditError
from armin.explain.draw import Sample
from armin.explain.fitted import Fitted
from armin.explain.memory import SurrogateJudge, accepted_by_all
from armin.explain.state import demand
from armin.explain.verify import SurrogateMismatch
from armin.explain.world import World
from armin.problem import Choice, PathPoint, Problem, Solution, Status
from armin.problem.stated import Stated
from armin.solve.stopping import Callback, stopped

__all__ = [
    "Judged", "at_level", "judge", "judge_choices", "judge_path",
    "judge_until_fresh", "no_point",
]  # fmt: skip

MOST_REPAIRS = 50
"""How often an action that the user's own model refuses is replaced by the next best before giving up."""

WATCH_SHARE, PATH_SHARE, STEP_SHARE = 0.5, 0.75, 0.5
"""Of the time that is left: what a search may take before fresh completions look at what it has found; what the path
may take; and each search for a higher demand."""

LEAST_STEP = 0.02
"""From one demand to the next, as a share of the completions."""


@dataclass(frozen=True, eq=False)
class Judged:
    """A solution, and the user's own model about it.

    Attributes
    ----------
    solution : what the solver found
    accepted : for which of the problem's candidates the model accepts it
    fresh : for which of other completions all that must be accepted is, if there were any
    row : whether the model accepts the row as it is submitted after the action, blanks and all, whatever the person
        then gives; None if it takes no blanks
    demand : the weight that was asked of the candidates
    works : for which completions all that must be accepted is; empty without an action
    """

    solution: Solution
    accepted: BoolArray
    fresh: BoolArray | None = None
    row: bool | None = None
    demand: float = 0.0
    works: BoolArray = field(default_factory=lambda: np.zeros(0, dtype=bool))


def judge(
    fitted: Fitted,
    world: World,
    stated: Stated,
    problem: Problem,
    fresh: Sample | None = None,
    *,
    drawn: bool = False,
    callback: Callback | None = None,
) -> Judged:
    """Solve, and let the user's own model judge; an action that it refuses is replaced by the next best.

    Parameters
    ----------
    fitted, world, stated : the row, and what is known about it
    problem : what is asked of it
    fresh : other completions to judge the action by
    drawn : whether the candidates were drawn as rejected; if the surrogate did that, the model is asked too
    callback : called now and then with the best so far; returning False stops the search

    Raises
    ------
    SurrogateMismatch
        If the model disagrees with its surrogate about a candidate or the row as it stands.
    """
    spent = 0.0
    for _ in range(MOST_REPAIRS):
        known = stated.solved if problem is stated.problem else None
        if known is not None and known.status is Status.OPTIMAL:
            solution = known
        else:
            solution = fitted.settings.solving(problem, callback)
        spent += solution.seconds
        if solution.choice is None:
            nobody = np.zeros(problem.n_candidates, dtype=bool)
            return Judged(replace(solution, seconds=spent), nobody, demand=problem.required)
        found = judge_choices(fitted, world, stated, [solution], fresh, drawn=drawn)[0]
        if problem.enough(float(problem.weights[found.accepted].sum())):
            return replace(found, solution=replace(solution, seconds=spent), demand=problem.required)
        problem = problem.excluding(solution.choice)
    raise AuditError(
        f"The classifier refused {MOST_REPAIRS} actions in a row that it accepts when read as arrays. "
        "Please report this with the model; ExpertOptions(method='blackbox') asks the classifier itself."
    )


def judge_until_fresh(
    fitted: Fitted, world: World, stated: Stated, fresh: Sample | None, level: float, *, drawn: bool = False
) -> Judged:
    """Like :func:`judge`, but with a demand that rises until fresh completions agree with ``level`` as well.

    The completions that chose a plan flatter it: of many plans that are about good enough, the one that they happen to
    favour wins. Fresh completions do not know which plan was chosen. Where they fall short of ``level``, the path holds
    the cheapest plan for every higher demand; the cheapest of these that fresh completions confirm is the answer. Where
    time is too short for the path, plans for higher demands are looked for without proof. If none is confirmed, the
    answer is the surest.
    """
    start = time.perf_counter()
    if fresh is None or not fitted.settings.options.checks:
        return judge(fitted, world, stated, stated.problem, fresh, drawn=drawn)
    watch = _Watch(fitted, world, stated, fresh, level)
    found = judge(fitted, world, stated, stated.problem, fresh, drawn=drawn, callback=watch)
    if found.fresh is None or _confirms(fresh, found, level):
        return found
    if found.solution.status is Status.OPTIMAL:
        points = _until_sure(fitted, world, stated, found, fresh, level)
    else:  # where one plan takes too long to prove, a path of them does
        points = watch.confirmed or _demanding_more(fitted, world, stated, found, fresh, level)
    problem = stated.problem
    sure = [found, *(point for point in points if problem.enough(float(problem.weights[point.accepted].sum())))]
    sure.sort(key=lambda point: point.solution.cost or 0.0)
    shares = [0.0 if point.fresh is None else _share(fresh, point.fresh) for point in sure]
    best = next((i for i, share in enumerate(shares) if share >= level - 1e-9), int(np.argmax(shares)))
    return replace(sure[best], solution=replace(sure[best].solution, seconds=time.perf_counter() - start))


class _Watch:
    """Looks at what a search has found once part of the time is gone, and ends it where fresh completions disagree.

    So that there is time left to look for a plan that they confirm. Where they agree, the search goes on.

    Attributes
    ----------
    confirmed : plans with which fresh completions agreed
    """

    def __init__(self, fitted: Fitted, world: World, stated: Stated, fresh: Sample, level: float) -> None:
        self.about, self.fresh, self.level = (fitted, world, stated), fresh, level
        self.patience = WATCH_SHARE * fitted.settings.solving.left
        self.confirmed: list[Judged] = []
        self.seen: Choice | None = None

    def __call__(self, solution: Solution) -> bool:
        if solution.choice is None or solution.choice == self.seen or solution.seconds < self.patience:
            return True
        self.seen, problem = solution.choice, self.about[2].problem
        one = judge_choices(*self.about, [solution], self.fresh)[0]
        if not problem.enough(float(problem.weights[one.accepted].sum())):
            return True  # the model refuses it, which is seen to when the search has ended
        if not _confirms(self.fresh, one, self.level):
            return False
        self.confirmed.append(replace(one, demand=problem.required))
        return True


def _demanding_more(
    fitted: Fitted, world: World, stated: Stated, first: Judged, fresh: Sample, level: float
) -> list[Judged]:
    """Plans for rising demands, until fresh completions confirm one or time is up; that they are cheapest is not known.

    Each demand is as much higher than the one before as the plan fell short of ``level``.
    """
    solving, found = fitted.settings.solving, list[Judged]()
    total = float(stated.weights.sum())
    asked, bound, last = max(level, (first.demand - stated.base) / total), first.solution.bound, first
    while last.fresh is not None and not _confirms(fresh, last, level):
        short = level - _share(fresh, last.fresh)
        if asked >= 1.0 or solving.used_up or stopped():
            break
        asked = min(1.0, asked + max(short, LEAST_STEP))
        one = fitted.varied(solving=solving.sharing(STEP_SHARE))
        watch = _Watch(one, world, stated, fresh, level)
        last = judge(one, world, stated, stated.problem.demanding(demand(stated, asked)), fresh, callback=watch)
        found += watch.confirmed
        if last.solution.choice is not None:
            found.append(last)
    return [_unproved(one, bound) for one in found]


def _unproved(one: Judged, bound: float) -> Judged:
    """What is the cheapest for a higher demand may not be for the one that was made."""
    solution = one.solution
    return replace(one, solution=replace(solution, status=Status.FEASIBLE, bound=min(bound, solution.cost or 0.0)))


class _Rising:
    """The points of a path, judged from the cheapest on until fresh completions confirm one; ``first`` is known.

    Attributes
    ----------
    judged : the points so far
    refused : whether the model refused one, so that the whole path is needed
    """

    def __init__(
        self, fitted: Fitted, world: World, stated: Stated, first: Judged, fresh: Sample, level: float
    ) -> None:
        self.about = (fitted, world, stated)
        self.first, self.fresh, self.level = first, fresh, level
        self.judged: list[Judged] = []
        self.refused = False

    def confirmed(self, points: Sequence[PathPoint]) -> bool:
        """Whether fresh completions confirm one of the first points of the path; those that are new are judged.

        Those that cost more have no say then. Each batch is twice as large as the one before, so that the model is
        asked few times.
        """
        problem, judged = self.about[2].problem, self.judged
        costs = [point.solution.cost or 0.0 for point in points]
        self.refused = self.refused or any(after <= before for before, after in pairwise(costs))
        while len(judged) < len(points) and not self.refused:
            batch = points[len(judged) : 2 * len(judged) + 1]
            if batch[0].solution.choice == self.first.solution.choice:
                verdicts = [replace(self.first, solution=batch[0].solution)]
            else:
                verdicts = judge_choices(*self.about, [point.solution for point in batch], self.fresh)
            for point, one in zip(batch, verdicts, strict=False):
                if not problem.demanding(point.weight).enough(float(problem.weights[one.accepted].sum())):
                    self.refused = True
                    return False
                judged.append(replace(one, demand=point.weight))
            if self._is_confirmed:
                return True
        return not self.refused and self._is_confirmed

    @property
    def _is_confirmed(self) -> bool:
        kept = _increasing(self.about[2].problem, self.judged)
        return any(_confirms(self.fresh, one, self.level) for one in kept)


def _until_sure(
    fitted: Fitted, world: World, stated: Stated, first: Judged, fresh: Sample, level: float
) -> list[Judged]:
    """The path from its cheapest point on, until fresh completions confirm one: what costs more is not searched for."""
    rising, problem = _Rising(fitted, world, stated, first, fresh, level), stated.problem
    path = fitted.settings.solving.sharing(PATH_SHARE).path(problem, problem.required, rising.confirmed)
    points = [point for point in path if point.solution.choice is not None]
    sure = rising.confirmed(points)
    if rising.refused:
        found = _repaired(fitted, world, stated, points, fresh)
        sure = any(_confirms(fresh, point, level) for point in found)
    else:
        found = _increasing(problem, rising.judged)
    if sure or path[-1].solution.status is not Status.UNKNOWN:
        return found
    return [*found, *_demanding_more(fitted, world, stated, found[-1] if found else first, fresh, level)]


def judge_path(
    fitted: Fitted, world: World, stated: Stated, fresh: Sample | None = None, *, drawn: bool = False
) -> tuple[list[Judged], Status]:
    """Every point of a row's path that buys more confidence for more cost, and why the path ends.

    Points that the user's own model refuses are repaired.
    """
    least = stated.base + float(stated.problem.weights.min())
    found = fitted.settings.solving.path(stated.problem, least)
    last = found[-1].solution.status
    end = last if last in (Status.INFEASIBLE, Status.UNKNOWN) else Status.OPTIMAL
    return _repaired(fitted, world, stated, found, fresh, drawn=drawn), end


def _repaired(
    fitted: Fitted,
    world: World,
    stated: Stated,
    path: Sequence[PathPoint],
    fresh: Sample | None,
    *,
    drawn: bool = False,
) -> list[Judged]:
    """The points of a path as the user's own model judges them; those that it refuses are replaced by the next best."""
    points = [point for point in path if point.solution.choice is not None]
    verdicts = judge_choices(fitted, world, stated, [point.solution for point in points], fresh, drawn=drawn)
    judged = []
    for point, verdict in zip(points, verdicts, strict=True):
        problem = stated.problem.demanding(point.weight)
        if problem.enough(float(problem.weights[verdict.accepted].sum())):
            judged.append(replace(verdict, demand=point.weight))
            continue
        assert point.solution.choice is not None  # noqa: S101  points without one were left out
        repaired = judge(fitted, world, stated, problem.excluding(point.solution.choice), fresh)
        if repaired.solution.choice is not None:
            judged.append(repaired)
    return _increasing(stated.problem, judged)


def at_level(stated: Stated, judged: Sequence[Judged], level: float) -> Judged | None:
    """The cheapest point of a path that reaches a level; None if none does."""
    needed = stated.problem.demanding(demand(stated, level))
    for point in judged:
        if needed.enough(float(stated.problem.weights[point.accepted].sum())):
            return point
    return None


def judge_choices(
    fitted: Fitted,
    world: World,
    stated: Stated,
    solutions: Sequence[Solution],
    fresh: Sample | None = None,
    *,
    drawn: bool = False,
) -> list[Judged]:
    """What the user's own model says about actions, in as few calls as can be.

    Completions are asked about together. Rows with blanks are asked about apart from them, so that a column keeps the
    type that it has in training data where nothing is blank. A solution without a choice is left out.
    """
    solutions = [solution for solution in solutions if solution.choice is not None]
    choices = [solution.choice for solution in solutions if solution.choice is not None]
    if not choices:
        return []
    completed = _completed(fitted, stated, choices, fresh, drawn=drawn)
    rows = _submitted(fitted, world, stated, choices, fresh)
    found = []
    for solution, (whole, others), (blank, other_blanks) in zip(solutions, completed, rows, strict=True):
        row = None if blank is None else bool(blank[len(stated.forms) :].all())
        accepted = [] if whole is None else [whole]
        works = [] if whole is None else [whole]
        if stated.asks_row and blank is not None:
            accepted.append(blank[: len(stated.forms)])
            works.append(np.broadcast_to(blank[len(stated.forms) :], stated.weights.shape))
        confirmed = None
        if fresh is not None:
            each = [part for part in (others, other_blanks) if part is not None]
            confirmed = np.logical_and.reduce([np.broadcast_to(part, fresh.weights.shape) for part in each])
        found.append(Judged(solution, np.concatenate(accepted), confirmed, row, works=np.logical_and.reduce(works)))
    return found


Verdicts = list[tuple[BoolArray | None, BoolArray | None]]
"""For each action: which of the problem's candidates the model accepts, and which of the fresh completions."""


def _completed(
    fitted: Fitted, stated: Stated, choices: Sequence[Choice], fresh: Sample | None, *, drawn: bool
) -> Verdicts:
    """Which completions the model accepts after each action; Nones where they do not count."""
    surrogate, n = fitted.surrogate, stated.candidates.shape[0]
    asked = choices if stated.asks_completions else ()
    after = [stated.grid.apply(choice, stated.candidates) for choice in asked]
    if surrogate is None:
        others = [] if fresh is None else [stated.grid.apply_to_others(choice, fresh.values) for choice in asked]
        verdicts = accepted_by_all(fitted.oracle, [*after, *others, *([stated.candidates] if drawn else [])])
        if drawn and verdicts.pop().any():
            raise SurrogateMismatch
    else:
        # the surrogate has seen the candidates: as they are, where it drew them, and after each option
        inputs = [stated.problem.inputs(choice)[:n] for choice in asked]
        verdicts = [surrogate.said(rows, known) for rows, known in zip(after, inputs, strict=True)]
        if fresh is not None:
            verdicts += [_surrogate_on_fresh(surrogate, stated, choice, fresh) for choice in asked]
        if drawn:
            surrogate.supposed(stated.candidates, np.zeros(n, dtype=bool))
    return _paired(verdicts, len(choices))


def _paired(verdicts: Sequence[BoolArray], count: int) -> Verdicts:
    """Verdicts on the candidates of each of ``count`` actions, then those on fresh completions, side by side."""
    none: list[BoolArray | None] = [None] * count
    return list(zip([*verdicts[:count], *none][:count], [*verdicts[count:], *none][:count], strict=True))


def _surrogate_on_fresh(surrogate: SurrogateJudge, stated: Stated, choice: Choice, fresh: Sample) -> BoolArray:
    """Which fresh completions the surrogate accepts after an action; those that are equal are looked at once."""
    values, inputs = fresh.values, None if fresh.looked is None else fresh.looked.inputs
    if fresh.apart is not None:
        values = values[fresh.apart[0]]
    rows, moved = stated.grid.apply_to_others(choice, values), _moved(stated, choice, inputs)
    accepted = surrogate.accepts(rows) if moved is None else surrogate.said(rows, moved)
    return accepted if fresh.apart is None else accepted[fresh.apart[1]]


def _moved(stated: Stated, choice: Choice, inputs: FloatArray | None) -> FloatArray | None:
    """The model inputs of fresh completions after an action, where it changes what is the same for all of them."""
    taken = [
        (move, option, j)
        for move, option, j in zip(stated.grid.moves, stated.problem.options, choice, strict=True)
        if j
    ]
    # what several columns make together is not in the tables of single ones
    if inputs is None or stated.problem.blocks or not all(option.same_for_all for _, option, _ in taken):
        return None
    if any(move.mode != "observed" for move, _, _ in taken):
        return None
    inputs = inputs.copy()
    for _, option, j in taken:
        inputs[:, option.columns] = option.outcomes[0, j]
    return inputs


def _submitted(
    fitted: Fitted, world: World, stated: Stated, choices: Sequence[Choice], fresh: Sample | None
) -> Verdicts:
    """Which rows the model accepts as they are submitted after each action; Nones if it takes no blanks."""
    if not world.answers:
        return _paired((), len(choices))
    # who stands for the rows that the problem judges, then every completion
    after = [
        np.concatenate(
            [stated.grid.submitted(choice, stated.row, stated.forms), stated.submitted(choice, stated.candidates)]
        )
        for choice in choices
    ]
    if fresh is not None and stated.asks_row:
        after += [stated.submitted(choice, fresh.values) for choice in choices]
    if fitted.surrogate is not None:
        fitted.surrogate.supposed(stated.row[None, :], np.array([bool(world.submitted)]))
        return _paired(accepted_by_all(fitted.surrogate, after), len(choices))
    if fitted.uses_surrogate:  # what was taken as known about the row came from the surrogate
        known, *verdicts = accepted_by_all(fitted.oracle, [stated.row[None, :], *after])
        if known[0] != world.submitted:
            raise SurrogateMismatch
        return _paired(verdicts, len(choices))
    return _paired(accepted_by_all(fitted.oracle, after), len(choices))


def _share(fresh: Sample, accepted: BoolArray) -> float:
    return float(fresh.weights[accepted].sum() / fresh.weights.sum())


def _confirms(fresh: Sample, one: Judged, level: float) -> bool:
    """Whether a plan works for a share of fresh completions."""
    return one.fresh is not None and _share(fresh, one.fresh) >= level - 1e-9


def _increasing(problem: Problem, judged: Sequence[Judged]) -> list[Judged]:
    """Only the points that buy more confidence for more cost."""
    kept: list[tuple[Judged, float]] = []
    for point in judged:
        weight = float(problem.weights[point.accepted].sum())
        while kept and (point.solution.cost or 0.0) <= (kept[-1][0].solution.cost or 0.0):
            kept.pop()
        if not kept or weight > kept[-1][1]:
            kept.append((point, weight))
    return [point for point, _ in kept]


def no_point(problem: Problem, end: Status, seconds: float) -> Judged:
    """A path that does not reach a level."""
    status = Status.INFEASIBLE if end is not Status.UNKNOWN else Status.UNKNOWN
    bound = float("inf") if status is Status.INFEASIBLE else 0.0
    return Judged(Solution(status, None, None, bound, seconds, "path"), np.zeros(problem.n_candidates, dtype=bool))
