"""Expressions of columns: read once into a tree of a few known operations, never evaluated as code.

>>> dti = read_formula("round(debt / `net income`, 2)")
>>> dti.names
('debt', 'net income')
>>> dti({"debt": np.array([10.0, 5.0, np.nan]), "net income": np.array([30.0, 0.0, 2.0])})
array([0.33,  inf,  nan])
>>> read_formula("debt / income").solve("income", np.array([0.5]), {"debt": np.array([10.0])})
array([20.])
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from typing import Any

import numpy as np

from armin.arrays import FloatArray
from armin.errors import SchemaError

__all__ = ["Formula", "read_formula"]

LONGEST = 500
"""Characters of a formula; a schema may come from a stranger."""
MOST_DIGITS = 15
_FORM = (
    "It must be made of columns and numbers by + - * /, round(x, digits), min, max, abs and comparisons, such as "
    "'debt / income' or 'x > 0'; a name that is no identifier stands in `backticks`."
)
_TWO: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
}
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
_SEVERAL: dict[str, Callable[[Any, Any], Any]] = {"min": np.minimum, "max": np.maximum}


@dataclass(frozen=True)
class Formula:
    """An expression of columns.

    Attributes
    ----------
    text : the expression as it is written
    """

    text: str

    @cached_property
    def _tree(self) -> tuple[ast.expr, dict[str, str]]:
        """The expression, in which names are identifiers, and the column behind each identifier."""
        return _parsed(self.text)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns, in the order of their first use."""
        tree, columns = self._tree
        return tuple(dict.fromkeys(columns[name.id] for name in _columns(tree)))

    @cached_property
    def is_flag(self) -> bool:
        """Whether it is a comparison, which is 0 or 1."""
        return isinstance(self._tree[0], ast.Compare)

    @cached_property
    def is_whole(self) -> bool:
        """Whether it is a whole number wherever its columns are."""
        return _whole(self._tree[0])

    @cached_property
    def divisors(self) -> tuple[Formula, ...]:
        """What it divides by, where that has columns in it."""
        tree, _ = self._tree
        parts = [one.right for one in ast.walk(tree) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Div)]
        return tuple(Formula(self._written(part)) for part in parts if _columns(part))

    def __call__(self, values: Mapping[str, FloatArray]) -> FloatArray:
        """Its value where columns have these values, which broadcast; NaN where one of them is blank."""
        tree, columns = self._tree
        with np.errstate(all="ignore"):
            return np.asarray(_value(tree, {key: values[name] for key, name in columns.items()}), dtype=np.float64)

    def solve(self, name: str, target: FloatArray, values: Mapping[str, FloatArray]) -> FloatArray | None:
        """The value of one column that makes it ``target`` where the others have ``values``; None if it is not to tell.

        What is rounded is taken as if it were not.
        """
        tree, columns = self._tree
        if [columns[one.id] for one in _columns(tree)].count(name) != 1:
            return None
        known = {key: values.get(column, np.array(np.nan)) for key, column in columns.items()}
        with np.errstate(all="ignore"):
            return _inverse(tree, next(key for key, column in columns.items() if column == name), target, known)

    def replaced(self, made: Mapping[str, Formula]) -> Formula:
        """The same with formulas in the places of some columns.

        >>> read_formula("total / 2").replaced({"total": read_formula("a + `b c`")}).text
        '(a + `b c`) / 2'
        """
        tree, columns = self._tree
        if not set(columns.values()) & made.keys():
            return self
        text = ast.unparse(tree)
        for key, name in columns.items():
            text = _named(text, key, f"({made[name].text})" if name in made else _quoted(name))
        return read_formula(text)

    def _written(self, part: ast.expr) -> str:
        text = ast.unparse(part)
        for key, name in self._tree[1].items():
            text = _named(text, key, _quoted(name))
        return text


@lru_cache(maxsize=1024)
def read_formula(text: str) -> Formula:
    """The formula behind a text, or a refusal that says what a formula may be."""
    found = Formula(text)
    if not found.names:
        raise SchemaError(f"The formula {text!r} names no column. {_FORM}")
    return found


def _named(text: str, key: str, name: str) -> str:
    return re.sub(rf"(?<![\w`]){key}(?![\w`])", lambda _: name, text)


def _quoted(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _parsed(text: object) -> tuple[ast.expr, dict[str, str]]:
    if not isinstance(text, str) or len(text) > LONGEST:
        raise SchemaError(f"A formula must be a text of at most {LONGEST} characters. Got {str(text)[:80]!r}. {_FORM}")
    columns: dict[str, str] = {}

    def placeholder(found: re.Match[str]) -> str:
        columns.setdefault(f"__column_{len(columns)}__", found[1])
        return f" {next(key for key, name in columns.items() if name == found[1])} "

    plain = re.sub(r"`([^`]+)`", placeholder, text.strip())
    try:
        tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise SchemaError(f"The formula {text!r} cannot be read. {_FORM}") from None
    _check(tree, text)
    for name in _columns(tree):
        columns.setdefault(name.id, name.id)
    return tree, columns


def _check(part: ast.expr, text: str) -> None:
    """Refuse what is not one of the known operations."""
    match part:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool) and np.isfinite(number):
            return None
        case ast.Name():
            return None
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=inner):
            return _check(inner, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _TWO:
            _check(left, text)
            return _check(right, text)
        case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
            return _check(inner, text)
        case ast.Call(func=ast.Name(id="round"), args=[inner], keywords=[]):
            return _check(inner, text)
        case ast.Call(func=ast.Name(id="round"), args=[inner, ast.Constant(value=int() as digits)], keywords=[]) if (
            0 <= digits <= MOST_DIGITS
        ):
            return _check(inner, text)
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARED:
            _check(left, text)
            return _check(right, text)
        case ast.Call(func=ast.Name(id="min" | "max"), args=[_, _, *_] as inside, keywords=[]):
            for one in inside:
                _check(one, text)
            return None
    raise SchemaError(f"The formula {text!r} cannot be read at {ast.unparse(part)!r}. {_FORM}")


def _columns(tree: ast.expr) -> list[ast.Name]:
    """The names in an expression that are columns, in their order."""
    called = {id(one.func) for one in ast.walk(tree) if isinstance(one, ast.Call)}
    found = [one for one in ast.walk(tree) if isinstance(one, ast.Name) and id(one) not in called]
    return sorted(found, key=lambda one: (one.lineno, one.col_offset))


def _value(part: ast.expr, values: Mapping[str, FloatArray]) -> Any:
    match part:
        case ast.Constant(value=number):
            return np.float64(number)  # type: ignore[arg-type]
        case ast.Name(id=name):
            return values[name]
        case ast.UnaryOp(op=op, operand=inner):
            return -_value(inner, values) if isinstance(op, ast.USub) else _value(inner, values)
        case ast.BinOp(left=left, op=op, right=right):
            return _TWO[type(op)](_value(left, values), _value(right, values))
        case ast.Call(func=ast.Name(id="abs"), args=[inner]):
            return np.abs(_value(inner, values))
        case ast.Call(func=ast.Name(id="round"), args=[inner, *digits]):
            return np.round(_value(inner, values), _digits(digits))
        case ast.Call(func=ast.Name(id=name), args=inside):
            return reduce(_SEVERAL[name], [_value(one, values) for one in inside])
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            one, other = _value(left, values), _value(right, values)
            return np.where(np.isnan(one) | np.isnan(other), np.nan, _COMPARED[type(op)](one, other))
    raise AssertionError(part)  # pragma: no cover - refused when it was read


def _inverse(part: ast.expr, name: str, target: FloatArray, values: Mapping[str, FloatArray]) -> FloatArray | None:
    """What the column ``name`` is where the part is ``target``."""

    def inside(one: ast.expr) -> bool:
        return any(column.id == name for column in _columns(one))

    match part:
        case ast.Name():
            return target
        case ast.UnaryOp(op=op, operand=inner):
            return _inverse(inner, name, -target if isinstance(op, ast.USub) else target, values)
        case ast.Call(func=ast.Name(id="round"), args=[inner, *_]):
            return _inverse(inner, name, target, values)
        case ast.BinOp(left=left, op=op, right=right):
            if inside(left):
                other = _value(right, values)
                undone = {ast.Add: np.subtract, ast.Sub: np.add, ast.Mult: np.divide, ast.Div: np.multiply}
                return _inverse(left, name, np.asarray(undone[type(op)](target, other)), values)
            other = _value(left, values)
            if isinstance(op, ast.Add | ast.Mult):
                undo = np.subtract if isinstance(op, ast.Add) else np.divide
                return _inverse(right, name, np.asarray(undo(target, other)), values)
            redo = np.subtract if isinstance(op, ast.Sub) else np.divide
            return _inverse(right, name, np.asarray(redo(other, target)), values)
    return None  # a minimum, a magnitude or a comparison does not say what is behind it


def _whole(part: ast.expr) -> bool:
    match part:
        case ast.Constant(value=number):
            return float(number).is_integer()  # type: ignore[arg-type]
        case ast.Name() | ast.Compare():
            return True
        case ast.UnaryOp(operand=inner):
            return _whole(inner)
        case ast.BinOp(left=left, op=op, right=right):
            return not isinstance(op, ast.Div) and _whole(left) and _whole(right)
        case ast.Call(func=ast.Name(id="round"), args=[inner, *digits]):
            return _digits(digits) <= 0 or _whole(inner)
        case ast.Call(args=inside):
            return all(_whole(one) for one in inside)
    raise AssertionError(part)  # pragma: no cover - refused when it was read


def _digits(given: list[ast.expr]) -> int:
    return int(given[0].value) if given and isinstance(given[0], ast.Constant) else 0  # type: ignore[arg-type]
