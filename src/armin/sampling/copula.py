"""A joint normal distribution behind the ranks of all features."""

from __future__ import annotations

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.errors import ParameterError
from armin.sampling.anonymous import coarse
from armin.sampling.base import BaseSampler, check_count
from armin.sampling.legal import uniform
from armin.sampling.margins import Margin, within
from armin.schema import Schema

__all__ = ["GaussianCopula"]


class GaussianCopula(
    BaseSampler,
    alias="copula",
    summary="all blanks at once, by a joint normal distribution behind the ranks",
    compared=True,
):
    """Normal scores of every feature, jointly normal; the blanks given the rest are drawn in closed form.

    Behind each feature stands a standard normal variable. A value with share p owns a slice of probability p of it,
    so margins, ties, integers and ordinal ranks are those of the training data. A category with more than two values
    owns slices too: its values are put in the order of their means on the first principal axis of the other features,
    the one order in which a single latent variable can follow the others. What does not follow that order is lost.

    ``fit`` draws the latent variables of the training rows within their slices, given each other, and blanks without
    any slice (the sampler of Hoff's semiparametric copula); moments are averages over the later half of the sweeps,
    shrunk as if ``shrinkage`` more rows had been seen that are independent. ``sample`` puts observed values at the
    means of their slices, and draws the latent variables of the blanks from their linear regression on these means,
    whose residual variance holds what a slice hides.

    Parameters
    ----------
    sweeps : sweeps of ``fit``
    shrinkage : weight of independence, in rows
    max_rows : the correlation uses at most so many training rows, picked at random; None for all
    random_state : seed of what ``fit`` draws

    Attributes
    ----------
    margins_ : for each feature its margin; None where training showed no value, and it is drawn uniformly
    latent_, seen_, cross_ : (D, D), the second moments of the latent variables, of the means of the slices that hold
        them, and of these means (rows) with the latent variables (columns)
    rows_ : how many rows they come from

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "continuous", lower=-9, upper=9), Feature("b", "continuous", lower=-9, upper=9)))
    >>> a = np.random.default_rng(0).normal(size=500).clip(-8, 8)
    >>> sampler = GaussianCopula().fit(np.column_stack([a, a + 1]), schema)
    >>> draws = sampler.sample(np.array([1.0, np.nan]), 100, np.random.default_rng(1))
    >>> float(draws.values[:, 1].mean().round(1))
    2.0
    """

    margins_: tuple[Margin | None, ...]
    latent_: FloatArray
    seen_: FloatArray
    cross_: FloatArray
    rows_: int

    def __init__(
        self, sweeps: int = 40, *, shrinkage: float = 2.0, max_rows: int | None = 5000, random_state: int = 0
    ) -> None:
        self.sweeps = sweeps
        self.shrinkage = shrinkage
        self.max_rows = max_rows
        self.random_state = random_state

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        check_count("sweeps", self.sweeps)
        if not (np.isfinite(self.shrinkage) and self.shrinkage > 0):
            raise ParameterError(f"'shrinkage' must be a positive number. Got {self.shrinkage!r} instead.")
        rng = np.random.default_rng(self.random_state)
        people = self._people_behind_a_value()
        if people > 1:
            X = np.column_stack([coarse(feature, X[:, d], people) for d, feature in enumerate(schema)])
        self.margins_ = _margins(X, schema)
        if self.max_rows is not None and X.shape[0] > check_count("max_rows", self.max_rows):
            X = X[rng.choice(X.shape[0], self.max_rows, replace=False)]
        low, high, latent = self._slices(X)
        blank = np.isnan(X)
        seen, width = latent.copy(), len(schema)
        total, kept = np.zeros((3, width, width)), 0
        for sweep in range(self.sweeps):
            _redraw(latent, self._shrunk(latent), low, high, rng)
            for d in np.flatnonzero(blank.any(axis=0)):
                seen[blank[:, d], d] = _centres(self.margins_[d], latent[blank[:, d], d])
            if sweep >= self.sweeps // 2:
                total += (latent.T @ latent, seen.T @ latent, seen.T @ seen)
                kept += 1
        self.rows_ = X.shape[0]
        independent = self.shrinkage * np.eye(width)
        joint, cross, own = total / kept
        self.latent_, self.cross_, self.seen_ = (
            (part + extra) / (self.rows_ + self.shrinkage)
            for part, extra in ((joint, independent), (cross, 0.0), (own, independent))
        )

    def _people_behind_a_value(self) -> int:
        """How many people at least must stand behind a number that is kept."""
        return 1

    def kept(self) -> list[str]:
        """Values by column, and correlations."""
        return [
            self._keeps(
                "for each column the values that occurred and how often, and the correlation "
                "of each pair of columns. Values of one person are not linked."
            )
        ]

    def _slices(self, X: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Where each latent variable may lie, (n, D) twice, and where it starts."""
        low, high, latent = np.full(X.shape, -np.inf), np.full(X.shape, np.inf), np.zeros(X.shape)
        for d, margin in enumerate(self.margins_):
            known = ~np.isnan(X[:, d])
            if margin is not None:
                at = margin.slices(X[known, d])
                low[known, d], high[known, d], latent[known, d] = (
                    margin.edges[at],
                    margin.edges[at + 1],
                    margin.centres[at],
                )
        return low, high, latent

    def _shrunk(self, latent: FloatArray) -> FloatArray:
        """The correlation of the latent variables, with mean 0 and some independent rows added."""
        products = latent.T @ latent + self.shrinkage * np.eye(latent.shape[1])
        size = np.sqrt(np.diag(products))
        return np.asarray(products / np.outer(size, size))

    def _draw(self, row: FloatArray, blanks: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
        known = np.flatnonzero(~np.isnan(row))
        z = np.array([_score(self.margins_[d], row[d : d + 1]) for d in known])
        cross = self.cross_[np.ix_(known, blanks)]
        pull = np.linalg.solve(self.seen_[np.ix_(known, known)], cross).T
        left = self.latent_[np.ix_(blanks, blanks)] - pull @ cross
        # least squares look too good on their own rows, and too good again on new ones
        spare = max(self.rows_ - known.size, 1)
        left *= (self.rows_ + known.size) / spare if self.rows_ > 2 * known.size else 1.0
        values, vectors = np.linalg.eigh(left)
        noise = rng.standard_normal((n, blanks.size)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
        latent = pull @ z + noise
        out = np.empty((n, blanks.size))
        for i, d in enumerate(blanks):
            margin = self.margins_[d]
            out[:, i] = uniform(self.schema_[int(d)], n, rng) if margin is None else margin.value(latent[:, i])
        return out


def _score(margin: Margin | None, code: FloatArray) -> float:
    """The mean of the slice of an observed value; a feature without a margin correlates with none."""
    return 0.0 if margin is None else float(margin.centres[margin.slices(code)[0]])


def _centres(margin: Margin | None, latent: FloatArray) -> FloatArray:
    """The means of the slices that hold ``latent`` (n,)."""
    return np.zeros(latent.size) if margin is None else margin.centres[margin.at(latent)]


def _margins(X: FloatArray, schema: Schema) -> tuple[Margin | None, ...]:
    """The margin of each column of codes ``X`` (n, D)."""
    ordered = np.array([f.kind != "categorical" for f in schema])
    margins: list[Margin | None] = []
    for codes in X.T:
        known = codes[~np.isnan(codes)]
        margins.append(Margin.of(known, np.unique(known)) if known.size else None)
    scores = np.zeros(X.shape)
    for d in np.flatnonzero(ordered):
        margin, known = margins[d], ~np.isnan(X[:, d])
        if margin is not None:
            scores[known, d] = margin.centres[margin.slices(X[known, d])]
    # without an ordered feature there is no axis, and categories keep their order
    axis = scores @ np.linalg.eigh(scores.T @ scores)[1][:, -1]
    for d in np.flatnonzero(~ordered):
        known = ~np.isnan(X[:, d])
        if known.any():
            values, at = np.unique(X[known, d], return_inverse=True)
            means = np.bincount(at, weights=axis[known]) / np.bincount(at)
            margins[d] = Margin.of(X[known, d], values[np.argsort(means, kind="stable")])
    return tuple(margins)


def _redraw(
    latent: FloatArray, correlation: FloatArray, low: FloatArray, high: FloatArray, rng: np.random.Generator
) -> None:
    """Draw each column of ``latent`` (n, D) given the others, within its slices; in place."""
    precision = np.linalg.inv(correlation)
    for d in range(latent.shape[1]):
        spread = float(np.sqrt(1.0 / precision[d, d]))
        others = latent @ precision[:, d] - latent[:, d] * precision[d, d]
        mean = -others / precision[d, d]
        latent[:, d] = within(mean, spread, low[:, d], high[:, d], rng.random(mean.shape))
