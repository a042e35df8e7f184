"""A mixed-integer linear program as arrays, and the draft in which its rows are collected.

A :class:`Program` is what a solver receives: minimise ``cost @ v`` with ``lower <= v <= upper``, some ``v`` integer,
and ``row_lower <= rows @ v <= row_upper``. It is a *relaxation* of the problem it was written for, by
:data:`TOLERANCE`: every choice that satisfies the problem satisfies the program, and those few that satisfy only the
program are found out by evaluating the model itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, vstack

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.problem import Choice, Status

__all__ = ["MAX_COST", "TOLERANCE", "Answer", "Draft", "OutOfTime", "Program"]

TOLERANCE = 1e-7
"""What a program ignores. A score counts as reaching its cut if it falls short by less than this part of the numbers it
is summed from; a term that moves a row by less than this part of its largest coefficient is left out, and the row
widened by as much. Rounding and the tolerances of the solvers are of this size or below."""

MAX_COST = 1000.0
"""The largest cost in a program's own unit: HiGHS stops at an absolute gap of 1e-6, which SciPy does not let change."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver says about a program.

    Attributes
    ----------
    status : optimal, feasible (stopped with values), infeasible or unknown (stopped without)
    values : the variables, or None
    bound : no solution of the program costs less, in the program's own unit
    nodes : branch-and-bound nodes
    reason : why the solver stopped, where that was not the time limit
    """

    status: Status
    values: FloatArray | None = None
    bound: float = 0.0
    nodes: int = 0
    reason: str = ""


@dataclass(frozen=True, eq=False)
class Program:
    """Minimise ``cost @ v`` over bounds, integrality and rows.

    Attributes
    ----------
    cost, lower, upper : float arrays of shape (V,)
    integer : bool array of shape (V,)
    rows : sparse array of shape (R, V)
    row_lower, row_upper : float arrays of shape (R,)
    picks : for each feature, the variables pi_{d,j} of its options
    unit : ``cost`` is the problem's cost divided by this

    >>> draft = Draft()
    >>> pi = draft.add_variables(2, integer=True)
    >>> draft.add_row(pi, [1, 1], lower=1, upper=1)
    >>> draft.add_cost(pi, [0, 4])
    >>> program = draft.finish([pi])
    >>> program.choice(np.array([0.0, 1.0])), program.cost.tolist(), program.unit
    ((1,), [0.0, 1000.0], 0.004)
    """

    cost: FloatArray
    lower: FloatArray
    upper: FloatArray
    integer: BoolArray
    rows: csr_array[np.float64]
    row_lower: FloatArray
    row_upper: FloatArray
    picks: tuple[IntArray, ...]
    unit: float

    def choice(self, values: FloatArray) -> Choice:
        """The options that ``values`` stand for."""
        return tuple(int(np.argmax(values[pick])) for pick in self.picks)

    def without(self, choice: Choice) -> Program:
        """The program in which ``choice`` is ruled out."""
        # sum_d pi_{d, choice_d} <= D - 1
        row = np.zeros((1, self.cost.size))
        row[0, [pick[j] for pick, j in zip(self.picks, choice, strict=True)]] = 1.0
        return replace(
            self,
            rows=csr_array(vstack([self.rows, csr_array(row)])),
            row_lower=np.append(self.row_lower, -np.inf),
            row_upper=np.append(self.row_upper, len(choice) - 1.0),
        )


class OutOfTime(Exception):  # noqa: N818 - it is no error to run out of time
    """Time was up before a program was written."""


@dataclass(eq=False)
class Draft:
    """Variables and rows while a program is being written; raises :class:`OutOfTime` past ``until``."""

    until: float = np.inf
    _lower: list[FloatArray] = field(default_factory=list)
    _upper: list[FloatArray] = field(default_factory=list)
    _integer: list[BoolArray] = field(default_factory=list)
    _cost: dict[int, float] = field(default_factory=dict)
    _rows: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    _ranges: list[tuple[float, float]] = field(default_factory=list)
    _count: int = 0

    def check_time(self) -> None:
        """Raise once the clock has passed ``until``."""
        if time.perf_counter() > self.until:
            raise OutOfTime

    def add_variables(
        self, count: int, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, *, integer: bool = False
    ) -> IntArray:
        """New variables and their positions."""
        self.check_time()
        self._lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (count,)))
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (count,)))
        self._integer.append(np.full(count, integer))
        self._count += count
        return np.arange(self._count - count, self._count)

    def add_cost(self, index: IntArray, value: ArrayLike) -> None:
        """Add ``value`` to the objective's coefficients at ``index``."""
        for i, c in zip(index.tolist(), np.asarray(value, dtype=np.float64).tolist(), strict=True):
            self._cost[i] = self._cost.get(i, 0.0) + c

    def add_row(
        self, index: NDArray[np.integer], value: ArrayLike, lower: float = -np.inf, upper: float = np.inf
    ) -> None:
        """Add the row ``lower <= value @ v[index] <= upper``, scaled so that its largest coefficient is 1."""
        coefficients = np.asarray(value, dtype=np.float64)
        largest = float(np.max(np.abs(coefficients), initial=0.0)) or 1.0
        self._rows.append((index.astype(np.intp), coefficients / largest))
        self._ranges.append((lower / largest, upper / largest))

    def finish(self, picks: Sequence[IntArray]) -> Program:
        """The program drafted so far."""
        sizes = np.array([0] + [index.size for index, _ in self._rows])
        index = np.concatenate([np.zeros(0, dtype=np.intp)] + [i for i, _ in self._rows]).astype(np.int32)
        value = np.concatenate([np.zeros(0)] + [v for _, v in self._rows])
        # SciPy before 1.15 gives HiGHS no other integers
        rows = csr_array((value, index, np.cumsum(sizes, dtype=np.int32)), shape=(len(self._rows), self._count))
        rows.sum_duplicates()
        lower, upper = np.concatenate([np.zeros(0), *self._lower]), np.concatenate([np.zeros(0), *self._upper])
        reach = np.abs(rows.data) * np.maximum(np.abs(lower), np.abs(upper))[rows.indices]
        small = reach <= TOLERANCE
        slack = np.bincount(np.repeat(np.arange(len(self._rows)), np.diff(rows.indptr)), reach * small, len(self._rows))
        rows.data[small] = 0.0
        rows.eliminate_zeros()
        cost = np.zeros(self._count)
        cost[list(self._cost)] = list(self._cost.values())
        unit = (float(np.max(cost, initial=0.0)) or MAX_COST) / MAX_COST
        ranges = np.array(self._ranges, dtype=np.float64).reshape(-1, 2)
        return Program(
            cost=cost / unit,
            lower=lower,
            upper=upper,
            integer=np.concatenate([np.zeros(0, dtype=bool), *self._integer]),
            rows=rows,
            row_lower=ranges[:, 0] - slack,
            row_upper=ranges[:, 1] + slack,
            picks=tuple(picks),
            unit=unit,
        )
