"""From a fitted classifier to plain arrays, once; what cannot be read exactly is refused.

>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression
>>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
>>> model = read_model(LogisticRegression().fit(X, y), desired="yes")
>>> type(model).__name__, model.accepts(X).tolist()
('LinearModel', [False, False, True, True])

A reader is found by the class of the estimator, through :func:`functools.singledispatch`. The
libraries are named by string and imported only when an estimator of theirs arrives; adding one is
a ``from_<library>.py`` and its rows in the table below. :func:`register_reader` adds one from outside.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from importlib import import_module
from typing import Any

from armin.errors import ModelError, NotFittedError, ParameterError
from armin.models.decide import Target, Verdict, find_target
from armin.models.kinds import BlackBox, Model

__all__ = ["Reader", "read_black_box", "read_model", "register_reader", "supported_models"]

Reader = Callable[[Any, Target], Model]
"""A reader gets the fitted estimator and the :class:`~armin.models.decide.Target`, and returns a model."""

_LINEAR = "armin.models.from_sklearn_linear:read_linear"
_FOREST = "armin.models.from_sklearn_trees:read_forest"

# (library, class) -> (kind of model, "module:reader")
_BY_NAME: dict[tuple[str, str], tuple[str, str | Reader]] = {
    ("sklearn", "LogisticRegression"): ("linear", _LINEAR),
    ("sklearn", "LogisticRegressionCV"): ("linear", _LINEAR),
    ("sklearn", "LinearSVC"): ("linear", _LINEAR),
    ("sklearn", "SGDClassifier"): ("linear", _LINEAR),
    ("sklearn", "RidgeClassifier"): ("linear", _LINEAR),
    ("sklearn", "RidgeClassifierCV"): ("linear", _LINEAR),
    ("sklearn", "Perceptron"): ("linear", _LINEAR),
    ("sklearn", "PassiveAggressiveClassifier"): ("linear", _LINEAR),
    ("sklearn", "LinearDiscriminantAnalysis"): ("linear", _LINEAR),
    ("sklearn", "SVC"): ("linear", "armin.models.from_sklearn_linear:read_svc"),
    ("sklearn", "MLPClassifier"): ("network", "armin.models.from_sklearn_network:read_network"),
    ("sklearn", "DecisionTreeClassifier"): ("trees", _FOREST),
    ("sklearn", "ExtraTreeClassifier"): ("trees", _FOREST),
    ("sklearn", "RandomForestClassifier"): ("trees", _FOREST),
    ("sklearn", "ExtraTreesClassifier"): ("trees", _FOREST),
    ("sklearn", "GradientBoostingClassifier"): ("trees", "armin.models.from_sklearn_trees:read_boosting"),
    ("sklearn", "HistGradientBoostingClassifier"): ("trees", "armin.models.from_sklearn_hist:read_hist_boosting"),
    ("xgboost", "XGBClassifier"): ("trees", "armin.models.from_xgboost:read_xgboost"),
    ("xgboost", "XGBRFClassifier"): ("trees", "armin.models.from_xgboost:read_xgboost"),
}

_KINDS: dict[type, str] = {}  # classes that were registered themselves, not by name

_DECIDING = ("predict", "predict_proba", "decision_function")


@singledispatch
def _read(estimator: Any, target: Target) -> Model:
    raise _unknown(estimator)


def read_model(estimator: Any, desired: Any, *, threshold: float | None = None) -> Model:
    """Read a fitted classifier into a :class:`~armin.models.kinds.Model`.

    The model accepts a row exactly when the estimator itself would: ``predict`` returns a desired
    label or, with a threshold, ``predict_proba`` gives the desired labels at least that much.
    The estimator is copied from and never changed.

    Parameters
    ----------
    estimator : a fitted classifier of a supported class
    desired : the label that is wanted, or a collection of labels any of which will do
    threshold : the least summed probability of the desired labels, in (0, 1]; None for ``predict``

    Returns
    -------
    LinearModel, ReluNetwork or TreeEnsemble

    Raises
    ------
    ModelError : if the estimator cannot be read exactly
    NotFittedError : if it is not fitted
    ParameterError : if ``desired`` or ``threshold`` does not fit the estimator

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0], [1], [2]], ["low", "middle", "high"])
    >>> read_model(tree, desired=["middle", "high"]).accepts(np.array([[0.0], [1.0], [2.0]]))
    array([False,  True,  True])
    """
    owner = _find_reader(estimator)
    _check_fitted(estimator)
    _check_own_rule(estimator, owner)
    return _read(estimator, find_target(estimator, desired, threshold))


def read_black_box(estimator: Any, desired: Any, *, threshold: float | None = None) -> BlackBox:
    """Any fitted classifier as something that can only be asked.

    Parameters
    ----------
    estimator, desired, threshold : as in :func:`read_model`

    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> knn = KNeighborsClassifier(1).fit([[0], [1]], [0, 1])
    >>> read_black_box(knn, desired=1).accepts(np.array([[0.2], [0.9]]))
    array([False,  True])
    """
    _check_fitted(estimator)
    target = find_target(estimator, desired, threshold)
    if not hasattr(estimator, "n_features_in_"):
        raise ModelError(
            f"A black box must say how many inputs it has, in 'n_features_in_', which this "
            f"{type(estimator).__name__} does not. Set that attribute."
        )
    return BlackBox(Verdict(estimator, target), int(estimator.n_features_in_))


def register_reader(class_or_name: type | str, reader: Reader, *, kind: str = "custom") -> None:
    """Teach :func:`read_model` another class.

    Parameters
    ----------
    class_or_name : the class, or ``"library.Class"`` to spare the import of the library
    reader : a function of the fitted estimator and the :class:`~armin.models.decide.Target`
    kind : what :func:`supported_models` calls the result

    >>> import numpy as np
    >>> from armin.models.kinds import Above, LinearModel
    >>> class Rule:
    ...     classes_ = np.array([0, 1])
    >>> register_reader(Rule, lambda rule, target: LinearModel(np.ones((1, 1)), np.zeros(1), Above(2.0)))
    >>> read_model(Rule(), desired=1).accepts(np.array([[1.0], [2.0]]))
    array([False,  True])
    """
    if isinstance(class_or_name, type):
        _read.register(class_or_name, reader)
        _KINDS[class_or_name] = kind
        return
    library, _, name = class_or_name.partition(".")
    if not library or not name.rpartition(".")[2]:
        raise ParameterError(
            f"The 'class_or_name' parameter of register_reader must be a class or 'library.Class'. "
            f"Got {class_or_name!r}."
        )
    _BY_NAME[library, name.rpartition(".")[2]] = (kind, reader)


def supported_models() -> list[tuple[str, str, str]]:
    """The (library, class, kind) that :func:`read_model` knows.

    >>> ("sklearn", "RandomForestClassifier", "trees") in supported_models()
    True
    """
    named = [(library, name, kind) for (library, name), (kind, _) in _BY_NAME.items()]
    return named + [(_library(c), c.__name__, kind) for c, kind in _KINDS.items()]


def _library(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _find_reader(estimator: Any) -> type:
    """Register what the table says about the classes of ``estimator``; return the one that is read."""
    owner = None
    for cls in type(estimator).__mro__:
        row = _BY_NAME.get((_library(cls), cls.__name__))
        if row is not None and cls not in _KINDS:
            reader = _load(row[1])
            if _read.registry.get(cls) is not reader:
                _read.register(cls, reader)
        if owner is None and cls is not object and cls in _read.registry:
            owner = cls
    if owner is None:
        raise _unknown(estimator)
    return owner


def _load(reader: str | Reader) -> Reader:
    if not isinstance(reader, str):
        return reader
    module, _, name = reader.partition(":")
    loaded: Reader = getattr(import_module(module), name)
    return loaded


def _unknown(estimator: Any) -> ModelError:
    name = f"{_library(type(estimator))}.{type(estimator).__name__}"
    known = ", ".join(f"{library}.{cls}" for library, cls, _ in supported_models())
    return ModelError(
        f"ARMIN cannot read a {name} exactly. It reads {known}. Register a reader with "
        "armin.models.register_reader, or use method='blackbox', which only asks the model."
    )


def _check_fitted(estimator: Any) -> None:
    from sklearn.exceptions import NotFittedError as SklearnNotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(estimator)
    except SklearnNotFittedError as error:
        raise NotFittedError(
            f"The {type(estimator).__name__} must be fitted before ARMIN reads it. Call its fit(X, y) first."
        ) from error
    except (TypeError, AttributeError):
        return  # a class outside scikit-learn, which cannot be asked


def _check_own_rule(estimator: Any, owner: type) -> None:
    """Refuse a subclass that decides in its own way."""
    for cls in type(estimator).__mro__:
        if cls is owner:
            return
        changed = [name for name in _DECIDING if name in vars(cls)]
        if changed:
            raise ModelError(
                f"{type(estimator).__name__} is read as a {owner.__name__}, but it has its own {changed[0]}(). "
                "Register a reader for it with armin.models.register_reader, or use method='blackbox'."
            )
