"""From a fitted classifier to plain arrays, once; what cannot be read exactly is refused.

>>> import numpy as np
>>> from sklearn.linear_model import LogisticRegression
>>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
>>> model = read_model(LogisticRegression().fit(X, y), desired="yes")
>>> type(model).__name__, model.accepts(X).tolist()
('LinearModel', [False, False, True, True])

A reader is found by the class of the estimator. Adding a library is one file ``readers/<library>.py`` here, which
calls :func:`register_model`; such files name the library's classes by text, and import the library only where they
need it, so that they can all be loaded without it. Code elsewhere calls :func:`register_model` too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any

from armin.errors import ModelError, NotFittedError, ParameterError, UnreadableError
from armin.models.decide import Target, Verdict, find_target
from armin.models.inputs import Prepare, dense
from armin.models.kinds import BlackBox, Model
from armin.registry import import_all

__all__ = [
    "Reader",
    "prepare_inputs",
    "read_black_box",
    "read_model",
    "register_model",
    "supported_models",
    "unwrap",
]

Reader = Callable[[Any, Target], Model]
"""A reader gets the fitted estimator and the :class:`~armin.models.decide.Target`, and returns a model."""


@dataclass(frozen=True)
class _Entry:
    """How a class is read.

    Attributes
    ----------
    kind : what the result is called
    reader : from the fitted estimator and the target to a model
    prepare : for the fitted estimator, the function from rows to model inputs; None for plain numbers
    inner : where a classifier is wrapped around another: how to take that out, and how to put another in
    split : where a classifier looks at each column through a function of its own: the steps that do so, and the
        classifier that is left behind them
    """

    kind: str
    reader: Reader
    prepare: Callable[[Any], Prepare] | None = None
    inner: tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None = None
    split: Callable[[Any], tuple[list[Any], Any]] | None = None


_ENTRIES: dict[type | tuple[str, str], _Entry] = {}
"""By class, or by library and name of a class that need not be imported."""

_DECIDING = ("predict", "predict_proba", "decision_function")


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
    LinearModel, ReluNetwork, TreeEnsemble or ScoreMixture

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
    owner, entry = _find(estimator)
    check_fitted(estimator)
    _check_own_rule(estimator, owner)
    return entry.reader(estimator, find_target(estimator, desired, threshold))


def read_inside(estimator: Any, target: Target) -> Model:
    """Read the classifier inside another one, for a target that the outer one has set."""
    owner, entry = _find(estimator)
    _check_own_rule(estimator, owner)
    return entry.reader(estimator, target)


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
    _, entry = _find(estimator)
    return dense if entry.prepare is None else entry.prepare(estimator)


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
    if not _is_fitted(estimator):
        return [], estimator
    owner = next((cls for cls in type(estimator).__mro__ if _entry(cls) is not None), object)
    splits = _entry(owner)
    if splits is not None and splits.split is not None:
        _check_own_rule(estimator, owner)
        before, last = splits.split(estimator)
        if last is not estimator:
            steps, final = unwrap(last)
            return before + steps, final
    entry = _entry(type(estimator))
    if entry is None or entry.inner is None:
        return [], estimator
    inner_of, with_inner = entry.inner
    inner = inner_of(estimator)
    if inner is None:  # there are several
        return [], estimator
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


def register_model(
    classes: type | str | Collection[type | str],
    reader: Reader,
    *,
    kind: str = "custom",
    prepare: Callable[[Any], Prepare] | None = None,
    inner: tuple[Callable[[Any], Any], Callable[[Any, Any], Any]] | None = None,
    split: Callable[[Any], tuple[list[Any], Any]] | None = None,
) -> None:
    """Teach :func:`read_model` another class.

    Parameters
    ----------
    classes : a class, or ``"library.Class"`` to spare the import of the library, or several of these
    reader : a function of the fitted estimator and the :class:`~armin.models.decide.Target`
    kind : what :func:`supported_models` calls the result; a "part" of another class is not listed
    prepare : gives, for the fitted estimator, the function from rows to model inputs; plain numbers if left out
    inner : for a classifier around another: the function that takes the fitted one out, and the function that puts
        another into a copy, so that pipelines inside are found
    split : for a classifier with column-wise steps of its own: the function that gives those steps, as transformers,
        and the classifier behind them

    >>> import numpy as np
    >>> from armin.models.kinds import Above, LinearModel
    >>> class Rule:
    ...     classes_ = np.array([0, 1])
    >>> register_model(Rule, lambda rule, target: LinearModel(np.ones((1, 1)), np.zeros(1), Above(2.0)))
    >>> read_model(Rule(), desired=1).accepts(np.array([[1.0], [2.0]]))
    array([False,  True])
    """
    for one in (classes,) if isinstance(classes, type | str) else classes:
        _ENTRIES[one if isinstance(one, type) else _split(one)] = _Entry(kind, reader, prepare, inner, split)


def supported_models() -> list[tuple[str, str, str]]:
    """The (library, class, kind) that :func:`read_model` knows.

    >>> ("sklearn", "RandomForestClassifier", "trees") in supported_models()
    True
    """
    _load_readers()
    named = [((_library(key), key.__name__) if isinstance(key, type) else key, e) for key, e in _ENTRIES.items()]
    return sorted((library, name, entry.kind) for (library, name), entry in named if entry.kind != "part")


@cache
def _load_readers() -> None:
    said = dict(_ENTRIES)
    import_all("armin.models.readers")
    _ENTRIES.update(said)  # what somebody has said before stands


def _split(named: str) -> tuple[str, str]:
    """The library and the name of a class, from ``"library.Class"``, whatever modules are between."""
    library, _, name = named.partition(".")
    if not library or not name.rpartition(".")[2]:
        raise ParameterError(
            f"The 'classes' parameter of register_model must be a class or 'library.Class'. Got {named!r}."
        )
    return library, name.rpartition(".")[2]


def _library(cls: type) -> str:
    return cls.__module__.partition(".")[0]


def _entry(cls: type) -> _Entry | None:
    """How exactly this class is read."""
    _load_readers()
    return _ENTRIES.get(cls) or _ENTRIES.get((_library(cls), cls.__name__))


def _find(estimator: Any) -> tuple[type, _Entry]:
    """The class as which an estimator is read, its own or a parent, and how."""
    for cls in type(estimator).__mro__:
        entry = _entry(cls)
        if entry is not None:
            return cls, entry
    raise _unknown(estimator)


def _unknown(estimator: Any) -> ModelError:
    name = f"{_library(type(estimator))}.{type(estimator).__name__}"
    known = ", ".join(f"{library}.{cls}" for library, cls, _ in supported_models())
    found = UnreadableError(
        f"ARMIN cannot read a {name} exactly. It reads {known}. Register a reader with "
        "armin.register_model, or use ExpertOptions(method='blackbox'), which only asks the model."
    )
    found.short = f"ARMIN cannot read a {name} exactly; armin.models.supported_models() lists what it reads."
    return found


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
            raise UnreadableError(
                f"{type(estimator).__name__} is read as a {owner.__name__}, but it has its own {changed[0]}(). "
                "Register it with armin.register_model, or use ExpertOptions(method='blackbox')."
            )
