"""Load a data set from its description: a TOML file that says where the rows are and what each column holds.

::

    armin_dataset = 1
    name = "Loans"
    description = "Applications of 2024."
    source = {origin = "the loan desk", files = ["loans.csv"]}
    label = {column = "decision", desired = "approved"}

    [columns]
    age = {kind = "integer", direction = "fixed"}
    income = {unit = "$", blank_below = 0}
    purpose = {levels = ["car", "home"], label = "the purpose"}

A table ``forms.NAME`` describes the same rows in another form, by what differs.
"""

from __future__ import annotations

import math
import operator
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from armin.datasets.published import Source, load_table
from armin.errors import DataError, ParameterError
from armin.schema import Schema

__all__ = ["Dataset", "load_dataset", "read_source"]

_TOP = {"armin_dataset", "name", "description", "source", "label", "columns", "every", "keep", "forms"}
_FORM = {"columns", "every", "keep", "complete", "trim", "order", "label"}
_COLUMN = {
    "from", "kind", "levels", "coded", "direction", "label", "unit", "step", "digits", "blank_below", "blank_from",
    "blank_with", "raise_to",
}  # fmt: skip
_LABEL = {"column", "desired", "above", "undesired", "name", "coded"}
_TESTS: dict[str, Callable[[Any, float], Any]] = {
    "least": operator.ge, "most": operator.le, "below": operator.lt,
    "most_quantile": lambda column, share: column <= column.quantile(share),
}  # fmt: skip
Table = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set, ready for a classifier and for recourse.

    Attributes
    ----------
    name, form : its name, and the form of its description
    X : the rows; blanks are NaN, texts are of category type
    y : the labels; 0 and 1, where 1 is undesired, if the form codes them
    desired : the label that people want
    schema : what the columns of X hold and what may change; every row of X fits it unless the form trims bounds
    description : what it is about, who publishes it, what was done to it
    source : where these rows were read
    """

    name: str
    form: str
    X: pd.DataFrame
    y: pd.Series[Any]
    desired: str | int
    schema: Schema
    description: str = ""
    source: str = ""

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name!r}, form={self.form!r}, {n:,} rows × {d} columns, desired={self.desired!r})"


def load_dataset(path: str | Path, *, form: str = "native", download: bool = True) -> Dataset:
    r"""Load a data set that a TOML file describes.

    Parameters
    ----------
    path : the description. Its files are looked for in the folder ``ARMIN_DATA``, then beside the description
    form : "native", or one of the description's ``forms``
    download : whether to ask OpenML if the files are not on this machine and the description knows a copy there

    Returns
    -------
    Dataset

    Raises
    ------
    DataError
        If the description or the rows are not as they should be, or the rows cannot be found.

    Examples
    --------
    >>> import tempfile
    >>> text = '''
    ... armin_dataset = 1
    ... name = "Loans"
    ... source = {origin = "the loan desk", files = ["loans.csv"]}
    ... label = {column = "decision", desired = "approved"}
    ... columns = {age = {direction = "fixed"}, income = {blank_below = 0}, purpose = {levels = ["car", "home"]}}
    ... '''
    >>> rows = "age,income,purpose,decision\n30,-1,car,no\n40,9,home,approved\n50,8,car,no"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "loans.toml").write_text(text)
    ...     _ = Path(folder, "loans.csv").write_text(rows)
    ...     loans = load_dataset(Path(folder, "loans.toml"))
    >>> loans
    Dataset('Loans', form='native', 3 rows × 3 columns, desired='approved')
    >>> loans.X["income"].tolist(), loans.schema["purpose"].kind
    ([nan, 9.0, 8.0], 'binary')
    """
    told = _read_description(Path(path))
    wanted = _in_form(told, form)
    table, where = load_table(_source(told, Path(path)), download=download)
    table = _kept_rows(table, wanted)
    X = pd.DataFrame({name: _column(told["name"], table, name, spec) for name, spec in wanted["columns"].items()})
    y, desired = _label(table, wanted["label"])
    schema = _schema(X, wanted["columns"], wanted.get("trim", 0.0))
    return Dataset(told["name"], form, X, y, desired, schema, told.get("description", ""), where)


def read_source(path: str | Path) -> Source:
    """The published table behind a description."""
    return _source(_read_description(Path(path)), Path(path))


def _read_description(path: Path) -> Table:
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise DataError(f"There is no description of a data set at {str(path)!r}. Name a TOML file.") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path.name} is not valid TOML: {error}.") from None
    if told.get("armin_dataset") != 1:
        raise DataError(f"{path.name} must say armin_dataset = 1. Got {told.get('armin_dataset')!r} instead.")
    missing = [key for key in ("name", "source", "label", "columns") if key not in told]
    if missing:
        raise DataError(f"{path.name} must say {missing[0]!r}. Add it.")
    forms = told.get("forms", {})
    parts: list[tuple[str, Table, set[str]]] = [("the description", told, _TOP), ("label", told["label"], _LABEL)]
    parts += [(f"columns.{name}", spec, _COLUMN) for name, spec in told["columns"].items()]
    parts += [(f"forms.{name}", spec, _FORM) for name, spec in forms.items()]
    parts += [(f"columns.{n}", spec, _COLUMN) for f in forms.values() for n, spec in f.get("columns", {}).items()]
    for place, spec, known in parts:
        unknown = sorted(set(spec) - known)
        if unknown:
            raise DataError(f"{path.name}: {place} has {unknown[0]!r}. Known are: {', '.join(sorted(known))}.")
    return told


def _source(told: Table, path: Path) -> Source:
    """The published table; a column with levels holds texts, any other one numbers."""
    label = told["label"]
    texts = [name for name, spec in told["columns"].items() if "levels" in spec]
    numbers = [name for name in told["columns"] if name not in texts]
    (numbers if "above" in label else texts).append(label["column"])
    given = {**told["source"], "files": tuple(told["source"]["files"])}
    try:
        return Source(told["name"], numbers=tuple(numbers), texts=tuple(texts), folder=path.parent, **given)
    except TypeError as error:
        raise DataError(f"{path.name}: the source is not as it should be: {error}.") from None


def _in_form(told: Table, form: str) -> dict[str, Any]:
    """The description with what a form changes; its columns in the form's order."""
    forms = told.get("forms", {})
    if form != "native" and form not in forms:
        known = ", ".join(map(repr, ["native", *forms]))
        raise ParameterError(f"The 'form' parameter must be one of {known}. Got {form!r} instead.")
    changes = forms.get(form, {})
    wanted = {**told, **changes, "label": {**told["label"], **changes.get("label", {})}}
    base, own = told["columns"], changes.get("columns", {})
    named = {spec.get("from", name): name for name, spec in own.items()}
    order = changes.get("order", [named.get(name, name) for name in base])
    wanted["columns"] = {}
    for name in order:
        mine = {"from": name, **own.get(name, {})}
        wanted["columns"][name] = {**wanted.get("every", {}), **base[mine["from"]], **mine}
    if not 0 <= wanted.get("trim", 0.0) < 0.5:
        raise DataError(f"{told['name']}: 'trim' must be in [0, 0.5). Got {wanted['trim']!r} instead.")
    return wanted


def _kept_rows(table: pd.DataFrame, wanted: Table) -> pd.DataFrame:
    good = np.ones(len(table), dtype=bool)
    for name, rule in wanted.get("keep", {}).items():
        for test, bound in rule.items():
            good &= _TESTS[test](table[name], bound).to_numpy(dtype=bool)
    kept = table[good]
    return (kept.dropna() if wanted.get("complete") else kept).reset_index(drop=True)


def _column(dataset: str, table: pd.DataFrame, name: str, spec: Table) -> pd.Series[Any]:
    raw, levels = table[spec["from"]], spec.get("levels")
    if levels is None:
        return _number(table, raw, spec)
    if levels == "found":
        levels = sorted(raw.dropna().unique())
    spelled = dict(levels) if isinstance(levels, Mapping) else {level: level for level in levels}
    strange = raw[raw.notna() & ~raw.isin(list(spelled))]
    if len(strange):
        raise DataError(
            f"{dataset}: column {name!r} must be one of {', '.join(map(str, spelled))}. "
            f"Got {strange.iloc[0]!r} instead."
        )
    if spec.get("coded"):
        codes = raw.map({level: i for i, level in enumerate(spelled)})
        return codes if codes.isna().any() else codes.astype(np.int64)
    texts = pd.Categorical(raw.map(spelled), list(spelled.values()), ordered=spec.get("kind") == "ordinal")
    return pd.Series(texts, index=raw.index)


def _number(table: pd.DataFrame, column: pd.Series[Any], spec: Table) -> pd.Series[Any]:
    if "raise_to" in spec:
        column = column.clip(lower=spec["raise_to"])
    if "blank_below" in spec:
        column = column.where(column >= spec["blank_below"])
    if "blank_from" in spec:
        column = column.where(column < spec["blank_from"])
    if "blank_with" in spec:
        column = column.where(table[spec["blank_with"]].notna())
    if "digits" in spec:
        column = column.map(lambda value: float(f"{value:.{spec['digits']}g}"))
    if spec.get("kind") == "continuous":
        return column.astype(np.float64)
    return column.astype(np.int64) if spec.get("kind") == "integer" and column.notna().all() else column


def _label(table: pd.DataFrame, spec: Table) -> tuple[pd.Series[Any], str | int]:
    y, desired = table[spec["column"]], spec["desired"]
    if "above" in spec:
        y = pd.Series(np.where(y > spec["above"], desired, spec["undesired"]), index=y.index, dtype=object)
    y = y.rename(spec.get("name", spec["column"]))
    return ((y != desired).astype(np.int64), 0) if spec.get("coded") else (y, desired)


def _schema(X: pd.DataFrame, columns: Mapping[str, Table], trim: float) -> Schema:
    def said(key: str) -> dict[str, Any]:
        return {name: spec[key] for name, spec in columns.items() if key in spec}

    moves = {way: [n for n, d in said("direction").items() if d == way] for way in ("fixed", "increase", "decrease")}
    bounds = {name: _quantiles(X[name], trim) for name in X if trim and name not in moves["fixed"]}
    return Schema.infer(
        X, kinds=said("kind"), immutable=moves["fixed"], increase_only=moves["increase"],
        decrease_only=moves["decrease"], bounds=bounds, step=said("step"), labels=said("label"), units=said("unit"),
        # the description says what may change, and which codes stand for blanks
        protected=[], sentinels={name: [] for name in X},
    )  # fmt: skip


def _quantiles(column: pd.Series[Any], trim: float) -> tuple[float, float]:
    """The bounds without the share ``trim`` at each end; whole for whole numbers."""
    low, high = (float(q) for q in column.quantile([trim, 1 - trim]))
    whole = pd.api.types.is_integer_dtype(column.dtype)
    return (float(math.floor(low)), float(math.ceil(high))) if whole else (low, high)
