"""Model inputs that several raw columns determine together, through the user's own transformers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, Protocol

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.combos import Combinations
from armin.schema import Schema
from armin.schema.columns import without_derived

__all__ = ["JOINT", "JointColumns", "JointEncoder", "Wanted"]

JOINT = -2
"""Stands for the owner of a model input that has several."""

ROWS_AT_ONCE = 50_000
"""Rows that go through the transformers in one call, at most."""

FEW = 8
"""Answers that are kept where there are too many combinations to remember them one by one."""

MOST_KEPT = 500_000
"""Numbers in an answer that is kept beside others."""


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
    run: Callable[[FloatArray], FloatArray]

    @property
    def encode(self) -> Callable[[FloatArray], FloatArray]: ...

    def together(
        self, codes: FloatArray, values: Mapping[int, FloatArray]
    ) -> tuple[FloatArray, dict[int, FloatArray]]: ...

    def carrying(self, oracle: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class Wanted:
    """Combinations of a person's values that stand behind some model inputs.

    Attributes
    ----------
    which : the place of these inputs among the joint ones
    rows : codes (S, D), the person's row for each sort of candidate
    members : positions of the features that combine
    values : for each of them the codes (1 or S, J) of its options
    """

    which: int
    rows: FloatArray
    members: tuple[int, ...]
    values: tuple[FloatArray, ...]

    def codes(self, s: IntArray, picks: IntArray) -> FloatArray:
        """Codes (n, D) of sorts (n,) after combinations (n, members)."""
        codes = self.rows[s]
        for position, values, j in zip(self.members, self.values, picks.T, strict=True):
            codes[:, position] = values[s if values.shape[0] > 1 else 0, j]
        return codes

    def at(self, positions: tuple[int, ...], picks: IntArray) -> tuple[list[FloatArray], IntArray]:
        """For each of the positions behind the inputs its values (1 or S, J), and combinations of them."""
        place = {position: k for k, position in enumerate(self.members)}
        values = [self.values[place[p]] if p in place else self.rows[:, p : p + 1] for p in positions]
        chosen = np.zeros((picks.shape[0], len(positions)), dtype=np.intp)
        for k, p in enumerate(positions):
            if p in place:
                chosen[:, k] = picks[:, place[p]]
        return values, chosen


class JointEncoder:
    """Codes to model inputs where some inputs have several columns behind them.

    Inputs of one column are left to the encoder that remembers them value by value. For the others, each combination of
    the columns behind them goes through the transformers once, and is remembered for everybody.
    """

    def __init__(
        self,
        steps: Callable[[FloatArray], FloatArray],
        alone: _Alone,
        joint: tuple[JointColumns, ...],
        known: tuple[Combinations, ...] | None = None,
        *,
        schema: Schema | None = None,
    ) -> None:
        self.steps, self.alone, self.joint, self.schema = steps, alone, joint, schema
        self.known = known or tuple(Combinations(len(one.positions), one.columns.size) for one in joint)
        self.expected: list[tuple[int, FloatArray]] = []
        self.lock = Lock()  # threads share the list: what one appends another takes with it, or does not see
        self.last: dict[tuple[int, bytes], FloatArray] = {}
        alone.run = self.run

    def __reduce__(self) -> tuple[Any, ...]:
        # what was asked is not kept
        return partial(JointEncoder, schema=self.schema), (self.steps, self.alone, self.joint)

    def canonical(self, codes: FloatArray) -> FloatArray:
        """The codes without what follows from others of them, which tells no two rows apart."""
        return codes if self.schema is None else without_derived(self.schema, codes)

    def carrying(self, oracle: Any) -> JointEncoder:
        """The same for the carried columns of an oracle; what these have no part in stays known to both."""
        alone = self.alone.carrying(oracle)
        carried = {oracle.schema.position(name) for name in oracle.schema.carried}
        known = tuple(
            Combinations(len(one.positions), one.columns.size) if carried & set(one.positions) else mine
            for one, mine in zip(self.joint, self.known, strict=True)
        )
        return JointEncoder(alone.encode, alone, self.joint, known, schema=self.schema)

    def __call__(self, codes: FloatArray) -> FloatArray:
        """Model inputs (n, P) for codes (n, D)."""
        return self.together(codes, {})[0]

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same, and for values of single features the inputs (..., E) that each determines alone."""
        nothing: IntArray = np.zeros((1, 0), dtype=np.intp)
        codes, rows = self.canonical(codes), []
        for i, joint in enumerate(self.joint if codes.shape[0] else ()):
            first, which = distinct_rows(codes[:, joint.positions])
            rows.append((joint, Wanted(i, codes[first], (), ()), which))
            self.ahead(rows[-1][1], nothing)
        inputs, tables = self.alone.together(codes, values)
        for joint, one, which in rows:
            inputs[:, joint.columns] = self.behind(one, nothing)[which, 0]
        return inputs, tables

    def behind(self, wanted: Wanted, picks: IntArray) -> FloatArray:
        """The inputs (S, M, E) after each of M combinations (M, members)."""
        joint, known = self.joint[wanted.which], self.known[wanted.which]
        values, chosen = wanted.at(joint.positions, picks)
        found = known.found(values, chosen)
        if found is None:
            self.ahead(wanted, picks)
            if self.expected:
                self.run(wanted.rows[:0])
            found = known.found(values, chosen)
        if found is None:
            return self._directly(wanted, picks)
        return np.broadcast_to(found, (wanted.rows.shape[0], *found.shape[1:]))  # what differs may all be replaced

    def _directly(self, wanted: Wanted, picks: IntArray) -> FloatArray:
        """The same where there are too many to remember one by one: the last few answers are kept as they are."""
        joint, sorts, m = self.joint[wanted.which], wanted.rows.shape[0], picks.shape[0]
        codes = wanted.codes(np.repeat(np.arange(sorts), m), np.tile(picks, (sorts, 1)))
        first, which = distinct_rows(codes[:, joint.positions])
        key = (wanted.which, codes[first][:, joint.positions].tobytes())
        found = self.last.get(key)
        if found is None:
            found = self._through(codes[first])[:, joint.columns]
            kept = dict(list(self.last.items())[1 - FEW :]) if found.size < MOST_KEPT else {}
            self.last = {**kept, key: found}  # a new dictionary, as other threads may be reading the old one
        return found[which].reshape(sorts, m, -1)

    def ahead(self, wanted: Wanted, picks: IntArray) -> None:
        """Take note that :meth:`behind` will be asked for these: what is new goes through the steps with others."""
        values, chosen = wanted.at(self.joint[wanted.which].positions, picks)
        lacking = self.known[wanted.which].lacking(values, chosen)
        if lacking is not None and lacking[0].size:
            codes = wanted.codes(lacking[0], picks[lacking[1]])
            with self.lock:
                self.expected.append((wanted.which, codes))

    def run(self, rows: FloatArray) -> FloatArray:
        """What rows (n, D) become behind the steps, asked together with all that is expected."""
        with self.lock:
            expected, self.expected = self.expected, []
        found = self._through(np.concatenate([rows, *(codes for _, codes in expected)]))
        start = rows.shape[0]
        for which, codes in expected:
            outcomes = found[start : start + codes.shape[0], self.joint[which].columns]
            self.known[which].keep(codes[:, self.joint[which].positions], outcomes)
            start += codes.shape[0]
        return found[: rows.shape[0]]

    def _through(self, rows: FloatArray) -> FloatArray:
        parts = range(0, max(1, rows.shape[0]), ROWS_AT_ONCE)
        return np.concatenate([self.steps(rows[i : i + ROWS_AT_ONCE]) for i in parts])


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
