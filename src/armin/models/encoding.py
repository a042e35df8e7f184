"""A whole classifier, raw columns in, decision out: the user's own, and the same one as tables.

:class:`Oracle` asks the user's estimator through its public methods and is the judge of everything.
:func:`read_classifier` splits a pipeline into the part that works column by column, which is run
as it is, and the final model, which is read into plain arrays.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import DataError, ModelError, ParameterError
from armin.models.asking import ask_trace, comparable
from armin.models.decide import find_target
from armin.models.inputs import Prepare, WholeNumbers, dense
from armin.models.joint import JOINT, JointColumns, JointEncoder
from armin.models.kinds import BlackBox, LinearModel, Model, ReluNetwork
from armin.models.read import check_fitted, prepare_inputs, read_model, unwrap
from armin.models.tracing import AtMost, Trace, UntraceableError, column_positions, fills_by_others, through, trace
from armin.schema import Carried, Schema

__all__ = ["MOST_TOGETHER", "Judge", "Oracle", "ReadClassifier", "read_classifier"]

MOST_TOGETHER = 3
"""Features that may change and stand behind one model input together; more are left to the black box."""


class Encode(Protocol):
    """Codes to model inputs."""

    def __call__(self, codes: FloatArray) -> FloatArray:
        """Model inputs (n, P) for codes (n, D)."""
        ...

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same, and for values of single features, by their positions, the inputs (..., E) that each determines."""
        ...

    def carrying(self, oracle: Oracle) -> Encode:
        """The same for the carried columns of an oracle."""
        ...


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
    like : a frame (rows do not matter) with the column types the estimator was trained on, or None
    desired : the label or labels that count as accepted
    threshold : accepted when the probability of the desired labels is at least this; None for ``predict``
    """

    def __init__(
        self, estimator: Any, schema: Schema, like: pd.DataFrame | None, desired: Any, threshold: float | None = None
    ) -> None:
        self.estimator = estimator
        self.schema = schema
        self.like = like
        self.threshold = threshold
        self.carried: Carried | None = None
        check_fitted(estimator)
        self.target = find_target(estimator, desired, threshold)
        self.names = _input_names(estimator)
        self.taken = self.names
        """All columns that the estimator was fitted on; ``names`` leaves out those that it drops unseen."""
        if self.names is not None:
            lacking = [name for name in self.names if name not in schema.names]
            dropped = _dropped(estimator) if lacking else set()
            wrong = sorted(set(lacking) - dropped)
            if wrong:
                raise DataError(
                    f"The classifier must find all its columns in the schema. {wrong[0]!r} is only in the classifier. "
                    "Add it to the schema, or fit the classifier without it."
                )
            self.names = [name for name in self.names if name not in lacking]
        self._plain = _plain_table(self)

    def carrying(self, carried: Carried) -> Oracle:
        """The same estimator, which sees these values in the columns that are carried along."""
        other = copy(self)
        other.carried = carried
        return other

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
        return Oracle(self.estimator, self.schema, self.like, self.target.labels, threshold + margin)

    def table(self, codes: FloatArray) -> Any:
        """Codes (n, D) in the form the estimator was trained on: a frame, or an array without names."""
        plain_table = None if self._plain is None else self._plain(codes)
        if plain_table is not None:
            return plain_table
        frame = self.schema.decode(codes, like=self.like, carried=self.carried)
        if self.names is not None:
            return frame[self.names]
        if self.like is not None and not hasattr(self.estimator, "n_features_in_"):
            return frame  # an estimator that keeps no record of its columns gets them as the user has them
        plain = all(isinstance(t, np.dtype) and t.kind in "iufb" for t in frame.dtypes)
        return frame.to_numpy(dtype=np.float64 if plain else object)

    def accepts(self, codes: FloatArray) -> BoolArray:
        """Which rows, given as codes (n, D), get the desired decision."""
        rows = self.table(codes)
        if self.threshold is None:
            said, labels = np.asarray(self.estimator.predict(rows)).ravel(), self.target.labels
            return np.asarray(said == labels[0]) if len(labels) == 1 else np.isin(said, labels)
        share = np.asarray(self.estimator.predict_proba(rows))[:, list(self.target.accepted)].sum(axis=1)
        return np.asarray(share >= self.threshold)


@dataclass(frozen=True, eq=False)
class _PlainTable:
    """The form of a table of numbers, all of one type.

    Attributes
    ----------
    dtype : the type
    order : the positions of the schema's columns in the table
    columns : their names; None for an array without names
    """

    dtype: np.dtype[Any]
    order: IntArray
    columns: pd.Index[Any] | None

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
        """Whole numbers with blanks: a column that has one turns into floats."""
        blank: BoolArray = np.isnan(codes)
        limits = np.iinfo(self.dtype)
        whole = (codes == np.rint(codes)) & (codes >= limits.min) & (codes <= limits.max)
        if self.columns is None or not (whole | blank).all():
            return None
        turned: list[bool] = np.any(blank, axis=0).tolist()
        numbers = np.where(blank, 0.0, codes).astype(self.dtype)
        names = zip(self.columns.tolist(), self.order.tolist(), strict=True)
        return pd.DataFrame({name: (codes if turned[p] else numbers)[:, p] for name, p in names}, copy=False)


def _plain_table(oracle: Oracle) -> _PlainTable | None:
    """How codes become the table that an estimator takes, all at once; None where each column is another matter."""
    schema, like, names = oracle.schema, oracle.like, oracle.names
    if not all(feature.is_number for feature in schema) or (like is None and names is not None):
        return None
    double, as_it_is = np.dtype(np.float64), np.arange(len(schema), dtype=np.intp)
    if like is None:
        return _PlainTable(double, as_it_is, None)
    types = set(like.dtypes.to_dict().values())
    dtype = types.pop()
    if types or not isinstance(dtype, np.dtype) or dtype.kind not in "iuf":
        return None
    if names is None and hasattr(oracle.estimator, "n_features_in_"):
        return _PlainTable(double, as_it_is, None) if dtype.kind != "f" or dtype == double else None
    order = schema.names if names is None else names
    return _PlainTable(dtype, np.array([schema.position(name) for name in order], dtype=np.intp), pd.Index(order))


@dataclass(frozen=True, eq=False)
class ReadClassifier:
    """A classifier that was read exactly.

    Attributes
    ----------
    model : the final model as arrays
    encode : codes (n, D) to model inputs (n, P), through the user's own fitted transformers
    owners : int array of shape (P,), the schema position behind each model input; -1 if constant, -2 if several
    complete_only : whether a blank is filled from the other columns, so that the reading holds for complete rows only
    joint : the inputs that have several positions behind them
    """

    model: Model
    encode: Encode
    owners: IntArray
    complete_only: bool = False
    joint: tuple[JointColumns, ...] = ()

    def carrying(self, oracle: Oracle) -> ReadClassifier:
        """The same for the carried columns of an oracle; ``owners`` stays the very same array."""
        model = BlackBox(oracle.accepts, self.model.n_inputs) if isinstance(self.model, BlackBox) else self.model
        return replace(self, model=model, encode=self.encode.carrying(oracle))


def read_classifier(oracle: Oracle, *, blackbox: bool = False) -> ReadClassifier:
    """Read the estimator behind an oracle; or wrap it whole, if a black box is asked for."""
    schema = oracle.schema
    if blackbox:
        box = BlackBox(oracle.accepts, len(schema))
        return ReadClassifier(box, AsTheyAre(), np.arange(len(schema), dtype=np.intp))
    wrapped, final = unwrap(oracle.estimator)
    steps = [step for outer in wrapped for step in _laid_open(outer)]
    model: Model = read_model(final, oracle.target.labels, threshold=oracle.threshold)
    behind: Trace = list(range(len(schema)))
    if oracle.taken is not None:
        behind = [schema.position(n) if n in schema.names else None for n in oracle.taken]
    followed: list[Any] = []
    prepare = prepare_inputs(final)
    for i, step in enumerate(steps):
        try:
            behind = _behind(oracle, model, followed, steps[i:], behind)
        except UntraceableError as error:
            model, prepare = _fold(model, steps[i:], error), dense
            break
        followed.append(step)
    if len(behind) != model.n_inputs:
        raise ModelError(
            f"The steps before {type(final).__name__} were traced to {len(behind)} columns, but it takes "
            f"{model.n_inputs}. Use method='blackbox', and please report this."
        )
    whole = _Steps(oracle, tuple(followed), prepare)
    owners = np.array([-1 if p is None else JOINT if isinstance(p, frozenset) else p for p in behind], dtype=np.intp)
    sets = sorted({p for p in behind if isinstance(p, frozenset)}, key=sorted)
    joint = tuple(
        JointColumns(tuple(sorted(one)), np.array([i for i, p in enumerate(behind) if p == one], dtype=np.intp))
        for one in sets
    )
    alone = _Encoder(whole, owners)
    filled = any(fills_by_others(step) for step in followed)
    return ReadClassifier(model, JointEncoder(whole, alone, joint) if joint else alone, owners, filled, joint)


def _behind(oracle: Oracle, model: Model, followed: Collection[Any], rest: list[Any], behind: Trace) -> Trace:
    """What stands behind the outputs of the next step: known, or found by asking.

    Raises
    ------
    UntraceableError
        If too many columns stand behind an output, or the step is better folded into the model.
    """
    step = rest[0]
    name = type(step).__name__
    try:
        found = through(behind, trace(step, len(behind)))
        asks = any(isinstance(one, AtMost) and _too_wide(oracle.schema, [one]) for one in found)
    except UntraceableError:
        if isinstance(model, LinearModel | ReluNetwork) and all(_affine(later) is not None for later in rest):
            raise
        asks = True
    if asks:
        found = ask_trace(oracle.schema, _Steps(oracle, (*followed, step), comparable), name)
    wide = _too_wide(oracle.schema, found)
    if wide:
        raise UntraceableError(
            f"The step {name} mixes columns: {wide} features that may change stand behind one output, and at most "
            f"{MOST_TOGETHER} can be followed exactly. Use method='blackbox', or train the model without it."
        )
    return found


def _too_wide(schema: Schema, behind: Trace) -> int:
    """How many features that may change stand behind one output, if they are too many; else 0."""
    sets = {one for one in behind if isinstance(one, frozenset)}
    most = max((sum(schema.features[p].actionable for p in one) for one in sets), default=0)
    return most if most > MOST_TOGETHER else 0


def _dropped(estimator: Any) -> set[str]:
    """The columns that a leading ColumnTransformer leaves out, which need not be there."""
    wrapped, final = unwrap(estimator)
    first: Any = next((step for outer in (*wrapped, final) for step in _laid_open(outer)), None)
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
        first = next(iter(_laid_open(estimator)), None)
        names = getattr(first, "feature_names_in_", None)
    if names is None:  # a step that takes its columns by their names
        names = next((getattr(step, "variable_names", None) for step in unwrap(estimator)[0][:1]), None)
    return None if names is None else [str(n) for n in names]


def _laid_open(step: Any) -> list[Any]:
    """The steps that act on new rows, pipelines within a pipeline laid open."""
    if hasattr(step, "steps"):
        return [inner for _, outer in step.steps for inner in _laid_open(outer)]
    # imbalanced-learn's samplers act in fit only
    return [] if step is None or isinstance(step, str) or hasattr(step, "fit_resample") else [step]


@dataclass(frozen=True, eq=False)
class _Steps:
    """Codes to model inputs through the user's own fitted transformers; a class, so that it can be pickled."""

    oracle: Oracle
    steps: tuple[Any, ...]
    prepare: Prepare

    def __call__(self, codes: FloatArray) -> FloatArray:
        rows = self.oracle.table(codes)
        for step in self.steps:
            rows = step.transform(rows)
        return self.prepare(rows)


class AsTheyAre:
    """Codes are the model's inputs."""

    def __call__(self, codes: FloatArray) -> FloatArray:
        """The same codes (n, D)."""
        return codes

    def carrying(self, oracle: Oracle) -> AsTheyAre:
        """The same: codes do not say what is carried."""
        return self

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same codes, and the same values, each as the one input that its feature owns."""
        return codes, {p: alone[..., None].copy() for p, alone in values.items()}


class _Encoder:
    """Codes to model inputs, remembering what each value of each feature becomes.

    The steps work column by column, so the inputs that a feature owns depend on its own value only. Each new value is
    pushed through the user's transformers once, in the company of any row.
    """

    most = 4096
    """Values to remember for one feature."""

    def __init__(self, encode: _Steps, owners: IntArray) -> None:
        self.encode, self.owners = encode, owners
        self.columns = {int(p): np.flatnonzero(owners == p) for p in np.unique(owners) if p >= 0}
        self.known: dict[int, tuple[FloatArray, FloatArray, WholeNumbers]] = {}
        self.apart: dict[int, dict[int, tuple[FloatArray, FloatArray, WholeNumbers]]] = {}
        self.alone: dict[tuple[int, float], FloatArray] = {}
        self.constant: FloatArray | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # what is remembered is found out again
        return type(self), (self.encode, self.owners)

    def carrying(self, oracle: Oracle) -> _Encoder:
        """The same for the carried columns of an oracle; what is known of other columns stays known to both."""
        other = _Encoder(replace(self.encode, oracle=oracle), self.owners)
        other.known = self.known
        other.apart = {oracle.schema.position(name): {} for name in oracle.schema.carried}
        return other

    def _memory(self, p: int) -> dict[int, tuple[FloatArray, FloatArray, WholeNumbers]]:
        """Where the values of a feature are remembered: those of a carried one hold for this row only."""
        return self.apart.get(p, self.known)

    def __call__(self, codes: FloatArray) -> FloatArray:
        """Model inputs (n, P) for codes (n, D)."""
        return self.together(codes, {})[0]

    def together(self, codes: FloatArray, values: Mapping[int, FloatArray]) -> tuple[FloatArray, dict[int, FloatArray]]:
        """The same, and for values of single features the inputs (..., E) that they own; what is new is asked once."""
        n = codes.shape[0]
        if n == 0:
            return np.zeros((0, self.owners.size)), {}
        # completions of one row share most of their values
        fixed, row = (codes == codes[0]).all(axis=0).tolist(), codes[0].tolist()
        shared = {p: self._alone(p, row[p]) for p in self.columns if fixed[p] or n == 1}
        wanted = {p: codes[: 1 if p in shared else n, p] for p in self.columns if shared.get(p) is None}
        own = {p: column.size for p, column in wanted.items()}
        for p in values.keys() & self.columns.keys():
            wanted[p] = np.concatenate([wanted[p], values[p].ravel()]) if p in wanted else values[p].ravel()
        found = self._found(codes[0], wanted)
        assert self.constant is not None  # noqa: S101  set with the first value
        first, tables = self.constant.copy(), {}
        for p, one in shared.items():
            if one is None:
                coded, where = found[p]
                one = self._keep(p, row[p], coded[where[0]])
            first[self.columns[p]] = one
        inputs = np.repeat(first[None, :], n, axis=0)
        for p, (coded, where) in found.items():
            if p not in shared:
                inputs[:, self.columns[p]] = coded[where[:n]]
            if p in values:
                tables[p] = coded[where[own.get(p, 0) :]].reshape(*values[p].shape, -1)
        for p in values.keys() - tables.keys():  # the model does not look at this feature
            tables[p] = np.zeros((*values[p].shape, 0))
        return inputs, tables

    def _alone(self, p: int, value: float) -> FloatArray | None:
        """The inputs (E,) of one value of a feature; None if it is new."""
        one = self.alone.get((p, value))
        if one is None and p in self._memory(p):
            _, coded, whole = self._memory(p)[p]
            place = whole.place(value)
            one = None if place < 0 else self._keep(p, value, coded[place])
        return one

    def _keep(self, p: int, value: float, inputs: FloatArray) -> FloatArray:
        if len(self.alone) >= self.most:
            self.alone = {}
        if not math.isnan(value):  # which is no key
            self.alone[p, value] = inputs
        return inputs

    def _known(self, p: int) -> tuple[FloatArray, FloatArray, WholeNumbers]:
        """The known values of a feature in order, their inputs, and where whole ones stand."""
        memory = self._memory(p)
        if p not in memory:
            return np.zeros(0), np.zeros((0, self.columns[p].size)), WholeNumbers.of(np.zeros(0))
        return memory[p]

    def _found(self, row: FloatArray, wanted: Mapping[int, FloatArray]) -> dict[int, tuple[FloatArray, IntArray]]:
        """For each feature, the inputs of known values, and where among them the wanted ones (n,) are."""
        found, lacking = {}, {}
        for p, values in wanted.items():
            known, coded, whole = self._known(p)
            quick = whole.find(values)
            if quick is not None:
                found[p] = (coded, quick)
                continue
            where = known.searchsorted(values)
            there = _same(known, where, values)
            found[p] = (coded, where)
            if not there.all():
                lacking[p] = np.unique(values[~there])
        if lacking or self.constant is None:
            tables = self._asked(row, lacking)
            for p, (known, coded) in tables.items():
                found[p] = (coded, known.searchsorted(wanted[p]))
        return found

    def _asked(self, row: FloatArray, lacking: Mapping[int, FloatArray]) -> dict[int, tuple[FloatArray, FloatArray]]:
        """Push new values through the transformers; for each feature, all its values in order and their inputs."""
        rows = np.repeat(row[None, :], 1 + sum(new.size for new in lacking.values()), axis=0)
        start, tables = 1, {}
        for p, new in lacking.items():
            rows[start : start + new.size, p] = new
            start += new.size
        inputs = self.encode(rows)
        self.constant, start = inputs[0], 1
        for p, new in lacking.items():
            known, coded, _ = self._known(p)
            values = np.concatenate([known, new])
            order = np.argsort(values, kind="stable")
            more = inputs[start : start + new.size][:, self.columns[p]]
            tables[p] = (values[order], np.concatenate([coded, more])[order])
            start += new.size
            if values.size <= self.most:
                self._memory(p)[p] = (*tables[p], WholeNumbers.of(tables[p][0]))
        return tables


def _same(known: FloatArray, where: IntArray, values: FloatArray) -> BoolArray:
    """Which values stand at their places among the known ones; NaN is the same as NaN."""
    if not known.size:
        return np.zeros(values.shape, dtype=bool)
    there = known[np.minimum(where, known.size - 1)]
    return np.asarray((there == values) | (np.isnan(there) & np.isnan(values)))


def _fold(model: Model, steps: Collection[Any], why: UntraceableError) -> Model:
    """Fold steps that mix columns linearly into the first layer of a linear model or network."""
    affine = [_affine(step) for step in steps]
    if any(a is None for a in affine):
        raise why
    if not isinstance(model, LinearModel | ReluNetwork):
        raise UntraceableError(
            f"The steps {', '.join(type(step).__name__ for step in steps)} mix columns, which can be followed exactly "
            f"for linear models and ReLU networks, not for a {type(model).__name__}. Use method='blackbox', or train "
            "the model without them."
        )
    for found in reversed(affine):
        assert found is not None  # noqa: S101  checked above
        matrix, shift = found  # outputs = inputs @ matrix + shift
        if isinstance(model, LinearModel):
            model = replace(model, weights=model.weights @ matrix.T, intercept=model.intercept + model.weights @ shift)
        else:
            first = model.weights[0]
            model = replace(
                model,
                weights=(matrix @ first, *model.weights[1:]),
                biases=(model.biases[0] + shift @ first, *model.biases[1:]),
            )
    return model


_AFFINE = ("PCA", "IncrementalPCA", "TruncatedSVD", "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler")
_FAR = 2.0**40  # so far out that the shift does not blur the slope, and a power of two, so that nothing else does


def _affine(step: Any) -> tuple[FloatArray, FloatArray] | None:
    """The matrix and shift of a step that is known to be affine, found by asking it for a basis."""
    if type(step).__name__ not in _AFFINE or type(step).__module__.split(".")[0] != "sklearn":
        return None
    if getattr(step, "clip", False):
        return None
    n = int(step.n_features_in_)
    basis: Any = np.vstack([np.zeros(n), np.eye(n) * _FAR])
    if hasattr(step, "feature_names_in_"):
        basis = pd.DataFrame(basis, columns=step.feature_names_in_)
    images = dense(step.transform(basis))
    return (images[1:] - images[0]) / _FAR, images[0]
