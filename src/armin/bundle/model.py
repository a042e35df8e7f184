"""The classifier as a part of the bundle: skops, which makes known types only, or a pickle for those who trust it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from armin.bundle.archive import read_stored, write_stored
from armin.bundle.types import known, skops, unknown_types
from armin.errors import DataError, MissingDependencyError, ModelError

__all__ = ["dump_model", "dump_pickle", "load_model", "load_pickle", "parts_of"]


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


def load_model(data: bytes, *, trust: bool) -> tuple[Any, list[str]]:
    """The model behind :func:`dump_model`, and its unknown types, which are refused by name unless trusted."""
    read_stored(data, "The bundle's model")
    unknown = unknown_types(data)
    if unknown and not trust:
        raise ModelError(
            f"The bundle's model holds types that are not known to be harmless: {', '.join(unknown)}. "
            "If the bundle comes from somebody you trust, load it with trust=True (--trust)."
        )
    try:
        model = skops().loads(data, trusted=sorted(known() | set(unknown)))
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"The bundle's model needs the library {str(error.name).partition('.')[0]!r}, which is not installed. "
            "See what is inside with 'armin inspect'."
        ) from None
    except Exception as error:  # a damaged or outdated file can make skops raise anything
        raise DataError(
            f"The bundle's model cannot be loaded ({type(error).__name__}). It is damaged, or was made with other "
            "versions of the libraries; 'armin inspect' shows which."
        ) from None
    for part in parts_of(model):  # CatBoost forgets how many columns it was trained on when it is stored
        if type(part).__module__ == "catboost.core" and vars(part).get("_n_features_in") == 0:
            part._n_features_in = len(part.feature_names_)
    return model, unknown


def parts_of(root: Any) -> Iterator[Any]:
    """All objects inside an object, and itself.

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [type(part).__name__ for part in parts_of(make_pipeline(StandardScaler()))]
    ['Pipeline', 'list', 'tuple', 'StandardScaler']
    """
    seen: set[int] = set()
    stack = [root]
    while stack:
        thing = stack.pop()
        if id(thing) in seen or thing is None or isinstance(thing, str | bytes | int | float | type):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            if thing.dtype == object:
                stack.extend(thing.ravel().tolist())
            continue
        yield thing
        if isinstance(thing, dict):
            stack.extend(thing.values())
        elif isinstance(thing, list | tuple | set):
            stack.extend(thing)
        stack.extend(getattr(thing, "__dict__", {}).values())


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
