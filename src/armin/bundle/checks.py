"""Attributes of a model from a file, compared with each other before the model is asked for the first time.

NumPy refuses what does not fit together. Compiled code does not: it writes where an index says. Each check here stands
for a place where scikit-learn or SciPy follows an attribute without looking, or where an attribute opens a file; what
only makes a wrong model is not looked for, as whoever can write a file can write a wrong model into it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from armin.bundle.trees import bad_model, check_trees, parts_of, width_of

__all__ = ["check_model"]

MOST_JOBS = 256
MOST_OUTPUTS = 1_000_000
_THREADS = ("n_jobs", "num_threads", "num_thread", "nthread", "nthreads")
_STATE_OF_TWISTER = 624
_WORDS = r"(?u)\b\w\w+\b"
_FINITE = (
    "coef_", "intercept_", "coefs_", "intercepts_", "theta_", "var_", "class_prior_", "feature_log_prob_",
    "class_log_prior_", "a_", "b_", "estimator_weights_", "learning_rate", "_baseline_prediction", "components_",
)  # fmt: skip


def check_model(model: Any) -> None:
    """Refuse a model whose attributes contradict each other, or do more than decide.

    Parameters
    ----------
    model : an estimator that was read from a file and has not been used yet

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder().fit([["a"], ["b"]])
    >>> check_model(encoder)
    >>> encoder._n_features_outs = [1]
    >>> check_model(encoder)
    Traceback (most recent call last):
        ...
    armin.errors.DataError: The bundle's OneHotEncoder is broken: '_n_features_outs' does not fit ...
    """
    for part in parts_of(model):
        home, name = type(part).__module__.partition(".")[0], type(part).__name__
        if home == "scipy":
            _check_scipy(part)
        elif home == "numpy" and name in ("RandomState", "Generator"):
            _check_random(part)
        elif home in ("lightgbm", "xgboost"):
            _check_booster(part)
        elif home == "skrub":
            _check_jobs(vars(part), name)
        elif home == "sklearn":
            _check_estimator(part)
            for kind, check in _CHECKS.items():
                if name in kind.split() and (check in _ALWAYS or _is_fitted(part)):
                    _checked(check, part)
    check_trees(model)


def _is_fitted(part: Any) -> bool:
    """As scikit-learn sees it; what is not fitted is refused by scikit-learn when it is used."""
    return any(name.endswith("_") and not name.startswith("__") for name in vars(part))


def _checked(check: Callable[[Any], str | None], part: Any) -> None:
    """Run a check, in which an attribute that is absent or of another type is a fault as well."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fault = check(part)
    except Exception as error:  # whatever an attribute of a strange type makes of it
        fault = type(error).__name__
    if fault is not None:
        raise bad_model(type(part).__name__, fault)


def _check_estimator(part: Any) -> None:
    """What holds for each: nothing stands in the way of the class's own methods, numbers are numbers."""
    own, name = vars(part) if hasattr(part, "__dict__") else {}, type(part).__name__
    for key in own:
        if callable(getattr(type(part), key, None)):
            raise bad_model(name, key)
    _check_jobs(own, name)
    for key in _FINITE:
        if not _finite(own.get(key)):
            raise bad_model(name, key)


def _check_jobs(own: Any, name: str) -> None:
    """Threads are made as many as are asked for, and Python ends where the system makes no more."""
    for key in _THREADS:
        jobs = own.get(key)
        if jobs is not None and not (_whole(jobs) and abs(jobs) <= MOST_JOBS):
            raise bad_model(name, key)


def _check_booster(part: Any) -> None:
    own, name = vars(part), type(part).__name__
    if not name.endswith("Classifier"):
        return
    others = [own[key] for key in ("_other_params", "kwargs") if own.get(key) is not None]
    if not all(isinstance(one, dict) for one in others):
        raise bad_model(name, "_other_params")
    for given in (own, *others):
        _check_jobs(given, name)


def _finite(value: Any) -> bool:
    """Whether numbers are finite, alone or in lists; what holds no numbers is, but for arrays of anything."""
    if isinstance(value, list | tuple):
        return all(_finite(one) for one in value)
    if isinstance(value, np.ndarray | np.inexact | float):
        found = np.asarray(value)
        return bool(np.isfinite(found).all()) if found.dtype.kind in "fc" else found.dtype != object
    return True


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_scipy(part: Any) -> None:
    from scipy.interpolate import BSpline
    from scipy.sparse import issparse

    if issparse(part):
        if part.format not in ("csr", "csc"):
            raise bad_model(type(part).__name__, "format")
        try:
            part.check_format(full_check=True)
        except ValueError:
            raise bad_model(type(part).__name__, "indices") from None
    elif isinstance(part, BSpline):
        _checked(_spline, part)


def _spline(spline: Any) -> str | None:
    t, c, k = spline.t, spline.c, spline.k
    if not (_whole(k) and 0 <= k <= 20 and spline.axis == 0):
        return "k"
    if not (
        isinstance(t, np.ndarray) and t.ndim == 1 and t.dtype == np.float64 and _finite(t) and (t[1:] >= t[:-1]).all()
    ):
        return "t"
    if not (isinstance(c, np.ndarray) and c.ndim >= 1 and c.dtype == np.float64 and c.shape[0] + k + 1 == t.size):
        return "c"
    return None


def _check_random(part: Any) -> None:
    """Generators whose state holds a place in a table that is followed blindly."""
    if type(part).__name__ == "RandomState":
        state = part.get_state(legacy=False)
        place = state["state"].get("pos", -1)
        if state["bit_generator"] != "MT19937" or not 0 <= place <= _STATE_OF_TWISTER:
            raise bad_model("RandomState", "pos")
    elif part.bit_generator.state["bit_generator"] != "PCG64":
        raise bad_model("Generator", "bit_generator")


def _one_hot(encoder: Any) -> str | None:
    """Columns of a sparse matrix are counted by ``_n_features_outs`` and filled by the categories."""
    own, categories = vars(encoder), encoder.categories_
    if not isinstance(categories, list) or len(categories) != width_of(encoder):
        return "categories_"
    for values in categories:
        if not _ascending(values):
            return "categories_"
    mappings = own.get("_default_to_infrequent_mappings", [None] * len(categories))
    enabled = bool(own.get("_infrequent_enabled", False))
    if enabled and len(mappings) != len(categories):
        return "_default_to_infrequent_mappings"
    rare = list(own["_infrequent_indices"]) if enabled else []
    if enabled and len(rare) != len(categories):
        return "_infrequent_indices"
    sizes: list[int] = []
    for values, mapping in zip(categories, mappings, strict=True):
        size = len(values)
        if enabled and (mapping is None) != (rare[len(sizes)] is None):
            return "_infrequent_indices"  # unknown values go where it says, and on through the mapping
        if enabled and mapping is not None:
            table = np.asarray(mapping)
            if table.shape != (size,) or table.dtype.kind not in "iu" or table.min() < 0:
                return "_default_to_infrequent_mappings"
            size = int(table.max()) + 1
        sizes.append(size)
    dropped = own.get("_drop_idx_after_grouping")
    if dropped is not None:
        if len(dropped) != len(sizes):
            return "_drop_idx_after_grouping"
        for i, at in enumerate(dropped):
            if at is not None and not (_whole(at) and 0 <= at < sizes[i]):
                return "_drop_idx_after_grouping"
            sizes[i] -= at is not None
    return (
        None
        if list(own["_n_features_outs"]) == sizes and all(map(_whole, own["_n_features_outs"]))
        else "_n_features_outs"
    )


def _ordinal(encoder: Any) -> str | None:
    known = encoder.categories_
    return None if len(known) == width_of(encoder) and all(map(_ascending, known)) else "categories_"


def _ascending(values: Any) -> bool:
    """Whether a search finds each value at its own place; objects are looked up one by one."""
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.size == 0:
        return False
    if values.dtype == object:
        return True
    if values.dtype.kind == "f":
        values = values[: values.size - 1] if np.isnan(values[-1]) else values
    return bool((values[1:] > values[:-1]).all())


def _polynomial(features: Any) -> str | None:
    """The output is made unfilled, as wide as is said, and filled as far as there is something."""
    own = vars(features)
    least, most, width = own["_min_degree"], own["_max_degree"], width_of(features)
    if not (_whole(least) and _whole(most) and 0 <= least <= most <= 20):
        return "degree"
    count = getattr(type(features), "_num_combinations")  # noqa: B009  scikit-learn has no other name for it
    for name, lowest in (("n_output_features_", least), ("_n_out_full", 0)):
        wide = count(
            n_features=width,
            min_degree=lowest,
            max_degree=most,
            interaction_only=bool(own["interaction_only"]),
            include_bias=bool(own["include_bias"]),
        )
        if own[name] != wide or wide > MOST_OUTPUTS:
            return name
    return None


def _splines(splines: Any) -> str | None:
    made = splines.bsplines_
    if len(made) != width_of(splines) or any(type(one).__name__ != "BSpline" for one in made):
        return "bsplines_"
    wide = {one.c.shape[1] for one in made}
    return None if len(wide) == 1 and 0 < splines.n_features_out_ <= len(made) * wide.pop() else "n_features_out_"


def _function(transformer: Any) -> str | None:
    """With arguments, a function of NumPy may return memory that it has not filled."""
    return next((name for name in ("kw_args", "inv_kw_args") if getattr(transformer, name)), None)


def _text(vectorizer: Any) -> str | None:
    """Texts are taken as they are, and never as names of files; words are counted in columns that exist."""
    if vectorizer.input != "content":
        return "input"
    if vectorizer.token_pattern not in (_WORDS, None):
        return "token_pattern"
    for name in ("tokenizer", "preprocessor"):
        if getattr(vectorizer, name) is not None:
            return name
    if vectorizer.analyzer not in ("word", "char", "char_wb"):
        return "analyzer"
    own = vars(vectorizer)
    for name in ("vocabulary_", "vocabulary"):
        words = own.get(name)
        if words is not None and not (
            isinstance(words, dict)
            and all(map(_whole, words.values()))
            and sorted(words.values()) == list(range(len(words)))
        ):
            return name
    if "n_features" in own and not (_whole(own["n_features"]) and 0 < own["n_features"] < 2**31):
        return "n_features"
    return None


def _libsvm(machine: Any) -> str | None:
    """Libsvm takes pointers to these arrays, and believes the number of support vectors and of classes."""
    own = vars(machine)
    vectors, each, weights, bias = (own[k] for k in ("support_vectors_", "_n_support", "_dual_coef_", "_intercept_"))
    if own["_sparse"] or own["kernel"] not in ("linear", "poly", "rbf", "sigmoid") or "_impl" in own:
        return "kernel"
    classes, count = len(each), vectors.shape[0]
    if vectors.ndim != 2 or vectors.shape[1] != width_of(machine) or not _finite(vectors):
        return "support_vectors_"
    if classes < 2 or (each < 0).any() or int(each.sum(dtype=np.int64)) != count or own["support_"].shape != (count,):
        return "_n_support"
    if weights.shape != (classes - 1, count) or not _finite(weights):
        return "_dual_coef_"
    pairs = classes * (classes - 1) // 2
    if bias.shape != (pairs,) or not _finite(bias) or len(machine.classes_) != classes:
        return "_intercept_"
    return next((name for name in ("_probA", "_probB") if own[name].size not in (0, pairs)), None)


def _scaler(scaler: Any) -> str | None:
    """Divisors and shifts; a column that was all blank has none."""
    for name in ("scale_", "mean_", "center_", "min_"):
        value = vars(scaler).get(name)
        if isinstance(value, np.ndarray) and (value.shape != (width_of(scaler),) or np.isinf(value).any()):
            return name
    return None


_CHECKS: dict[str, Callable[[Any], str | None]] = {
    "OneHotEncoder": _one_hot,
    "OrdinalEncoder": _ordinal,
    "PolynomialFeatures": _polynomial,
    "SplineTransformer": _splines,
    "FunctionTransformer": _function,
    "CountVectorizer TfidfVectorizer HashingVectorizer": _text,
    "SVC": _libsvm,
    "StandardScaler MinMaxScaler MaxAbsScaler RobustScaler": _scaler,
}
"""By the names of classes; trees have a file of their own."""

_ALWAYS = (_function, _text)
"""What is looked at whether the estimator is fitted or not: its parameters are enough to do harm."""
