"""Models of the frozen problems in plain NumPy, for black boxes and for verdicts near a cut.

Row by row, products are added in the order of the inputs and the intercept last, leaves in the order of the trees, so a
row gets the same answer alone and among others. Nothing of the package is used: what it computes must not depend on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Form = dict[str, Any]


def accepts(model: Form, inputs: np.ndarray) -> np.ndarray:
    """Which rows (n, P) a model accepts."""
    return decides(model["decision"], outputs(model, inputs))


def outputs(model: Form, inputs: np.ndarray) -> np.ndarray:
    """What a model says (n, C)."""
    if model["kind"] == "linear":
        return _affine(inputs, model["weights"].T, model["intercept"])
    if model["kind"] == "trees":
        return _trees(model, inputs)
    layers = list(zip(model["weights"], model["biases"], strict=True))
    for i, (weight, bias) in enumerate(layers):
        inputs = _affine(np.maximum(inputs, 0.0) if i else inputs, weight, bias)
    return inputs


def decides(decision: Form, found: np.ndarray) -> np.ndarray:
    """Which outputs (n, C) are accepted."""
    if decision["kind"] == "above":
        return found[:, 0] >= decision["cut"]
    accepted = np.isin(np.argmax(found, axis=1), decision["accepted"])
    if decision["kind"] == "quarters":
        largest = np.sort(found, axis=1)[:, -2:]
        close = largest[:, 1] - largest[:, 0] <= decision["near"]
        accepted[close] = quarters(decision["accepted"], found[close])
    return accepted


def quarters(accepted: list[int], found: np.ndarray) -> np.ndarray:
    """The decision of a library that rounds to quarters before it compares: the first of equal ones wins."""
    return np.isin(np.argmax(np.floor(4.0 * found), axis=1), accepted)


def verdict(mixture: Form, inputs: np.ndarray) -> np.ndarray:
    """The decision near the cut of a mixture: anything that depends on the scores of its members alone."""
    total = np.zeros(inputs.shape[0])
    for term in mixture["terms"]:
        own = inputs if term["columns"] is None else inputs[:, term["columns"]]
        score = np.zeros(inputs.shape[0])
        for column, factor in zip(outputs(term["model"], own).T, term["coefficients"], strict=True):
            if factor:
                score = score + factor * column
        for each in term["maps"]:
            score = _mapped(each, score)
        total = total + score
    if mixture["verdict"] == "parity":
        return np.floor(37.0 * np.clip(total, -1e6, 1e6)) % 2 == 0
    ahead = total - mixture["cut"]
    return ahead + 0.02 * np.sin(100.0 * ahead) > 0.0


def _mapped(each: Form, score: np.ndarray) -> np.ndarray:
    if each["kind"] == "step":
        return np.where(score >= each["shift"], 1.0, 0.0)
    if each["kind"] == "table":
        return np.interp(score, each["xs"], each["ys"])
    line = each["slope"] * score + each["shift"]
    return 1.0 / (1.0 + np.exp(-line)) if each["kind"] == "logistic" else line


def _affine(inputs: np.ndarray, weights: np.ndarray, intercept: np.ndarray) -> np.ndarray:
    total = np.zeros((inputs.shape[0], weights.shape[1]))
    for column, row in zip(inputs.T, weights, strict=True):
        total = total + column[:, None] * row
    return total + intercept


def _trees(model: Form, inputs: np.ndarray) -> np.ndarray:
    kind = np.dtype(model["precision"])
    base, value = model["base"].astype(kind), model["value"].astype(kind)
    total = np.repeat((np.zeros_like(base) if model["base_last"] else base)[None], inputs.shape[0], axis=0)
    rows = np.arange(inputs.shape[0])
    for root in model["roots"].tolist():
        node = np.full(rows.size, root)
        while (model["feature"][node] >= 0).any():
            inner = model["feature"][node] >= 0
            left = _goes_left(model, node, inputs[rows, np.maximum(model["feature"][node], 0)])
            node = np.where(inner, np.where(left, model["left"][node], model["right"][node]), node)
        total = total + value[node]
    total = total + base if model["base_last"] else total
    total = total if model["divisor"] == 1.0 else total / kind.type(model["divisor"])
    return total.astype(np.float64)


def _goes_left(model: Form, node: np.ndarray, values: np.ndarray) -> np.ndarray:
    x = values.astype(model["input_precision"]).astype(np.float64)
    cut = model["threshold"][node]
    left = x < cut if model["strict"] else x <= cut
    if model["category_set"] is not None:
        table, which = model["category_left"], model["category_set"][node]
        known = (x >= 0) & (x < table.shape[1]) & (np.floor(x) == x)
        code = np.where(known, x, 0).astype(int)
        left = np.where(which >= 0, table[np.maximum(which, 0), code] & known, left)
    return np.where(np.isnan(x), model["nan_left"][node], left)
