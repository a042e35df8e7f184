"""Every error ARMIN raises on purpose.

Each is an :class:`ArminError` and also the builtin that fits, so ``except ValueError`` works too.
A message says what was wrong, the rule, the value received, and what to do next.

>>> from armin.errors import ArminError, DataError
>>> issubclass(DataError, ArminError) and issubclass(DataError, ValueError)
True
"""

from __future__ import annotations

from typing import Self

__all__ = [
    "ArminError",
    "AuditError",
    "DataError",
    "MissingDependencyError",
    "ModelError",
    "NotFittedError",
    "ParameterError",
    "SchemaError",
    "SolverError",
]


class ArminError(Exception):
    """Base of all errors that ARMIN raises on purpose."""


class ParameterError(ArminError, ValueError):
    """A constructor or function argument breaks its rule."""


class SchemaError(ArminError, ValueError):
    """A schema contradicts itself, or a column cannot be described."""


class DataError(ArminError, ValueError):
    """A row or frame does not fit its schema.

    Attributes
    ----------
    fact : the rule and the value received, for whoever gave the value
    next_step : what to do about it, for whoever made the schema

    Examples
    --------
    >>> DataError.of_value("'age' must be a number.", "x", "Or declare it as 'categorical'.").fact
    "'age' must be a number. Got 'x' instead."
    """

    fact = next_step = ""

    @classmethod
    def of_value(cls, rule: str, value: object, next_step: str = "") -> Self:
        """The refusal of one value."""
        fact = f"{rule} Got {value!r} instead."
        error = cls(f"{fact} {next_step}".rstrip())
        error.fact, error.next_step = fact, next_step
        return error


class ModelError(ArminError, TypeError):
    """A model cannot be read exactly."""


class NotFittedError(ArminError, ValueError, AttributeError):
    """An object is used before ``fit``."""


class SolverError(ArminError, RuntimeError):
    """A solver failed, or was asked for something that it cannot do."""


class MissingDependencyError(ArminError, ImportError):
    """An optional library is needed and not installed."""


class AuditError(ArminError, RuntimeError):
    """A result did not survive the final check with the user's own model."""
