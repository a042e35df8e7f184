"""The user's own classifier, asked about codes: the judge of everything."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import DataError, ParameterError, RefusedError
from armin.models.alike import takes_alike
from armin.models.decide import find_target
from armin.models.probing import draw_codes
from armin.models.read import check_fitted, unwrap
from armin.models.tracing import column_positions
from armin.schema import Carried, Schema
from armin.schema.columns import worked_out
from armin.schema.frames import as_original, blanks_of, original_of

__all__ = ["Judge", "Oracle", "laid_open"]

_TRIED = 4
"""Rows on which it is tried what an estimator takes."""


class Judge(Protocol):
    """Whoever says which rows get the desired decision."""

    def accepts(self, codes: FloatArray) -> BoolArray:
        """Which rows, given as codes (n, D), get the desired decision."""
        ...


class Oracle:
    """The user's estimator, asked about codes.

    Parameters
    ----------
    estimator : a fitted classifier, or a pipeline that ends in one
    schema : the raw columns
    like : a frame (rows do not matter) with the columns that the estimator was trained on; None for an array
    desired : the label or labels that count as accepted
    threshold : accepted when the probability of the desired labels is at least this; None for ``predict``
    along : values that training rows have in the columns that are carried along

    Attributes
    ----------
    columns : the columns of the table that the estimator takes, in its order
    labels : the same as a frame has them, which need not be texts
    framed : whether that table is a frame; else an array without names
    taken : all columns that the estimator was fitted on; ``columns`` leaves out those that it drops unseen
    original : the library and the types of the training data, where the estimator wants its tables; None for pandas
    mixes : whether rows with blanks may stand in one table with others, which the estimator takes as it would alone

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from armin.schema import Schema
    >>> X = pd.DataFrame({"b": [1.0, 2.0], "a": [3.0, 4.0]})
    >>> oracle = Oracle(DummyClassifier().fit(X, [0, 1]), Schema.infer(X[["a", "b"]]), X, 1)
    >>> oracle.framed, oracle.columns
    (True, ['b', 'a'])
    """

    def __init__(
        self,
        estimator: Any,
        schema: Schema,
        like: pd.DataFrame | None,
        desired: Any,
        threshold: float | None = None,
        *,
        along: Carried | None = None,
    ) -> None:
        self.estimator = estimator
        self.schema = schema
        self.like = like
        self.types: dict[str, Any] = {} if like is None else {str(n): dtype for n, dtype in like.dtypes.items()}
        self.blanks = blanks_of(like)
        self.threshold = threshold
        self.carried: Carried | None = None
        check_fitted(estimator)
        self.target = find_target(estimator, desired, threshold)
        said = _as_spelled(_input_names(estimator), schema)
        self.taken = said or list(self.types) or schema.columns
        self.columns = [name for name in self.taken if name in schema.columns]
        lacking = set(self.taken) - set(self.columns)
        wrong = sorted(lacking - _dropped(estimator)) if lacking else []
        if wrong:
            raise DataError(
                f"The classifier must find all its columns in the schema. {wrong[0]!r} is only in the classifier. "
                "Add it to the schema, or fit the classifier without it."
            )
        labels = {} if like is None else {str(label): label for label in like.columns}
        self.labels = [labels.get(name, name) for name in self.columns]
        self.original: tuple[str, dict[str, str]] | None = None
        self.framed = said is not None or self._takes_frame(along)
        self._plain = _plain_table(self)
        if self.framed and original_of(like) is not None and not schema.carried:
            self.original = self._wants_original(original_of(like))
        self.mixes = self._plain is not None and self._plain.mixes and self.original is None

    def _wants_original(self, original: tuple[str, dict[str, str]] | None) -> tuple[str, dict[str, str]] | None:
        """Whether an estimator takes the tables of the library that the training data came from, and not pandas'."""
        codes = draw_codes(self.schema, _TRIED, np.random.default_rng(0))
        if not _failure(self, codes):
            return None
        tried = copy(self)
        tried.original = original
        return original if not _failure(tried, codes) else None

    def _takes_frame(self, along: Carried | None) -> bool:
        """Whether an estimator without ``feature_names_in_`` takes frames, or arrays.

        It takes what was passed to ``fit``, unless it fails on that, or warns about names, and does not on the other:
        the data may have been converted to an array before the estimator was fitted, or the other way round. A class
        that would name the columns of a frame, as boosters do, is tried on arrays first.
        """
        first = next(iter(laid_open(self.estimator)), None)
        given = self.like is not None and not hasattr(type(first), "feature_names_in_")
        codes = draw_codes(self.schema, _TRIED, np.random.default_rng(0))
        tried = copy(self)
        if along is not None and len(along):
            tried.carried = along
            places = [self.schema.position(name) for name in self.schema.carried]
            codes[:, places] = (np.arange(_TRIED) % len(along))[:, None]
        failures: dict[bool, int] = {}
        for framed in (given, not given):
            tried.framed = framed
            tried._plain = _plain_table(tried)
            failures[framed] = _failure(tried, codes)
            if not failures[framed]:
                return framed
        return given if failures[given] <= failures[not given] else not given

    def carrying(self, carried: Carried) -> Oracle:
        """The same estimator, which sees these values in the columns that are carried along."""
        other = copy(self)
        other.carried = carried
        return other

    @property
    def seen(self) -> tuple[object, ...]:
        """What must be the same in two judges for one question to be put to both: all but the values of the book.

        A book is shown in the types of the training data if they hold its values, so that rows whose values look
        otherwise, or are blank, are asked about apart.
        """
        shown: list[object] = [id(self.target)]  # those that carry something else share it
        if self.carried is not None:
            for name in self.schema.carried:
                column = self.carried.column(name, np.zeros(1), self.types.get(name), self.blanks.get(name))
                shown += [str(column.dtype), bool(column.isna().any())]
        return tuple(shown)

    def together(self, others: Sequence[Oracle]) -> Oracle:
        """One judge for the rows of all ``others``, which see the same; what the i-th carries is at place i."""
        return self.carrying(Carried.joined([other.carried for other in others if other.carried is not None]))

    def stricter(self, margin: float) -> Oracle:
        """The same estimator, asked for ``margin`` more probability than its decision needs."""
        threshold = self.threshold
        if threshold is None:
            if self.target.classes.size != 2:
                raise ParameterError(
                    "The 'margin' parameter needs a 'threshold' where there are more than two classes. Set threshold=."
                )
            _, final = unwrap(self.estimator)
            if any(isinstance(getattr(final, name, None), float) for name in ("threshold", "best_threshold_")):
                raise ParameterError(
                    f"{type(final).__name__} has a threshold of its own, so 'margin' needs to know where to start: "
                    "set threshold=."
                )
            threshold = 0.5
        if threshold + margin > 1:
            raise ParameterError(
                f"'threshold' plus 'margin' must be at most 1. Got {threshold:g} + {margin:g} = {threshold + margin:g}."
            )
        other = copy(self)
        other.threshold = threshold + margin
        other.target = find_target(self.estimator, self.target.labels, other.threshold)
        return other

    def table(self, codes: FloatArray) -> Any:
        """Codes (n, D) in the form the estimator was trained on: a frame, or an array without names."""
        codes = worked_out(self.schema, codes)
        plain_table = None if self._plain is None or self.original is not None else self._plain(codes)
        if plain_table is not None:
            return plain_table
        frame = self.schema.decode(codes, like=self.types, carried=self.carried, blanks=self.blanks)
        if self.columns != self.schema.columns:
            frame = frame[self.columns]
        if self.original is not None:
            return as_original(frame, self.original)
        if self.framed:
            return frame if self.labels == self.columns else frame.set_axis(self.labels, axis=1)
        plain = all(isinstance(t, np.dtype) and t.kind in "iufb" for t in frame.dtypes)
        return frame.to_numpy(dtype=np.float64 if plain else object)

    def accepts(self, codes: FloatArray) -> BoolArray:
        """Which rows, given as codes (n, D), get the desired decision."""
        if self.threshold is None:
            said, labels = np.asarray(self.asked("predict", codes)).ravel(), self.target.labels
            return np.asarray(said == labels[0]) if len(labels) == 1 else np.isin(said, labels)
        share = np.asarray(self.asked("predict_proba", codes))[:, list(self.target.accepted)].sum(axis=1)
        return np.asarray(share >= self.threshold)

    def asked(self, method: str, codes: FloatArray) -> Any:
        """What a method of the estimator says about rows, given as codes (n, D).

        Raises
        ------
        RefusedError
            Whatever the estimator raises.
        """
        rows = self.table(codes)
        try:
            return getattr(self.estimator, method)(rows)
        except Exception as error:
            raise RefusedError.of(error) from error


@dataclass(frozen=True, eq=False)
class _PlainTable:
    """The form of a table of numbers, all of one type.

    Attributes
    ----------
    dtype : the type
    order : the positions of the schema's columns in the table
    columns : their names; None for an array without names
    alike : whether the estimator takes whole numbers as floats alike
    """

    dtype: np.dtype[Any]
    order: IntArray
    columns: pd.Index[Any] | None
    alike: bool = False

    @property
    def mixes(self) -> bool:
        """Whether a blank changes nothing about the other rows of its table."""
        return self.columns is not None and (self.alike or self.dtype.kind == "f")

    @property
    def in_order(self) -> bool:
        """Whether the table has the columns of the schema as they stand."""
        return bool((self.order == np.arange(self.order.size)).all())

    def __call__(self, codes: FloatArray) -> Any | None:
        """Codes (n, D) as this table, column by column in memory as pandas has it; None where it cannot hold them."""
        given = codes if self.in_order else codes[:, self.order]
        with np.errstate(invalid="ignore"):
            values = given.astype(self.dtype, order="F")
        if self.dtype.kind != "f" and not (values == given).all():
            return self._with_blanks(codes)
        if self.columns is None:
            return None if np.isnan(codes).any() else values
        return pd.DataFrame(values, columns=self.columns, copy=False)

    def _with_blanks(self, codes: FloatArray) -> pd.DataFrame | None:
        """Whole numbers with blanks: a column that has one turns into floats; all of them where that is alike."""
        blank: BoolArray = np.isnan(codes)
        limits = np.iinfo(self.dtype)
        whole = (codes == np.rint(codes)) & (codes >= limits.min) & (codes <= limits.max)
        if self.columns is None or not (whole | blank).all():
            return None
        if self.alike:
            return pd.DataFrame(np.asfortranarray(codes[:, self.order]), columns=self.columns, copy=False)
        turned: list[bool] = np.any(blank, axis=0).tolist()
        numbers = np.where(blank, 0.0, codes).astype(self.dtype)
        names = zip(self.columns.tolist(), self.order.tolist(), strict=True)
        return pd.DataFrame({name: (codes if turned[p] else numbers)[:, p] for name, p in names})


def _plain_table(oracle: Oracle) -> _PlainTable | None:
    """How codes become the table that an estimator takes, all at once; None where each column is another matter."""
    schema, like = oracle.schema, oracle.like
    if not all(feature.is_number and not feature.sentinels for feature in schema) or (like is None and oracle.framed):
        return None
    double = np.dtype(np.float64)
    places = np.array([schema.position(name) for name in oracle.columns], dtype=np.intp)
    if like is None:
        return _PlainTable(double, places, None)
    types = set(oracle.types.values())
    dtype = types.pop()
    if types or not isinstance(dtype, np.dtype) or dtype.kind not in "iuf":
        return None
    if not oracle.framed:
        return _PlainTable(double, places, None) if dtype.kind != "f" or dtype == double else None
    return _PlainTable(dtype, places, pd.Index(oracle.labels), takes_alike(oracle.estimator))


def _failure(oracle: Oracle, codes: FloatArray) -> int:
    """How an estimator takes rows: 0 if it does, 1 if it warns about the names of columns, 2 if it fails."""
    with warnings.catch_warnings(record=True) as caught, np.errstate(all="ignore"):
        warnings.simplefilter("always")
        try:
            oracle.accepts(codes)
        except Exception:  # whatever a user's estimator raises where it is given what it does not know
            return 2
    return int(any("feature names" in str(one.message) for one in caught))


def _dropped(estimator: Any) -> set[str]:
    """The columns that a leading ColumnTransformer leaves out, which need not be there."""
    wrapped, final = unwrap(estimator)
    first: Any = next((step for outer in (*wrapped, final) for step in laid_open(outer)), None)
    if type(first).__name__ != "ColumnTransformer" or not hasattr(first, "feature_names_in_"):
        return set()
    names = [str(name) for name in first.feature_names_in_]
    used: set[int] = set()
    for _, step, which in first.transformers_:
        if step != "drop":
            used |= set(column_positions(which, first, len(names)))
    return {name for i, name in enumerate(names) if i not in used}


def _input_names(estimator: Any) -> list[str] | None:
    """The names of the columns that the estimator was fitted on, or None if it saw an array."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None and hasattr(estimator, "steps"):
        # a pipeline asks its first step, which knows nothing if it is "passthrough"
        first = next(iter(laid_open(estimator)), None)
        names = getattr(first, "feature_names_in_", None)
    if names is None:  # a step that takes its columns by their names
        names = next((getattr(step, "variable_names", None) for step in unwrap(estimator)[0][:1]), None)
    return None if names is None else [str(n) for n in names]


def _as_spelled(names: list[str] | None, schema: Schema) -> list[str] | None:
    """The names as the schema has them: LightGBM remembers "loan amount" as "loan_amount"."""
    if names is None:
        return None
    known = {name.replace(" ", "_"): name for name in schema.columns}
    return [name if name in schema.columns else known.get(name, name) for name in names]


def laid_open(step: Any) -> list[Any]:
    """The steps that act on new rows, pipelines within a pipeline laid open."""
    if hasattr(step, "steps"):
        return [inner for _, outer in step.steps for inner in laid_open(outer)]
    # imbalanced-learn's samplers act in fit only
    return [] if step is None or isinstance(step, str) or hasattr(step, "fit_resample") else [step]
