"""Each blank given all the rest, in turn, until the blanks agree with each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal
from weakref import WeakKeyDictionary

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import ParameterError
from armin.sampling.among import Among, plain
from armin.sampling.base import Drawing, check_count
from armin.sampling.conditional import Conditional, Matching, fit_conditional
from armin.sampling.design import Design
from armin.sampling.donors import Picked
from armin.sampling.in_turn import InTurn
from armin.sampling.progress import followed
from armin.sampling.simple import Marginal
from armin.sampling.wide import Regressions, chooses
from armin.schema import Schema

__all__ = ["ChainedEquations"]

_NUMBERS = ("normal", "matching")
_FEW_LEVELS = 500  # values of a feature up to which each is looked at once, rather than once for each draw


class ChainedEquations(
    InTurn,
    alias="chained",
    summary="each blank given the rest, by regressions",
    compared=True,
):
    """Multivariate imputation by chained equations, with every value drawn and none averaged.

    ``fit`` fills the blanks of the training data in a few rounds and keeps one regression per feature on all the
    others, with effects that bend at quantiles: Bayesian ridge for numbers, Bayesian multinomial logistic for
    categories. ``sample`` starts ``n`` copies of the row from near donors and redraws each blank given the rest,
    ``sweeps`` times; all copies move at once. With one blank a single draw is exact and needs no sweeps.

    Coefficients are drawn anew for each completion, so that draws are wider where training data are few. With
    ``numbers="normal"`` numbers stay inside their bounds by drawing from the predictive distribution truncated to them,
    which is redrawing without the loop; integers are rounded after the draw.

    Parameters
    ----------
    sweeps : Gibbs sweeps over the row's blanks
    rounds : rounds over the blanks of the training data
    numbers : "matching" draws a number from the training rows with the nearest predicted mean (predictive mean
        matching), "normal" from the posterior predictive distribution of the regression
    donors : how many training rows "matching" picks from; None for a tenth of them, but at least 20 and at most 200.
        Few donors do not show in scores averaged over people, but one person's draws would be the same few values
    penalty : ridge penalty of the logistic regressions; None to learn it by the evidence of the data
    max_rows : regressions use at most so many training rows, picked at random; None for all
    random_state : seed of what ``fit`` draws
    predictors : in a table of more than 40 columns, or of more than 20 with many rows (10,000 rows: from 23 columns
        on), each regression looks at so many others, those that explain most of the feature alone, and at one ridge
        regression on all of them; None to look at each of the others

    Attributes
    ----------
    design_ : the columns of the regressions
    models_ : for each feature its regression, or None where there is nothing to learn and its column is drawn from
    marginal_, start_ : the samplers behind the first fill

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "continuous", lower=-9, upper=9), Feature("b", "continuous", lower=-9, upper=9)))
    >>> a = np.random.default_rng(0).normal(size=500)
    >>> sampler = ChainedEquations().fit(np.column_stack([a, a + 1]).clip(-9, 9), schema)
    >>> draws = sampler.sample(np.array([1.0, np.nan]), 100, np.random.default_rng(1))
    >>> float(draws.values[:, 1].mean().round(1))
    2.0
    """

    design_: Design
    models_: tuple[Conditional | Among | None, ...]
    predictors: int | None = 10

    def __init__(
        self,
        sweeps: int = 5,
        *,
        rounds: int = 3,
        numbers: Literal["normal", "matching"] = "matching",
        donors: int | None = None,
        penalty: float | None = None,
        max_rows: int | None = 10_000,
        random_state: int = 0,
        predictors: int | None = 10,
    ) -> None:
        self.sweeps = sweeps
        self.rounds = rounds
        self.numbers = numbers
        self.donors = donors
        self.penalty = penalty
        self.max_rows = max_rows
        self.random_state = random_state
        self.predictors = predictors

    def _fit(self, X: FloatArray, schema: Schema) -> None:
        self._check_parameters()
        rng = np.random.default_rng(self.random_state)
        self.marginal_ = Marginal().fit(X, schema)
        self.design_ = Design.of(X, schema)
        filled, blank, order = self._filled(X, rng)
        if self.predictors is not None and chooses(*filled.shape):
            self.models_ = self._fit_wide(schema, filled, blank, order, self.predictors, rng)
        else:
            self.models_ = self._fit_all(schema, filled, blank, order, rng)
        self.start_ = self._start(filled, schema, rng)

    def _fit_all(
        self, schema: Schema, filled: FloatArray, blank: BoolArray, order: list[int], rng: np.random.Generator
    ) -> tuple[Conditional | None, ...]:
        """A regression of each feature on all the others."""
        design = self.design_.encode(filled)
        for _ in range(self.rounds if order else 0):
            for d in order:
                model = self._regress(schema, d, design, filled[:, d], ~blank[:, d])
                holes = blank[:, d]
                filled[holes, d] = self.conditional(model, d, design[holes], rng)
                design[holes, self.design_.columns[d]] = self.design_.feature(d, filled[holes, d])
        every = followed(range(len(schema)), "progress.fit")
        return tuple(self._regress(schema, d, design, filled[:, d], ~blank[:, d]) for d in every)

    def _fit_wide(
        self, schema: Schema, filled: FloatArray, blank: BoolArray, order: list[int], most: int,
        rng: np.random.Generator,
    ) -> tuple[Among | None, ...]:  # fmt: skip
        """A regression of each feature on a few others, and on what all of them say together."""
        wide = Regressions(schema, self.design_, filled, most)

        def regress(d: int, *, rough: bool) -> Among | None:
            known = ~blank[:, d]
            donors = self._donors(int(known.sum()))
            return wide.regress(d, known, numbers=self.numbers, donors=donors, penalty=self.penalty, rough=rough)

        for turn in range(self.rounds if order else 0):
            for d in followed(order, "progress.fill", turn=turn + 1, turns=self.rounds):
                model = regress(d, rough=True)
                if model is not None:
                    wide.redraw(d, model, blank[:, d], rng)
            wide.refresh()
        return tuple(regress(d, rough=False) for d in followed(range(len(schema)), "progress.fit"))

    def slim(self) -> ChainedEquations:
        """Without the values of columns that have a regression."""
        return self._without_values(self.models_)

    def kept(self) -> list[str]:
        """Regressions, rows to start from, and the values of columns that are matched or have no regression."""
        said = self._kept("one regression per column (coefficients only).", self.models_)
        matched = [
            f.name for f, model in zip(self.schema_, self.models_, strict=True) if isinstance(plain(model), Matching)
        ]
        return [*said, self._keeps(f"the training values of {', '.join(matched)}, as donors.")] if matched else said

    def _check_parameters(self) -> None:
        check_count("sweeps", self.sweeps)
        if self.donors is not None:
            check_count("donors", self.donors)
        check_count("rounds", self.rounds, least=0)
        if self.predictors is not None:
            check_count("predictors", self.predictors)
        if self.max_rows is not None:
            check_count("max_rows", self.max_rows)
        if self.numbers not in _NUMBERS:
            raise ParameterError(f"'numbers' must be one of {', '.join(_NUMBERS)}. Got {self.numbers!r} instead.")
        if self.penalty is not None and not (np.isfinite(self.penalty) and self.penalty > 0):
            raise ParameterError(f"'penalty' must be a positive number or None. Got {self.penalty!r} instead.")

    def _donors(self, known: int) -> int:
        return int(np.clip(known // 10, 20, 200)) if self.donors is None else self.donors

    def _regress(
        self, schema: Schema, d: int, design: FloatArray, codes: FloatArray, known: BoolArray
    ) -> Conditional | None:
        return fit_conditional(
            schema[d], design[known], self.design_.columns[d], codes[known],
            numbers=self.numbers, donors=self._donors(int(known.sum())), penalty=self.penalty,
        )  # fmt: skip

    def _ready(self, row: FloatArray, blanks: IntArray) -> Drawing:
        if blanks.size == 1:  # a blank's own start has no say in its first draw
            return _One(self, self._restricted(row, blanks, np.empty(0, dtype=np.intp))[0], int(blanks[0]))
        free = np.concatenate([np.arange(self.design_.width)[self.design_.columns[d]] for d in blanks])
        start, models = self.start_.ready(row, blanks), tuple(self._restricted(row, blanks, free))
        if blanks.size == 2 and isinstance(models[0], Matching) and isinstance(models[1], Matching):
            whole = [plain(self.models_[d]) for d in blanks]
            levels = tuple(levels_of(model) for model in whole if isinstance(model, Matching))
            if all(len(level.codes) <= _FEW_LEVELS for level in levels):
                return self._pair(blanks, start, (models[0], models[1]), levels)
        return _Chain(self, blanks, start, models)

    def _pair(
        self, blanks: IntArray, start: Drawing, models: tuple[Matching, Matching], levels: tuple[Levels, ...]
    ) -> Drawing:
        """Two blanks: each depends on the other alone, so it is enough to look at each value of the other once."""
        designs = [self.design_.feature(int(d), level.codes) for d, level in zip(blanks, levels, strict=True)]
        none = [
            np.zeros((len(level.codes), part.shape[1])) for level, part in zip(levels, reversed(designs), strict=True)
        ]
        # columns of a blank's own have no weight in its regression
        aims = (models[0].aim(np.hstack([none[1], designs[1]])), models[1].aim(np.hstack([designs[0], none[0]])))
        return _Pair(self.sweeps, start, models, (levels[0], levels[1]), aims)

    def _restricted(self, row: FloatArray, blanks: IntArray, free: IntArray) -> list[Conditional | None]:
        """The regressions of ``blanks``, ready for designs that hold the columns ``free`` alone."""
        fixed = self.design_.row(row)
        models = (self.models_[d] for d in blanks)
        return [None if model is None else model.restricted(fixed, free) for model in models]


@dataclass(frozen=True, eq=False)
class _One:
    """The only blank of a row."""

    sampler: ChainedEquations
    model: Conditional | None
    blank: int

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        return self.sampler.conditional(self.model, self.blank, np.empty((n, 0)), rng)[:, None]

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator) -> FloatArray:
        return self(n * endings, rng).reshape(n, endings, 1)


@dataclass(frozen=True, eq=False)
class _Chain:
    """The blanks of a row, each redrawn given the rest, in turn.

    Attributes
    ----------
    sampler : what was learned
    blanks : the positions of the blanks
    start : draws the first values
    models : for each blank its regression on the columns of all blanks, the rest of the row being fixed
    """

    sampler: ChainedEquations
    blanks: IntArray
    start: Drawing
    models: tuple[Conditional | None, ...]

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        last = len(self.blanks) - 1
        values, design = self._all_but(last, n, rng)
        values[:, last] = self._given(last, design, rng)
        return values

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator) -> FloatArray:
        values, design = self._all_but(last, n, rng)
        out = np.repeat(values[:, None, :], endings, axis=1)
        out[:, :, last] = self._given(last, np.repeat(design, endings, axis=0), rng).reshape(n, endings)
        return out

    def _given(self, i: int, design: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.sampler.conditional(self.models[i], int(self.blanks[i]), design, rng)

    def _all_but(self, last: int, n: int, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """The values (n, blanks) when only ``last`` is to be drawn once more, and their design."""
        encoding, values, every = self.sampler.design_, self.start(n, rng), range(len(self.blanks))
        parts = [encoding.feature(int(d), values[:, i]) for i, d in enumerate(self.blanks)]
        stops = np.cumsum([part.shape[1] for part in parts])
        design = np.hstack(parts)
        order = [*every] * (self.sampler.sweeps - 1) + [i for i in every if i != last]
        for i in order:
            values[:, i] = self._given(i, design, rng)
            own = slice(stops[i] - parts[i].shape[1], stops[i])
            design[:, own] = encoding.feature(int(self.blanks[i]), values[:, i])
        return values, design


@dataclass(frozen=True, eq=False)
class Levels:
    """The different training codes of a feature in order, and which of them each donor of its regression has."""

    codes: FloatArray
    place: IntArray


_levels: WeakKeyDictionary[Matching, Levels] = WeakKeyDictionary()


def levels_of(model: Matching) -> Levels:
    """The levels of a regression as it was fitted; found out once."""
    found = _levels.get(model)
    if found is None:
        codes, place = np.unique(model.values, return_inverse=True)
        found = _levels[model] = Levels(codes, place.astype(np.intp))
    return found


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two numbers that are blank, each redrawn given the other, in turn.

    Attributes
    ----------
    sweeps : how often
    start : draws the first values
    models : their regressions, as in :class:`_Chain`
    levels : their training codes
    aims : for each blank, what its regression aims at for each level of the other one
    """

    sweeps: int
    start: Drawing
    models: tuple[Matching, Matching]
    levels: tuple[Levels, Levels]
    aims: tuple[tuple[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]

    def __call__(self, n: int, rng: np.random.Generator) -> FloatArray:
        first = self._given(0, self._second(self.sweeps - 1, n, rng), rng)
        second = self._given(1, first, rng)
        return np.column_stack([self.levels[0].codes[first], self.levels[1].codes[second]])

    def branched(self, n: int, endings: int, last: int, rng: np.random.Generator) -> FloatArray:
        other = self._second(self.sweeps - last, n, rng)
        other = np.repeat(self._given(0, other, rng) if last == 1 else other, endings)
        levels = [other, other]
        levels[last] = self._given(last, other, rng)
        both = np.column_stack([self.levels[0].codes[levels[0]], self.levels[1].codes[levels[1]]])
        return both.reshape(n, endings, 2)

    def _given(self, i: int, other: IntArray, rng: np.random.Generator) -> IntArray:
        """The level (n,) of a blank given that of the other one."""
        target, spread = self.aims[i]
        return self.levels[i].place[self.models[i].near(target, spread, other, rng)]

    def _level(self, second: FloatArray) -> IntArray:
        """The levels (n,) of values of the second blank."""
        codes = self.levels[1].codes
        return np.minimum(codes.searchsorted(second), codes.size - 1)

    @cached_property
    def _started(self) -> IntArray:
        """The level of the second blank of each donor from whom the draws start."""
        return self._level(self.start.codes[:, 1]) if isinstance(self.start, Picked) else np.zeros(0, dtype=np.intp)

    def _second(self, sweeps: int, n: int, rng: np.random.Generator) -> IntArray:
        """The level (n,) of the second blank after some sweeps."""
        # where a blank starts has no say in its own first draw
        if isinstance(self.start, Picked):
            level = self._started[self.start.places(n, rng)]
        else:
            level = self._level(self.start(n, rng)[:, 1])
        for _ in range(sweeps):
            level = self._given(1, self._given(0, level, rng), rng)
        return level
