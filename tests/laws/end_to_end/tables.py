"""Random tables of people: columns of every type that pandas 2 and 3 have, with blanks or without, and labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd

__all__ = ["Column", "Table", "random_table"]

Role = Literal["number", "word", "carried"]
PLAIN_NAMES = ("income", "debt", "age_of_car", "savings", "rooms", "hours", "tenure_x", "limit", "score7", "kids")
ODD_NAMES = (
    "monthly rent", "class", "lambda", "größe", "a.b", "x-y", "None", "2nd", "loan  sum", "e'q", "def", "Ünit %",
)  # fmt: skip
WORDS = (
    ("red", "green", "blue"), ("yes", "no"), ("A", "B", "C", "D", "E"), ("Zürich", "São Paulo", "Lima", "Bonn"),
    ("low", "mid", "high"), ("1", "2", "3"), ("x y", "x,y", "x:y"),
)  # fmt: skip


@dataclass
class Column:
    """One column: its values, what it does to the label, and what it is."""

    values: pd.Series
    effect: np.ndarray
    role: Role
    backend: str


@dataclass
class Table:
    """Training data as a user has it.

    Attributes
    ----------
    X : a pandas frame, a polars frame or an array
    y : labels
    columns : by name, as the schema will have it
    gaps : whether training values are blank
    container : "pandas", "polars" or "numpy"
    """

    X: Any
    y: np.ndarray
    columns: dict[Any, Column]
    gaps: bool
    container: str
    tags: list[str] = field(default_factory=list)

    @property
    def frame(self) -> pd.DataFrame:
        """The same as pandas."""
        return pd.DataFrame({name: column.values for name, column in self.columns.items()})

    def named(self, role: Role) -> list[Any]:
        """The names of the columns of a role."""
        return [name for name, column in self.columns.items() if column.role == role]

    def like(self, frame: pd.DataFrame) -> Any:
        """Rows with the same columns, in the container of the training data."""
        if self.container == "polars":
            import polars as pl

            plain = {n: [None if pd.isna(v) else v for v in frame[n].tolist()] for n in frame}
            return pl.DataFrame({n: pl.Series(v, dtype=self.X.schema[n], strict=False) for n, v in plain.items()})
        if self.container == "numpy":
            return frame.to_numpy(dtype=self.X.dtype)
        return frame


def _numbers(rng: np.random.Generator, n: int) -> tuple[np.ndarray, bool]:
    """Numbers of some distribution, and whether they are whole."""
    kind = rng.choice(["normal", "skewed", "ties", "few", "tiny", "huge", "negative", "counts"])
    z = rng.normal(size=n)
    if kind == "skewed":
        return np.exp(z * 1.2), False
    if kind == "ties":
        return np.where(z < 0.3, 0.0, z.round(1)), False
    if kind == "few":
        return np.clip(np.rint(z), -1, 2), True
    if kind == "tiny":
        return z * 1e-6, False
    if kind == "huge":
        return np.rint(z * 3e8 + 1e9), True
    if kind == "negative":
        return -np.abs(z * 40) - 5, False
    if kind == "counts":
        return rng.poisson(4, n).astype(float), True
    return z * 10 + 50, False


def _number_column(rng: np.random.Generator, n: int) -> Column:
    values, whole = _numbers(rng, n)
    rank = pd.Series(values).rank().to_numpy() / n - 0.5
    if whole:
        small = np.abs(values).max() < 120
        backends = ["int64", "float64", "Int64", "int64[pyarrow]", "float32", *(["int8"] if small else [])]
    else:
        backends = ["float64", "float64", "float32", "Float64", "double[pyarrow]"]
    backend = str(rng.choice(backends))
    return Column(pd.Series(values).astype(backend), rank * rng.normal() * 3, "number", backend)


def _flag_column(rng: np.random.Generator, n: int) -> Column:
    values = rng.random(n) < rng.uniform(0.2, 0.8)
    backend = str(rng.choice(["bool", "boolean", "bool[pyarrow]", "object-bool", "int8"]))
    dtype = {"object-bool": "object"}.get(backend, backend)
    return Column(pd.Series(values).astype(dtype), values * rng.normal() * 1.5, "number", backend)


def _word_column(rng: np.random.Generator, n: int) -> Column:
    words = WORDS[rng.integers(len(WORDS))]
    which = rng.integers(0, len(words), n)
    values = pd.Series([words[i] for i in which], dtype=object)
    backend = str(rng.choice(["object", "string", "str", "string[pyarrow]", "arrow-string", "category", "ordered"]))
    if backend in ("category", "ordered"):
        unused = ["unused"] if rng.random() < 0.3 else []
        values = pd.Series(pd.Categorical(values, categories=[*words, *unused], ordered=backend == "ordered"))
    elif backend == "arrow-string":
        import pyarrow as pa

        values = values.astype(pd.ArrowDtype(pa.string()))
    elif backend != "object":
        values = values.astype(backend)
    return Column(values, rng.normal(size=len(words))[which], "word", backend)


def _carried_column(rng: np.random.Generator, n: int) -> Column:
    kind = str(rng.choice(["date", "id", "note"]))
    if kind == "date":
        values = pd.Series(pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"))
    elif kind == "id":
        values = pd.Series([f"K{i:05d}" for i in rng.permutation(n)], dtype=object)
    else:
        values = pd.Series([None if i % 7 else "called back" for i in range(n)], dtype=object)
    return Column(values, np.zeros(n), "carried", kind)


def _constant_column(rng: np.random.Generator, n: int) -> Column:
    if rng.random() < 0.5:
        return Column(pd.Series(np.full(n, 7.0)), np.zeros(n), "number", "constant")
    return Column(pd.Series(["same"] * n, dtype=object), np.zeros(n), "word", "constant")


def _blanked(rng: np.random.Generator, column: Column) -> Column:
    """The column with blanks in it, in a type that holds them."""
    values = column.values
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iub":
        values = values.astype("float64" if values.dtype.kind != "b" else "object")
    elif column.role == "word" and not isinstance(values.dtype, pd.CategoricalDtype | np.dtype):
        values = values.astype("str")  # encoders of scikit-learn refuse pandas.NA
    values = values.mask(pd.Series(rng.random(len(values)) < rng.uniform(0.02, 0.2)))
    if values.dtype == object and rng.random() < 0.5:
        values = values.where(values.notna(), None)
    return Column(values, column.effect, column.role, column.backend)


def _labels(rng: np.random.Generator, score: np.ndarray) -> np.ndarray:
    """Labels by a score with noise: two of them, or three."""
    score = score + rng.normal(scale=rng.uniform(0.05, 0.8), size=score.size)
    if rng.random() < 0.15:
        cuts = np.quantile(score, [rng.uniform(0.2, 0.45), rng.uniform(0.55, 0.8)])
        classes = [["bad", "fair", "good"], [0, 1, 2], [3, 5, 9]][rng.integers(3)]
        return np.array(classes)[np.searchsorted(cuts, score)]
    good = score > np.quantile(score, rng.uniform(0.35, 0.75))
    classes = [["no", "yes"], [0, 1], [0, 1], [False, True], [1, 2], [-1, 1], ["approved", "rejected"]][rng.integers(7)]
    return np.array(classes)[good.astype(int)]


def random_table(rng: np.random.Generator) -> Table:
    """A table of 80 to 400 people."""
    n = int(rng.integers(80, 401))
    makers = [_number_column, _number_column, _number_column, _word_column, _flag_column, _constant_column]
    container = str(rng.choice(["pandas", "numpy", "polars"], p=[0.84, 0.08, 0.08]))
    if container == "numpy":
        makers = makers[:3]
    chances = np.array([3.0, 3.0, 3.0, 3.0, 1.5, 0.3][: len(makers)])
    count = int(rng.integers(2, 9))
    columns = [_number_column(rng, n)]
    columns += [makers[i](rng, n) for i in rng.choice(len(makers), count - 1, p=chances / chances.sum())]
    if container == "pandas" and rng.random() < 0.15:
        columns.append(_carried_column(rng, n))
    if container == "pandas" and rng.random() < 0.15:  # text that spells a sum of others
        twin = columns[0].values.astype("float64") * 0.5 + rng.normal(size=n) * float(columns[0].values.std() or 1)
        columns.append(Column(pd.Series(twin), np.zeros(n), "number", "float64"))
    gaps = bool(rng.random() < 0.4)
    if gaps:
        columns = [_blanked(rng, c) if c.role != "carried" and rng.random() < 0.5 else c for c in columns]
    columns = [columns[i] for i in rng.permutation(len(columns))]
    y = _labels(rng, np.sum([c.effect for c in columns], axis=0))
    names = _names(rng, len(columns), container)
    table = Table(None, y, dict(zip(names, columns, strict=True)), gaps, container)
    if container == "numpy":
        dtype = np.float32 if rng.random() < 0.3 else np.float64
        for column in columns:
            column.values, column.backend = column.values.astype("float64").astype(dtype), f"numpy {dtype.__name__}"
        table.X = table.frame.to_numpy(dtype=dtype)
    elif container == "polars":
        table.X = _polars(table.frame)
        for column in columns:
            column.backend = "polars"
    else:
        table.X = table.frame
        if rng.random() < 0.2:
            table.X.index = pd.Index(rng.permutation(n) + 1000)
    return table


def _polars(frame: pd.DataFrame) -> Any:
    import polars as pl

    made = {}
    for name in frame:
        column = frame[name]
        values = [None if pd.isna(v) else v for v in column.tolist()]
        made[name] = pl.Series(values, dtype=pl.Categorical if isinstance(column.dtype, pd.CategoricalDtype) else None)
    return pl.DataFrame(made)


def _names(rng: np.random.Generator, count: int, container: str) -> list[Any]:
    if container == "numpy":
        return [f"x{i}" for i in range(count)]
    if container == "pandas" and rng.random() < 0.06:
        return list(range(count))
    pool = [*PLAIN_NAMES, *(ODD_NAMES if rng.random() < 0.35 else ())]
    pool += [f"column{i}" for i in range(max(0, count - len(pool)))]
    return [str(pool[i]) for i in rng.choice(len(pool), count, replace=False)]
