"""Which raw columns stand behind each output of a fitted transformer.

A *trace* lists, for every output column, the one input column that it depends on, a set of them where there are
several, or None if it is constant. What is not known of a step is found by asking it: :mod:`armin.models.probing`.

>>> import numpy as np
>>> from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
>>> trace(OneHotEncoder().fit(np.array([["a", "x"], ["b", "x"]])), 2)
[0, 0, 1]
>>> trace(PolynomialFeatures(interaction_only=True).fit(np.zeros((1, 2))), 2)
[None, 0, 1, frozenset({0, 1})]
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np

from armin.errors import UnreadableError

__all__ = [
    "AtMost",
    "Behind",
    "Trace",
    "fills_by_others",
    "register_transformer",
    "through",
    "trace",
    "traceable_transformers",
]

Behind = int | frozenset[int] | None
"""The one column behind an output, several of them, or none."""
Trace = list[Behind]


class AtMost(frozenset[int]):
    """Columns that an output can see; it may depend on fewer of them."""


Tracer = Callable[[Any, int], Sequence[int | Collection[int] | None]]


class UntraceableError(UnreadableError):
    """A transformer mixes columns, or nothing is known about it."""


def trace(transformer: Any, n_inputs: int) -> Trace:
    """The input columns behind each output column of a fitted transformer.

    Raises
    ------
    ModelError
        If the transformer is not known.
    """
    if transformer is None or isinstance(transformer, str):
        return [] if transformer == "drop" else list(range(n_inputs))
    for cls in type(transformer).__mro__:
        found = _TRACERS.get(cls.__name__)
        if found is not None and cls.__module__.split(".")[0] in found[0]:
            return [_plain(entry) for entry in found[1](transformer, n_inputs)]
        if "transform" in vars(cls):
            break  # a subclass that transforms in its own way is not what it inherits from
    raise UntraceableError(
        f"The step {type(transformer).__name__} is not known to work column by column, so it cannot be followed "
        f"exactly. Known: {', '.join(sorted(_TRACERS))}. If it does work column by column, say so with "
        "armin.models.register_transformer(cls); or use ExpertOptions(method='blackbox')."
    )


def _plain(entry: int | Collection[int] | None) -> Behind:
    """A set of one column is that column, and the empty set none."""
    if entry is None or isinstance(entry, int | np.integer):
        return None if entry is None else int(entry)
    several = (AtMost if isinstance(entry, AtMost) else frozenset)(int(i) for i in entry)
    return several if len(several) > 1 else next(iter(several), None)


def through(first: Sequence[Behind], second: Iterable[Behind]) -> Trace:
    """The trace of two transformers, one after the other.

    >>> through([4, None, 7], [frozenset({0, 2}), frozenset({0, 1}), 2, None])
    [frozenset({4, 7}), 4, 7, None]
    """
    found: Trace = []
    for entry in second:
        if entry is None or isinstance(entry, int):
            found.append(None if entry is None else first[entry])
        else:
            behind = [first[i] for i in entry]
            columns = {i for one in behind if one is not None for i in (one if isinstance(one, frozenset) else (one,))}
            unsure = isinstance(entry, AtMost) or any(isinstance(one, AtMost) for one in behind)
            found.append(_plain(AtMost(columns) if unsure else columns))
    return found


def register_transformer(cls: type, tracer: Tracer | None = None) -> None:
    """Declare which columns stand behind the outputs of a transformer.

    Parameters
    ----------
    cls : the transformer's class
    tracer : ``tracer(fitted, n_inputs)`` gives for each output its input column, a set of them where there are several,
        or None if it is constant. Left out: the transformer works column by column, one to one

    Examples
    --------
    >>> from sklearn.base import BaseEstimator
    >>> class Ratio(BaseEstimator):
    ...     def transform(self, X):
    ...         return X[:, :1] / X[:, 1:]
    >>> register_transformer(Ratio, lambda fitted, n_inputs: [{0, 1}])
    >>> trace(Ratio(), 2)
    [frozenset({0, 1})]
    """
    _TRACERS[cls.__name__] = ((cls.__module__.split(".")[0],), tracer or _one_to_one)


def traceable_transformers() -> list[str]:
    """The names of the transformers that are followed exactly."""
    return sorted(_TRACERS)


def fills_by_others(step: Any) -> bool:
    """Whether a step fills a blank from the other columns; through such a step a complete row passes unchanged.

    >>> from sklearn.impute import KNNImputer
    >>> from sklearn.pipeline import make_pipeline
    >>> fills_by_others(make_pipeline("passthrough", KNNImputer()))
    True
    """
    if any(cls.__name__ in _FILLERS and cls.__module__.split(".")[0] == "sklearn" for cls in type(step).__mro__):
        return True
    held = [getattr(step, name, ()) for name in ("steps", "transformers_", "transformer_list")]
    # pairs of a name and a step, or a dictionary of them
    inner = [part for parts in held for part in (parts.items() if isinstance(parts, dict) else parts)]
    return any(fills_by_others(part[1]) for part in inner)


def _one_to_one(transformer: Any, n_inputs: int) -> Trace:
    return list(range(n_inputs))


def _by_names(transformer: Any, n_inputs: int) -> Trace:
    """Ask the transformer to name its outputs for made-up input names, and read the inputs off the names."""
    twin = copy.copy(transformer)
    twin.__dict__.pop("feature_names_in_", None)
    tokens = np.array([f"<{i}>" for i in range(n_inputs)], dtype=object)
    outputs: Trace = []
    for name in twin.get_feature_names_out(tokens):
        found = re.match(r"(?:missingindicator_)?<(\d+)>", str(name))
        if found is None:
            raise UntraceableError(
                f"An output of {type(transformer).__name__} does not belong to one column: {str(name)!r}."
            )
        outputs.append(int(found[1]))
    return outputs


def _one_hot(encoder: Any, n_inputs: int) -> Trace:
    twin = copy.copy(encoder)
    twin.feature_name_combiner = _first
    return _by_names(twin, n_inputs)


def _first(feature: str, category: object) -> str:
    return str(feature)


def _selector(selector: Any, n_inputs: int) -> Trace:
    return [int(i) for i in selector.get_support(indices=True)]


def _own_word(parts: Any, n_inputs: int) -> Trace:
    return list(parts.behind)


def _pipeline(pipeline: Any, n_inputs: int) -> Trace:
    outputs: Trace = list(range(n_inputs))
    for _, step in pipeline.steps:
        if not hasattr(step, "fit_resample"):  # imbalanced-learn's samplers act in fit only
            outputs = through(outputs, trace(step, len(outputs)))
    return outputs


def _column_transformer(columns: Any, n_inputs: int) -> Trace:
    total = max((s.stop for s in columns.output_indices_.values()), default=0)
    outputs: Trace = [None] * total
    for name, step, which in columns.transformers_:
        place = columns.output_indices_[name]
        width = place.stop - place.start
        if not width:
            continue
        inputs = column_positions(which, columns, n_inputs)
        piece: Trace
        try:
            # a single column leaves nothing to mix
            piece = [*inputs] * width if len(inputs) == 1 else through(inputs, trace(step, len(inputs)))
        except UntraceableError:  # whatever it does, it sees no other columns
            piece = [AtMost(inputs)] * width
        if len(piece) != width:
            raise UntraceableError(f"The step {name!r} has {width} outputs; {len(piece)} traced.")
        outputs[place] = piece
    return outputs


def column_positions(which: Any, columns: Any, n_inputs: int) -> list[int]:
    """The positions that a fitted ColumnTransformer's column specification means."""
    names = [str(n) for n in getattr(columns, "feature_names_in_", [])]
    if isinstance(which, slice) and all(
        v is None or isinstance(v, int | np.integer) for v in (which.start, which.stop)
    ):
        return list(range(n_inputs))[which]
    if isinstance(which, slice):
        low = names.index(which.start) if which.start is not None else 0
        high = names.index(which.stop) + 1 if which.stop is not None else n_inputs
        return list(range(low, high))
    items = [which] if isinstance(which, str | int | np.integer) else list(which)
    if items and all(isinstance(i, bool | np.bool_) for i in items):
        return [i for i, flag in enumerate(items) if flag]
    return [names.index(i) if isinstance(i, str) else int(i) % n_inputs for i in items]


def _union(union: Any, n_inputs: int) -> Trace:
    outputs: Trace = []
    for _, step in union.transformer_list:
        outputs += trace(step, n_inputs)
    return outputs


def _function(transformer: Any, n_inputs: int) -> Trace:
    """A numpy function of one argument works value by value; anything else might not."""
    function = transformer.func
    if function is None or (isinstance(function, np.ufunc) and function.nin == function.nout == 1):
        return list(range(n_inputs))
    if getattr(transformer, "feature_names_out", None) == "one-to-one":
        return list(range(n_inputs))  # the user's word
    if n_inputs == 1:
        return [0] * _width(transformer)
    raise UntraceableError(
        f"FunctionTransformer({getattr(function, '__name__', function)!r}) may mix columns. If it works column by "
        "column, say feature_names_out='one-to-one', give it one column at a time, or use "
        "ExpertOptions(method='blackbox')."
    )


def _width(transformer: Any) -> int:
    try:
        return len(transformer.get_feature_names_out(["<0>"]))
    except (AttributeError, ValueError):
        return 1


def _table_vectorizer(vectorizer: Any, n_inputs: int) -> Trace:
    inputs = [str(n) for n in vectorizer.feature_names_in_]
    behind = {out: inputs.index(str(name)) for name, outs in vectorizer.input_to_outputs_.items() for out in outs}
    return [behind.get(name) for name in vectorizer.all_outputs_]


def _polynomial(features: Any, n_inputs: int) -> Trace:
    return [_plain(np.flatnonzero(powers).tolist()) for powers in features.powers_]


_SKLEARN = ("sklearn",)
_ONE_TO_ONE = (
    "StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer",
    "Binarizer", "OrdinalEncoder",
)  # fmt: skip
_FILLERS = ("KNNImputer", "IterativeImputer")
_NAMED = ("KBinsDiscretizer", "SplineTransformer", "SimpleImputer", "MissingIndicator", "TargetEncoder", *_FILLERS)
_SELECTORS = (
    "VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe",
    "GenericUnivariateSelect", "SelectFromModel", "RFE", "RFECV", "SequentialFeatureSelector",
)  # fmt: skip
_TRACERS: dict[str, tuple[tuple[str, ...], Tracer]] = {
    **dict.fromkeys(_ONE_TO_ONE, (_SKLEARN, _one_to_one)),
    **dict.fromkeys(_NAMED, (_SKLEARN, _by_names)),
    **dict.fromkeys(_SELECTORS, (_SKLEARN, _selector)),
    "OneHotEncoder": (_SKLEARN, _one_hot),
    "BlankOneHotEncoder": (("armin",), _one_hot),  # from armin.datasets
    "ColumnParts": (("armin",), _own_word),  # from armin.models.parts
    "Beside": (("armin",), _union),
    "_InTurn": (("armin",), _pipeline),
    "BinningProcess": (("optbinning",), _selector),
    "FunctionTransformer": (_SKLEARN, _function),
    "PolynomialFeatures": (_SKLEARN, _polynomial),
    "Pipeline": (("sklearn", "imblearn"), _pipeline),
    "ColumnTransformer": (_SKLEARN, _column_transformer),
    "FeatureUnion": (_SKLEARN, _union),
    "TableVectorizer": (("skrub",), _table_vectorizer),
    "SquashingScaler": (("skrub",), _one_to_one),
}
