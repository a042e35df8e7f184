"""The schema: all columns of a row, by name; rows in, codes out, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.errors import DataError, SchemaError
from armin.schema.cast import decode_column, holds
from armin.schema.feature import Blank, Feature, Kind
from armin.schema.overrides import Overrides
from armin.schema.rules import Rule
from armin.schema.values import Value, plain_number

__all__ = ["Rows", "Schema"]

Rows: TypeAlias = pd.DataFrame | Mapping[str, object] | Sequence[object] | NDArray[Any]
"""What counts as rows: a DataFrame, Series, dict, list or array."""


@dataclass(frozen=True)
class Schema:
    """The columns of a row, in order.

    Examples
    --------
    >>> frame = pd.DataFrame({"income": [30, 40, 55], "purpose": ["car", "home", "car"]})
    >>> schema = Schema.infer(frame, units={"income": "k$"}, immutable=["purpose"])
    >>> print(schema)
    feature  kind     values      may change  step  if blank
    income   integer  30 … 55 k$  any         auto  reach
    purpose  binary   car, home   no          -     freeze
    >>> schema.encode({"income": 41, "purpose": None})
    array([[41., nan]])
    """

    features: tuple[Feature, ...]
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        names = [f.name for f in self.features]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise SchemaError(f"Column names must be different. {', '.join(map(repr, twice))} occur twice.")
        if not names:
            raise SchemaError("A schema needs at least one column. Got none.")
        for rule in self.rules:
            rule.check(self)
            rule.pairs()  # refuses a rule that could not be enforced

    @classmethod
    def infer(
        cls,
        frame: pd.DataFrame | NDArray[Any],
        *,
        kinds: Mapping[str, Kind] | None = None,
        categories: Mapping[str, Sequence[Value]] | None = None,
        immutable: Sequence[str] = (),
        mutable: Sequence[str] | None = None,
        increase_only: Sequence[str] = (),
        decrease_only: Sequence[str] = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        step: Mapping[str, float] | None = None,
        blanks: Mapping[str, Blank] | None = None,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        formats: Mapping[str, str] | None = None,
        difficulty: Mapping[str, float] | None = None,
    ) -> Schema:
        """Guess a schema from data; what the user says, by column name, wins.

        Parameters
        ----------
        frame : the training data, without the label column; blanks are fine
        kinds : "continuous", "integer", "binary", "categorical" or "ordinal"
        categories : the values of a column, in order for an ordinal one
        immutable, mutable : columns that may not change; or, the other way round, the only ones that may
        increase_only, decrease_only : columns that may move in one direction
        bounds : (lower, upper) of numbers; the range of the data if left out
        step : the grid on which a number moves
        blanks : "shift", "reach" or "freeze", how a blank may be acted on
        labels, units, formats : how people say it
        difficulty : a factor on the cost of changing a column

        Returns
        -------
        Schema
        """
        from armin.schema.infer import infer_features

        overrides = Overrides(
            kinds or {}, categories or {}, immutable, mutable, increase_only, decrease_only, bounds or {}, step or {},
            blanks or {}, labels or {}, units or {}, formats or {}, difficulty or {},
        )  # fmt: skip
        return cls(infer_features(frame, overrides))

    def update(
        self,
        *,
        immutable: Sequence[str] = (),
        mutable: Sequence[str] | None = None,
        increase_only: Sequence[str] = (),
        decrease_only: Sequence[str] = (),
        bounds: Mapping[str, tuple[float, float]] | None = None,
        step: Mapping[str, float] | None = None,
        blanks: Mapping[str, Blank] | None = None,
        labels: Mapping[str, str] | None = None,
        units: Mapping[str, str] | None = None,
        formats: Mapping[str, str] | None = None,
        difficulty: Mapping[str, float] | None = None,
    ) -> Schema:
        """The same schema with other rules for some columns; the words are those of :meth:`infer`.

        >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
        >>> schema.update(immutable=["age"])["age"].direction
        'fixed'
        """
        overrides = Overrides(
            {}, {}, immutable, mutable, increase_only, decrease_only, bounds or {}, step or {}, blanks or {},
            labels or {}, units or {}, formats or {}, difficulty or {},
        )  # fmt: skip
        overrides.check(self.names)
        return Schema(tuple(overrides.apply(f) for f in self.features), self.rules)

    def widened(self, rows: Rows | pd.Series[Any]) -> Schema:
        """The same schema with bounds and categories stretched to include ``rows``.

        >>> schema = Schema((Feature("age", "integer", lower=18, upper=60),))
        >>> schema.widened(pd.DataFrame({"age": [71]}))["age"].upper
        71.0
        """
        from armin.schema.infer import widen_feature

        frame = self.frame(rows)
        return Schema(tuple(widen_feature(f, frame[f.name]) for f in self.features), self.rules)

    def with_rules(self, *rules: Rule) -> Schema:
        """The same schema with further rules between features.

        >>> from armin.schema import AtLeast
        >>> names = ("total", "part")
        >>> schema = Schema(tuple(Feature(name, "integer", lower=0, upper=9) for name in names))
        >>> print(schema.with_rules(AtLeast("total", "part")))
        feature  kind     values  may change  step  if blank
        total    integer  0 … 9   any         auto  reach
        part     integer  0 … 9   any         auto  reach
        Rule: total must be at least part.
        """
        return Schema(self.features, self.rules + rules)

    @property
    def names(self) -> list[str]:
        """The column names, in order."""
        return [f.name for f in self.features]

    @property
    def actionable(self) -> list[int]:
        """Positions of the features that may change."""
        return [i for i, f in enumerate(self.features) if f.actionable]

    def __len__(self) -> int:
        return len(self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __getitem__(self, name: str | int) -> Feature:
        return self.features[name if isinstance(name, int) else self.position(name)]

    def position(self, name: str) -> int:
        """Where a column stands."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(f"{name!r} is not a column. The columns are: {', '.join(self.names)}.") from None

    def frame(self, rows: Rows | pd.Series[Any]) -> pd.DataFrame:
        """Rows of any accepted form as a DataFrame with this schema's columns."""
        if isinstance(rows, pd.DataFrame):
            frame = rows
        elif isinstance(rows, pd.Series):
            frame = pd.DataFrame([rows.to_dict()], columns=list(rows.index), dtype=object)
        elif isinstance(rows, Mapping):
            for key, value in rows.items():
                if isinstance(value, list | tuple | np.ndarray | dict):
                    raise DataError(f"A row is one value per column. Got {type(value).__name__} for {key!r} instead.")
            frame = pd.DataFrame([dict(rows)], columns=list(rows), dtype=object)
        else:
            frame = self._from_array(rows)
        names = [str(c) for c in frame.columns]
        self._check_columns(names)
        return frame.set_axis(names, axis=1)[self.names]

    def _from_array(self, rows: object) -> pd.DataFrame:
        try:
            array = np.asarray(rows, dtype=None if isinstance(rows, np.ndarray) else object)
        except ValueError:
            raise DataError("Rows must be a DataFrame, Series, dict or array with one value per column.") from None
        array = array[None, :] if array.ndim == 1 else array
        if array.ndim != 2 or array.shape[1] != len(self):
            raise DataError(
                f"A row must have {len(self)} values, one for each of {', '.join(self.names)}. "
                f"Got {type(rows).__name__} of shape {np.shape(array)} instead."
            )
        return pd.DataFrame(array, columns=self.names)

    def _check_columns(self, names: list[str]) -> None:
        unknown = [n for n in names if n not in self.names]
        if unknown:
            raise DataError(
                f"Unknown column {unknown[0]!r}. The schema has: {', '.join(self.names)}. "
                f"Drop it before the call: frame.drop(columns={unknown!r})."
            )
        twice = [n for n in names if names.count(n) > 1]
        if twice:
            raise DataError(f"Column names must be different. {twice[0]!r} occurs twice; keep one of them.")
        absent = [n for n in self.names if n not in names]
        if absent:
            raise DataError(
                f"Column {absent[0]!r} is missing altogether. A value that is not known must be there as a blank "
                "(None, NaN or an empty text)."
            )

    def encode(self, rows: Rows | pd.Series[Any], *, clip: bool = False) -> NDArray[np.float64]:
        """Rows as codes (n, D), NaN for blanks. Every value is checked.

        Parameters
        ----------
        rows : one row or many
        clip : pull numbers that are out of bounds back to them instead of refusing; meant for training data,
            where bounds say what may be suggested, not what has been seen

        Raises
        ------
        DataError
            With the column, the rule and the value.
        """
        if isinstance(rows, pd.Series) and rows.index.is_unique:
            rows = rows.to_dict()
        one = None if clip else self._encode_one(rows)
        if one is not None:
            return one
        frame = self.frame(rows)
        matrix = np.empty((len(frame), len(self)))
        for i, feature in enumerate(self.features):
            matrix[:, i] = feature.codes(frame[feature.name], clip=clip)
        return matrix

    def _encode_one(self, rows: object) -> NDArray[np.float64] | None:
        """One row as codes (1, D), value by value and without a table in between.

        None where there are many rows, or where something is wrong, which is then said with the table at hand.
        """
        if isinstance(rows, pd.DataFrame):
            if len(rows) != 1:
                return None
            names, values = [str(name) for name in rows.columns], list(rows.to_numpy(dtype=object)[0])
        elif isinstance(rows, Mapping):
            names, values = [str(name) for name in rows], list(rows.values())
        else:
            return None
        given = dict(zip(names, values, strict=True))
        if len(given) != len(names) or len(given) != len(self.features):
            return None
        try:
            return np.array([[feature.code(given[feature.name]) for feature in self.features]])
        except (DataError, KeyError):
            return None

    def decode(self, matrix: NDArray[np.float64], like: pd.DataFrame | None = None) -> pd.DataFrame:
        """Codes (n, D) as a DataFrame of values.

        Parameters
        ----------
        matrix : codes
        like : a frame whose column types are used where the values allow it
        """
        columns: dict[str, Any] = {}
        dtypes = {} if like is None else like.dtypes.to_dict()
        for i, feature in enumerate(self.features):
            codes, dtype = matrix[:, i], dtypes.get(feature.name)
            if feature.is_number and isinstance(dtype, np.dtype) and holds(codes, dtype):
                columns[feature.name] = codes.astype(dtype)  # no series in between
            else:
                columns[feature.name] = decode_column(feature, codes, dtype)
        return pd.DataFrame(columns)

    def plausible(self, codes: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows, as codes (n, D), do not contradict the rules between features as they stand."""
        fine = np.ones(codes.shape[0], dtype=bool)
        for rule in self.rules:
            fine &= rule.fits(self, codes)
        return fine

    def to_toml(self, path: str | Path | None = None) -> str:
        """This schema as TOML text, also written to ``path`` if given."""
        from armin.schema.toml import write_toml

        return write_toml(self, path)

    @classmethod
    def from_toml(cls, source: str | Path) -> Schema:
        """The schema in a TOML file, or in TOML text."""
        from armin.schema.toml import read_toml

        return cls(*read_toml(source))

    def __str__(self) -> str:
        rows = [("feature", "kind", "values", "may change", "step", "if blank")]
        for f in self.features:
            if f.is_number:
                values = f"{plain_number(f.low_code)} … {plain_number(f.high_code)}" + (f" {f.unit}" if f.unit else "")
            else:
                values = ", ".join(str(c) for c in f.categories)
                values = values if len(values) <= 40 else values[:39] + "…"
            moves = {"any": "any", "fixed": "no", "increase": "up only", "decrease": "down only"}[f.direction]
            step = "-" if not (f.is_number and f.actionable) else plain_number(f.step) if f.step else "auto"
            rows.append((f.name, f.kind, values, moves, step, f.blank_mode))
        rows = [tuple(" ".join(cell.splitlines()) for cell in row) for row in rows]  # type: ignore[misc]
        widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *(f"Rule: {rule.message(self)}" for rule in self.rules)])
