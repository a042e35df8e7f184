"""What a sampler is: many legal completions of one row; and an imputer: one.

A row is a vector of codes (see :class:`armin.schema.Feature`) in which NaN is a blank. Two small
base classes keep the promises that do not depend on the method: observed values are returned
exactly, rows without blanks are copied, use before ``fit`` is refused, and the same generator
gives the same draws.

>>> import numpy as np
>>> from armin.schema import Feature, Schema
>>> schema = Schema((Feature("a", "integer", lower=0, upper=3), Feature("b", "binary", categories=("n", "y"))))
>>> from armin.sampling import Marginal
>>> sampler = Marginal().fit(np.array([[1.0, 0.0], [3.0, 1.0]]), schema)
>>> sampler.sample(np.array([2.0, np.nan]), 4, np.random.default_rng(0)).values[:, 0]
array([2., 2., 2., 2.])
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Protocol, Self, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from armin.arrays import FloatArray, IntArray
from armin.errors import DataError, NotFittedError, ParameterError
from armin.learned import Learned
from armin.registry import Registry
from armin.sampling.legal import CodeBounds
from armin.schema import Schema

__all__ = [
    "IMPUTERS",
    "SAMPLERS",
    "BaseImputer",
    "BaseSampler",
    "Draws",
    "Imputer",
    "RowSampler",
    "Sampler",
    "check_count",
    "row_sampler",
]


@dataclass(frozen=True, eq=False)
class Draws:
    """Completions of one row.

    Attributes
    ----------
    values : codes (n, D), no NaN; the observed values are the row's own
    weights : positive numbers (n,)

    Examples
    --------
    >>> Draws.equal(np.array([[1.0, 2.0], [1.0, 3.0]])).weights
    array([1., 1.])
    """

    values: FloatArray
    weights: FloatArray

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.weights.shape != self.values.shape[:1]:
            raise DataError(
                "Draws need values (n, D) and weights (n,). "
                f"Got shapes {self.values.shape} and {self.weights.shape} instead."
            )
        if np.isnan(self.values).any():
            raise DataError("Draws must not hold a blank. Got NaN; every blank of the row must be filled.")
        if not (np.isfinite(self.weights).all() and (self.weights > 0).all()):
            raise DataError("The weights of draws must be positive and finite. Leave out draws of weight 0.")

    @classmethod
    def equal(cls, values: FloatArray) -> Draws:
        """Draws of weight 1."""
        return cls(values, np.ones(values.shape[0]))

    def __len__(self) -> int:
        return int(self.values.shape[0])


@runtime_checkable
class Sampler(Protocol):
    """Draws completions of one row.

    >>> from armin.sampling import Uniform
    >>> isinstance(Uniform(), Sampler)
    True
    """

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn from codes ``X`` (n, D), in which NaN is a blank."""

    def sample(self, row: FloatArray, n: int, rng: np.random.Generator) -> Draws:
        """``n`` completions of ``row`` (D,), the same for the same state of ``rng``."""


@runtime_checkable
class Imputer(Protocol):
    """Fills the blanks of one row with one value each.

    >>> from armin.sampling import MeanImputer
    >>> isinstance(MeanImputer(), Imputer)
    True
    """

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn from codes ``X`` (n, D), in which NaN is a blank."""

    def impute(self, row: FloatArray) -> FloatArray:
        """``row`` (D,) with legal codes in place of its blanks."""


SAMPLERS: Registry[BaseSampler] = Registry("sampler", "armin.sampling")
"""The samplers that have a name."""

IMPUTERS: Registry[BaseImputer] = Registry("imputer", "armin.sampling")
"""The imputers that have a name."""


class _Fitted(Learned):
    """Knows its schema once it is fitted, and checks what it is given."""

    schema_: Schema
    bounds_: CodeBounds

    def __init_subclass__(cls, *, alias: str = "", summary: str = "") -> None:
        super().__init_subclass__(alias=alias, summary=summary)
        # what a parent keeps says nothing about a subclass, which may learn more
        if "kept" not in vars(cls):
            cls.kept = Learned.kept  # type: ignore[method-assign]

    def fit(self, X: ArrayLike, schema: Schema) -> Self:
        """Learn from codes ``X`` (n, D), in which NaN is a blank; at least one row."""
        if not isinstance(schema, Schema):
            raise ParameterError(f"'schema' must be a Schema. Got {type(schema).__name__} instead.")
        matrix = np.array(X, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != len(schema) or matrix.shape[0] == 0:
            raise DataError(
                f"Training codes must have shape (n, {len(schema)}) with n >= 1. Got {matrix.shape} instead. "
                "Encode the data with schema.encode(frame)."
            )
        bounds = CodeBounds.of(schema)
        matrix = np.clip(CodeBounds.legal(schema).check(matrix), bounds.low, bounds.high)
        self._fit(matrix, schema)
        self.schema_ = schema
        self.bounds_ = bounds
        return self

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        """Learn from legal codes; nothing, unless a class says otherwise."""

    def _checked_row(self, row: ArrayLike) -> FloatArray:
        if not hasattr(self, "schema_"):
            name = type(self).__name__
            raise NotFittedError(f"This {name} is not fitted. Call {name}(...).fit(codes, schema) first.")
        codes = np.array(row, dtype=np.float64)
        if codes.shape != (len(self.schema_),):
            raise DataError(f"A row must have shape ({len(self.schema_)},). Got {codes.shape} instead.")
        beyond = (codes < self.bounds_.low) | (codes > self.bounds_.high)
        (CodeBounds.legal(self.schema_) if beyond.any() else self.bounds_).check(codes[None, :])
        return codes

    def _seen(self, codes: FloatArray) -> FloatArray:
        """A row as it is drawn for: what lies beyond all that was learned from counts as the furthest of that."""
        return np.clip(codes, self.bounds_.low, self.bounds_.high)


class BaseSampler(_Fitted):
    """A sampler, but for ``_fit`` and ``_draw``; see CONTRIBUTING.md for one in full.

    Parameters of a class definition
    --------------------------------
    alias : the name by which users ask for it
    summary : how it draws, in one line
    compared : whether :func:`armin.compare_samplers` takes it if none are named

    Examples
    --------
    >>> class Lowest(BaseSampler, alias="lowest", summary="the least legal value"):
    ...     def _draw(self, row, blanks, n, rng):
    ...         return np.repeat(self.bounds_.low[None, blanks], n, axis=0)
    >>> from armin.sampling import as_sampler
    >>> as_sampler("lowest")
    Lowest()
    >>> del SAMPLERS.known["lowest"]
    """

    role: ClassVar[str] = "sampler"
    compared: ClassVar[bool] = False

    def __init_subclass__(cls, *, alias: str = "", summary: str = "", compared: bool = False) -> None:
        super().__init_subclass__(alias=alias, summary=summary)
        cls.compared = compared
        SAMPLERS.add(alias, cls)

    def sample(self, row: ArrayLike, n: int, rng: np.random.Generator) -> Draws:
        """``n`` completions of ``row`` (D,).

        Parameters
        ----------
        row : codes (D,), NaN for blanks
        n : how many
        rng : the source of randomness; the same state gives the same draws

        Returns
        -------
        Draws
        """
        return self._at(row).sample(n, rng)

    def at(self, row: ArrayLike) -> RowSampler:
        """The same, for many draws of one ``row`` (D,): what depends on the row alone is worked out once."""
        if type(self).sample is not BaseSampler.sample:
            return _Given(self, np.array(row, dtype=np.float64))
        return self._at(row)

    def _at(self, row: ArrayLike) -> _Ready:
        codes = self._checked_row(row)
        blanks = np.flatnonzero(np.isnan(codes))
        if not blanks.size:
            return _Ready(codes, blanks, None)
        seen = self._seen(codes)
        # whichever of the two a class defines last
        first = next(cls for cls in type(self).__mro__ if "_draw" in vars(cls) or "_ready" in vars(cls))
        if "_ready" in vars(first):
            return _Ready(codes, blanks, self._ready(seen, blanks))
        return _Ready(codes, blanks, partial(self._draw, seen, blanks))

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        """Legal codes (n, len(blanks)) for the blanks of ``row``."""
        raise NotImplementedError

    def _ready(self, row: FloatArray, blanks: IntArray) -> Drawing:
        """The same as a function of ``n`` and ``rng``; for samplers that can work something out before they draw."""
        raise NotImplementedError


class Drawing(Protocol):
    def __call__(self, n: int, rng: np.random.Generator, /) -> FloatArray:
        """Legal codes (n, blanks)."""


@runtime_checkable
class Branching(Protocol):
    """Draws blanks one after the other, so that the last one can be drawn many times at little cost."""

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator, /) -> FloatArray:
        """Legal codes (n, endings, blanks); each of the n shares all blanks but ``last``, which is drawn last."""


class RowSampler(Protocol):
    """Draws completions of one row that it knows."""

    @property
    def row(self) -> FloatArray:
        """The row (D,)."""

    def sample(self, n: int, rng: np.random.Generator) -> Draws:
        """``n`` completions, the same for the same state of ``rng``."""

    @property
    def ways(self) -> int:
        """How many blanks can be drawn last; 0 for a sampler that does not draw one after the other."""

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator) -> FloatArray:
        """Completions (n, endings, D), each of the n with many draws of the blank that is drawn last."""


@dataclass(frozen=True, eq=False)
class _Ready:
    """A sampler of ours that has looked at the row; ``drawing`` is None where nothing is blank."""

    row: FloatArray
    blanks: IntArray
    drawing: Drawing | None

    def sample(self, n: int, rng: np.random.Generator) -> Draws:
        check_count("n", n)
        if not isinstance(rng, np.random.Generator):
            raise ParameterError(
                f"'rng' must be a numpy Generator. Got {type(rng).__name__} instead; write np.random.default_rng(seed)."
            )
        values = np.repeat(self.row[None, :], n, axis=0)
        if self.drawing is not None:
            values[:, self.blanks] = self.drawing(n, rng)
        return Draws.equal(values)

    @property
    def ways(self) -> int:
        drawing: object = self.drawing
        return int(self.blanks.size) if isinstance(drawing, Branching) else 0

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator) -> FloatArray:
        drawing: object = self.drawing
        if not isinstance(drawing, Branching):
            raise NotImplementedError
        values = np.empty((n, endings, self.row.size))
        values[:] = self.row
        values[:, :, self.blanks] = drawing.branched(n, endings, last, rng)
        return values


@dataclass(frozen=True, eq=False)
class _Given:
    """A sampler that is asked anew each time."""

    sampler: Sampler
    row: FloatArray

    def sample(self, n: int, rng: np.random.Generator) -> Draws:
        return self.sampler.sample(self.row, n, rng)

    ways = 0

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator) -> FloatArray:
        raise NotImplementedError


def row_sampler(sampler: Sampler, row: FloatArray) -> RowSampler:
    """A sampler for one row (D,), made ready where it knows how to be.

    >>> from armin.sampling import Uniform
    >>> from armin.schema import Feature
    >>> sampler = Uniform().fit(np.array([[1.0]]), Schema((Feature("a", "integer", lower=0, upper=9),)))
    >>> len(row_sampler(sampler, np.array([np.nan])).sample(3, np.random.default_rng(0)))
    3
    """
    ready = getattr(sampler, "at", None)
    return _Given(sampler, row) if ready is None else cast(RowSampler, ready(row))


class BaseImputer(_Fitted):
    """An imputer, but for ``_fit`` and ``_fill``; ``alias`` and ``summary`` are those of :class:`BaseSampler`."""

    role: ClassVar[str] = "imputer"

    def __init_subclass__(cls, *, alias: str = "", summary: str = "") -> None:
        super().__init_subclass__(alias=alias, summary=summary)
        IMPUTERS.add(alias, cls)

    def impute(self, row: ArrayLike) -> FloatArray:
        """``row`` (D,) with one legal code in place of each blank."""
        codes = self._checked_row(row)
        blanks = np.flatnonzero(np.isnan(codes))
        if blanks.size:
            codes[blanks] = self._fill(self._seen(codes), blanks)
        return codes

    def _fill(self, row: FloatArray, blanks: IntArray) -> FloatArray:
        """Legal codes (len(blanks),) for the blanks of ``row``."""
        raise NotImplementedError


def check_count(name: str, value: object, least: int = 1) -> int:
    """A whole number of at least ``least``, or a refusal.

    >>> check_count("k", 5)
    5
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"'{name}' must be a whole number of at least {least}. Got {value!r} instead.")
    return int(value)
