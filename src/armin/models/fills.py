"""Which columns of the raw table a fitted model fills by itself where they are blank."""

from __future__ import annotations

from typing import Any

from armin.models.tracing import column_positions

__all__ = ["filled_positions"]

_AROUND = ("best_estimator_", "estimator_", "estimator")


def filled_positions(step: Any, n_inputs: int) -> set[int]:
    """The positions, among the ``n_inputs`` columns that a step takes, of those in which an imputer fills blanks.

    >>> from sklearn.impute import SimpleImputer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> filled_positions(make_pipeline(SimpleImputer(), LogisticRegression()), 2), filled_positions("passthrough", 2)
    ({0, 1}, set())
    """
    if any(cls.__name__.endswith("Imputer") for cls in type(step).__mro__):
        return set(range(n_inputs))
    if hasattr(step, "steps"):
        first, *rest = [one for _, one in step.steps]
        # beyond the first step columns are others: an imputer there fills what has come through
        later = any(filled_positions(one, 1) for one in rest)
        return set(range(n_inputs)) if later else filled_positions(first, n_inputs)
    if hasattr(step, "transformer_list"):
        return set().union(*(filled_positions(one, n_inputs) for _, one in step.transformer_list))
    found: set[int] = set()
    parts = getattr(step, "transformers_", None)
    for part in parts if isinstance(parts, list) else ():
        positions = column_positions(part[2], step, n_inputs)
        found |= {positions[i] for i in filled_positions(part[1], len(positions))}
    inner = next((getattr(step, name) for name in _AROUND if getattr(step, name, None) is not None), None)
    return found if inner is None or parts is not None else filled_positions(inner, n_inputs)
