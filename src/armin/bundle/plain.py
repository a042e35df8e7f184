"""What an explainer has learned, as JSON and arrays: only types that are known here are written or made.

Nothing in such a file can name a function or a class that is not on the list, so reading it runs no code.
"""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from dataclasses import is_dataclass
from datetime import date, datetime
from sys import modules
from typing import Any

import numpy as np
import pandas as pd

from armin.errors import DataError, ModelError, ParameterError
from armin.learned import Learned
from armin.registry import import_all
from armin.schema import Feature, Schema

__all__ = ["KNOWN", "Reader", "Writer"]

_HOMES = ("armin.costs", "armin.sampling", "armin.promise")


def _data_classes() -> dict[str, type]:
    """The classes that hold what is learned: costs, samplers, imputers, promises, and what they are made of.

    Such an object is made without calling anything, and then gets its attributes, which are data again.
    """
    homes = [name for package in _HOMES for name in import_all(package)]
    found = [(name, thing) for name in homes for thing in vars(modules[name]).values() if isinstance(thing, type)]
    data = [one for home, one in found if one.__module__ == home and (is_dataclass(one) or issubclass(one, Learned))]
    return {one.__name__: one for one in data if not one.__name__.startswith("_")}


KNOWN = _data_classes()
"""The classes that can be written, by name."""


class Writer:
    """Turns objects into JSON; arrays are put aside.

    Parameters
    ----------
    schema : features and the schema itself are written as references to it

    Examples
    --------
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
    >>> Writer(schema).json((1, float("inf"), schema["age"]))
    '{"$": "tuple", "v": [1, {"$": "float", "v": "inf"}, {"$": "feature", "v": "age"}]}'
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.arrays: dict[str, bytes] = {}

    def json(self, thing: Any) -> str:
        """The thing as JSON text."""
        return json.dumps(self._write(thing), ensure_ascii=False, allow_nan=False)

    def _write(self, thing: Any) -> Any:
        if isinstance(thing, np.generic) and thing.dtype.char in "dlq?U":
            thing = thing.item()
        if thing is None or type(thing) in (bool, int, str):
            return thing
        if type(thing) is float:
            return thing if math.isfinite(thing) else {"$": "float", "v": str(thing)}
        if type(thing) is list:
            return [self._write(one) for one in thing]
        for kind, parts in self._parts(thing):
            return {"$": kind, "v": parts}
        raise _unknown(thing)

    def _parts(self, thing: Any) -> list[tuple[str, Any]]:
        """The tag and the content of what JSON does not know; empty if it is not known here either."""
        if isinstance(thing, np.ndarray | np.generic):
            return [("array", self._array(np.asarray(thing)))]
        if isinstance(thing, datetime | date):  # what a row may carry along
            return [("time", thing.isoformat())]
        if type(thing) is tuple:
            return [("tuple", [self._write(one) for one in thing])]
        if type(thing) is dict:
            return [("dict", [[self._write(key), self._write(value)] for key, value in thing.items()])]
        if type(thing) is slice:
            return [("slice", [self._write(one) for one in (thing.start, thing.stop, thing.step)])]
        if isinstance(thing, Schema) and thing == self.schema:
            return [("schema", None)]
        if isinstance(thing, Feature) and thing in self.schema.features:
            return [("feature", thing.name)]
        if KNOWN.get(type(thing).__name__) is type(thing):
            state = thing.stored() if isinstance(thing, Learned) else vars(thing)
            return [(type(thing).__name__, [[key, self._write(value)] for key, value in state.items()])]
        return []

    def _array(self, array: np.ndarray[Any, Any]) -> str:
        if array.dtype.kind not in "bifuU":
            raise ModelError(f"An array of type {array.dtype} cannot be stored without trust. Numbers and texts can.")
        stream = io.BytesIO()
        np.save(stream, array, allow_pickle=False)
        name = f"{len(self.arrays)}.npy"
        self.arrays[name] = stream.getvalue()
        return name


def _unknown(thing: Any) -> Exception:
    if callable(thing) and not isinstance(thing, type):
        name = getattr(thing, "__qualname__", type(thing).__name__)
        return ParameterError(
            f"The explainer uses the function {name!r}, and a function cannot be stored in a bundle. "
            "Use one of ARMIN's own costs and samplers, such as TableCost, or a class of your own with trust=True."
        )
    kind = type(thing)
    return ModelError(
        f"{kind.__module__}.{kind.__qualname__} cannot be stored in a bundle that is safe to load. Use one of ARMIN's "
        "own costs, samplers and imputers, or allow a pickle with trust=True (it then loads with trust=True only)."
    )


class Reader:
    """Makes the objects again.

    Parameters
    ----------
    schema : what features refer to
    arrays : what the writer put aside

    Examples
    --------
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
    >>> Reader(schema, {}).read('{"$": "tuple", "v": [1, {"$": "feature", "v": "age"}]}')[1] is schema["age"]
    True
    """

    def __init__(self, schema: Schema, arrays: dict[str, bytes]) -> None:
        self.schema = schema
        self.arrays = arrays

    def read(self, text: str | bytes) -> Any:
        """The thing behind JSON text."""
        try:
            return self._read(json.loads(text))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(
                f"What the bundle has learned cannot be read ({type(error).__name__}). Get it again from its source."
            ) from None

    def _read(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self._read(one) for one in data]
        if not isinstance(data, dict):
            return data
        kind, value = data["$"], data["v"]
        simple = self._simple(kind)
        if simple is not None:
            return simple(value)
        if kind == "tuple":
            return tuple(self._read(one) for one in value)
        if kind == "slice":
            return slice(*(self._read(one) for one in value))
        pairs = [(self._read(key), self._read(one)) for key, one in self._pairs(kind, value)]
        if kind == "dict":
            return dict(pairs)
        cls, state = KNOWN[kind], {str(key): one for key, one in pairs}
        if issubclass(cls, Learned):
            return cls.restored(state)
        made: Any = object.__new__(cls)
        made.__dict__.update(state)
        return made

    def _simple(self, kind: str) -> Callable[[Any], Any] | None:
        known: dict[str, Callable[[Any], Any]] = {
            "float": float,
            "time": lambda text: pd.Timestamp(str(text)),
            "schema": lambda _: self.schema,
            "feature": lambda name: self.schema[str(name)],
            "array": self._array,
        }
        return known.get(kind)

    def _array(self, name: Any) -> Any:
        return np.load(io.BytesIO(self.arrays[name]), allow_pickle=False)

    def _pairs(self, kind: Any, value: Any) -> list[tuple[Any, Any]]:
        if kind != "dict" and kind not in KNOWN:
            raise DataError(
                f"The bundle holds a {str(kind)[:60]!r}, which this version of ARMIN does not know. Update ARMIN."
            )
        return [(key, one) for key, one in value]
