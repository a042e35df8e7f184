"""Bundles of arrays as compiled code gets them: one pointer instead of every array on its own.

A search works on dozens of arrays. As a tuple they would be taken apart and put together again at every call of every
function, in code that takes longer to compile than the work itself. So a bundle (a ``NamedTuple`` of arrays, numbers
and further bundles) is written down once as a table of addresses and sizes, and compiled code looks up what it needs.
The table does not change while it is in use, and says so: a look-up in a loop is done once, before it.

>>> from typing import NamedTuple
>>> class Pair(NamedTuple):
...     values: np.ndarray
...     times: float
>>> pair = Pair(np.array([1.0, 2.0]), 3.0)
>>> handed = hand(pair)
>>> handed.address == handed.table.ctypes.data, handed.table[1:].tolist()
(True, [2, 4613937818241073152])
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from math import prod
from typing import Any, Generic, TypeVar, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba import from_dtype, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, models, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

__all__ = ["Handed", "hand", "space"]

B = TypeVar("B", bound=tuple[object, ...])
_WORD = ir.IntType(64)


class _BundleType(types.Type):  # type: ignore[misc]  # Numba has no types
    """The type of a bundle: the types of its fields, and the place of each in the table, in words of 64 bits."""

    def __init__(self, name: str, fields: tuple[tuple[str, Any], ...]) -> None:
        self.fields = dict(fields)
        self.at: dict[str, int] = {}
        self.size = 0
        for field, kind in fields:
            self.at[field] = self.size
            self.size += kind.size if isinstance(kind, _BundleType) else 1 + getattr(kind, "ndim", 0)
        super().__init__(f"{name}({', '.join(f'{field}: {kind}' for field, kind in fields)})")
        # the names of compiled functions hold those of their arguments, at each place where they are called
        short = hashlib.sha256(self.name.encode()).hexdigest()[:16]
        self._mangled = f"{name.rpartition('.')[2]}_{short}"

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """What stands for it in the names of compiled functions."""
        return self._mangled, ()


@register_model(_BundleType)
class _BundleModel(models.PrimitiveModel):  # type: ignore[misc]
    """In compiled code a bundle is the address of its table."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _WORD.as_pointer())


@infer_getattr
class _BundleFields(AttributeTemplate):  # type: ignore[misc]
    """The types of a bundle's fields."""

    key = _BundleType

    def generic_resolve(self, kind: _BundleType, field: str) -> Any:
        return kind.fields.get(field)


@lower_getattr_generic(_BundleType)  # type: ignore[untyped-decorator, unused-ignore]
def _look_up(context: Any, builder: Any, kind: _BundleType, table: Any, field: str) -> Any:
    """The code that looks up a field."""
    found, at = kind.fields[field], kind.at[field]

    def word(i: int) -> Any:
        loaded = builder.load(builder.gep(table, [ir.Constant(_WORD, at + i)]))
        loaded.set_metadata("invariant.load", builder.module.add_metadata([]))
        return loaded

    if isinstance(found, _BundleType):
        return builder.gep(table, [ir.Constant(_WORD, at)])
    if not isinstance(found, types.Array):
        if found == types.float64:
            return builder.bitcast(word(0), ir.DoubleType())
        return word(0) if found == types.int64 else builder.icmp_signed("!=", word(0), ir.Constant(_WORD, 0))
    size = context.get_abi_sizeof(context.get_data_type(found.dtype))
    shape = [word(1 + k) for k in range(found.ndim)]
    strides = [ir.Constant(_WORD, size)]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    data = builder.inttoptr(word(0), context.get_data_type(found.dtype).as_pointer())
    itemsize = ir.Constant(_WORD, size)
    array = make_array(found)(context, builder)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return impl_ret_borrowed(context, builder, found, array._getvalue())


@unbox(_BundleType)  # type: ignore[untyped-decorator, unused-ignore]
def _taken(kind: _BundleType, handed: Any, c: Any) -> Any:
    """The address that Python hands over."""
    number = c.pyapi.object_getattr_string(handed, "address")
    address = c.pyapi.long_as_longlong(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.inttoptr(address, _WORD.as_pointer()))


class Handed(Generic[B]):
    """A bundle with its table of addresses; both live as long as this does."""

    __slots__ = ("_numba_type_", "address", "bundle", "table")

    def __init__(self, bundle: B, kind: _BundleType, words: list[int]) -> None:
        self.bundle, self._numba_type_ = bundle, kind
        self.table = np.array(words, dtype=np.int64)
        self.address = self.table.__array_interface__["data"][0]


def hand(bundle: B) -> B:
    """A bundle for compiled functions, which take it as if it were the bundle itself."""
    words: list[int] = []
    return cast(B, Handed(bundle, _written(bundle, words), words))


def space(kind: type[B], shapes: dict[str, tuple[type[np.generic], tuple[int, ...]]]) -> tuple[B, B]:
    """A bundle of arrays of zeros, in one piece of memory: for Python, and for compiled functions.

    >>> from typing import NamedTuple
    >>> class Space(NamedTuple):
    ...     counter: np.ndarray
    ...     number: np.ndarray
    >>> work, handed = space(Space, {"counter": (np.int64, (3,)), "number": (np.float64, (2, 2))})
    >>> work.number.shape, float(work.number.sum())
    ((2, 2), 0.0)
    """
    ends, end = [], 0
    for dtype, shape in shapes.values():
        ends.append(end)
        end += 8 * ((_SIZES[dtype] * prod(shape) + 7) // 8)
    memory = np.zeros(end // 8 + 1, dtype=np.int64)
    base = memory.__array_interface__["data"][0]
    words, kinds, arrays = [], list[object]([kind]), []
    for (dtype, shape), at in zip(shapes.values(), ends, strict=True):
        arrays.append(np.ndarray(shape, dtype, memory, at))
        words.append(base + at)
        words.extend(shape)
        kinds.append(_CODES[dtype])
        kinds.append(len(shape))
    bundle = kind(*arrays)
    return bundle, cast(B, Handed(bundle, _typed(bundle, kinds), words))


_known: dict[object, _BundleType] = {}
_USED: tuple[type[np.generic], ...] = (np.int64, np.int32, np.uint64, np.float64, np.bool_)
_SIZES: dict[type[np.generic], int] = {kind: np.dtype(kind).itemsize for kind in _USED}
_CODES: dict[type[np.generic], str] = {kind: np.dtype(kind).str for kind in _SIZES}
_NUMBERS: dict[object, Any] = {float: types.float64, int: types.int64, bool: types.boolean}
_AS_BYTES, _AS_INT = struct.Struct("d").pack, struct.Struct("q").unpack


def _written(bundle: tuple[object, ...], words: list[int]) -> _BundleType:
    """Write down a bundle, and return its type."""
    kinds: list[object] = [type(bundle)]
    for value in bundle:
        if isinstance(value, np.ndarray):
            about = value.__array_interface__
            if about["strides"] is not None:
                name = cast(Any, bundle)._fields[next(i for i, other in enumerate(bundle) if other is value)]
                raise ValueError(
                    f"'{name}' of {type(bundle).__name__} must be contiguous, row after row. Got strides "
                    f"{about['strides']} for the shape {about['shape']}; use np.ascontiguousarray."
                )
            words.append(about["data"][0])
            words.extend(about["shape"])
            kinds.append(about["typestr"])
            kinds.append(value.ndim)
        elif isinstance(value, tuple):
            kinds.append(_written(value, words))
        elif isinstance(value, float):
            words.append(_AS_INT(_AS_BYTES(value))[0])
            kinds.append(float)
        else:
            words.append(int(cast(int, value)))
            kinds.append(bool if isinstance(value, bool | np.bool_) else int)
    return _typed(bundle, kinds)


def _typed(bundle: tuple[object, ...], kinds: list[object]) -> _BundleType:
    key = tuple(kinds)
    if key not in _known:
        _known[key] = _type_of(bundle, iter(kinds[1:]))
    return _known[key]


def _type_of(bundle: tuple[object, ...], kinds: Iterator[object]) -> _BundleType:
    fields = []
    for name in cast(tuple[str, ...], cast(Any, bundle)._fields):
        kind: Any = next(kinds)
        if isinstance(kind, str):
            kind = types.Array(from_dtype(np.dtype(kind)), next(kinds), "C")
        fields.append((name, _NUMBERS.get(kind, kind)))
    return _BundleType(f"{type(bundle).__module__}.{type(bundle).__qualname__}", tuple(fields))
