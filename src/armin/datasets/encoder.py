"""One column for each category, and a blank that stays a blank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.preprocessing import OneHotEncoder

__all__ = ["BlankOneHotEncoder"]


class BlankOneHotEncoder(OneHotEncoder):  # type: ignore[misc]  # scikit-learn has no types
    """scikit-learn's one-hot encoder, where a blank is NaN in every column of its category.

    The plain one would make the blank a category of its own. With NaN, a model with a branch for blanks takes it, and
    one without refuses the row.

    Examples
    --------
    >>> jobs = pd.DataFrame({"job": ["a", "b", None]})
    >>> BlankOneHotEncoder(categories=[["a", "b"]], sparse_output=False).fit_transform(jobs)
    array([[ 1.,  0.],
           [ 0.,  1.],
           [nan, nan]])
    """

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the categories; blanks are skipped."""
        super().fit(_filled(pd.DataFrame(X)), y)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """One column for each category."""
        frame = pd.DataFrame(X)
        blanks = frame.isna().to_numpy()
        coded = super().transform(_filled(frame, self.categories_))
        coded = np.array(coded.toarray() if hasattr(coded, "toarray") else coded, dtype=np.float64)
        widths = [len(levels) for levels in self.categories_]
        coded[np.repeat(blanks, widths, axis=1)] = np.nan
        return coded


def _filled(frame: pd.DataFrame, known: Sequence[Any] | None = None) -> pd.DataFrame:
    """The frame with any legal value in place of each blank."""
    columns = {}
    for j, name in enumerate(frame.columns):
        column = frame[name]
        if column.isna().any():
            present = known[j] if known is not None else column.dropna().to_numpy()
            column = column.fillna(present[0]) if len(present) else column
        columns[name] = column
    return pd.DataFrame(columns, columns=frame.columns)
