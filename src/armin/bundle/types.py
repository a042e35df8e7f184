"""Which types a model's file holds, and which of them are harmless; nothing is loaded.

skops trusts scikit-learn's estimators, and finds them by importing all of scikit-learn whenever it is imported itself.
``estimators.toml`` names them for the versions that it lists, so that this need not be.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from sys import modules
from typing import Any

from numpy.lib.format import MAGIC_PREFIX

from armin.bundle.allowed import ALLOWED, LOSSES, is_allowed
from armin.bundle.archive import read_stored
from armin.errors import DataError, MissingDependencyError

__all__ = ["KNOWN", "LOADERS", "TRUSTED", "contents", "estimators", "skops", "unknown_types"]

TRUSTED = frozenset(
    {
        "sklearn.tree._tree.Tree",  # skops leaves it to us, and check_trees looks at what is inside
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.calibration._TemperatureScaling",
        "sklearn.metrics._classification.balanced_accuracy_score",
        "sklearn.metrics._scorer._CurveScorer",
        "sklearn.metrics._scorer._PassthroughScorer",
        "sklearn.metrics._scorer._Scorer",
        "sklearn.model_selection._split.KFold",
        "sklearn.model_selection._split.StratifiedKFold",
        "sklearn.compose._column_transformer.make_column_selector",
        "sklearn.impute._iterative.IterativeImputer",  # one of scikit-learn's own once it was asked for by name
        "sklearn.impute._iterative._ImputerTriplet",
        "sklearn.utils._bunch.Bunch",
        "sklearn.utils._metadata_requests.MetadataRequest",
        "sklearn.utils._metadata_requests.MethodMetadataRequest",
        "scipy.interpolate._bsplines.BSpline",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "numpy.dtype",
        "numpy.bool",
        "numpy.floating",
        "numpy.integer",
        "numpy.number",
        "numpy.object_",
        "collections.OrderedDict",
        "xgboost.core.Booster",
        "xgboost.sklearn.XGBClassifier",
        "lightgbm.basic.Booster",
        "lightgbm.sklearn.LGBMClassifier",
        "skrub._apply_to_each_col.ApplyToEachCol",
        "skrub._check_input.CheckInputDataFrame",
        "skrub._clean_categories.CleanCategories",
        "skrub._clean_null_strings.CleanNullStrings",
        "skrub._dataframe._common.is_any_date",
        "skrub._dataframe._common.is_categorical",
        "skrub._dataframe._common.is_numeric",
        "skrub._datetime_encoder.DatetimeEncoder",
        "skrub._drop_uninformative.DropUninformative",
        "skrub._duration_to_float.DurationToFloat",
        "skrub._string_encoder.StringEncoder",
        "skrub._table_vectorizer.PassThrough",
        "skrub._table_vectorizer.ShortReprDict",
        "skrub._table_vectorizer.TableVectorizer",
        "skrub._table_vectorizer._created_by_predicate",
        "skrub._to_datetime.ToDatetime",
        "skrub._to_float.ToFloat",
        "skrub._to_str.ToStr",
        "skrub.selectors._base.All",
        "skrub.selectors._base.And",
        "skrub.selectors._base.Cols",
        "skrub.selectors._base.Filter",
        "skrub.selectors._base.Sub",
        "skrub.selectors._selectors._cardinality_below",
    }
)
"""Types that may be made from a file beyond those that skops itself trusts. Names, not packages: a package also holds
functions that do things."""

LOADERS = frozenset(
    {
        "BytearrayNode", "BytesNode", "CachedNode", "DTypeNode", "DefaultDictNode", "DictNode", "FunctionNode",
        "JsonNode", "ListNode", "LossNode", "MaskedArrayNode", "NdArrayNode", "ObjectNode", "RandomGeneratorNode",
        "RandomStateNode", "SetNode", "SliceNode", "TreeNode", "TupleNode", "TypeNode",
    }
)  # fmt: skip
"""The ways of making an object that a plain model needs; others call what the file names."""

HARMLESS = ("functools.partial", "sklearn.utils.validation.check_array")
"""A function with some arguments filled in, and the one of which that is allowed: scikit-learn's boosting of histograms
keeps it for columns of categories."""

KNOWN = TRUSTED | set(HARMLESS)
"""What may be made; a partial function of anything else is refused before."""

NUMBERS = frozenset(
    f"numpy.{name}"
    for name in ("bool", "bool_", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint32", "str_")
)
_OLDEST = 2
"""The form of skops' files since 0.10; older ones are read by other code, and are not written any more."""

_FUNCTIONS = frozenset(
    {
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "sklearn.metrics._classification.balanced_accuracy_score",
        "skrub._dataframe._common.is_any_date",
        "skrub._dataframe._common.is_categorical",
        "skrub._dataframe._common.is_numeric",
        "skrub._table_vectorizer._created_by_predicate",
        "skrub.selectors._selectors._cardinality_below",
        HARMLESS[1],
    }
)
"""What of the known is a function, and may be made as one; all else that is known is a class."""

PLAIN = {
    "CachedNode": frozenset(),
    "DictNode": frozenset({"builtins.dict"}),
    "JsonNode": frozenset({"builtins.bool", "builtins.float", "builtins.int", "builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "NdArrayNode": NUMBERS | {"numpy.ndarray"},
    "ObjectNode": frozenset(),
    "SliceNode": frozenset({"builtins.slice"}),
    "TreeNode": frozenset(),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": NUMBERS | {"builtins.bool", "builtins.float", "builtins.int", "builtins.str"},
}
"""Plain data, by the way it is made; skops trusts all of it, and more."""


@cache
def estimators() -> frozenset[str]:
    """The estimators of the installed scikit-learn, by the names of their classes; empty if they are not listed.

    >>> "sklearn.linear_model._logistic.LogisticRegression" in estimators()
    True
    """
    try:
        installed = ".".join(version("scikit-learn").split(".")[:2])
    except PackageNotFoundError:
        return frozenset()
    listed = tomllib.loads((files("armin.bundle") / "estimators.toml").read_text(encoding="utf-8"))
    if installed not in listed["some"]:
        return frozenset()
    return frozenset(listed["every"]) | frozenset(listed["some"][installed])


def skops() -> Any:
    """The library skops, imported without its walk through scikit-learn where that is known to find what is listed."""
    try:
        if "skops.io" in modules or not estimators():
            import skops.io as sio
        else:
            with _listed():
                import skops.io as sio
    except ImportError:
        raise MissingDependencyError(
            'A bundle needs the library skops. Install it with: pip install "armin[bundle]"'
        ) from None
    return sio


@contextmanager
def _listed() -> Iterator[None]:
    """While skops is imported, scikit-learn answers from the list; skops asks for the classes' names only."""
    import sklearn.utils

    parts = [name.rpartition(".") for name in sorted(estimators())]
    found = [(name, type(name, (), {"__module__": module})) for module, _, name in parts]
    walk = sklearn.utils.all_estimators
    sklearn.utils.all_estimators = lambda: found
    try:
        yield
    finally:
        sklearn.utils.all_estimators = walk


def unknown_types(data: bytes) -> list[str]:
    """The types in a model's file that are not on the list, and unusual ways of making objects; nothing is loaded.

    >>> from sklearn.linear_model import LogisticRegression
    >>> from armin.bundle.model import dump_model
    >>> unknown_types(dump_model(LogisticRegression().fit([[0], [1]], [0, 1])))
    []
    """
    made, odd = contents(data)
    barred = {name for _, name in made if name not in KNOWN and not is_allowed(name)}
    if all(name in KNOWN or name in barred or name in _plain(loader) for loader, name in made):
        return [*odd, *sorted(barred)]
    sio = skops()
    try:
        return [*odd, *sorted(barred | set(sio.get_untrusted_types(data=data)) - KNOWN)]
    except Exception as error:  # a hostile or outdated file can make skops raise anything
        raise DataError(f"The bundle's model cannot be read ({type(error).__name__}). It is damaged.") from None


def _plain(loader: str) -> frozenset[str]:
    return ALLOWED if loader == "ObjectNode" else PLAIN.get(loader, frozenset())


def contents(data: bytes) -> tuple[set[tuple[str, str]], list[str]]:
    """The types that a model's file names, each behind the way it is made; and those made in unusual ways."""
    entries = read_stored(data, "The bundle's model")
    made: set[tuple[str, str]] = set()
    odd: set[str] = set()
    try:
        stack = [json.loads(entries["schema.json"])]
    except (KeyError, ValueError, RecursionError):
        raise DataError("The bundle's model is not in skops' format. Get the bundle again from its source.") from None
    _check_protocol(stack[0])
    owners: dict[str, Any] = {}
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            stack.extend(node.values())
            if "file" in node and "__loader__" in node:
                _owned(owners, node)
            if "__loader__" in node:
                name = f"{node.get('__module__')}.{node.get('__class__')}"
                made.add((str(node["__loader__"]), name))
                _looked_at(node, entries)
                if not _usual(node, name):
                    odd.add(f"{name} ({node['__loader__']})")
    return made, sorted(odd)


def _check_protocol(outline: Any) -> None:
    said = outline.get("protocol") if isinstance(outline, dict) else None
    if type(said) is not int or said < _OLDEST:
        raise DataError("The bundle's model is in a form of skops that is no longer written. Pack it again.")


def _usual(node: dict[str, Any], name: str) -> bool:
    """Whether a thing is made in the way in which skops makes its kind.

    What makes a loss calls the class that is named with arguments from the file, which another class may take for the
    name of a file to open.
    """
    loader = node["__loader__"]
    if loader == "PartialNode":
        return name == HARMLESS[0] and _checks(node)
    if loader == "LossNode":
        return name.startswith(LOSSES)
    if loader == "TreeNode":
        return name == "sklearn.tree._tree.Tree"
    if loader == "FunctionNode":
        return name in _FUNCTIONS or name not in KNOWN
    return loader in LOADERS


def _looked_at(node: dict[str, Any], entries: dict[str, bytes]) -> None:
    """Refuse an array that is none: NumPy would unpack a zip file instead."""
    content = entries.get(str(node.get("file")), MAGIC_PREFIX)
    if node["__loader__"] == "NdArrayNode" and not content.startswith(MAGIC_PREFIX):
        raise DataError("The bundle's model holds an array that is none. Get the bundle again from its source.")


def _owned(owners: dict[str, Any], node: dict[str, Any]) -> None:
    """Each file belongs to one object: taken by a thousand, a small model would fill the memory."""
    name, owner = str(node["file"]), node.get("__id__")
    if name in owners and (owners[name] != owner or not owner):
        raise DataError(
            f"Several objects of the bundle's model claim its file {name[:60]!r}. Get the bundle again from its source."
        )
    owners[name] = owner


def _checks(node: dict[str, Any]) -> bool:
    """Whether a partial function only looks at an array."""
    content = node.get("content")
    inner = content.get("func") if isinstance(content, dict) else None
    if not isinstance(inner, dict) or inner.get("__loader__") != "FunctionNode" or "content" in inner:
        return False
    return f"{inner.get('__module__')}.{inner.get('__class__')}" == HARMLESS[1]
