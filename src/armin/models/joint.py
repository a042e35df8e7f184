"""Model inputs that several raw columns determine together, through the user's own transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from armin.arrays import FloatArray, IntArray

__all__ = ["JOINT", "JointColumns", "JointEncoder"]

JOINT = -2
"""Stands for the owner of a model input that has several."""

ROWS_AT_ONCE = 50_000
"""Rows that go through the transformers in one call, at most."""


@dataclass(frozen=True, eq=False)
class JointColumns:
    """Model inputs with the same raw columns behind them.

    Attributes
    ----------
    positions : those raw columns, ascending
    columns : int array, the model inputs
    """

    positions: tuple[int, ...]
    columns: IntArray


class _Alone(Protocol):
    @property
    def encode(self) -> Callable[[FloatArray], FloatArray]: ...

    def together(
        self, codes: FloatArray, values: Mapping[int, FloatArray]
    ) -> tuple[FloatArray, dict[int, FloatArray]]: ...

    def carrying(self, oracle: Any) -> Any: ...


class JointEncoder:
    """Codes to model inputs where some inputs have several columns behind them.

    Inputs of one column are left to the encoder that remembers them value by value. For the others, each combination of
    the columns behind any of them goes through the transformers once for all rows that share it.
    """

    few = 64
    """Calls to remember."""
    most = 4_000_000
    """Numbers to remember."""

    def __init__(
        self, steps: Callable[[FloatArray], FloatArray], alone: _Alone, joint: tuple[JointColumns, ...]
    ) -> None:
        self.steps, self.alone, self.joint = steps, alone, joint
        self.positions = sorted({p for one in joint for p in one.positions})
        self.columns = np.concatenate([one.columns for one in joint])
        self.known: dict[bytes, FloatArray] = {}
        self.expected: list[FloatArray] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return JointEncoder, (self.steps, self.alone, self.joint)  # what was asked is not kept

    def carrying(self, oracle: Any) -> JointEncoder:
        """The same for the carried columns of an oracle."""
        alone = self.alone.carrying(oracle)
        return JointEncoder(alone.encode, alone, self.joint)

    def __call__(self, codes: FloatArray) -> FloatArray:
        """Model inputs (n, P) for codes (n, D)."""
        return self.together(codes, {})[0]

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same, and for values of single features the inputs (..., E) that each determines alone."""
        inputs, tables = self.alone.together(codes, values)
        if codes.shape[0]:
            inputs[:, self.columns] = self.behind(codes)
        return inputs, tables

    def behind(self, codes: FloatArray) -> FloatArray:
        """The inputs with several columns behind them, (n, E) for codes (n, D), as ``columns`` lists them."""
        first, which = distinct_rows(codes[:, self.positions])
        found = self._found(codes[first])
        return np.repeat(found, codes.shape[0], axis=0) if first.size == 1 else found[which]

    def ahead(self, codes: FloatArray) -> None:
        """Take note that :meth:`behind` will be asked about these codes: they go through the steps with others."""
        first, _ = distinct_rows(codes[:, self.positions])
        if self._key(codes[first]) not in self.known:
            self.expected.append(codes[first])

    def _key(self, rows: FloatArray) -> bytes:
        return rows[:, self.positions].tobytes()

    def _found(self, rows: FloatArray) -> FloatArray:
        """The inputs of distinct rows, asked together with all that is expected."""
        key = self._key(rows)
        found = self.known.get(key)
        if found is None:
            expected, self.expected = self.expected, []
            parts = [rows, *(part for part in expected if self._key(part) != key)]
            answers = self._asked(np.concatenate(parts))
            if len(self.known) + len(parts) > self.few or sum(a.size for a in self.known.values()) > self.most:
                self.known = {}
            ends = np.cumsum([part.shape[0] for part in parts])
            tables = np.split(answers, ends[:-1])
            # a new dictionary, as other threads may be reading the old one
            self.known = {**self.known, **{self._key(part): table for part, table in zip(parts, tables, strict=True)}}
            found = tables[0]
        return found

    def _asked(self, rows: FloatArray) -> FloatArray:
        parts = range(0, rows.shape[0], ROWS_AT_ONCE)
        return np.concatenate([self.steps(rows[i : i + ROWS_AT_ONCE])[:, self.columns] for i in parts])


def distinct_rows(rows: FloatArray) -> tuple[IntArray, IntArray]:
    """The first of each sort of equal rows, and the sort of each row; NaN is the same as NaN.

    >>> first, which = distinct_rows(np.array([[1.0, np.nan], [2.0, 0.0], [1.0, np.nan]]))
    >>> first.tolist(), which.tolist()
    ([0, 1], [0, 1, 0])
    """
    label: IntArray = np.zeros(rows.shape[0], dtype=np.intp)
    first: IntArray = np.zeros(min(1, rows.shape[0]), dtype=np.intp)
    for column in rows.T:
        if rows.shape[0] and ((column == column[0]) | (np.isnan(column) & np.isnan(column[0]))).all():
            continue
        values, code = np.unique(column, return_inverse=True)
        _, first, label = np.unique(label * values.size + code.ravel(), return_index=True, return_inverse=True)
        label = label.ravel()
    return first, label
