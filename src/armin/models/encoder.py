"""Codes to model inputs through the user's own fitted transformers, each distinct value of a column once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import ArminError, RefusedError
from armin.models.inputs import Prepare, WholeNumbers, shared_columns
from armin.models.oracle import Oracle

__all__ = ["AsTheyAre", "Encode", "Encoder", "Steps"]


class Encode(Protocol):
    """Codes to model inputs."""

    def __call__(self, codes: FloatArray) -> FloatArray:
        """Model inputs (n, P) for codes (n, D)."""
        ...

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same, and for values of single features, by their positions, the inputs (..., E) that each determines."""
        ...

    def carrying(self, oracle: Oracle) -> Encode:
        """The same for the carried columns of an oracle."""
        ...


@dataclass(frozen=True, eq=False)
class Steps:
    """Codes to model inputs through the user's own fitted transformers; a class, so that it can be pickled."""

    oracle: Oracle
    steps: tuple[Any, ...]
    prepare: Prepare

    def __call__(self, codes: FloatArray) -> FloatArray:
        rows = self.oracle.table(codes)
        try:
            for step in self.steps:
                rows = step.transform(rows)
            return self.prepare(rows)
        except ArminError:
            raise
        except Exception as error:  # whatever a user's step raises
            raise RefusedError.of(error) from error


class AsTheyAre:
    """Codes are the model's inputs."""

    def __call__(self, codes: FloatArray) -> FloatArray:
        """The same codes (n, D)."""
        return codes

    def carrying(self, oracle: Oracle) -> AsTheyAre:
        """The same: codes do not say what is carried."""
        return self

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same codes, and the same values, each as the one input that its feature owns."""
        return codes, {p: alone[..., None].copy() for p, alone in values.items()}


class Encoder:
    """Codes to model inputs, remembering what each value of each feature becomes.

    The steps work column by column, so the inputs that a feature owns depend on its own value only. Each new value is
    pushed through the user's transformers once, in the company of any row. ``run`` is how they are called: whoever has
    other rows to push through them may put a call of both in its place.
    """

    most = 4096
    """Values to remember for one feature."""

    def __init__(self, encode: Steps, owners: IntArray) -> None:
        self.encode, self.owners = encode, owners
        self.run: Callable[[FloatArray], FloatArray] = encode
        self.columns = {int(p): np.flatnonzero(owners == p) for p in np.unique(owners) if p >= 0}
        self.known: dict[int, tuple[FloatArray, FloatArray, WholeNumbers]] = {}
        self.apart: dict[int, dict[int, tuple[FloatArray, FloatArray, WholeNumbers]]] = {}
        self.alone: dict[tuple[int, float], FloatArray] = {}
        self.constant: FloatArray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # what is remembered is found out again
        return type(self), (self.encode, self.owners)

    def carrying(self, oracle: Oracle) -> Encoder:
        """The same for the carried columns of an oracle; what is known of other columns stays known to both."""
        other = Encoder(replace(self.encode, oracle=oracle), self.owners)
        other.known = self.known
        other.apart = {oracle.schema.position(name): {} for name in oracle.schema.carried}
        return other

    def _memory(self, p: int) -> dict[int, tuple[FloatArray, FloatArray, WholeNumbers]]:
        """Where the values of a feature are remembered: those of a carried one hold for this row only."""
        return self.apart.get(p, self.known)

    def __call__(self, codes: FloatArray) -> FloatArray:
        """Model inputs (n, P) for codes (n, D)."""
        return self.together(codes, {})[0]

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same, and for values of single features the inputs (..., E) that they own; what is new is asked once."""
        n = codes.shape[0]
        if n == 0:
            return np.zeros((0, self.owners.size)), {}
        # completions of one row share most of their values
        fixed, row = shared_columns(codes).tolist(), codes[0].tolist()
        shared = {p: self._alone(p, row[p]) for p in self.columns if fixed[p] or n == 1}
        wanted = {p: codes[: 1 if p in shared else n, p] for p in self.columns if shared.get(p) is None}
        own = {p: column.size for p, column in wanted.items()}
        for p in values.keys() & self.columns.keys():
            wanted[p] = np.concatenate([wanted[p], values[p].ravel()]) if p in wanted else values[p].ravel()
        found = self._found(codes[0], wanted)
        assert self.constant is not None  # noqa: S101  set with the first value
        first, tables = self.constant.copy(), {}
        for p, one in shared.items():
            if one is None:
                coded, where = found[p]
                one = self._keep(p, row[p], coded[where[0]])
            first[self.columns[p]] = one
        inputs = np.repeat(first[None, :], n, axis=0)
        for p, (coded, where) in found.items():
            if p not in shared:
                inputs[:, self.columns[p]] = coded[where[:n]]
            if p in values:
                tables[p] = coded[where[own.get(p, 0) :]].reshape(*values[p].shape, -1)
        for p in values.keys() - tables.keys():  # the model does not look at this feature
            tables[p] = np.zeros((*values[p].shape, 0))
        return inputs, tables

    def _alone(self, p: int, value: float) -> FloatArray | None:
        """The inputs (E,) of one value of a feature; None if it is new."""
        one = self.alone.get((p, value))
        if one is None and p in self._memory(p):
            _, coded, whole = self._memory(p)[p]
            place = whole.place(value)
            one = None if place < 0 else self._keep(p, value, coded[place])
        return one

    def _keep(self, p: int, value: float, inputs: FloatArray) -> FloatArray:
        if len(self.alone) >= self.most:
            self.alone = {}
        if not math.isnan(value):  # which is no key
            self.alone[p, value] = inputs
        return inputs

    def _known(self, p: int) -> tuple[FloatArray, FloatArray, WholeNumbers]:
        """The known values of a feature in order, their inputs, and where whole ones stand."""
        memory = self._memory(p)
        if p not in memory:
            return np.zeros(0), np.zeros((0, self.columns[p].size)), WholeNumbers.of(np.zeros(0))
        return memory[p]

    def _found(self, row: FloatArray, wanted: Mapping[int, FloatArray]) -> dict[int, tuple[FloatArray, IntArray]]:
        """For each feature, the inputs of known values, and where among them the wanted ones (n,) are."""
        found, lacking = {}, {}
        for p, values in wanted.items():
            known, coded, whole = self._known(p)
            quick = whole.find(values)
            if quick is not None:
                found[p] = (coded, quick)
                continue
            where = known.searchsorted(values)
            there = _same(known, where, values)
            found[p] = (coded, where)
            if not there.all():
                lacking[p] = np.unique(values[~there])
        if lacking or self.constant is None:
            tables = self._asked(row, lacking)
            for p, (known, coded) in tables.items():
                found[p] = (coded, known.searchsorted(wanted[p]))
        return found

    def _asked(self, row: FloatArray, lacking: Mapping[int, FloatArray]) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Push new values through the transformers; for each feature, all its values in order and their inputs."""
        rows = np.repeat(row[None, :], 1 + sum(new.size for new in lacking.values()), axis=0)
        start, tables = 1, {}
        for p, new in lacking.items():
            rows[start : start + new.size, p] = new
            start += new.size
        inputs = self.run(rows)
        self.constant, start = inputs[0], 1
        for p, new in lacking.items():
            known, coded, _ = self._known(p)
            values = np.concatenate([known, new])
            order = np.argsort(values, kind="stable")
            more = inputs[start : start + new.size][:, self.columns[p]]
            tables[p] = (values[order], np.concatenate([coded, more])[order])
            start += new.size
            if values.size <= self.most:
                self._memory(p)[p] = (*tables[p], WholeNumbers.of(tables[p][0]))
        return tables


def _same(known: FloatArray, where: IntArray, values: FloatArray) -> BoolArray:
    """Which values stand at their places among the known ones; NaN is the same as NaN."""
    if not known.size:
        return np.zeros(values.shape, dtype=bool)
    there = known[np.minimum(where, known.size - 1)]
    return np.asarray((there == values) | (np.isnan(there) & np.isnan(values)))
