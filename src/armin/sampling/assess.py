"""How good a sampler is: hide values that are known, draw them, and compare.

A sampler is *calibrated* if the truth looks like one more draw. Then the rank of the truth among the draws is uniform,
and a 80 % interval holds the truth 8 times in 10. Proper scores add sharpness: in expectation the true conditional
distribution has the lowest score. See docs/assess.md for the formulas.
"""

from __future__ import annotations

import time
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray
from armin.errors import DataError, ParameterError
from armin.report.plot_assess import assessment_html, assessment_text, assessment_verdict, plot_assessment
from armin.sampling.base import Draws, Sampler, check_count
from armin.sampling.choose import as_sampler
from armin.sampling.legal import check_codes
from armin.sampling.scores import (
    LEVELS,
    coverage,
    fair_energy,
    histogram,
    log_score,
    pooled_p,
    random_rank,
    uniform_p,
)
from armin.schema import Schema
from armin.words import Message, Printable

__all__ = ["LEVELS", "Assessment", "assess"]

FALSE_ALARM = 0.01
_TRAIN_SHARE = 0.75
_TIMED_ROWS = 20
_TIMED_DRAWS = 100


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Printable):
    """What :func:`assess` found.

    Attributes
    ----------
    sampler : its name
    table : one row per feature: ``feature``, ``kind``, ``hidden`` (how many values), ``cover_50``, ``cover_80``,
        ``cover_90`` and their standard errors ``se_...``, ``p_value`` of the rank histogram, ``crps`` (numbers and
        ordinal ranks, in their own units), ``brier`` (categories), ``energy`` (either, in scaled units), ``log_score``
    overall : the same over all hidden values, the joint energy score of a row with its standard error, the time of 100
        draws, and whether the sampler passes as ``calibrated``
    message : the verdict, to be said in any language; ``verdict`` says it in English
    ranks : for each feature the places of the truths among the draws, in [0, 1]; uniform if calibrated
    energies : the joint energy score of each judged row, in the same order for every sampler with the same
        ``random_state`` and rows
    settings : how the values were hidden

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> found = assess("uniform", loans.X, schema=loans.schema, n_rows=200, n_draws=50)
    >>> found.overall["calibrated"], found.verdict[-23:]
    (False, "Look first at 'Income'.")
    """

    sampler: str
    table: pd.DataFrame
    overall: dict[str, Any]
    message: Message
    ranks: dict[str, FloatArray] = field(repr=False)
    energies: FloatArray = field(repr=False)
    settings: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values, ready for JSON; what cannot be known is None."""
        records = [{str(k): _plain(v) for k, v in row.items()} for row in self.table.to_dict("records")]
        for record in records:
            record["histogram"] = histogram(self.ranks[str(record["feature"])]).tolist()
        overall = {key: _plain(value) for key, value in self.overall.items()}
        overall["histogram"] = histogram(np.concatenate(list(self.ranks.values()))).tolist()
        return {
            "sampler": self.sampler, "verdict": self.verdict, "settings": dict(self.settings), "overall": overall,
            "features": records,
        }  # fmt: skip

    @property
    def verdict(self) -> str:
        """One sentence."""
        return str(self.message)

    def plot(self, figure: Any = None, language: str = "en") -> Any:
        """Draw coverage and rank histograms, in a language; returns the matplotlib Axes in an array."""
        return plot_assessment(self.to_dict(), self.message.text(language), figure, language)

    def text(self, language: str = "en") -> str:
        """The table, the verdict and the speed in a language, such as "de"; ``print`` shows them in English."""
        return assessment_text(self.to_dict(), self.message.text(language), language)

    def html(self, language: str = "en") -> str:
        """The table, the verdict and the speed in HTML; notebooks show them in English."""
        return assessment_html(self.to_dict(), self.message.text(language), language)


def assess(
    sampler: object,
    X: pd.DataFrame | FloatArray,
    *,
    schema: Schema,
    hide: int = 2,
    n_draws: int = 200,
    n_rows: int = 300,
    random_state: int = 0,
) -> Assessment:
    """Hide known values, let a sampler draw them, and report how well it does.

    Rows, hidden values and split depend on ``random_state`` and ``X`` only, so two samplers with the same ones are
    judged on the same values. Blanks of ``X`` are never judged.

    Parameters
    ----------
    sampler : a fitted sampler, and then ``X`` must be rows that it was not fitted on; or what
        :func:`armin.sampling.as_sampler` takes, and then a copy is fitted on 75 % of ``X`` and judged on the rest
    X : rows as a DataFrame, or as codes (n, D)
    schema : what the columns hold
    hide : how many values of a row to hide at once, at random; rows that know fewer are left out
    n_draws : completions per row
    n_rows : judge at most so many rows, picked at random
    random_state : seed of everything random

    Returns
    -------
    Assessment

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> found = assess("chained", loans.X, schema=loans.schema, n_rows=50, n_draws=50)
    >>> found.overall["hidden"]
    100
    """
    if not isinstance(schema, Schema):
        raise ParameterError(f"'schema' must be a Schema. Got {type(schema).__name__} instead.")
    check_count("hide", hide)
    if hide > len(schema):
        raise ParameterError(f"'hide' must be at most the number of columns, {len(schema)}. Got {hide} instead.")
    check_count("n_draws", n_draws, least=2)
    check_count("n_rows", n_rows)
    check_count("random_state", random_state, least=0)
    codes = _codes(X, schema)
    rng = np.random.default_rng(random_state)
    fitted, rows = _ready(as_sampler(sampler), codes, schema, rng)
    truth, hidden = _hidden(rows, hide, n_rows, rng)
    with np.errstate(invalid="ignore"):
        spread = np.array([float(np.std(x[~np.isnan(x)])) if (~np.isnan(x)).any() else 1.0 for x in codes.T])
    judged = _judge(fitted, schema, truth, hidden, np.where(spread > 0, spread, 1.0), n_draws, random_state)
    timing = _milliseconds(fitted, np.where(hidden, np.nan, truth), random_state)
    name = sampler if isinstance(sampler, str) else type(fitted).__name__
    settings = {"hide": hide, "n_draws": n_draws, "n_rows": len(truth), "random_state": random_state}
    return _summarise(name, schema, *judged, timing, settings)


def _codes(X: pd.DataFrame | FloatArray, schema: Schema) -> FloatArray:
    if isinstance(X, pd.DataFrame):
        return schema.encode(X)
    codes = np.asarray(X)
    if codes.ndim != 2 or codes.shape[1] != len(schema) or codes.dtype.kind not in "fiub":
        raise DataError(
            f"'X' must be a DataFrame, or codes of shape (n, {len(schema)}). Got {type(X).__name__} of shape "
            f"{codes.shape} instead. Encode the data with schema.encode(frame)."
        )
    return check_codes(schema, codes.astype(np.float64))


def _ready(sampler: Sampler, codes: FloatArray, schema: Schema, rng: np.random.Generator) -> tuple[Sampler, FloatArray]:
    """A fitted sampler and the rows to judge it on."""
    if len(codes) == 0:
        raise DataError("'X' must have at least one row. Got none.")
    known = getattr(sampler, "schema_", schema)
    if known != schema:
        raise ParameterError("The sampler was fitted with another schema. Pass that one: schema=sampler.schema_.")
    probe = codes[0].copy()
    probe[0] = np.nan
    try:
        sampler.sample(probe, 2, np.random.default_rng(0))
    except AttributeError:  # NotFittedError is one, here and in scikit-learn
        pass
    else:
        return sampler, codes
    order = rng.permutation(len(codes))
    cut = int(_TRAIN_SHARE * len(codes))
    if cut == 0:
        raise DataError("'X' must have at least 2 rows to fit a sampler on some and judge it on others. Got 1.")
    return deepcopy(sampler).fit(codes[order[:cut]], schema), codes[order[cut:]]


def _hidden(rows: FloatArray, hide: int, n_rows: int, rng: np.random.Generator) -> tuple[FloatArray, BoolArray]:
    """The rows to judge (R, D), and which of their values to hide."""
    able = np.flatnonzero((~np.isnan(rows)).sum(axis=1) >= hide)
    if able.size == 0:
        raise DataError(f"No row of 'X' to judge on has {hide} known values to hide. Choose a smaller 'hide'.")
    chosen = rows[rng.permutation(able)[:n_rows]]
    keys = np.where(np.isnan(chosen), np.inf, rng.random(chosen.shape))
    hidden = np.zeros(chosen.shape, dtype=bool)
    np.put_along_axis(hidden, np.argsort(keys, axis=1)[:, :hide], True, axis=1)
    return chosen, hidden


def _judge(
    sampler: Sampler, schema: Schema, truth: FloatArray, hidden: BoolArray, scale: FloatArray, n: int, seed: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """Ranks, energies and log scores of the cells (R, D), NaN where nothing was hidden; joint energies (R,); scale."""
    ranks, energies, logs = (np.full(truth.shape, np.nan) for _ in range(3))
    joint = np.empty(len(truth))
    for i, row in enumerate(truth):
        cells = np.flatnonzero(hidden[i])
        draws = _drawn(sampler, np.where(hidden[i], np.nan, row), n, np.random.default_rng([seed, 1, i]))
        w = draws.weights / draws.weights.sum()
        tie = np.random.default_rng([seed, 2, i]).random(row.size)
        away, apart = np.zeros(len(w)), np.zeros((len(w), len(w)))
        for d in cells:
            x, y, feature = draws.values[:, d], row[d], schema[int(d)]
            ranks[i, d] = random_rank(x, y, w, float(tie[d]), feature.is_number or feature.kind == "ordinal")
            logs[i, d] = log_score(feature, x, y, w, scale[d])
            if feature.is_number or feature.kind == "ordinal":
                to_truth, between = np.abs(x - y) / scale[d], np.abs(x[:, None] - x) / scale[d]
            else:
                to_truth, between = (x != y).astype(np.float64), (x[:, None] != x).astype(np.float64)
            energies[i, d] = fair_energy(to_truth, between, w)
            away += to_truth**2
            apart += between**2
        joint[i] = fair_energy(np.sqrt(away), np.sqrt(apart), w)
    return ranks, energies, logs, joint, scale


def _drawn(sampler: Sampler, row: FloatArray, n: int, rng: np.random.Generator) -> Draws:
    draws = sampler.sample(row, n, rng)
    known = ~np.isnan(row)
    if len(draws) < 2 or draws.values.shape[1:] != row.shape or (draws.values[:, known] != row[known]).any():
        raise DataError(
            f"{type(sampler).__name__}.sample must return at least 2 completions (n, {row.size}) that keep the known "
            f"values. Got shape {draws.values.shape} for n = {n}."
        )
    return draws


def _milliseconds(sampler: Sampler, rows: FloatArray, seed: int) -> float:
    """Median time of 100 draws for one row; the first call warms up and does not count."""
    seconds = []
    for i, row in enumerate([rows[0], *rows[:_TIMED_ROWS]]):
        rng = np.random.default_rng([seed, 3, i])
        start = time.perf_counter()
        sampler.sample(row, _TIMED_DRAWS, rng)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]) * 1000)


def _summarise(
    name: str, schema: Schema, ranks: FloatArray, energies: FloatArray, logs: FloatArray, joint: FloatArray,
    scale: FloatArray, milliseconds: float, settings: dict[str, Any],
) -> Assessment:  # fmt: skip
    ordered = np.array([f.is_number or f.kind == "ordinal" for f in schema])
    # a central interval for what has an order, the most probable categories for what has none
    depth = np.where(ordered, 2 * np.abs(ranks - 0.5), ranks)
    hidden = ~np.isnan(ranks)
    records = []
    for d in np.flatnonzero(hidden.any(axis=0)):
        seen, feature = hidden[:, d], schema[int(d)]
        record: dict[str, Any] = {"feature": feature.name, "kind": feature.kind, "hidden": int(seen.sum())}
        record |= coverage(depth[seen][:, [d]])
        energy = float(energies[seen, d].mean())
        record |= {
            "p_value": uniform_p(ranks[seen, d]),
            "crps": energy * scale[d] if ordered[d] else np.nan,
            "brier": np.nan if ordered[d] else 2 * energy,
            "energy": energy,
            "log_score": float(logs[seen, d].mean()),
        }
        records.append(record)
    table = pd.DataFrame(records)
    overall: dict[str, Any] = {"hidden": int(hidden.sum()), "rows": len(ranks), **coverage(depth)}
    error = float(joint.std(ddof=1) / np.sqrt(joint.size)) if joint.size > 1 else np.nan
    overall |= {
        "p_value": pooled_p(ranks), "energy": float(joint.mean()), "energy_se": error,
        "log_score": float(np.nanmean(logs)), "ms_per_100": milliseconds,
    }  # fmt: skip
    tests = table["p_value"].dropna()
    smallest = float(tests.min()) * len(tests) if len(tests) else np.nan
    # half of the false alarms for all values together, half for the features one by one
    p_values = [2 * p for p in (overall["p_value"], smallest) if not np.isnan(p)]
    overall["calibrated"] = min(p_values) >= FALSE_ALARM if p_values else None
    places = {schema[int(d)].name: ranks[hidden[:, d], d] for d in np.flatnonzero(hidden.any(axis=0))}
    verdict = assessment_verdict(table.to_dict("records"), overall, FALSE_ALARM)
    return Assessment(name, table, overall, verdict, places, joint, settings)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value
