"""Look for columns that hang together: one-hot groups, columns made of others, orders.

Every finding holds in all rows in which its columns are known, and in enough of them that chance would have broken it.

>>> rng = np.random.default_rng(0)
>>> debt, income = rng.integers(1, 99, 200), rng.integers(1, 99, 200)
>>> table = pd.DataFrame({"debt": debt, "income": income, "dti": (debt / income).round(3), "k": income / 1000})
>>> [str(one) for one in find_dependencies(table)]
["Derived('k', 'income / 1000'): 200 rows", "Derived('dti', 'round(debt / income, 3)'): 200 rows"]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray
from armin.schema.columns import Derived, OneOf
from armin.schema.guess import words_of
from armin.schema.rules import Order
from armin.schema.values import as_number, is_blank

__all__ = ["Finding", "certain_sentinels", "find_dependencies", "find_sentinels"]

ENOUGH = 50
"""Rows in which a dependency must hold before it is believed."""
VARIED = 10
"""Rows in which a column must differ from its usual value, so that what it is made of can be seen."""
SOME = 64
"""Rows on which all pairs are tried before all rows are looked at."""
MOST = 100
"""Numeric columns among which pairs are tried."""
BROKEN_BY_CHANCE = 30
"""Rows that would break a one-hot group or an order if its columns had nothing to do with each other."""
OFTEN_EQUAL = 0.02
"""Share of rows in which the two columns of an order are equal."""
NEAR = 1e-6
_TOTAL = {"total", "sum", "all", "overall", "gesamt", "summe", "net", "netto", "balance"}
_MISSING = {
    "?", "unknown", "unk", "missing", "not available", "not known", "no data", "unbekannt",
    "k.a.", "keine angabe", "fehlt", "not reported", "not stated",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """Columns that hang together.

    Attributes
    ----------
    rule : what holds
    columns : the columns in it
    rows : in how many rows it was seen to hold, which are all in which the columns are known
    """

    rule: OneOf | Derived | Order
    columns: tuple[str, ...]
    rows: int

    def __str__(self) -> str:
        return f"{self.code}: {self.rows} rows"

    @property
    def code(self) -> str:
        """The rule as it is written in Python."""
        rule = self.rule
        if isinstance(rule, Derived):
            return f"Derived({rule.column!r}, {rule.formula!r})"
        if isinstance(rule, Order):
            return f"Order({rule.features!r})"
        return f"OneOf({rule.columns!r}{f', rest={rule.rest!r}' if rule.rest else ''})"


class _Table:
    """The columns that hold numbers, blanks as NaN."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.values: dict[str, FloatArray] = {}
        for name in frame.columns:
            numbers = _numbers(frame[name])
            if numbers is not None:
                hidden = [value for value in certain_sentinels(frame[name]) if isinstance(value, float)]
                self.values[str(name)] = np.where(np.isin(numbers, hidden), np.nan, numbers)
        self.digits = {name: _digits(values) for name, values in self.values.items()}

    def varied(self) -> list[str]:
        """The columns that differ from their usual value often enough."""
        found = []
        for name, values in self.values.items():
            known = values[~np.isnan(values)]
            if known.size >= ENOUGH:
                _, counts = np.unique(known, return_counts=True)
                if known.size - counts.max() >= VARIED:
                    found.append(name)
        return found

    def known(self, names: Sequence[str]) -> BoolArray:
        """The rows in which all of some columns are known."""
        return np.asarray(~np.isnan(np.array([self.values[name] for name in names])).any(axis=0))


def find_dependencies(frame: pd.DataFrame) -> list[Finding]:
    """All that hangs together in a table; no column is made of one that is made of others.

    Parameters
    ----------
    frame : rows with the columns that are to be looked at; others are better left out
    """
    table = _Table(frame)
    names = table.varied()
    groups = _one_hot(table, names)
    grouped = {name for one in groups for name in one.columns}
    names = [name for name in names if name not in grouped]
    made: list[Finding] = []
    for finder in (_rescaled, _sums, _of_pairs, _steps):
        taken = {one.rule.column for one in made if isinstance(one.rule, Derived)}
        made += _acyclic(finder(table, [name for name in names if name not in taken]), made)
    taken = {one.rule.column for one in made if isinstance(one.rule, Derived)}
    orders = _orders(table, [name for name in names if name not in taken])
    return [*groups, *made, *orders]


def _acyclic(found: Iterator[Finding], before: Sequence[Finding]) -> list[Finding]:
    """Findings without those that make a column twice, or out of a column that is made itself."""
    kept: list[Finding] = []
    made = {one.rule.column for one in before if isinstance(one.rule, Derived)}
    used = {name for one in before if isinstance(one.rule, Derived) for name in one.columns} - made
    for one in found:
        assert isinstance(one.rule, Derived)  # noqa: S101
        column, parts = one.rule.column, set(one.columns) - {one.rule.column}
        if column not in made and column not in used and not parts & made:
            kept.append(one)
            made.add(column)
            used |= parts
    return kept


def _numbers(column: pd.Series[Any]) -> FloatArray | None:
    other = pd.api.types.is_datetime64_any_dtype(column.dtype) or pd.api.types.is_complex_dtype(column.dtype)
    if isinstance(column.dtype, pd.CategoricalDtype) or other:
        return None
    if pd.api.types.is_bool_dtype(column.dtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    found = [np.nan if is_blank(v) else (None if isinstance(v, str) else as_number(v)) for v in column.tolist()]
    return None if any(number is None for number in found) else np.array(found, dtype=np.float64)


def _digits(values: FloatArray) -> int | None:
    """The decimal places that a column is rounded to; None for more than six."""
    known = values[np.isfinite(values)]
    for digits in range(7):
        if np.all(np.abs(known - np.round(known, digits)) <= 1e-9 * np.maximum(1.0, np.abs(known))):
            return digits
    return None


def _one_hot(table: _Table, names: Sequence[str]) -> list[Finding]:
    """Columns of 0 and 1 of which exactly one is 1; or at most one, where their names belong together."""
    flags = [n for n in table.values if np.isin(table.values[n], (0.0, 1.0)).sum() >= ENOUGH and _is_flag(table, n)]
    found: list[Finding] = []
    prefixes = {name: _prefix(name) for name in flags}
    for prefix in dict.fromkeys(prefixes.values()):
        mine = [name for name in flags if prefixes[name] == prefix]
        if prefix and len(mine) >= 2:
            one = _group(table, mine, named=True)
            if one is not None:
                found.append(one)
    taken = {name for one in found for name in one.columns}
    rest = [name for name in flags if name not in taken and name in names]
    while rest:
        clique = [rest.pop(0)]
        for name in rest:
            if all(_exclude(table, name, other) for other in clique):
                clique.append(name)
        one = _group(table, clique, named=False) if len(clique) >= 2 else None
        if one is not None:
            found.append(one)
            rest = [name for name in rest if name not in clique]
    return found


def _is_flag(table: _Table, name: str) -> bool:
    values = table.values[name]
    return bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())


def _prefix(name: str) -> str:
    found = re.match(r"(.+?)[ _=.:\-\[(][^_]*$", name)
    return found[1] if found else ""


def _exclude(table: _Table, one: str, other: str) -> bool:
    return not np.any((table.values[one] == 1) & (table.values[other] == 1))


def _group(table: _Table, names: list[str], *, named: bool) -> Finding | None:
    rows = table.known(names)
    matrix = np.array([table.values[name][rows] for name in names])
    total, shares, n = matrix.sum(axis=0), matrix.mean(axis=1), int(rows.sum())
    if n < ENOUGH or total.max(initial=0) != 1:
        return None
    # rows in which two of them would be 1, or none, if they had nothing to do with each other
    none = float(np.prod(1 - shares))
    one = float(sum(none / (1 - share) * share for share in shares if share < 1))
    if np.all(total == 1):
        return Finding(OneOf(tuple(names)), tuple(names), n) if n * (1 - one) >= BROKEN_BY_CHANCE else None
    if not named or n * (1 - one - none) < BROKEN_BY_CHANCE:
        return None
    rest = next(one for one in ("other", "none of these", "the rest") if not any(n.endswith(one) for n in names))
    return Finding(OneOf(tuple(names), rest=rest), tuple(names), n)


def _same(table: _Table, column: str, follows: FloatArray, rows: BoolArray) -> str | None:
    """How a column is what follows, in all rows: "" to the last digits, "round" rounded as it is; None if it is not."""
    given, follows = table.values[column][rows], follows[rows]
    if not np.isfinite(follows).all():
        return None
    if np.all(np.abs(given - follows) <= 1e-9 * np.maximum(np.abs(given), np.abs(follows)) + 1e-12):
        return ""
    digits = table.digits[column]
    if digits is not None:
        close = np.abs(given - follows) <= 0.5 * 10.0**-digits * (1 + NEAR) + 1e-9 * np.abs(follows)
        # a column of few values could be a rounding of much
        if close.all() and np.unique(given).size >= VARIED:
            return "round"
    if np.all(np.abs(given - follows) <= NEAR * np.maximum(np.abs(given), np.abs(follows))):
        return ""  # stored in single precision
    return None


def _formula(table: _Table, column: str, text: str, follows: FloatArray, parts: Sequence[str]) -> Finding | None:
    """The finding that a column is what a formula says, if it is."""
    rows = table.known([column, *parts]) & np.isfinite(follows)
    if rows.sum() < ENOUGH or np.unique(table.values[column][rows]).size < 2:
        return None
    how = _same(table, column, follows, rows)
    if how is None:
        return None
    if how == "round":
        digits = table.digits[column] or 0
        exact = np.isclose(np.round(follows[rows], digits), table.values[column][rows], rtol=1e-9, atol=1e-12)
        text = f"round({text}, {digits})" if exact.mean() > 0.95 else text
    return Finding(Derived(column, text), (column, *parts), int(rows.sum()))


def _q(name: str) -> str:
    return name if name.isidentifier() else f"`{name}`"


def _neat(number: float) -> str | None:
    """A factor as people write it: a fraction of small whole numbers, or a number of few digits; None for others."""
    if not np.isfinite(number) or number == 0:
        return None
    for text in (f"{number:.4g}", f"{number:.6g}"):
        if abs(float(text) - number) <= NEAR * abs(number):
            return f"{float(text):g}" if abs(float(text)) < 1e15 else None
    part = Fraction(number).limit_denominator(1000)
    if part and abs(float(part) - number) <= NEAR * abs(number):
        return f"{part.numerator} / {part.denominator}"
    return None


def _times(text: str, factor: float) -> str | None:
    """``factor * text``, as people write it."""
    if abs(factor - 1) <= NEAR:
        return text
    if not factor or not np.isfinite(factor):
        return None
    inverse = _neat(1 / factor)
    if abs(factor) < 1 and inverse is not None and "/" not in inverse and float(inverse).is_integer():
        return f"{text} / {inverse}"
    said = _neat(factor)
    return None if said is None else f"{said} * {text}"


def _rescaled(table: _Table, names: Sequence[str]) -> Iterator[Finding]:
    """Columns that are another one, or a multiple of it and a constant."""
    for one, other in combinations(names, 2):
        for column, part in ((other, one), (one, other)):
            rows = table.known([column, part])
            x, y = table.values[part][rows], table.values[column][rows]
            if rows.sum() < ENOUGH or np.ptp(x) == 0 or np.ptp(y) == 0:
                continue
            low, high = int(np.argmin(x)), int(np.argmax(x))
            slope = (y[high] - y[low]) / (x[high] - x[low])
            if slope == 0:
                continue
            found = None
            for factor in dict.fromkeys([1 / _rounded(1 / slope), _rounded(slope), _ratio(y, x)]):
                shift = float(np.median(y - factor * x))
                for constant in dict.fromkeys([0.0, _rounded(shift)]):
                    text, said = _times(_q(part), factor), _neat(constant) if constant else ""
                    if text is None or said is None or found is not None:
                        continue
                    text += "" if not constant else f" + {said}" if constant > 0 else f" - {said[1:]}"
                    if np.unique(x).size > 2 or (factor == 1 and not constant) or (factor == -1 and constant == 1):
                        follows = factor * table.values[part] + constant
                        found = _formula(table, column, text, follows, [part])
            if found is not None:
                yield found
                break


def _rounded(number: float) -> float:
    return float(f"{number:.4g}") if np.isfinite(number) else number


def _ratio(y: FloatArray, x: FloatArray) -> float:
    some = x != 0
    return _rounded(float(np.median(y[some] / x[some]))) if some.any() else 1.0


def _sums(table: _Table, names: Sequence[str]) -> Iterator[Finding]:
    """Columns that are a weighted sum of others, found as linear dependencies from left to right."""
    names = [name for name in names if np.unique(table.values[name]).size > 2 or _is_flag(table, name)]
    rows = table.known(names) if names else np.zeros(0, dtype=bool)
    while names and rows.sum() < max(ENOUGH, 2 * len(names)):
        names = sorted(names, key=lambda name: np.isnan(table.values[name]).sum())[:-1]
        rows = table.known(names) if names else rows
    names = [name for name in table.values if name in names]
    if len(names) < 3:
        return
    matrix = np.array([table.values[name][rows] for name in names]).T
    scale = np.abs(matrix).max(axis=0)
    scaled = np.column_stack([np.ones(len(matrix)), matrix / np.where(scale == 0, 1.0, scale)])
    basis: list[int] = [0]
    for k in range(1, scaled.shape[1]):
        inside = scaled[:, basis]
        weights, *_ = np.linalg.lstsq(inside, scaled[:, k], rcond=None)
        rest = np.abs(scaled[:, k] - inside @ weights)
        digits = table.digits[names[k - 1]]
        slack = 1e-9 if digits is None or digits == 0 else 0.51 * 10.0**-digits / scale[k - 1]
        if rest.max() > max(slack, 1e-9) or slack > 0.005:
            basis.append(k)
            continue
        real = {b: w * scale[k - 1] / (scale[b - 1] if b else 1.0) for b, w in zip(basis, weights, strict=True)}
        kept = {b: w for b, w in real.items() if abs(w) * (scale[b - 1] if b else 1.0) > 1e-6 * scale[k - 1]}
        parts = {names[b - 1]: w for b, w in kept.items() if b}
        if len(parts) >= 2:
            found = _sum(table, names[k - 1], parts, kept.get(0, 0.0))
            if found is not None:
                yield found


def _sum(table: _Table, column: str, parts: dict[str, float], constant: float) -> Finding | None:
    """A weighted sum with neat weights, said of the column that is the total where one is."""
    weights = {name: float(_neat(w) or np.nan) if "/" not in (_neat(w) or "/") else np.nan for name, w in parts.items()}
    constant = 0.0 if abs(constant) < NEAR * max(1.0, np.nanmax(np.abs(table.values[column]))) else _rounded(constant)
    if any(w != w for w in weights.values()):
        return None
    signs = {column: -1.0, **weights}
    if not constant and all(abs(w) == 1 for w in signs.values()):
        total = next((name for name in signs if set(words_of(name)) & _TOTAL), column)
        weights = {name: -w / signs[total] for name, w in signs.items() if name != total}
        column = total
    text = ""
    for name, w in sorted(weights.items(), key=lambda pair: pair[1] < 0):
        part = _times(_q(name), abs(w))
        if part is None:
            return None
        text += part if not text and w > 0 else f"-{part}" if not text else f" {'+' if w > 0 else '-'} {part}"
    if constant:
        text += f" {'+' if constant > 0 else '-'} {_neat(abs(constant))}"
    follows = sum((w * table.values[name] for name, w in weights.items()), np.full(1, constant))
    return _formula(table, column, text, np.asarray(follows), list(weights))


def _of_pairs(table: _Table, names: Sequence[str]) -> Iterator[Finding]:
    """Columns that are the product or the quotient of two others, perhaps times a constant."""
    names = list(names)[:MOST]
    if len(names) < 3:
        return
    values = np.array([table.values[name] for name in names])
    known = ~np.isnan(values).any(axis=0)
    rows = np.flatnonzero(known if known.sum() >= SOME else np.ones(values.shape[1], dtype=bool))
    sample = values[:, np.random.default_rng(0).permutation(rows)[:SOME]]
    many = np.array([np.unique(column).size >= VARIED for column in values])
    with np.errstate(all="ignore"):
        for i, j in combinations(range(len(names)), 2):
            for a, b, sign in ((i, j, "*"), (i, j, "/"), (j, i, "/")):
                made = sample[a] * sample[b] if sign == "*" else sample[a] / sample[b]
                factors = np.sort(
                    np.where((made != 0) & (sample != 0), sample / made, np.nan), axis=1
                )  # NaN at the end
                count = (~np.isnan(factors)).sum(axis=1)
                low, high = (np.take_along_axis(factors, (k * count // 4)[:, None], axis=1)[:, 0] for k in (1, 3))
                # a quick look: the middle half of the factors lies close together
                close = many & (count >= VARIED) & (np.abs(high - low) <= 0.1 * np.abs(high + low))
                close[[a, b]] = False
                for k in np.flatnonzero(close).tolist():
                    one = _pair(table, names[k], names[a], names[b], sign)
                    if one is not None:
                        yield one


def _pair(table: _Table, column: str, a: str, b: str, sign: str) -> Finding | None:
    with np.errstate(all="ignore"):
        x, y = table.values[a], table.values[b]
        plain = x * y if sign == "*" else x / y
        rows = table.known([column, a, b]) & np.isfinite(plain)
        size = np.abs(plain[rows])
        big = size >= np.quantile(size, 0.9) if size.size else np.zeros(0, dtype=bool)
        if not big.any():
            return None
        best = float(np.median((table.values[column][rows] / plain[rows])[big]))
        for one in dict.fromkeys([float(f"{best:.{d}g}") for d in (1, 2, 3, 4)] + [float(f"{12 * best:.3g}") / 12]):
            text = _times(f"{_q(a)} {sign} {_q(b)}", one)
            if text is not None:
                found = _formula(table, column, text, one * plain, [a, b])
                if found is not None:
                    return found
    return None


def _steps(table: _Table, names: Sequence[str]) -> Iterator[Finding]:
    """Columns of few whole numbers that rise, or fall, with another one: flags and bins."""
    for column in names:
        y = table.values[column]
        levels = np.unique(y[~np.isnan(y)])
        if not 2 <= levels.size <= 8 or not np.array_equal(levels, levels[0] + np.arange(levels.size)):
            continue
        for part in names:
            x = table.values[part]
            rows = table.known([column, part])
            if part == column or rows.sum() < ENOUGH or np.unique(x[rows]).size < 2 * levels.size + 1:
                continue
            one = _step(table, column, part, levels, rows)
            if one is not None:
                yield one
                break


def _step(table: _Table, column: str, part: str, levels: FloatArray, rows: BoolArray) -> Finding | None:
    x, y = table.values[part][rows], table.values[column][rows]
    if min((y == level).sum() for level in levels) < VARIED:
        return None
    ends = np.array([(x[y == level].min(), x[y == level].max()) for level in levels])
    up = bool(np.all(ends[:-1, 1] < ends[1:, 0]))
    if not up and not np.all(ends[1:, 1] < ends[:-1, 0]):
        return None
    between = [(ends[k, 1], ends[k + 1, 0]) if up else (ends[k + 1, 1], ends[k, 0]) for k in range(len(levels) - 1)]
    cuts = [_cut(low, high) for low, high in between]
    if up:
        parts = [f"{_q(part)} {relation} {text}" for relation, text in cuts]
    else:
        parts = [f"{_q(part)} {'<=' if relation == '>' else '<'} {text}" for relation, text in cuts]
    text = parts[0] if len(parts) == 1 else " + ".join(f"({one})" for one in parts)
    if levels[0]:
        text = f"{levels[0]:g} + " + (f"({parts[0]})" if len(parts) == 1 else text)
    return Finding(Derived(column, text), (column, part), int(rows.sum()))


def _cut(below: float, above: float) -> tuple[str, str]:
    """The roundest cut between two values: "> 0" where 0 is below it, else "at least"."""
    if below <= 0 < above:
        return ">", "0"
    for digits in range(1, 12):
        one = float(f"{above:.{digits}g}")
        if below < one <= above:
            return ">=", f"{one:.12g}"
    return ">=", f"{above!r}"


def _orders(table: _Table, names: Sequence[str]) -> list[Finding]:
    """Numbers of which one is never more than the other, although it would be by chance."""
    names = [name for name in names if not _is_flag(table, name)][:MOST]
    below: dict[tuple[str, str], int] = {}
    for one, other in combinations(names, 2):
        rows = table.known([one, other])
        x, y = table.values[one][rows], table.values[other][rows]
        if rows.sum() < ENOUGH:
            continue
        for small, large, a, b in ((one, other, x, y), (other, one, y, x)):
            if np.all(a <= b):
                chance = float(np.mean(np.sort(b).searchsorted(a, side="left"))) / rows.sum()
                if rows.sum() * chance >= BROKEN_BY_CHANCE and np.any(a < b) and _belong(small, large, a, b):
                    below[small, large] = int(rows.sum())
    direct = [pair for pair in below if not any((pair[0], m) in below and (m, pair[1]) in below for m in names)]
    chains: list[list[str]] = []
    for small, large in sorted(direct, key=lambda pair: sum(other == pair[0] for _, other in below)):
        chain = next((c for c in chains if c[-1] == small), None)
        if chain is not None:
            chain.append(large)
        else:
            chains.append([small, large])
    return [
        Finding(Order(tuple(chain)), tuple(chain), min(below[pair] for pair in pairwise(chain))) for chain in chains
    ]


def _belong(small: str, large: str, a: FloatArray, b: FloatArray) -> bool:
    """Whether an order is more than a coincidence: both are often equal, or their names have a word in common."""
    equal = float(np.mean(a == b))
    shared = {w for w in set(words_of(small)) & set(words_of(large)) if not w.isdigit()}
    parts = np.any(a != np.rint(a)) and np.any(b != np.rint(b))
    return equal >= OFTEN_EQUAL or (bool(shared) and (equal >= OFTEN_EQUAL / 10 or bool(parts)))


def certain_sentinels(column: pd.Series[Any]) -> dict[object, int]:
    """The same without doubt: the only one of a column, and a text that says so, or a code of nines.

    Several would have to be told apart, which a blank cannot do.

    >>> certain_sentinels(pd.Series([3, 5, 8, 2, -1] * 20)), certain_sentinels(pd.Series([3, 5, 8, 2, -9] * 20))
    ({}, {-9.0: 20})
    """
    found = find_sentinels(column)
    sure = any(not isinstance(value, float) or set(f"{abs(value):.0f}") == {"9"} for value in found)
    return found if sure and len(found) == 1 else {}


def find_sentinels(column: pd.Series[Any]) -> dict[object, int]:
    """Values that may stand for a blank, and how often each occurs.

    >>> find_sentinels(pd.Series([20, 35, 41, -9, 52, -9, 38, 29, -9, 44, 50, -9, 33, -9] * 10))
    {-9.0: 50}
    >>> find_sentinels(pd.Series(["red", "?", "blue"]))
    {'?': 1}
    """
    numbers = _numbers(column)
    if numbers is None:
        texts = [v for v in column.tolist() if isinstance(v, str) and v.strip().casefold() in _MISSING]
        return {value: texts.count(value) for value in dict.fromkeys(texts)}
    known = numbers[np.isfinite(numbers)]
    values, counts = np.unique(known, return_counts=True)
    found: dict[object, int] = {}
    if values.size < 4:
        return found
    plain = values
    while plain.size > 3 and _is_code(plain[0], plain[1:], low=True):
        found[float(plain[0])], plain = int(counts[values == plain[0]][0]), plain[1:]
    while plain.size > 3 and _is_code(plain[-1], plain[:-1], low=False):
        found[float(plain[-1])], plain = int(counts[values == plain[-1]][0]), plain[:-1]
    few = max(5.0, 0.002 * known.size)
    return {value: count for value, count in found.items() if count >= few}


def _is_code(value: float, others: FloatArray, *, low: bool) -> bool:
    """Whether the end of a column is a code: a negative one where nothing else is, or nines far beyond all else."""
    if low:
        negative = others[others < 0]
        beside = bool(np.all(negative >= -9)) and negative.size <= 2  # other codes
        known = value in (-1.0, -7.0, -8.0) or set(f"{-value:.0f}") == {"9"}
        return bool(value < 0 and value == round(value) and known and beside)
    digits = f"{value:.0f}" if value == round(value) else ""
    return len(digits) >= 2 and set(digits) == {"9"} and value > 2 * others.max()
