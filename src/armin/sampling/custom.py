"""The user's own sampler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import FloatArray, IntArray
from armin.errors import DataError, ParameterError
from armin.sampling.base import BaseSampler
from armin.sampling.legal import check_codes
from armin.schema import Schema, Value

__all__ = ["FromCallable"]

DrawFunction = Callable[[dict[str, Value | None], int, np.random.Generator], Any]


class FromCallable(BaseSampler):
    """Completions from a function that the user wrote.

    ``function(row, n, rng)`` gets the row as a dict of raw values with None for blanks. It returns a DataFrame of
    ``n`` rows of raw values with at least the blank columns, or an array of codes (n, D). Every filled value
    is checked against the schema. Observed values are the row's own, whatever the function returns for them.

    Parameters
    ----------
    function : draws the completions; a function defined in a module, if this sampler is to be pickled

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> age, job = Feature("age", "integer", lower=18, upper=99), Feature("job", "binary", categories=("no", "yes"))
    >>> def draw(row, n, rng):
    ...     return pd.DataFrame({"job": rng.choice(["no", "yes"], n, p=[0.2, 0.8])})
    >>> sampler = FromCallable(draw).fit(np.array([[18.0, 0.0]]), Schema((age, job)))
    >>> sampler.sample(np.array([30.0, np.nan]), 3, np.random.default_rng(0)).values
    array([[30., 1.], [30., 1.], [30., 0.]])
    """

    def __init__(self, function: DrawFunction) -> None:
        self.function = function

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        if not callable(self.function):
            raise ParameterError(f"'function' must be callable. Got {type(self.function).__name__} instead.")

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        raw = {f.name: f.value(float(code)) for f, code in zip(self.schema_, row, strict=True)}
        given = self.function(raw, n, rng)
        if isinstance(given, pd.DataFrame):
            codes = self._from_frame(given, blanks)
        else:
            codes = self._from_array(given, blanks, n)
        if codes.shape[0] != n:
            raise DataError(f"The sampling function must return n = {n} rows. Got {codes.shape[0]} instead.")
        for i, d in enumerate(blanks):
            if np.isnan(codes[:, i]).any():
                raise DataError(
                    f"The sampling function must fill every blank. Got a blank in column {self.schema_[int(d)].name!r}."
                )
        return codes

    def _from_frame(self, frame: pd.DataFrame, blanks: IntArray) -> FloatArray:
        features = [self.schema_[int(d)] for d in blanks]
        absent = [f.name for f in features if f.name not in frame.columns]
        if absent:
            raise DataError(
                f"The sampling function must return every blank column. {absent[0]!r} is not among "
                f"{', '.join(str(c) for c in frame.columns)}."
            )
        return np.stack([f.codes(frame[f.name]) for f in features], axis=1)

    def _from_array(self, given: Any, blanks: IntArray, n: int) -> FloatArray:
        try:
            codes = np.array(given, dtype=np.float64)
        except (TypeError, ValueError):
            codes = np.empty(0)
        if codes.ndim != 2 or codes.shape[1] != len(self.schema_):
            raise DataError(
                f"The sampling function must return a DataFrame of {n} rows, or codes of shape ({n}, "
                f"{len(self.schema_)}). Got {type(given).__name__} of shape {np.shape(codes)} instead."
            )
        filled = np.full(codes.shape, np.nan)
        filled[:, blanks] = codes[:, blanks]
        return check_codes(self.schema_, filled)[:, blanks]
