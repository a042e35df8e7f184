"""Every error ARMIN raises on purpose.

Each is an :class:`ArminError` and also the builtin that fits, so ``except ValueError`` works too.
A message says what was wrong, the rule, the value received, and what to do next.

>>> from armin.errors import ArminError, DataError
>>> issubclass(DataError, ArminError) and issubclass(DataError, ValueError)
True
"""

from __future__ import annotations

__all__ = [
    "ArminError",
    "AuditError",
    "BundleChangedError",
    "DataError",
    "MissingDependencyError",
    "ModelError",
    "NotFittedError",
    "ParameterError",
    "RowError",
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

    Parameters
    ----------
    rule : what is wrong, the rule and the value: for whoever filled in the form
    advice : what whoever made the schema could do about it
    """

    def __init__(self, rule: str, advice: str = "") -> None:
        super().__init__(f"{rule} {advice}" if advice else rule)
        self.rule = rule


class BundleChangedError(DataError):
    """The file of a bundle is another one than the one that is wanted."""


class ModelError(ArminError, TypeError):
    """A model cannot be read exactly."""


class UnreadableError(ModelError):
    """A model that decides, and can be asked as a black box, but not be read exactly.

    Attributes
    ----------
    short : why, in a sentence; the whole text if there is none
    """

    short: str = ""


class NotFittedError(ArminError, ValueError, AttributeError):
    """An object is used before ``fit``."""


class SolverError(ArminError, RuntimeError):
    """A solver failed, or was asked for something that it cannot do."""


class MissingDependencyError(ArminError, ImportError):
    """An optional library is needed and not installed."""


class RowError(ArminError, RuntimeError):
    """One row of many could not be explained, through no rule of ours: a model raised an error, a process died."""


class RefusedError(RowError, ValueError):
    """The user's own classifier raised an error about rows that its schema allows.

    Attributes
    ----------
    short : that error, in a line
    """

    short: str = ""

    @classmethod
    def of(cls, error: Exception) -> RefusedError:
        """What is said about an error of the classifier."""
        if isinstance(error, RefusedError):
            return error
        found = cls(
            f"The classifier raised {_line(error)} The schema allows the rows that it was asked about: give the schema "
            "the bounds and categories that the classifier takes, or let the classifier take what the schema allows."
        )
        found.short = _line(error)
        return found


def _line(error: Exception) -> str:
    """An error in a line.

    >>> _line(ValueError("no such town")), _line(AssertionError())
    ('ValueError: no such town.', 'AssertionError.')
    """
    text = next(iter(str(error).strip().splitlines()), "").rstrip(".")
    return f"{type(error).__name__}: {text}"[:300] + "." if text else f"{type(error).__name__}."


class AuditError(ArminError, RuntimeError):
    """A result did not survive the final check with the user's own model."""
