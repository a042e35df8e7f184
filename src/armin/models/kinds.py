"""What a classifier is to the solvers: plain arrays and one rule.

A model maps a matrix of *model inputs* ``(n, P)`` to outputs ``(n, C)``; a decision turns
outputs into "desired" or not. Five kinds exist: :class:`LinearModel`, :class:`ReluNetwork`,
:class:`TreeEnsemble`, :class:`ScoreMixture` and :class:`BlackBox`. Nothing here knows where a model came from;
the readers in this package turn fitted estimators into these kinds.

>>> import numpy as np
>>> model = LinearModel(weights=np.array([[1.0, -2.0]]), intercept=np.array([0.5]), decision=Above(0.0))
>>> model.accepts(np.array([[1.0, 0.0], [0.0, 1.0]]))
array([ True, False])
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.clock import uncounted
from armin.models.maps import Map, rises, through
from armin.models.sums import affine, doubt_of, largest_inputs

__all__ = [
    "Above",
    "Among",
    "BlackBox",
    "Decision",
    "LinearModel",
    "Margins",
    "Model",
    "ReluNetwork",
    "ScoreMixture",
    "Term",
    "TreeEnsemble",
]


@dataclass(frozen=True, eq=False)
class Margins:
    """One way to be accepted: ``outputs @ coefficients.T >= cuts`` in every row.

    Attributes
    ----------
    coefficients : array of shape (M, C)
    cuts : array of shape (M,)
    """

    coefficients: FloatArray
    cuts: FloatArray


@dataclass(frozen=True)
class Above:
    """Accepted when the only output is at least ``cut``.

    A strict rule ``s > 0`` is the rule ``s >= nextafter(0, 1)``: see :meth:`strictly`.

    >>> Above(0.0).accepts(np.array([[-1.0], [0.0]]))
    array([False,  True])
    >>> Above.strictly(0.0).accepts(np.array([[0.0], [1e-300]]))
    array([False,  True])
    """

    cut: float = 0.0

    @classmethod
    def strictly(cls, cut: float, dtype: type[np.floating] = np.float64) -> Above:
        """Accepted when the output is greater than ``cut``, in the precision of the output."""
        return cls(float(np.nextafter(dtype(cut), dtype(np.inf))))

    @property
    def n_outputs(self) -> int:
        return 1

    @property
    def blur(self) -> float:
        """By how much an output may miss its cut and be accepted all the same."""
        return 0.0

    def accepts(self, outputs: FloatArray) -> BoolArray:
        """Which rows of ``outputs`` (n, 1) are accepted."""
        return np.asarray(outputs[:, 0] >= self.cut)

    def doubtful(self, outputs: FloatArray, doubt: float) -> BoolArray:
        """Which rows might be decided otherwise if outputs were off by ``doubt``."""
        return np.asarray(~(np.abs(outputs[:, 0] - self.cut) > doubt))  # what is not a number is in doubt

    def ways(self) -> tuple[Margins, ...]:
        """The alternatives, any of which suffices, in real arithmetic."""
        return (Margins(np.ones((1, 1)), np.array([self.cut])),)


@dataclass(frozen=True)
class Among:
    """Accepted when the largest of ``n_outputs`` outputs is one of ``accepted``.

    The first of equal outputs wins, as in ``numpy.argmax``.

    >>> Among((1,), 2).accepts(np.array([[0.5, 0.5], [0.4, 0.6]]))
    array([False,  True])
    """

    accepted: tuple[int, ...]
    n_outputs: int

    @property
    def blur(self) -> float:
        """By how much an output may be behind another one and win all the same."""
        return 0.0

    def accepts(self, outputs: FloatArray) -> BoolArray:
        """Which rows of ``outputs`` (n, n_outputs) are accepted."""
        return np.isin(np.argmax(outputs, axis=1), self.accepted)

    def doubtful(self, outputs: FloatArray, doubt: float) -> BoolArray:
        """Which rows might be decided otherwise if outputs were off by ``doubt``."""
        wanted = np.isin(np.arange(self.n_outputs), self.accepted)
        if wanted.all() or not wanted.any():
            return np.zeros(outputs.shape[0], dtype=bool)
        ahead = outputs[:, wanted].max(axis=1) - outputs[:, ~wanted].max(axis=1)
        return np.asarray(~(np.abs(ahead) > 2.0 * doubt))

    def ways(self) -> tuple[Margins, ...]:
        """For each accepted output: it beats every output that is not accepted."""
        others = [b for b in range(self.n_outputs) if b not in self.accepted]
        tiny = float(np.nextafter(0.0, 1.0))
        ways = []
        for a in self.accepted:
            rows = np.zeros((len(others), self.n_outputs))
            for i, b in enumerate(others):
                rows[i, a], rows[i, b] = 1.0, -1.0
            cuts = np.array([0.0 if a < b else tiny for b in others])
            ways.append(Margins(rows, cuts))
        return tuple(ways)


Decision = Above | Among


@dataclass(frozen=True, eq=False)
class LinearModel:
    """``outputs = inputs @ weights.T + intercept``.

    Solvers decide in one order of summation, whatever the number of rows: see :mod:`armin.models.sums`.

    Attributes
    ----------
    weights : array of shape (C, P)
    intercept : array of shape (C,)
    decision : Above or Among
    """

    weights: FloatArray
    intercept: FloatArray
    decision: Decision

    @property
    def n_inputs(self) -> int:
        return int(self.weights.shape[1])

    def outputs(self, inputs: FloatArray) -> FloatArray:
        """Outputs (n, C) for model inputs (n, P), but for rounding."""
        return np.asarray(inputs @ self.weights.T + self.intercept)

    def accepts(self, inputs: FloatArray) -> BoolArray:
        """Which rows of ``inputs`` (n, P) get the desired decision, added up as ``predict`` does with these rows."""
        return self.decision.accepts(self.outputs(inputs))

    def settles(self, inputs: FloatArray) -> BoolArray:
        """As :meth:`accepts`, in one order of summation: a row gets the same answer alone and in any company."""
        return _decide(self, inputs)

    def in_order(self, inputs: FloatArray) -> FloatArray:
        """Outputs (n, C), each sum in the order of the inputs."""
        return affine(inputs, self.weights.T, self.intercept)

    @cached_property
    def magnitudes(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """The magnitudes of weights and intercept, as one layer."""
        return ((np.abs(self.weights).T, np.abs(self.intercept)),)


@dataclass(frozen=True, eq=False)
class ReluNetwork:
    """Fully connected layers with ``max(0, .)`` between them, the last one linear.

    Solvers decide in one order of summation, whatever the number of rows: see :mod:`armin.models.sums`.

    Attributes
    ----------
    weights : tuple of arrays, layer l of shape (inputs of l, outputs of l)
    biases : tuple of arrays, layer l of shape (outputs of l,)
    decision : Above or Among

    >>> net = ReluNetwork((np.array([[1.0]]), np.array([[-1.0]])), (np.zeros(1), np.ones(1)), Above(0.0))
    >>> net.accepts(np.array([[-3.0], [0.5], [2.0]]))
    array([ True,  True, False])
    """

    weights: tuple[FloatArray, ...]
    biases: tuple[FloatArray, ...]
    decision: Decision

    @property
    def n_inputs(self) -> int:
        return int(self.weights[0].shape[0])

    def outputs(self, inputs: FloatArray) -> FloatArray:
        """Outputs (n, C) for model inputs (n, P), but for rounding."""
        hidden = inputs
        last = len(self.weights) - 1
        for layer, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            hidden = hidden @ weight + bias
            if layer < last:
                hidden = np.maximum(hidden, 0.0)
        return np.asarray(hidden)

    def accepts(self, inputs: FloatArray) -> BoolArray:
        """Which rows of ``inputs`` (n, P) get the desired decision, added up as ``predict`` does with these rows."""
        return self.decision.accepts(self.outputs(inputs))

    def settles(self, inputs: FloatArray) -> BoolArray:
        """As :meth:`accepts`, in one order of summation: a row gets the same answer alone and in any company."""
        return _decide(self, inputs)

    def in_order(self, inputs: FloatArray) -> FloatArray:
        """Outputs (n, C), each sum in the order of its inputs."""
        hidden = affine(inputs, self.weights[0], self.biases[0])
        for weight, bias in zip(self.weights[1:], self.biases[1:], strict=True):
            hidden = affine(np.maximum(hidden, 0.0), weight, bias)
        return hidden

    @cached_property
    def magnitudes(self) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """The magnitudes of each layer's weights and biases."""
        return tuple((np.abs(w), np.abs(b)) for w, b in zip(self.weights, self.biases, strict=True))


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """Sum of decision trees, all nodes in flat arrays.

    A row at inner node i goes left when ``x < threshold`` (``strict``) or ``x <= threshold``,
    when its category code is in the node's set, or when the value is NaN and ``nan_left``.
    Outputs are ``(base + leaf + leaf + ...) / divisor``, added in tree order in ``precision``,
    which is how the libraries do it, so that ties fall the same way.

    Attributes
    ----------
    roots : int array of shape (T,), the root node of each tree
    feature : int array of shape (nodes,), the model input that is split; -1 in a leaf
    threshold : float array of shape (nodes,)
    left, right : int arrays of shape (nodes,), children; -1 in a leaf
    nan_left : bool array of shape (nodes,)
    value : float array of shape (nodes, C), the leaf values
    base : float array of shape (C,)
    decision : Above or Among
    strict : whether a split is ``<`` instead of ``<=``
    input_precision : inputs are rounded to this type before they are compared
    precision : the type in which leaf values are added
    divisor : the sum is divided by this (number of trees where a forest averages)
    category_set : int array of shape (nodes,), row of ``category_left``, or -1 for a numeric split
    category_left : bool array of shape (sets, codes), which category codes go left;
        codes beyond the table, negative or fractional ones go right
    base_last : whether ``base`` is added after the leaves instead of before them
    """

    roots: IntArray
    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    nan_left: BoolArray
    value: NDArray[np.floating]
    base: NDArray[np.floating]
    decision: Decision
    strict: bool = False
    input_precision: Literal["float32", "float64"] = "float64"
    precision: Literal["float32", "float64"] = "float64"
    divisor: float = 1.0
    category_set: IntArray | None = None
    category_left: BoolArray | None = None
    base_last: bool = False
    n_inputs: int = field(default=0)

    def __post_init__(self) -> None:
        # libraries hand over views of their own tables; another order in memory would be compiled again
        for name in ("roots", "feature", "threshold", "left", "right", "nan_left", "category_set", "category_left"):
            array = getattr(self, name)
            if array is not None:
                object.__setattr__(self, name, np.ascontiguousarray(array))

    @property
    def n_trees(self) -> int:
        return int(self.roots.size)

    def seen(self, values: FloatArray) -> FloatArray:
        """Values in the precision of the splits; beyond its largest number is infinity."""
        with np.errstate(over="ignore"):
            return values.astype(self.input_precision).astype(np.float64)

    def goes_left(self, nodes: IntArray, values: FloatArray) -> BoolArray:
        """Whether ``values`` go left at inner ``nodes`` (arrays that broadcast)."""
        x = self.seen(values)
        cut = self.threshold[nodes]
        with np.errstate(invalid="ignore"):
            left = x < cut if self.strict else x <= cut
        if self.category_set is not None and self.category_left is not None:
            which = self.category_set[nodes]
            if np.any(which >= 0):
                n_codes = self.category_left.shape[1]
                known = np.isfinite(x) & (x >= 0) & (x < n_codes) & (np.floor(x) == x)
                code = np.where(known, x, 0).astype(np.intp)
                in_set = self.category_left[np.maximum(which, 0), code] & known
                left = np.where(which >= 0, in_set, left)
        return np.where(np.isnan(x), self.nan_left[nodes], left)

    def outputs(self, inputs: FloatArray) -> FloatArray:
        """Outputs (n, C) for model inputs (n, P)."""
        inputs = np.asarray(inputs, dtype=np.float64)
        parts = [self._sum(part) for part in _chunks(inputs, max(1, 2_000_000 // max(1, self.n_trees)))]
        return np.concatenate(parts) if parts else np.zeros((0, self.base.size))

    def _sum(self, inputs: FloatArray) -> FloatArray:
        with uncounted():
            from armin.models.walk import walk

        values, base = self.value.astype(self.precision, copy=False), self.base.astype(self.precision, copy=False)
        start = np.zeros_like(base) if self.base_last else base
        total = np.repeat(start[None, :], inputs.shape[0], axis=0)
        sets, lefts = self.category_set, self.category_left
        if sets is None or lefts is None:
            sets, lefts = np.zeros(0, dtype=np.intp), np.zeros((0, 0), dtype=bool)
        walk(
            np.ascontiguousarray(inputs), self.roots, self.feature, self.threshold, self.left, self.right,
            self.nan_left, sets, lefts, self.strict, self.input_precision == "float32",
            np.ascontiguousarray(values), total,
        )  # fmt: skip
        if self.base_last:
            total = total + base
        if self.divisor != 1.0:
            total = total / np.dtype(self.precision).type(self.divisor)
        return total.astype(np.float64)

    def accepts(self, inputs: FloatArray) -> BoolArray:
        """Which rows of ``inputs`` (n, P) get the desired decision."""
        return self.decision.accepts(self.outputs(inputs))

    def settles(self, inputs: FloatArray) -> BoolArray:
        """The same: leaves are added in tree order, so a row gets the same answer in any company."""
        return self.accepts(inputs)


@dataclass(frozen=True, eq=False)
class BlackBox:
    """Anything that can be asked: ``predict`` maps model inputs (n, P) to accepted or not (n,)."""

    predict: Callable[[FloatArray], BoolArray]
    n_inputs: int

    def accepts(self, inputs: FloatArray) -> BoolArray:
        """Which rows of ``inputs`` (n, P) get the desired decision."""
        return np.asarray(self.predict(inputs), dtype=bool)

    def settles(self, inputs: FloatArray) -> BoolArray:
        """The same: nobody knows how it adds up."""
        return self.accepts(inputs)


@dataclass(frozen=True, eq=False)
class Term:
    """What one score of a member adds to a mixture: ``maps(outputs @ coefficients)``, which never falls in the score.

    Attributes
    ----------
    model : the member
    coefficients : array of shape (C,), the score as a sum of the member's outputs
    maps : what becomes of the score, the first map first
    columns : int array, the member's inputs among those of the mixture; None for all of them
    """

    model: LinearModel | TreeEnsemble
    coefficients: FloatArray
    maps: tuple[Map, ...] = ()
    columns: IntArray | None = None

    def __post_init__(self) -> None:
        if not rises(self.maps):  # a score that falls is one that rises, with its sign changed
            object.__setattr__(self, "coefficients", -self.coefficients)
            object.__setattr__(self, "maps", (Map.line(-1.0), *self.maps))

    def value(self, inputs: FloatArray, in_order: bool) -> tuple[FloatArray, FloatArray]:
        """Between what (n,) the term adds, for inputs (n, P) of the mixture."""
        own = inputs if self.columns is None else inputs[:, self.columns]
        model = self.model
        outputs = model.in_order(own) if in_order and isinstance(model, LinearModel) else model.outputs(own)
        score: FloatArray = np.zeros(own.shape[0])
        for column, factor in zip(outputs.T, self.coefficients.tolist(), strict=True):
            if factor:
                score = score + factor * column
        return through(self.maps, score)


@dataclass(frozen=True, eq=False)
class ScoreMixture:
    """A sum of maps of scores, each map one that never turns back: accepted when the sum is at least ``cut``.

    Attributes
    ----------
    terms : what is added up
    cut : the least sum that is accepted
    near : within this of the cut, ``verdict`` is asked
    verdict : maps inputs (n, P) to accepted or not, as the library does
    n_inputs : how many inputs there are

    >>> line = LinearModel(np.array([[1.0]]), np.zeros(1), Above(0.0))
    >>> twice = (Term(line, np.ones(1), (Map.logistic(),)), Term(line, np.ones(1), (Map.step(2.0),)))
    >>> ScoreMixture(twice, 1.0, 0.0, lambda inputs: inputs[:, 0] > 0, 1).accepts(np.array([[1.0], [3.0]]))
    array([False,  True])
    """

    terms: tuple[Term, ...]
    cut: float
    near: float
    verdict: Callable[[FloatArray], BoolArray]
    n_inputs: int

    def ahead(self, inputs: FloatArray, in_order: bool = False) -> tuple[FloatArray, FloatArray]:
        """Between what (n,) the sum exceeds the cut, for model inputs (n, P): rounding leaves room."""
        low: FloatArray = np.full(inputs.shape[0], -self.cut)
        high = low
        for term in self.terms:
            least, most = term.value(inputs, in_order)
            low, high = low + least, high + most
        return low - self.near, high + self.near

    def accepts(self, inputs: FloatArray) -> BoolArray:
        """Which rows of ``inputs`` (n, P) get the desired decision, added up as ``predict`` does with these rows."""
        low, high = self.ahead(inputs)
        accepted = np.asarray(low >= 0.0)
        close = ~(accepted | (high < 0.0))  # what is not a number is asked about
        if close.any():
            accepted[close] = self.verdict(inputs[close])
        return accepted

    def settles(self, inputs: FloatArray) -> BoolArray:
        """As :meth:`accepts`, in one order of summation, rows near the cut one by one: the same in any company."""
        low, high = self.ahead(inputs, in_order=True)
        accepted, known = np.asarray(low >= 0.0), dict[bytes, bool]()
        for row in np.flatnonzero(~(accepted | (high < 0.0))).tolist():
            key = inputs[row].tobytes()
            if key not in known:
                known[key] = bool(self.verdict(inputs[row : row + 1])[0])
            accepted[row] = known[key]
        return accepted


Model = LinearModel | ReluNetwork | TreeEnsemble | ScoreMixture | BlackBox


def _decide(model: LinearModel | ReluNetwork, inputs: FloatArray) -> BoolArray:
    """Decide by quick sums where their order cannot matter, and in order where it might."""
    with np.errstate(all="ignore"):
        outputs = model.outputs(inputs)
        accepted = model.decision.accepts(outputs)
        close = model.decision.doubtful(outputs, doubt_of(largest_inputs(inputs), model.magnitudes))
    if close.any():
        accepted[close] = model.decision.accepts(model.in_order(inputs[close]))
    return accepted


def _chunks(inputs: FloatArray, rows: int) -> list[FloatArray]:
    return [inputs[i : i + rows] for i in range(0, inputs.shape[0], rows)]
