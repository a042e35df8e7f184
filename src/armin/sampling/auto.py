"""The sampler that fits the table."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from copy import copy, deepcopy

import numpy as np
from numpy.typing import ArrayLike

from armin.arrays import FloatArray
from armin.errors import ParameterError
from armin.learned import kept, slim
from armin.sampling.assess import assess
from armin.sampling.base import BaseSampler, Draws, RowSampler, Sampler, check_count, row_sampler
from armin.sampling.choose import as_sampler
from armin.sampling.progress import followed
from armin.schema import Schema
from armin.words import Message

__all__ = ["AutoSampler"]

_log = logging.getLogger("armin")

_HELD_OUT = 0.25
_DRAWS = 50
_HIDE = 2
_LEAST_JUDGED = 20
_LEAST_FITTED = 500
_CLEARLY = 2.0  # standard errors of the paired difference


class AutoSampler(
    BaseSampler, alias="auto", summary="one of chained, forest, copula and donors: what held-out rows say"
):
    """One of several samplers: the one that draws hidden values of training rows best.

    Each candidate is fitted to some of the rows and draws two known values of each of the others, which are compared
    with the truth by the energy score (see :func:`armin.sampling.assess.assess`). The first candidate is taken unless
    the best of the others beats it by more than two standard errors of the difference on the same rows; what is taken
    is then fitted to all rows. The work is bounded by rows and columns, not by a clock, so the same data and
    ``random_state`` give the same choice on every machine.

    Parameters
    ----------
    candidates : names of samplers, or samplers, which are copied; in doubt, the first
    rows : judge on at most so many rows
    cells : fit the candidates to at most so many values, rows times columns, but to 500 rows if there are as many
    random_state : seed of the split and of what is hidden

    Attributes
    ----------
    chosen_ : the sampler, fitted to all rows
    taken_ : its name
    scores_ : by name, the mean energy score on the judged rows, less is better; empty if there were too few rows
    judged_ : how many rows that were

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> sampler = AutoSampler(("marginal", "donors")).fit(loans.schema.encode(loans.X), loans.schema)
    >>> sampler
    AutoSampler(candidates=('marginal', 'donors')): NearestDonors()
    """

    chosen_: Sampler
    taken_: str
    scores_: dict[str, float]
    judged_: int

    def __init__(
        self,
        candidates: Sequence[str | Sampler] = ("chained", "forest", "copula", "donors"),
        *,
        rows: int = 200,
        cells: int = 60_000,
        random_state: int = 0,
    ) -> None:
        self.candidates = candidates
        self.rows = rows
        self.cells = cells
        self.random_state = random_state

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        for name in ("rows", "cells"):
            check_count(name, getattr(self, name))
        check_count("random_state", self.random_state, least=0)
        named = self._named()
        self.scores_, self.judged_ = {}, 0
        self.taken_ = self._best(named, X, schema) if len(named) > 1 else next(iter(named))
        self.chosen_ = deepcopy(named[self.taken_]).fit(X, schema)
        _log.info(str(self.message))

    def _named(self) -> dict[str, Sampler]:
        given: object = self.candidates
        if isinstance(given, str) or not isinstance(given, Sequence) or not given:
            raise ParameterError(
                f"'candidates' must be a list of at least one sampler or its name. Got {given!r} instead."
            )
        named = {one if isinstance(one, str) else repr(one): as_sampler(one) for one in given}
        for name, one in named.items():
            if isinstance(one, AutoSampler):
                raise ParameterError(f"'candidates' must be samplers that draw by themselves. Got {name!r} among them.")
        return named

    def _best(self, named: dict[str, Sampler], X: FloatArray, schema: Schema) -> str:
        """The name of the candidate to take."""
        first = next(iter(named))
        hide = max(1, min(_HIDE, len(schema) - 1))
        order = np.random.default_rng(self.random_state).permutation(X.shape[0])
        held = X[order[: int(_HELD_OUT * X.shape[0])]]
        held = held[(~np.isnan(held)).sum(axis=1) >= hide]
        rest = X[order[int(_HELD_OUT * X.shape[0]) :]][: max(_LEAST_FITTED, self.cells // X.shape[1])]
        if held.shape[0] < _LEAST_JUDGED:
            return first
        energies: dict[str, FloatArray] = {}
        for name in followed(list(named), "progress.judge"):
            energies[name] = assess(
                deepcopy(named[name]).fit(rest, schema), held, schema=schema, hide=hide, n_draws=_DRAWS,
                n_rows=self.rows, random_state=self.random_state,
            ).energies  # fmt: skip
        self.scores_ = {name: float(found.mean()) for name, found in energies.items()}
        self.judged_ = int(energies[first].size)
        best = min(self.scores_, key=lambda name: self.scores_[name])
        gain = energies[first] - energies[best]
        clear = float(gain.mean()) > _CLEARLY * float(gain.std(ddof=1)) / np.sqrt(gain.size)
        return best if clear else first

    @property
    def message(self) -> Message:
        """Which sampler was taken and why, to be said in any language."""
        if not self.scores_:
            return Message("sampler.untried", taken=self.taken_)
        others = {name: score for name, score in self.scores_.items() if name != self.taken_}
        other = min(others, key=lambda name: others[name])
        first = next(iter(self.scores_))
        code = "sampler.better" if self.taken_ != first else "sampler.first"
        return Message(
            code, taken=self.taken_, score=self.scores_[self.taken_], n=self.judged_,
            other=first if self.taken_ != first else other,
            against=self.scores_[first] if self.taken_ != first else others[other],
        )  # fmt: skip

    def slim(self) -> AutoSampler:
        """With a slim sampler."""
        thin = copy(self)
        thin.chosen_ = slim(self.chosen_)
        return thin

    def kept(self) -> list[str]:
        """Which sampler was taken and why, and what that one keeps."""
        return [str(self.message), *kept(self.chosen_, self.role)]

    def sample(self, row: ArrayLike, n: int, rng: np.random.Generator) -> Draws:
        """``n`` completions of ``row`` (D,) by the sampler that was taken."""
        return self.chosen_.sample(self._checked_row(row), n, rng)

    def at(self, row: ArrayLike) -> RowSampler:
        """The same, for many draws of one row."""
        return row_sampler(self.chosen_, self._checked_row(row))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        said = super().__repr__(N_CHAR_MAX)
        return f"{said}: {self.chosen_!r}" if hasattr(self, "chosen_") else str(said)
