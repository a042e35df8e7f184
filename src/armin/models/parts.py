"""A step of ours between the rows and a model: columns that become numbers of their own.

Some classifiers look at each column through a function before they add up. That function is run as it is, as the
transformers of a pipeline are, and the model is what comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armin.arrays import FloatArray
from armin.models.inputs import dense

__all__ = ["Beside", "ColumnParts"]


class ColumnParts:
    """A transformer of which each output depends on one column.

    Parameters
    ----------
    function : rows (n, D) to outputs (n, P)
    behind : the column behind each output; None where it is constant
    variable_names : the names of the columns, where the function takes them by their names

    >>> import numpy as np
    >>> squares = ColumnParts(np.square, [0, 1])
    >>> squares.transform(np.array([[1.0, 2.0]]))
    array([[1., 4.]])
    """

    def __init__(
        self,
        function: Callable[[Any], FloatArray],
        behind: Sequence[int | None],
        variable_names: Sequence[str] | None = None,
    ) -> None:
        self.function = function
        self.behind = list(behind)
        self.variable_names = variable_names

    def transform(self, X: Any) -> FloatArray:
        """The outputs (n, P) of rows."""
        return self.function(X)


class Beside:
    """The outputs of several rows of steps, all of which take the same rows, beside each other.

    Parameters
    ----------
    parts : for each row of steps a name, and the fitted transformers one after the other; none for the rows as they are

    >>> squares = ColumnParts(np.square, [0, 1])
    >>> Beside([("as they are", []), ("squares", [squares])]).transform(np.array([[1.0, 2.0]]))
    array([[1., 2., 1., 4.]])
    """

    def __init__(self, parts: Sequence[tuple[str, Sequence[Any]]]) -> None:
        self.transformer_list = [(name, _InTurn(steps)) for name, steps in parts]

    def transform(self, X: Any) -> FloatArray:
        """The outputs (n, P) of rows."""
        return np.concatenate([dense(part.transform(X)) for _, part in self.transformer_list], axis=1)


class _InTurn:
    """Steps one after the other."""

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = [(f"{i}", step) for i, step in enumerate(steps)]

    def transform(self, X: Any) -> Any:
        for _, step in self.steps:
            X = step.transform(X)
        return X
