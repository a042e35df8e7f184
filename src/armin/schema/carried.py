"""Columns that are carried along: an identifier, a date, a comment, a zip code that the model looks at.

Inside, every value is a number, and such a value is none. So it stays outside: the code of a carried column is a place
in a *book* of values that goes along with the codes. The book of one row has one place, 0, and all candidates of that
row share it: a carried column is constant in every question that is asked about a row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.schema.values import is_blank

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["Carried"]


@dataclass(frozen=True, eq=False)
class Carried:
    """The values of carried columns.

    Attributes
    ----------
    values : for each carried column the values, one per row; None for a blank

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("id", "carried"), Feature("age", "integer", lower=18, upper=90)))
    >>> book = Carried.of(schema, pd.DataFrame({"id": ["K7", "L2"], "age": [30, 40]}))
    >>> schema.decode(np.array([[1.0, 40.0], [1.0, 41.0]]), carried=book)["id"].tolist()
    ['L2', 'L2']
    """

    values: Mapping[str, Sequence[object]] = field(default_factory=dict)

    @classmethod
    def of(cls, schema: Schema, frame: pd.DataFrame) -> Carried:
        """What a table with the schema's columns holds in its carried ones."""
        return cls({name: [None if is_blank(v) else v for v in frame[name].tolist()] for name in schema.carried})

    @classmethod
    def of_row(cls, schema: Schema, row: Mapping[str, object]) -> Carried:
        """What one row holds in its carried columns; what it leaves out is blank."""
        given = {str(name): value for name, value in row.items()}
        found = {name: given.get(name) for name in schema.carried}
        return cls({name: [None if is_blank(value) else value] for name, value in found.items()})

    @property
    def complete(self) -> bool:
        """Whether nothing is blank."""
        return all(value is not None for values in self.values.values() for value in values)

    def __len__(self) -> int:
        """How many rows."""
        return max((len(values) for values in self.values.values()), default=0)

    def only(self, places: NDArray[np.intp]) -> Carried:
        """The values at some places, in that order."""
        return Carried({name: [values[i] for i in places.tolist()] for name, values in self.values.items()})

    @classmethod
    def joined(cls, books: Sequence[Carried]) -> Carried:
        """The values of several books, one after the other.

        >>> Carried.joined([Carried({"id": ["K7"]}), Carried({"id": ["L2"]})]).values
        {'id': ['K7', 'L2']}
        """
        return cls({name: [v for book in books for v in book.values.get(name, ())] for name in books[0].values})

    def column(self, name: str, places: NDArray[np.float64], dtype: Any = None, blank: Any = None) -> pd.Series[Any]:
        """One column as the model is to see it: the very values, in the type of the training data if it holds them.

        Parameters
        ----------
        name : the column
        places : array of shape (n,), which value stands in each row
        dtype : the type in the training data; None for the plainest one
        blank : what stands for a blank where the type has no sign of its own
        """
        values = [blank if value is None else value for value in self.values.get(name, ())]
        nowhere = np.isnan(places) | (places >= len(values))
        book = _typed(pd.Series([*values, blank] if nowhere.any() else values, dtype=object), dtype)
        where = np.where(nowhere, len(values), np.nan_to_num(places)).astype(np.intp)
        return pd.Series(book.array.take(where), dtype=book.dtype, copy=False)


def _typed(column: pd.Series[Any], dtype: Any) -> pd.Series[Any]:
    """The column in a type, if that changes no value; else in the plainest type that holds it."""
    if dtype is not None:
        blank = column.isna().to_numpy()
        try:
            cast = column.astype(dtype)
            same = bool((cast.isna().to_numpy() == blank).all())
            if same and all(_same(a, b) for a, b in zip(cast[~blank].tolist(), column[~blank].tolist(), strict=True)):
                return cast
        except (TypeError, ValueError, OverflowError):
            pass
    return column.infer_objects() if column.notna().any() else column.astype(np.float64)


def _same(cast: Any, given: Any) -> bool:
    """Whether a value stayed what it was; a text may become the date, or the number, that it spells, and back."""
    if isinstance(cast, pd.Timestamp | pd.Timedelta):
        return True
    if isinstance(cast, str) != isinstance(given, str):
        return str(cast) == str(given)
    return bool(cast == given)
