"""One column for each category, as in the paper's matrices, and a blank that stays a blank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder

__all__ = ["BlankOneHotEncoder", "one_hot_names", "paper_encoder"]


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


def one_hot_names(feature: str, levels: Sequence[object]) -> list[str]:
    """The names that the paper's files give to the columns of a category.

    >>> one_hot_names("sex", ["Female", "Male"])
    ['sex:Female', 'sex:Male']
    """
    return [_named(feature, level) for level in levels]


def _named(feature: str, level: object) -> str:
    return f"{feature}:{level}"


def paper_encoder(numbers: Sequence[str], categories: Mapping[str, Sequence[str]]) -> ColumnTransformer:
    """An unfitted transformer: numbers as they are, then one column for each category.

    >>> X = pd.DataFrame({"age": [30.0, 40.0], "job": ["a", "b"]})
    >>> encoder = paper_encoder(["age"], {"job": ["a", "b"]}).fit(X)
    >>> list(encoder.get_feature_names_out())
    ['age', 'job:a', 'job:b']
    """
    steps: list[Any] = [("numbers", "passthrough", list(numbers))]
    if categories:
        one_hot = BlankOneHotEncoder(
            categories=[list(levels) for levels in categories.values()],
            sparse_output=False,
            feature_name_combiner=_named,
        )
        steps.append(("categories", one_hot, list(categories)))
    return ColumnTransformer(steps, verbose_feature_names_out=False)
