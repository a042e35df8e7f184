"""Refuse settings that cannot be meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armin.errors import ParameterError
from armin.schema import Schema

if TYPE_CHECKING:
    from armin.explainer.base import Explainer

__all__ = ["check_common", "check_whole"]


def check_common(explainer: Explainer) -> None:
    """Refuse what no method can work with."""
    name = type(explainer).__name__
    if not isinstance(explainer.schema, Schema):
        raise ParameterError(
            f"The 'schema' parameter of {name} must be a Schema. Got {type(explainer.schema).__name__} instead. "
            "Make one with armin.Schema.infer(X_train)."
        )
    if not explainer.schema.actionable:
        raise ParameterError(
            f"Every feature of the schema is immutable, so {name} has nothing to suggest. "
            "Allow at least one feature to change."
        )
    check_whole(name, "n_samples", explainer.n_samples, 1)
    check_whole(name, "max_options", explainer.max_options, 2)
    check_whole(name, "n_fresh", explainer.n_fresh, 0)
    if explainer.max_changes is not None:
        check_whole(name, "max_changes", explainer.max_changes, 1)
    if explainer.random_state is not None:
        check_whole(name, "random_state", explainer.random_state, 0)
    if not 0 <= explainer.margin < 1:
        raise ParameterError(
            f"The 'margin' parameter of {name} must be a probability in [0, 1). Got {explainer.margin!r} instead."
        )
    if explainer.time_limit is not None and not explainer.time_limit > 0:
        raise ParameterError(
            f"The 'time_limit' parameter of {name} must be a positive number of seconds, or None. "
            f"Got {explainer.time_limit!r} instead."
        )


def check_whole(owner: str, what: str, value: object, least: int) -> None:
    """Refuse what is not a whole number of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(
            f"The '{what}' parameter of {owner} must be a whole number of at least {least}. Got {value!r} instead."
        )
