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

import copy
from collections.abc import Callable
from functools import singledispatch
from importlib import import_module
from typing import Any

from armin.errors import ModelError, NotFittedError, ParameterError
from armin.models.decide import Target, Verdict, find_target
from armin.models.inputs import Prepare, dense
from armin.models.kinds import BlackBox, Model

__all__ = [
    "Reader",
    "prepare_inputs",
    "read_black_box",
    "read_model",
    "register_reader",
    "supported_models",
    "unwrap",
]

Reader = Callable[[Any, Target], Model]
"""A reader gets the fitted estimator and the :class:`~armin.models.decide.Target`, and returns a model."""

_Row = tuple[str, str | Reader, str | Callable[[Any], Prepare] | None]


def _rows(library: str, kind: str, reader: str, *names: str, prepare: str | None = None) -> dict[tuple[str, str], _Row]:
    module, _, _ = reader.partition(":")
    row: _Row = (kind, f"armin.models.{reader}", None if prepare is None else f"armin.models.{module}:{prepare}")
    return {(library, name): row for name in names}


# (library, class) -> (kind of model, "module:reader", "module:prepare" where the inputs are not plain numbers)
_BY_NAME: dict[tuple[str, str], _Row] = {
    **_rows(
        "sklearn", "linear", "from_sklearn_linear:read_linear", "LogisticRegression", "LogisticRegressionCV",
        "LinearSVC", "SGDClassifier", "RidgeClassifier", "RidgeClassifierCV", "Perceptron",
        "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis",
    ),
    **_rows("sklearn", "linear", "from_sklearn_linear:read_svc", "SVC"),
    **_rows("sklearn", "network", "from_sklearn_network:read_network", "MLPClassifier"),
    **_rows(
        "sklearn", "trees", "from_sklearn_trees:read_forest", "DecisionTreeClassifier", "ExtraTreeClassifier",
        "RandomForestClassifier", "ExtraTreesClassifier",
    ),
    **_rows("sklearn", "trees", "from_sklearn_trees:read_boosting", "GradientBoostingClassifier"),
    **_rows(
        "sklearn", "trees", "from_sklearn_hist:read_hist_boosting", "HistGradientBoostingClassifier",
        prepare="prepare_hist_boosting",
    ),
    **_rows("sklearn", "trees", "from_sklearn_meta:read_bagging", "BaggingClassifier"),
    **_rows("sklearn", "trees", "from_sklearn_meta:read_voting", "VotingClassifier"),
    **_rows("sklearn", "trees", "from_sklearn_meta:read_adaboost", "AdaBoostClassifier"),
    **_rows(
        "sklearn", "as inside", "from_sklearn_meta:read_thresholded", "FixedThresholdClassifier",
        "TunedThresholdClassifierCV", prepare="prepare_inner",
    ),
    **_rows(
        "sklearn", "as inside", "from_sklearn_meta:read_calibrated", "CalibratedClassifierCV", prepare="prepare_inner"
    ),
    **_rows(
        "sklearn", "as inside", "from_sklearn_meta:read_inner", "FrozenEstimator", "GridSearchCV",
        "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV", prepare="prepare_inner",
    ),
    **_rows(
        "xgboost", "trees", "from_xgboost:read_xgboost", "XGBClassifier", "XGBRFClassifier", prepare="prepare_xgboost"
    ),
    **_rows("lightgbm", "trees", "from_lightgbm:read_lightgbm", "LGBMClassifier", prepare="prepare_lightgbm"),
    **_rows("catboost", "trees", "from_catboost:read_catboost", "CatBoostClassifier", prepare="prepare_catboost"),
    **_rows("armin", "network", "from_torch:read_torch", "TorchClassifier", prepare="prepare_torch"),
}  # fmt: skip

_KINDS: dict[type, str] = {}  # classes that were registered themselves, not by name
_PREPARE: dict[type, Callable[[Any], Prepare]] = {}

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
    check_fitted(estimator)
    _check_own_rule(estimator, owner)
    return _read(estimator, find_target(estimator, desired, threshold))


def read_inside(estimator: Any, target: Target) -> Model:
    """Read the classifier inside another one, for a target that the outer one has set."""
    owner = _find_reader(estimator)
    _check_own_rule(estimator, owner)
    return _read(estimator, target)


def prepare_inputs(estimator: Any) -> Prepare:
    """The function from the rows that a fitted classifier takes to the inputs of the model read from it.

    Boosters with native categories take frames with columns of categories; their model compares codes.
    Column i of the rows is column i of the inputs. For all others, the rows are numbers already.

    >>> import pandas as pd
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X = pd.DataFrame({"size": range(40), "city": pd.Categorical(["Rome", "Oslo"] * 20)})
    >>> booster = HistGradientBoostingClassifier(max_iter=1, categorical_features=["city"]).fit(X, [0, 1] * 20)
    >>> prepare_inputs(booster)(X.head(2))
    array([[0., 1.],
           [1., 0.]])
    """
    owner = _find_reader(estimator)
    return _PREPARE[owner](estimator) if owner in _PREPARE else dense


def unwrap(estimator: Any) -> tuple[list[Any], Any]:
    """The transformers before the last step of a fitted pipeline, and the classifier without them.

    A pipeline inside a search, a threshold or a calibration is found as well: what is returned is a copy
    of the outer classifier around the last step.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> steps, final = unwrap(make_pipeline(StandardScaler(), LogisticRegression()))
    >>> [type(step).__name__ for step in steps], type(final).__name__
    (['StandardScaler'], 'LogisticRegression')
    """
    if hasattr(estimator, "steps"):
        before = [step for _, step in estimator.steps[:-1] if step is not None and step != "passthrough"]
        steps, final = unwrap(estimator.steps[-1][1])
        return before + steps, final
    row = _BY_NAME.get((_library(type(estimator)), type(estimator).__name__))
    if row is None or row[0] != "as inside" or not _is_fitted(estimator):
        return [], estimator
    from armin.models.from_sklearn_meta import inner_of, with_inner

    inner = inner_of(estimator)
    steps, final = unwrap(inner)
    return steps, estimator if final is inner else with_inner(copy.copy(estimator), final)


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
    check_fitted(estimator)
    target = find_target(estimator, desired, threshold)
    if not hasattr(estimator, "n_features_in_"):
        raise ModelError(
            f"A black box must say how many inputs it has, in 'n_features_in_', which this "
            f"{type(estimator).__name__} does not. Set that attribute."
        )
    return BlackBox(Verdict(estimator, target), int(estimator.n_features_in_))


def register_reader(
    class_or_name: type | str,
    reader: Reader,
    *,
    kind: str = "custom",
    prepare: Callable[[Any], Prepare] | None = None,
) -> None:
    """Teach :func:`read_model` another class.

    Parameters
    ----------
    class_or_name : the class, or ``"library.Class"`` to spare the import of the library
    reader : a function of the fitted estimator and the :class:`~armin.models.decide.Target`
    kind : what :func:`supported_models` calls the result
    prepare : gives, for the fitted estimator, the function from rows to model inputs; plain numbers if left out

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
        _PREPARE.pop(class_or_name, None)
        if prepare is not None:
            _PREPARE[class_or_name] = prepare
        return
    library, _, name = class_or_name.partition(".")
    if not library or not name.rpartition(".")[2]:
        raise ParameterError(
            f"The 'class_or_name' parameter of register_reader must be a class or 'library.Class'. "
            f"Got {class_or_name!r}."
        )
    _BY_NAME[library, name.rpartition(".")[2]] = (kind, reader, prepare)


def supported_models() -> list[tuple[str, str, str]]:
    """The (library, class, kind) that :func:`read_model` knows.

    >>> ("sklearn", "RandomForestClassifier", "trees") in supported_models()
    True
    """
    named = [(library, name, row[0]) for (library, name), row in _BY_NAME.items()]
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
                if row[2] is not None:
                    _PREPARE[cls] = _load(row[2])
        if owner is None and cls is not object and cls in _read.registry:
            owner = cls
    if owner is None:
        raise _unknown(estimator)
    return owner


def _load(named: Any) -> Any:
    if not isinstance(named, str):
        return named
    module, _, name = named.partition(":")
    return getattr(import_module(module), name)


def _unknown(estimator: Any) -> ModelError:
    name = f"{_library(type(estimator))}.{type(estimator).__name__}"
    known = ", ".join(f"{library}.{cls}" for library, cls, _ in supported_models())
    return ModelError(
        f"ARMIN cannot read a {name} exactly. It reads {known}. Register a reader with "
        "armin.models.register_reader, or use method='blackbox', which only asks the model."
    )


def _is_fitted(estimator: Any) -> bool:
    try:
        check_fitted(estimator)
    except NotFittedError:
        return False
    return True


def check_fitted(estimator: Any) -> None:
    """Refuse an estimator that is not fitted."""
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
