"""The classifier as a part of the bundle: skops, which runs no code, or a pickle for those who trust it."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from armin.bundle.archive import read_stored, write_stored
from armin.bundle.boosters import check_boosters
from armin.bundle.checks import check_model
from armin.bundle.trees import check_trees, parts_of
from armin.bundle.types import KNOWN, contents, skops, unknown_types
from armin.errors import DataError, MissingDependencyError, ModelError

__all__ = ["dump_model", "dump_pickle", "load_model", "load_pickle"]


def dump_model(model: Any) -> bytes:
    """The model in skops' format; the same model gives the same bytes."""
    sio = skops()
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
    made, _ = contents(data)
    sio = skops()
    try:
        if not trust:
            if unknown := unknown_types(data):
                raise _untrusted(unknown)
            entries = read_stored(data, "The bundle's model")
            check_boosters(json.loads(entries["schema.json"]), entries)
        model = sio.loads(
            data, trusted=sio.get_untrusted_types(data=data) if trust else sorted(KNOWN & {name for _, name in made})
        )
    except (ModelError, DataError):
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
    (check_trees if trust else check_model)(model)
    _remind(model)
    return model


def _remind(model: Any) -> None:
    """Tell CatBoost how many columns it was trained on, which it forgets when it is stored."""
    for part in parts_of(model):
        if type(part).__module__ == "catboost.core" and vars(part).get("_n_features_in") == 0:
            part._n_features_in = len(part.feature_names_)


def _untrusted(names: list[str]) -> ModelError:
    return ModelError(
        f"The bundle's model holds types that are not known to be harmless: {', '.join(names)}. "
        "If the bundle comes from somebody you trust, load it with trust=True (--trust)."
    )


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
