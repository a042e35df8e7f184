"""Short code for what kernels are made of: elements of arrays, and loops over numbers.

Numba writes an array to memory in order to read one of its fields, at every element that is looked up, and leaves it to
LLVM to see that this is not needed. That is forty instructions for each, and most of the text that LLVM reads. Here the
fields are taken from the array where it is. What LLVM makes of it is the same.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped, unused-ignore]
from numba.core import cgutils, types
from numba.core.imputils import impl_ret_borrowed
from numba.core.types.misc import unliteral
from numba.np.arrayobj import fix_integer_index, load_item, store_item

__all__ = ["NAMES", "array_of", "attribute", "numbers", "of_numbers", "short"]

Code = Callable[[Any, Any, Any, Any], Any]
_WORD = ir.IntType(64)
_ONE_BY_ONE = "one by one"


def array_of(context: Any, builder: Any, kind: Any, **fields: Any) -> Any:
    """The value of an array of the given fields; the others are null."""
    model = context.data_model_manager[kind]
    array = ir.Constant(model.get_value_type(), ir.Undefined)
    count = ir.Constant(_WORD, 1)
    for k, length in enumerate(fields["shape"]):
        count = builder.mul(count, length) if k else length
    for name in model._fields:
        place, value = model.get_field_position(name), fields.get(name)
        if name in ("shape", "strides"):
            for k, one in enumerate(fields[name]):
                array = builder.insert_value(array, one, (place, k))
        else:
            value = count if name == "nitems" else value
            null = ir.Constant(array.type.elements[place], None)
            array = builder.insert_value(array, null if value is None else value, place)
    return array


def _field(context: Any, builder: Any, kind: Any, array: Any, name: str, *k: int) -> Any:
    place = context.data_model_manager[kind].get_field_position(name)
    return builder.extract_value(array, (place, *k))


def _place(context: Any, builder: Any, kind: Any, array: Any, index_kind: Any, index: Any) -> Any:
    """The address of an element, or of the first one of a part."""
    single = isinstance(index_kind, types.Integer)
    kinds = (index_kind,) if single else index_kind.types
    at = None
    step = ir.Constant(_WORD, 1)
    lengths = [_field(context, builder, kind, array, "shape", k) for k in range(kind.ndim)]
    for k in reversed(range(kind.ndim)):
        if k < len(kinds):
            one = index if single else builder.extract_value(index, k)
            i = fix_integer_index(context, builder, unliteral(kinds[k]), one, lengths[k])
            moved = i if k == kind.ndim - 1 else builder.mul(i, step)
            at = moved if at is None else builder.add(moved, at)
        if k:
            step = lengths[k] if k == kind.ndim - 1 else builder.mul(step, lengths[k])
    return builder.gep(_field(context, builder, kind, array, "data"), [at])


def element(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """One element of an array, or the part of it that begins with the given numbers."""
    kind, index_kind = signature.args
    array, index = args
    place = _place(context, builder, kind, array, index_kind, index)
    if not isinstance(signature.return_type, types.Array):
        return load_item(context, builder, kind, place)
    first = kind.ndim - signature.return_type.ndim
    part = array_of(
        context,
        builder,
        signature.return_type,
        data=place,
        **{name: _field(context, builder, kind, array, name) for name in ("itemsize", "meminfo", "parent")},
        **{name: [_field(context, builder, kind, array, name, k) for k in range(first, kind.ndim)]
           for name in ("shape", "strides")},
    )  # fmt: skip
    return impl_ret_borrowed(context, builder, signature.return_type, part)


def set_element(context: Any, builder: Any, signature: Any, args: Any) -> None:
    """Set one element of an array."""
    kind, index_kind, value_kind = signature.args
    array, index, value = args
    place = _place(context, builder, kind, array, index_kind, index)
    store_item(context, builder, kind, context.cast(builder, value, value_kind, kind.dtype), place)


def attribute(context: Any, builder: Any, kind: Any, array: Any, name: str) -> Any:
    """The shape or the size of an array."""
    return _field(context, builder, kind, array, "nitems" if name == "size" else name)


def range_of(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The numbers from one to another, one by one."""
    first, last = args if len(args) == 2 else (ir.Constant(_WORD, 0), args[0])
    made = ir.Constant(context.get_value_type(signature.return_type), ir.Undefined)
    for k, value in enumerate((first, last, ir.Constant(_WORD, 1))):
        made = builder.insert_value(made, value, k)
    setattr(made, _ONE_BY_ONE, (first, last))  # for the loop, if it begins in the same block
    return made


def numbers(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The beginning of a loop over numbers, or nothing if they may not be one by one."""
    ends = getattr(args[0], _ONE_BY_ONE, None)
    if ends is None:
        return None
    first, last = ends
    model = context.data_model_manager[signature.return_type]
    at, left = (cgutils.alloca_once(builder, _WORD) for _ in range(2))
    apart, none = builder.sub(last, first), ir.Constant(_WORD, 0)
    builder.store(first, at)
    builder.store(builder.select(builder.icmp_signed(">", apart, none), apart, none), left)
    made = ir.Constant(model.get_value_type(), ir.Undefined)
    for name, value in (("iter", at), ("stop", last), ("step", ir.Constant(_WORD, 1)), ("count", left)):
        made = builder.insert_value(made, value, model.get_field_position(name))
    return made


def next_number(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The next number of a loop, and whether there is one."""
    (kind,) = signature.args
    at, step, left = (_field(context, builder, kind, args[0], name) for name in ("iter", "step", "count"))
    count, number = builder.load(left), builder.load(at)
    valid = builder.icmp_signed(">", count, ir.Constant(_WORD, 0))
    with builder.if_then(valid):
        builder.store(builder.sub(count, ir.Constant(_WORD, 1), flags=["nsw"]), left)
        builder.store(builder.add(number, step), at)
    model = context.data_model_manager[signature.return_type]
    made = ir.Constant(model.get_value_type(), ir.Undefined)
    made = builder.insert_value(made, number, model.get_field_position("first"))
    return builder.insert_value(made, valid, model.get_field_position("second"))


def least(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The least of some numbers; where one is not comparable, what Python's ``min`` returns."""
    return _extreme(builder, args, "<")


def largest(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The largest of some numbers, like :func:`least`."""
    return _extreme(builder, args, ">")


def _extreme(builder: Any, args: Any, sign: str) -> Any:
    kept = args[0]
    compare = builder.icmp_signed if kept.type == _WORD else builder.fcmp_ordered
    for value in args[1:]:
        kept = builder.select(compare(sign, value, kept), value, kept)
    return kept


def integer(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """A number without its fraction."""
    return context.cast(builder, args[0], signature.args[0], signature.return_type)


def of_numbers(name: object, kinds: tuple[Any, ...]) -> Any:
    """The signature of ``min``, ``max`` or ``int`` for numbers of one type; Numba would compile a function for it."""
    kinds = tuple(unliteral(kind) for kind in kinds)
    if kinds[:1] not in ((types.int64,), (types.float64,)) or len(set(kinds)) > 1:
        return None
    if name is int:
        return types.int64(*kinds) if len(kinds) == 1 else None
    return kinds[0](*kinds) if len(kinds) > 1 else None


def short(context: Any, name: object, signature: Any) -> Code | None:
    """The short code of an operation for the given types, if there is one."""
    if name == "iternext" and signature.args == (types.range_iter64_type,):
        return next_number
    if name is range and signature.return_type == types.range_state64_type and len(signature.args) < 3:
        return range_of if all(kind == types.int64 for kind in signature.args) else None
    if name in _OF_NUMBERS:
        return _OF_NUMBERS[name] if of_numbers(name, signature.args) == signature else None
    if name not in (operator.getitem, operator.setitem) or context.enable_boundscheck:
        return None
    kind, index = signature.args[:2]
    if type(kind) is not types.Array or kind.layout != "C" or not kind.ndim:
        return None
    kinds = (index,) if isinstance(index, types.Integer) else getattr(index, "types", ())
    if not kinds or len(kinds) > kind.ndim or not all(isinstance(one, types.Integer) for one in kinds):
        return None
    if name is operator.getitem:
        return element
    scalar = isinstance(unliteral(signature.args[2]), types.Number | types.Boolean)
    return set_element if scalar and len(kinds) == kind.ndim else None


_OF_NUMBERS: dict[object, Code] = {min: least, max: largest, int: integer}
NAMES = {*_OF_NUMBERS, operator.getitem, operator.setitem, range, "iternext"}
"""What :func:`short` may have code for."""
