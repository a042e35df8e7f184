"""The classifier as a part of the bundle: skops, which runs no code, or a pickle for those who trust it."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from armin.bundle.archive import read_stored, write_stored
from armin.bundle.trees import check_trees, parts_of
from armin.errors import DataError, MissingDependencyError, ModelError

__all__ = ["dump_model", "dump_pickle", "load_model", "load_pickle", "unknown_types"]

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
        "catboost.core.CatBoostClassifier",
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
        "RandomStateNode", "SetNode", "SliceNode", "SparseMatrixNode", "TreeNode", "TupleNode", "TypeNode",
    }
)  # fmt: skip
"""The ways of making an object that a plain model needs; others call what the file names."""

HARMLESS = ("functools.partial", "sklearn.utils.validation.check_array")
"""A function with some arguments filled in, and the one of which that is allowed: scikit-learn's boosting of histograms
keeps it for columns of categories."""


def _skops() -> Any:
    try:
        import skops.io as sio
    except ImportError:
        raise MissingDependencyError(
            'A bundle needs the library skops. Install it with: pip install "armin[bundle]"'
        ) from None
    return sio


def dump_model(model: Any) -> bytes:
    """The model in skops' format; the same model gives the same bytes."""
    sio = _skops()
    try:
        data = sio.dumps(model)
    except Exception as error:  # whatever a stranger's __getstate__ raises
        reason = " ".join(str(error).split())[:200]
        raise ModelError(
            f"{type(model).__name__} cannot be stored without a pickle ({type(error).__name__}: {reason}). "
            "Allow one with trust=True; the bundle then loads with trust=True only."
        ) from None
    return _canonical(data)


def load_model(data: bytes, *, trust: bool) -> Any:
    """The model behind :func:`dump_model`; types that are not known are refused by name unless trusted."""
    names, odd = _contents(data)
    sio = _skops()
    try:
        if odd and not trust:
            raise _untrusted(odd)
        model = sio.loads(data, trusted=sio.get_untrusted_types(data=data) if trust else sorted(names & _known()))
    except ModelError:
        raise
    except sio.exceptions.UntrustedTypesFoundException:
        raise _untrusted(unknown_types(data)) from None
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"The bundle's model needs the library {str(error.name).partition('.')[0]!r}, which is not installed. "
            "See what is inside with 'armin inspect'."
        ) from None
    except Exception as error:  # a hostile or outdated file can make skops raise anything
        raise DataError(
            f"The bundle's model cannot be loaded ({type(error).__name__}). It is damaged, or was made with other "
            "versions of the libraries; 'armin inspect' shows which."
        ) from None
    check_trees(model)
    _remind(model)
    return model


def _remind(model: Any) -> None:
    """Tell CatBoost how many columns it was trained on, which it forgets when it is stored."""
    for part in parts_of(model):
        if type(part).__module__ == "catboost.core" and vars(part).get("_n_features_in") == 0:
            part._n_features_in = len(part.feature_names_)


def _known() -> frozenset[str]:
    return TRUSTED | set(HARMLESS)  # a partial of anything else was refused before


def _untrusted(names: list[str]) -> ModelError:
    return ModelError(
        f"The bundle's model holds types that are not known to be harmless: {', '.join(names)}. "
        "If the bundle comes from somebody you trust, load it with trust=True (--trust)."
    )


def unknown_types(data: bytes) -> list[str]:
    """The types in a model's file that are not on the list, and unusual ways of making objects; nothing is loaded.

    >>> from sklearn.linear_model import LogisticRegression
    >>> unknown_types(dump_model(LogisticRegression().fit([[0], [1]], [0, 1])))
    []
    """
    _, odd = _contents(data)
    sio = _skops()
    try:
        return [*odd, *sorted(set(sio.get_untrusted_types(data=data)) - _known())]
    except Exception as error:  # as in load_model
        raise DataError(f"The bundle's model cannot be read ({type(error).__name__}). It is damaged.") from None


def dump_pickle(thing: Any) -> bytes:
    """Anything, as a pickle."""
    import joblib

    stream = io.BytesIO()
    try:
        joblib.dump(thing, stream)
    except Exception as error:  # a lambda, a lock, an open file
        raise ModelError(f"{type(thing).__name__} cannot be pickled ({type(error).__name__}: {error}).") from None
    return stream.getvalue()


def load_pickle(data: bytes, what: str, *, trust: bool) -> Any:
    """What is in a pickle, if the user trusts it."""
    import joblib

    if not trust:
        raise ModelError(
            f"{what} is stored as a pickle, which runs the code it holds when it is opened. "
            "If the bundle comes from somebody you trust, load it with trust=True (--trust)."
        )
    try:
        return joblib.load(io.BytesIO(data))
    except Exception as error:  # a pickle can raise anything
        raise ModelError(
            f"{what} cannot be loaded ({type(error).__name__}: {error}). The libraries that made it must be installed; "
            "'armin inspect' shows which."
        ) from None


def _contents(data: bytes) -> tuple[set[str], list[str]]:
    """The types that a model's file names, and the unusual ways in which it wants objects made."""
    entries = read_stored(data, "The bundle's model")
    names: set[str] = set()
    odd: set[str] = set()
    try:
        stack = [json.loads(entries["schema.json"])]
    except (KeyError, ValueError, RecursionError):
        raise DataError("The bundle's model is not in skops' format. Get the bundle again from its source.") from None
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
        elif isinstance(node, dict):
            stack.extend(node.values())
            if "__loader__" in node:
                name = f"{node.get('__module__')}.{node.get('__class__')}"
                names.add(name)
                partial = node["__loader__"] == "PartialNode" and name == HARMLESS[0] and _checks(node)
                if node["__loader__"] not in LOADERS and not partial:
                    odd.add(f"{name} ({node['__loader__']})")
    return names, sorted(odd)


def _checks(node: dict[str, Any]) -> bool:
    """Whether a partial function only looks at an array."""
    content = node.get("content")
    inner = content.get("func") if isinstance(content, dict) else None
    if not isinstance(inner, dict) or inner.get("__loader__") != "FunctionNode" or "content" in inner:
        return False
    return f"{inner.get('__module__')}.{inner.get('__class__')}" == HARMLESS[1]


def _canonical(data: bytes) -> bytes:
    """The same file without what differs from run to run: addresses of objects, random names, the time."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = {info.filename: archive.read(info) for info in archive.infolist()}
    schema = json.loads(entries.pop("schema.json"))
    numbers: dict[Any, int] = {}
    files: dict[str, str] = {}
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(reversed(node))
        elif isinstance(node, dict):
            if "__loader__" in node and "__id__" in node:
                # skops looks at it to see that two places share an object, so that it must stay distinct
                node["__id__"] = numbers.setdefault(node["__id__"], len(numbers) + 1)
                name = node.get("file")
                if isinstance(name, str) and name in entries:
                    node["file"] = files.setdefault(name, f"{len(files)}{name[name.rfind('.') :]}")
            stack.extend(value for value in reversed(node.values()) if isinstance(value, dict | list))
    ordered = {new: entries[old] for old, new in files.items()}
    return write_stored({"schema.json": json.dumps(schema, separators=(",", ":")).encode()} | ordered)
