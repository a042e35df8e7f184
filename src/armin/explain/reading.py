"""The classifier as arrays or, where it cannot be read exactly, as a black box to be asked."""

from __future__ import annotations

import os
import time
import warnings
from inspect import currentframe
from itertools import combinations
from pathlib import Path

import numpy as np

from armin.errors import RefusedError, UnreadableError
from armin.models.encoding import ReadClassifier, read_classifier
from armin.models.oracle import Oracle
from armin.models.probing import draw_codes
from armin.schema import Schema

__all__ = ["BlackBoxWarning", "read_or_ask"]

_PACKAGE = str(Path(__file__).parents[1]) + os.sep

_ROWS = 1000
"""Rows by which the speed of the classifier is measured."""


class BlackBoxWarning(UserWarning):
    """A classifier cannot be read exactly, so that it is asked about choices in order of cost."""


def read_or_ask(oracle: Oracle, method: object, max_options: int) -> ReadClassifier:
    """Read a classifier; with ``method="auto"`` one that cannot be read exactly is wrapped, with a warning.

    Parameters
    ----------
    oracle : the classifier
    method : as in :class:`armin.ARMIN`
    max_options : options of one number, for the estimate of how long asking takes

    Raises
    ------
    ModelError
        If the classifier cannot be read, and another method than "auto" or "blackbox" is wanted.
    """
    if method == "blackbox":
        return read_classifier(oracle, blackbox=True)
    try:
        return read_classifier(oracle)
    except UnreadableError as error:
        if method != "auto":
            raise
        read = read_classifier(oracle, blackbox=True)
        said = f"{error.short or error} Until then, {_estimate(oracle, max_options)}"
        warnings.warn(said, BlackBoxWarning, stacklevel=_levels_to_the_user())
        return read


def _levels_to_the_user() -> int:
    """The ``stacklevel`` that points to the line from which this package was called."""
    frame, level = currentframe(), 0
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    return max(1, level)  # this function's own frame stands for that of warn itself


def _estimate(oracle: Oracle, max_options: int) -> str:
    """What asking in order of cost takes, from the classifier's own speed."""
    schema = oracle.schema
    sizes = _sizes(schema, max_options)
    one, two = sum(sizes), sum(a * b for a, b in combinations(sizes, 2))
    rows = draw_codes(schema, _ROWS, np.random.default_rng(0))
    start = time.perf_counter()
    try:
        oracle.accepts(rows)
    except RefusedError:
        speed = None
    else:
        speed = _ROWS / max(time.perf_counter() - start, 1e-9)
    said = (
        "the classifier itself is asked about choices in order of cost, which is exact when it ends. There are up to "
    )
    said += f"{one:,} with one change and {two:,} with two"
    if speed is None:
        return said + "."
    took = f": about {one / speed:.2g} s and {two / speed:.2g} s for a row without blanks."
    return f"{said}{took} Set ExpertOptions(time_limit=...)."


def _sizes(schema: Schema, max_options: int) -> list[int]:
    """How many options each feature that may change can have."""
    return [
        min(max_options, int(feature.high_code - feature.low_code) if feature.kind != "continuous" else max_options)
        for feature in schema
        if feature.actionable
    ]
