"""A mixed-integer linear program as arrays, and the draft in which its rows are collected.

A :class:`Program` is what the solver leaves receive: minimise ``cost @ v`` with ``lower <= v <= upper``,
some ``v`` integer, and ``row_lower <= rows @ v <= row_upper``. It is a *relaxation* of the problem it
was written for: every choice that satisfies the problem satisfies the program, and those few that
satisfy only the program (within the solver's tolerance) are found out by asking the model itself.
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

__all__ = ["SOLVER_TOLERANCE", "UNEVEN", "VISIBLE", "Answer", "Draft", "Late", "Program"]

SOLVER_TOLERANCE = 1e-7
"""How far a solver may leave a row (whose largest coefficient is 1) or an integer unsatisfied. At 1e-9 HiGHS lost a
choice of a trained network that is valid by 0.008; what is too loose is found out by asking the model."""

VISIBLE = 10 * SOLVER_TOLERANCE
"""A term that can move a row (whose largest coefficient is 1) by no more than this is left out, and the row made wider
by as much: a solver may not see it, and with terms of 1e-9 HiGHS gave wrong answers on 51 of 9,140 networks whose
weights go from 1e-8 to 1e8. Wider rows are a relaxation: no choice is lost, and what is too loose is found out."""

UNEVEN = 2.0**-0.5
"""Unit of the continuous variables. HiGHS takes one that looks integer for an integer, and then tightens rows by
rounding bounds that are not (ERGO-Code/HiGHS#3274): wrong answers in 3 of 4,650 small programs."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a solver leaf says about a program.

    Attributes
    ----------
    status : optimal, feasible (time ran out with values), infeasible or unknown (without)
    values : the variables, or None
    bound : no solution of the program costs less, in the program's own unit
    nodes : branch-and-bound nodes
    """

    status: Status
    values: FloatArray | None
    bound: float
    nodes: int = 0


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
    trimmed : whether small numbers were left out
    faint : whether some variable is too small to be seen in the row that defines it, or to have all its digits: such
        a program proves nothing. With small numbers left out, HiGHS was still wrong about 1 of 7,020 networks with
        weights of 1e8

    >>> draft = Draft()
    >>> pi = draft.add_variables(2, integer=True)
    >>> draft.add_row(pi, [1, 1], lower=1, upper=1)
    >>> draft.add_cost(pi, [0, 4])
    >>> program = draft.finish([pi])
    >>> program.choice(np.array([0.0, 1.0])), program.cost.tolist(), program.unit
    ((1,), [0.0, 1.0], 4.0)
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
    trimmed: bool = False
    faint: bool = False

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


class Late(Exception):  # noqa: N818 - it is no error to run out of time
    """Time was up before a program was written."""


@dataclass(eq=False)
class Draft:
    """Variables and rows while a program is being written; raises :class:`Late` where the clock passes ``until``."""

    until: float = np.inf
    _lower: list[FloatArray] = field(default_factory=list)
    _upper: list[FloatArray] = field(default_factory=list)
    _integer: list[BoolArray] = field(default_factory=list)
    _cost: dict[int, float] = field(default_factory=dict)
    _rows: list[tuple[IntArray, FloatArray]] = field(default_factory=list)
    _ranges: list[tuple[float, float]] = field(default_factory=list)
    _count: int = 0
    _faint: bool = False

    def add_variables(
        self, count: int, lower: ArrayLike = 0.0, upper: ArrayLike = 1.0, *, integer: bool = False
    ) -> IntArray:
        """New variables and their positions."""
        self.look_up()
        self._lower.append(np.broadcast_to(np.asarray(lower, dtype=np.float64), (count,)))
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (count,)))
        self._integer.append(np.full(count, integer))
        self._count += count
        return np.arange(self._count - count, self._count)

    def look_up(self) -> None:
        """Look at the clock."""
        if time.perf_counter() > self.until:
            raise Late

    def add_cost(self, index: IntArray, value: ArrayLike) -> None:
        """Add ``value`` to the objective's coefficients at ``index``."""
        for i, c in zip(index.tolist(), np.asarray(value, dtype=np.float64).tolist(), strict=True):
            self._cost[i] = self._cost.get(i, 0.0) + c

    def add_row(
        self, index: NDArray[np.integer], value: ArrayLike, lower: float = -np.inf, upper: float = np.inf, own: int = 0
    ) -> None:
        """Add the row ``lower <= value @ v[index] <= upper``, scaled so that its largest coefficient is 1.

        It defines its last ``own`` variables.
        """
        coefficients = np.asarray(value, dtype=np.float64)
        largest = float(np.max(np.abs(coefficients), initial=0.0)) or 1.0
        self._faint |= bool(np.any(np.abs(coefficients[coefficients.size - own :]) <= VISIBLE * largest))
        self._rows.append((index.astype(np.intp), coefficients / largest))
        self._ranges.append((lower / largest, upper / largest))

    def doubt(self) -> None:
        """The program has numbers that no row can hold exactly enough: it proves nothing."""
        self._faint = True

    def finish(self, picks: Sequence[IntArray]) -> Program:
        """The program drafted so far."""
        sizes = np.array([0] + [index.size for index, _ in self._rows])
        index = np.concatenate([np.zeros(0, dtype=np.intp)] + [i for i, _ in self._rows])
        value = np.concatenate([np.zeros(0)] + [v for _, v in self._rows])
        rows = csr_array((value, index, np.cumsum(sizes)), shape=(len(self._rows), self._count))
        rows.sum_duplicates()
        rows.eliminate_zeros()
        cost = np.zeros(self._count)
        cost[list(self._cost)] = list(self._cost.values())
        unit = float(np.max(cost, initial=0.0)) or 1.0
        ranges = np.array(self._ranges, dtype=np.float64).reshape(-1, 2)
        lower, upper = np.concatenate([np.zeros(0), *self._lower]), np.concatenate([np.zeros(0), *self._upper])
        seen, wider = _visible(rows, ranges, lower, upper)
        return Program(
            cost=cost / unit,
            lower=lower,
            upper=upper,
            integer=np.concatenate([np.zeros(0, dtype=bool), *self._integer]),
            rows=seen,
            row_lower=wider[:, 0],
            row_upper=wider[:, 1],
            picks=tuple(picks),
            unit=unit,
            trimmed=seen.nnz < rows.nnz or not np.array_equal(wider, ranges),
            faint=self._faint,
        )


def _visible(
    rows: csr_array[np.float64], ranges: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[csr_array[np.float64], FloatArray]:
    """Rows (R, V) and ranges (R, 2) without numbers that are too small to be seen; a row holds wherever it did."""
    at = rows.indices
    small = np.abs(rows.data) * np.maximum(np.abs(lower[at]), np.abs(upper[at])) <= VISIBLE
    row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    ends = np.sort(rows.data * np.stack([lower[at], upper[at]]), axis=0)[:, small]
    # low <= seen + unseen <= high and least <= unseen <= most: low - most <= seen <= high - least
    low = ranges[:, 0] - np.bincount(row[small], ends[1], rows.shape[0])
    high = ranges[:, 1] - np.bincount(row[small], ends[0], rows.shape[0])
    # an end between 0 and what can be seen is moved outwards
    low = np.where((low < 0) & (low > -VISIBLE), -VISIBLE, np.where((low > 0) & (low < VISIBLE), 0.0, low))
    high = np.where((high > 0) & (high < VISIBLE), VISIBLE, np.where((high < 0) & (high > -VISIBLE), 0.0, high))
    starts = np.append(0, np.cumsum(np.bincount(row[~small], minlength=rows.shape[0])))
    seen = csr_array((rows.data[~small], at[~small], starts), shape=rows.shape)
    return seen, np.column_stack([low, high])
