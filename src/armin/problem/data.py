"""The contract between those who state a problem and those who solve it: plain data.

Choose one option per feature (option 0 keeps it), at most ``max_changes`` of them other than 0,
at the least cost, such that candidates of total weight ``required`` get the desired decision.

A problem can be made by hand, without a schema or a data frame:

>>> import numpy as np
>>> from armin.models.kinds import Above, LinearModel
>>> problem = Problem.from_tables(
...     candidates=[[1.0, 0.0], [3.0, 0.0]],          # two completions of one row
...     actions={0: [0, 2, 4], 1: [0, 5]},             # what may be added to columns 0 and 1
...     costs={0: [0, 1, 2], 1: [0, 1.5]},
...     model=LinearModel(np.array([[1.0, 1.0]]), np.array([-6.0]), Above(0.0)),
...     required=2,
... )
>>> problem.cost((1, 1)), problem.accepted((0, 1)).tolist()
(2.5, [True, True])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import ParameterError
from armin.models.kinds import Model
from armin.models.sums import largest_inputs
from armin.problem.blocks import Block, Choice
from armin.problem.found import PathPoint, Solution, Status
from armin.problem.sums import SumRule

__all__ = [
    "Choice",
    "Options",
    "PairRule",
    "PathPoint",
    "Problem",
    "Solution",
    "Status",
    "check_prices",
    "required_weight",
]

WEIGHT_TOLERANCE = 1e-9
"""Slack, relative to the total weight, when a weight is compared with the required one."""


def required_weight(confidence: float, total: float) -> float:
    """The weight that must be accepted: ``ceil(confidence * total - 1e-9)`` for whole totals.

    >>> required_weight(0.8, 100), required_weight(0.75, 10), required_weight(1.0, 3)
    (80.0, 8.0, 3.0)
    """
    if float(total).is_integer():
        return max(1.0, float(np.ceil(confidence * total - WEIGHT_TOLERANCE * total)))
    return max(confidence, WEIGHT_TOLERANCE) * total


@dataclass(frozen=True, eq=False)
class Options:
    """What one feature may become.

    Attributes
    ----------
    name : the feature's name
    columns : int array of shape (E,), the model inputs that this feature determines
    outcomes : array of shape (1 or N, J, E), the model inputs after option j; one row where all
        candidates agree, else a row for each candidate. Option 0 keeps the candidate as it is.
    costs : array of shape (J,), the cost of each option; ``costs[0]`` is 0
    """

    name: str
    columns: IntArray
    outcomes: FloatArray
    costs: FloatArray

    @property
    def size(self) -> int:
        """Number of options, with "keep"."""
        return int(self.costs.size)

    @property
    def same_for_all(self) -> bool:
        """Whether one row of outcomes holds for all candidates."""
        return bool(self.outcomes.shape[0] == 1)

    @cached_property
    def largest(self) -> FloatArray:
        """The largest magnitude of each model input (E,) over all options; NaN where something is not a number."""
        return largest_inputs(self.outcomes.reshape(-1, self.outcomes.shape[2])) if self.columns.size else np.zeros(0)


@dataclass(frozen=True, eq=False)
class PairRule:
    """Which options of two features may stand together.

    Attributes
    ----------
    first, second : positions of the two features in ``Problem.options``
    allowed : bool array of shape (J_first, J_second)
    text : the rule as a sentence
    """

    first: int
    second: int
    allowed: BoolArray
    text: str = ""


@dataclass(frozen=True, eq=False)
class Problem:
    """A recourse problem as data.

    Attributes
    ----------
    candidates : array of shape (N, P), the model inputs when nothing is changed
    options : the features that may change
    model : the classifier
    required : the weight of candidates that must be accepted
    weights : array of shape (N,); ones if left out
    max_changes : how many features may change; None for no limit
    aggregate : "sum" or "max" of the chosen options' costs
    rules : pairs of options that exclude each other
    sums : options of three features and more that may not add up to more than a limit
    forbidden : choices that are ruled out one by one
    forbidden_sets : sets of features (their positions in ``options``): a choice that changes exactly these is ruled out
    forbidden_cores : sets of features: a choice that changes all of these, and perhaps more, is ruled out
    blocks : model inputs that several of the features determine together
    checks : whether options and rules are checked, as they need not be where they come from another problem
    """

    candidates: FloatArray
    options: tuple[Options, ...]
    model: Model
    required: float
    weights: FloatArray = field(default_factory=lambda: np.zeros(0))
    max_changes: int | None = None
    aggregate: Literal["sum", "max"] = "sum"
    rules: tuple[PairRule, ...] = ()
    sums: tuple[SumRule, ...] = ()
    forbidden: frozenset[Choice] = frozenset()
    forbidden_sets: frozenset[frozenset[int]] = frozenset()
    forbidden_cores: frozenset[frozenset[int]] = frozenset()
    blocks: tuple[Block, ...] = ()
    checks: InitVar[bool] = True

    def __post_init__(self, checks: bool) -> None:
        n = self.candidates.shape[0]
        if self.weights.size == 0:
            object.__setattr__(self, "weights", np.ones(n))
        _check(self)
        if checks:
            _check_parts(self)

    @classmethod
    def from_tables(
        cls,
        candidates: ArrayLike,
        actions: Mapping[int, ArrayLike],
        costs: Mapping[int, ArrayLike],
        model: Model,
        required: float,
        *,
        max_changes: int | None = None,
        weights: ArrayLike | None = None,
        aggregate: Literal["sum", "max"] = "sum",
        names: Sequence[str] | None = None,
    ) -> Problem:
        """Make a problem from amounts to add.

        Parameters
        ----------
        candidates : array of shape (N, P)
        actions : for each column that may change, the amounts that may be added, 0 first
        costs : for the same columns, the cost of each amount
        model : the classifier
        required : how many candidates (or what weight of them) must be accepted
        max_changes, weights, aggregate : as in :class:`Problem`
        names : names of the P columns
        """
        matrix = np.array(candidates, dtype=np.float64, ndmin=2)
        options = []
        for column, amounts in actions.items():
            move = np.asarray(amounts, dtype=np.float64)
            before = matrix[:, column]
            if np.all(before == before[0]):
                before = before[:1]
            options.append(
                Options(
                    name=names[column] if names is not None else f"x{column}",
                    columns=np.array([column], dtype=np.intp),
                    outcomes=(before[:, None] + move[None, :])[:, :, None],
                    costs=np.asarray(costs[column], dtype=np.float64),
                )
            )
        return cls(
            candidates=matrix,
            options=tuple(options),
            model=model,
            required=required,
            weights=np.zeros(0) if weights is None else np.asarray(weights, dtype=np.float64),
            max_changes=max_changes,
            aggregate=aggregate,
        )

    @property
    def n_candidates(self) -> int:
        return int(self.candidates.shape[0])

    @property
    def limit(self) -> int:
        """The number of features that may change, as a number."""
        return len(self.options) if self.max_changes is None else min(self.max_changes, len(self.options))

    @cached_property
    def n_choices(self) -> int:
        """The number of choices with at most ``max_changes`` changes, before rules."""
        # elementary symmetric sums of (J_d - 1), built one feature at a time
        sums = [1] + [0] * self.limit
        for option in self.options:
            for k in range(self.limit, 0, -1):
                sums[k] += sums[k - 1] * (option.size - 1)
        return sum(sums)

    @property
    def keep(self) -> Choice:
        """The choice that changes nothing."""
        return (0,) * len(self.options)

    def inputs(self, choice: Choice) -> FloatArray:
        """The model inputs (N, P) after ``choice``."""
        matrix = self.candidates.copy()
        for option, j in zip(self.options, choice, strict=True):
            if j:
                matrix[:, option.columns] = option.outcomes[:, j, :]
        for block in self.blocks:
            if any(choice[d] for d in block.members):
                matrix[:, block.columns] = block.after([choice])[:, 0, :]
        return matrix

    def inputs_after(self, batch: IntArray) -> FloatArray:
        """The model inputs (M, N, P) after each of M choices, the rows of ``batch``."""
        inputs = np.repeat(self.candidates[None, :, :], batch.shape[0], axis=0)
        rows = np.arange(self.n_candidates)[None, :, None]
        for d, option in enumerate(self.options):
            changed = np.flatnonzero(batch[:, d])
            if changed.size:
                moved = np.swapaxes(option.outcomes[:, batch[changed, d], :], 0, 1)  # (changed, 1 or N, E)
                inputs[changed[:, None, None], rows, option.columns] = moved
        for block in self.blocks:
            changed = np.flatnonzero(batch[:, block.members].any(axis=1))
            if changed.size:
                inputs[changed[:, None, None], rows, block.columns] = np.swapaxes(block.after(batch[changed]), 0, 1)
        return inputs

    def accepted(self, choice: Choice) -> BoolArray:
        """Which candidates get the desired decision after ``choice``."""
        return self.model.settles(self.inputs(choice))

    def weight_accepted(self, choice: Choice) -> float:
        """The total weight of the candidates that are accepted after ``choice``."""
        return float(self.weights[self.accepted(choice)].sum())

    def cost(self, choice: Choice) -> float:
        """The cost of ``choice``: the largest, or the sum in the order of the features."""
        total = 0.0
        for option, j in zip(self.options, choice, strict=True):
            if j:
                part = float(option.costs[j])
                total = max(total, part) if self.aggregate == "max" else total + part
        return total

    def allows(self, choice: Choice) -> bool:
        """Whether ``choice`` respects the limit, the rules and all that is forbidden."""
        changed = frozenset(d for d, j in enumerate(choice) if j)
        if len(changed) > self.limit or choice in self.forbidden or changed in self.forbidden_sets:
            return False
        if any(core <= changed for core in self.forbidden_cores):
            return False
        if not all(rule.allowed[choice[rule.first], choice[rule.second]] for rule in self.rules):
            return False
        return all(rule.allows(choice) for rule in self.sums)

    def enough(self, weight: float) -> bool:
        """Whether an accepted ``weight`` satisfies the requirement."""
        return bool(weight >= self.required - WEIGHT_TOLERANCE * float(self.weights.sum()))

    def is_solved_by(self, choice: Choice) -> bool:
        """Whether ``choice`` is allowed and makes enough candidates accepted."""
        return self.allows(choice) and self.enough(self.weight_accepted(choice))

    @property
    def smallest_step(self) -> float:
        """What must be added to a weight so that only larger weights suffice."""
        least = float(self.weights.min())
        multiples = self.weights / least
        if np.all(np.abs(multiples - np.round(multiples)) <= WEIGHT_TOLERANCE):
            return least
        # more than the tolerance by which weights are compared
        return 3 * WEIGHT_TOLERANCE * float(self.weights.sum())

    def demanding(self, required: float) -> Problem:
        """The same problem with another required weight."""
        return replace(self, required=required, checks=False)

    def excluding(self, choice: Choice) -> Problem:
        """The same problem without ``choice``."""
        return replace(self, forbidden=self.forbidden | {choice}, checks=False)

    def without_set(self, choice: Choice) -> Problem:
        """The same problem without any choice that changes exactly the features that ``choice`` changes."""
        changed = frozenset(d for d, j in enumerate(choice) if j)
        return replace(self, forbidden_sets=self.forbidden_sets | {changed}, checks=False)

    def without_core(self, choice: Choice) -> Problem:
        """The same problem without any choice that changes all features that ``choice`` changes, and perhaps more."""
        changed = frozenset(d for d, j in enumerate(choice) if j)
        return replace(self, forbidden_cores=self.forbidden_cores | {changed}, checks=False)

    def among(self, which: NDArray[np.intp] | Sequence[int], required: float) -> Problem:
        """The problem on some of the candidates; the costs stay those of all of them."""
        rows = np.asarray(which, dtype=np.intp)
        options = tuple(o if o.same_for_all else replace(o, outcomes=o.outcomes[rows]) for o in self.options)
        return replace(
            self,
            candidates=self.candidates[rows],
            weights=self.weights[rows],
            options=options,
            blocks=tuple(block.among(rows) for block in self.blocks),
            required=required,
            checks=False,
        )


def _check(problem: Problem) -> None:
    n, width = problem.candidates.shape
    if n == 0:
        raise ParameterError("A Problem needs at least one candidate. Got 0 rows in 'candidates'.")
    if not np.all(np.isfinite(problem.candidates) | np.isnan(problem.candidates)):
        raise ParameterError("The 'candidates' of a Problem must not be infinite.")
    if width != problem.model.n_inputs:
        raise ParameterError(
            f"The 'candidates' of a Problem must have as many columns as the model has inputs "
            f"({problem.model.n_inputs}). Got {width} instead."
        )
    if problem.weights.shape != (n,) or not np.all(problem.weights > 0):
        raise ParameterError(f"The 'weights' of a Problem must be {n} positive numbers, one per candidate.")
    if problem.max_changes is not None and problem.max_changes < 1:
        raise ParameterError(
            f"The 'max_changes' of a Problem must be at least 1, or None. Got {problem.max_changes} instead."
        )
    if problem.aggregate not in ("sum", "max"):
        raise ParameterError(f"The 'aggregate' of a Problem must be 'sum' or 'max'. Got {problem.aggregate!r} instead.")
    total = float(problem.weights.sum())
    if not 0 < problem.required <= total * (1 + WEIGHT_TOLERANCE):
        raise ParameterError(
            f"The 'required' weight of a Problem must be in (0, {total:g}], the total weight of its candidates. "
            f"Got {problem.required:g} instead."
        )


def _check_parts(problem: Problem) -> None:
    seen: set[int] = set()
    for option in problem.options:
        _check_options(option, problem.n_candidates, problem.candidates, seen)
    for block in problem.blocks:
        _check_block(block, problem, seen)
    for rule in problem.rules:
        shape = (problem.options[rule.first].size, problem.options[rule.second].size)
        if rule.allowed.shape != shape or not rule.allowed[0, 0]:
            raise ParameterError(
                f"A PairRule must have a table of shape {shape} in which changing nothing is allowed. "
                f"Got shape {rule.allowed.shape}."
            )

    for each in problem.sums:
        sizes = tuple((each.most.size, problem.options[d].size) for d in each.features)
        if tuple(part.shape for part in each.parts) != sizes or not each.allows(problem.keep):
            raise ParameterError(
                f"A SumRule must have parts of the shapes {sizes} by which changing nothing is allowed. "
                f"Got the shapes {tuple(part.shape for part in each.parts)}."
            )


def check_prices(option: Options) -> None:
    """Refuse costs that are not finite, negative, or above 0 for changing nothing."""
    costs = option.costs
    # a comparison with NaN is False
    if costs.size == 0 or costs[0] != 0 or not (costs.min() >= 0 and costs.max() < np.inf):
        raise ParameterError(
            f"The costs of {option.name!r} must be finite, not negative, and 0 for option 0 (keep). "
            f"Got {costs[:5].tolist()} ..."
        )


def _check_options(option: Options, n: int, candidates: FloatArray, seen: set[int]) -> None:
    shape = option.outcomes.shape
    if len(shape) != 3 or shape[0] not in (1, n) or shape[1:] != (option.size, option.columns.size):
        raise ParameterError(
            f"The outcomes of {option.name!r} must have shape (1 or {n}, {option.size}, {option.columns.size}). "
            f"Got {shape}."
        )
    check_prices(option)
    if not np.array_equal(
        np.broadcast_to(option.outcomes[:, 0, :], (n, option.columns.size)),
        candidates[:, option.columns],
        equal_nan=True,
    ):
        raise ParameterError(f"Option 0 of {option.name!r} must keep every candidate as it is.")
    columns = set(option.columns.tolist())
    if columns & seen:
        raise ParameterError(f"The model inputs {sorted(columns & seen)} belong to two features.")
    seen |= columns


def _check_block(block: Block, problem: Problem, seen: set[int]) -> None:
    members = sorted(set(block.members))
    if len(members) < 2 or members != list(block.members) or not 0 <= members[0] <= members[-1] < len(problem.options):
        raise ParameterError(
            f"The members of a Block must be two or more of the {len(problem.options)} features' positions, ascending. "
            f"Got {block.members}."
        )
    columns = set(block.columns.tolist())
    if columns & seen:
        raise ParameterError(f"The model inputs {sorted(columns & seen)} belong to a Block and to another feature.")
    seen |= columns
    kept = block.after([problem.keep])
    shape = (problem.n_candidates, block.columns.size)
    if kept.shape not in ((1, 1, shape[1]), (shape[0], 1, shape[1])):
        raise ParameterError(
            f"The outcomes of a Block must have shape (1 or {shape[0]}, combinations, {shape[1]}). Got {kept.shape}."
        )
    if not np.array_equal(np.broadcast_to(kept[:, 0], shape), problem.candidates[:, block.columns], equal_nan=True):
        raise ParameterError(f"A Block must keep every candidate as it is where none of {block.members} changes.")
