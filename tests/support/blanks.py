"""Random schemas, training codes and rows with blanks, and what every completion must be."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from armin.schema import Feature, Schema

KINDS = ("continuous", "integer", "binary", "categorical", "ordinal")


def make_feature(i: int, kind: str, rng: np.random.Generator) -> Feature:
    name = f"f{i}"
    if kind in ("continuous", "integer"):
        low = float(rng.integers(-1000, 1000)) + (0.25 if kind == "continuous" else 0.0)
        width = float(rng.choice([1.0, 7.0, 5000.0]))
        return Feature(name, kind, lower=low, upper=low + width)
    size = 2 if kind == "binary" else int(rng.integers(2, 6))
    return Feature(name, kind, categories=tuple(f"c{j}" for j in range(size)))


def random_codes(schema: Schema, n: int, rng: np.random.Generator) -> np.ndarray:
    columns = []
    for f in schema:
        u = rng.random(n)
        codes = f.low_code + (f.high_code - f.low_code) * u
        columns.append(codes if f.kind == "continuous" else np.round(codes))
    return np.stack(columns, axis=1)


@st.composite
def problems(draw: st.DrawFn) -> tuple[Schema, np.ndarray, np.ndarray]:
    """A schema, training codes (with blanks, constant columns, empty columns) and a row."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5))
    schema = Schema(tuple(make_feature(i, kind, rng) for i, kind in enumerate(kinds)))
    X = random_codes(schema, draw(st.integers(1, 12)), rng)
    X[rng.random(X.shape) < draw(st.sampled_from([0.0, 0.3, 0.8]))] = np.nan
    for d in range(len(schema)):
        fate = draw(st.sampled_from(["varied", "varied", "constant", "empty"]))
        if fate == "constant":
            X[:, d] = random_codes(schema, 1, rng)[0, d]
        elif fate == "empty":
            X[:, d] = np.nan
    row = random_codes(schema, 1, rng)[0]
    row[rng.random(len(schema)) < draw(st.sampled_from([0.0, 0.5, 1.0]))] = np.nan
    return schema, X, row


def assert_legal(schema: Schema, values: np.ndarray) -> None:
    assert not np.isnan(values).any()
    for d, f in enumerate(schema):
        assert (values[:, d] >= f.low_code).all()
        assert (values[:, d] <= f.high_code).all()
        if f.kind != "continuous":
            assert (values[:, d] == np.round(values[:, d])).all()


def assert_observed_kept(row: np.ndarray, values: np.ndarray) -> None:
    known = ~np.isnan(row)
    assert (values[:, known] == row[known]).all()
