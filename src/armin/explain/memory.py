"""What need not be asked or drawn twice while one row is looked at from many sides."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, Self

import numpy as np

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.errors import RefusedError
from armin.models.encoding import ReadClassifier
from armin.models.inputs import shared_columns
from armin.models.oracle import Judge, Oracle
from armin.sampling import Draws, Sampler
from armin.schema import Schema

__all__ = [
    "Apart",
    "RememberingJudge",
    "RememberingSampler",
    "SurrogateJudge",
    "accepted_by_all",
    "different",
    "mismatched",
]

MOST_ROWS = 50_000
"""Rows that the user's model is asked about at once."""

FEW_ROWS = 64
"""Up to so many rows it does not matter whether some are equal."""


Apart = tuple[IntArray, IntArray]
"""Where each different row stands first, and which of these each row is."""

_NO_VALUE = -0.123456789
"""Stands for a blank where rows are told apart; a row that has this value is not taken for one with a blank."""


class RememberingJudge:
    """A judge that does not ask the estimator about the same row twice."""

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._seen: dict[bytes, bool] = {}

    def accepts(self, codes: FloatArray) -> BoolArray:
        """Which rows, given as codes (n, D), get the desired decision."""
        keys = [row.tobytes() for row in np.ascontiguousarray(codes)]
        new = {key: i for i, key in enumerate(keys) if key not in self._seen}
        if new:
            answers = self._judge.accepts(codes[list(new.values())])
            self._seen.update(zip(new, answers.tolist(), strict=True))
        return np.array([self._seen[key] for key in keys], dtype=bool)


class SurrogateJudge:
    """A judge that answers as the model read as arrays does, and keeps what it was asked.

    Attributes
    ----------
    behind : the estimator itself
    asked : the rows that were asked about, call by call
    """

    def __init__(self, read: ReadClassifier, behind: Judge) -> None:
        self._read = read
        self.behind = behind
        self.asked: list[FloatArray] = []
        self.answers: list[BoolArray] = []

    def accepts(self, codes: FloatArray) -> BoolArray:
        """Which rows, given as codes (n, D), get the desired decision by the surrogate."""
        if self._read.complete_only and np.isnan(codes).any():
            return self.behind.accepts(codes)  # what the surrogate does not say
        return self.said(codes, self._read.encode(codes))

    def said(self, codes: FloatArray, inputs: FloatArray) -> BoolArray:
        """The same for rows whose model inputs (n, P) are known."""
        return self.supposed(codes, self._read.model.accepts(inputs))

    def supposed(self, codes: FloatArray, answer: BoolArray) -> BoolArray:
        """Keep rows to which the answer of the surrogate is known."""
        self.asked.append(codes)
        self.answers.append(answer)
        return answer


def mismatched(surrogates: Sequence[SurrogateJudge | None]) -> BoolArray:
    """For each surrogate whether the estimator disagrees with any of its answers, from as few calls as can be.

    None stands for no surrogate. Those with one and the same judge behind them are asked about together, and so are
    those that differ only in what they carry along; rows with blanks are asked about apart from others where these
    would change the type of a column, so that it is the one of training data where nothing is blank.
    """
    wrong = np.zeros(len(surrogates), dtype=bool)
    every = [
        (i, one.behind, codes, answer, not _mixes(one.behind) and bool(np.isnan(codes).any()))
        for i, one in enumerate(surrogates)
        if one is not None
        for codes, answer in zip(one.asked, one.answers, strict=True)
    ]
    for blank in (False, True):
        asked = [(i, behind, codes, answer) for i, behind, codes, answer, has in every if has == blank]
        judges = {id(behind): behind for _, behind, _, _ in asked}
        seen = {key: _seen(behind) if len(judges) > 1 else None for key, behind in judges.items()}
        groups: dict[object, list[tuple[int, Judge, FloatArray, BoolArray]]] = {}
        for one in asked:
            groups.setdefault(seen[id(one[1])], []).append(one)
        for own in groups.values():
            verdicts = _verdicts([behind for _, behind, _, _ in own], [codes for _, _, codes, _ in own])
            for (i, _, _, answer), verdict in zip(own, verdicts, strict=True):
                wrong[i] |= bool((verdict != answer).any())
    return wrong


def _mixes(judge: Judge) -> bool:
    """Whether rows with blanks may be asked about together with others."""
    return isinstance(judge, Oracle) and judge.mixes


def _seen(judge: Judge) -> object:
    """The same for judges that can be asked together."""
    return judge.seen if isinstance(judge, Oracle) and judge.carried is not None else id(judge)


def _verdicts(judges: Sequence[Judge], blocks: Sequence[FloatArray]) -> list[BoolArray]:
    """For each block of rows, what its judge says; the judges differ at most in what they carry along."""
    first = judges[0]
    if not isinstance(first, Oracle) or all(judge is first for judge in judges):
        return accepted_by_all(first, blocks)
    different = list({id(judge): judge for judge in judges if isinstance(judge, Oracle)}.values())
    places = {id(judge): float(place) for place, judge in enumerate(different)}
    along = [first.schema.position(name) for name in first.schema.carried]
    placed = []
    for judge, block in zip(judges, blocks, strict=True):
        rows = block.copy()
        rows[:, along] = np.where(np.isnan(block[:, along]), np.nan, places[id(judge)])
        placed.append(rows)
    try:
        return accepted_by_all(first.together(different), placed)
    except RefusedError:  # of one of them, which has no say about the others
        return [judge.accepts(block) for judge, block in zip(judges, blocks, strict=True)]


def accepted_by_all(judge: Judge, blocks: Sequence[FloatArray]) -> list[BoolArray]:
    """For each block of rows, which of them the model accepts: few calls, many rows, each different row once."""
    verdicts: list[BoolArray] = []
    batch: list[FloatArray] = []
    for i, block in enumerate(blocks):
        batch.append(block)
        if sum(part.shape[0] for part in batch) >= MOST_ROWS or i == len(blocks) - 1:
            together = _accepted(judge, np.concatenate(batch) if len(batch) > 1 else block)
            verdicts += np.split(together, np.cumsum([part.shape[0] for part in batch])[:-1])
            batch = []
    return verdicts


def _accepted(judge: Judge, rows: FloatArray) -> BoolArray:
    """Which rows the model accepts; it sees rows that are equal once. Completions often are: few values are blank."""
    found = different(rows)
    return judge.accepts(rows) if found is None else judge.accepts(rows[found[0]])[found[1]]


def different(rows: FloatArray) -> Apart | None:
    """Where each different row stands first, and which of these each row is; None where it is not worth while.

    Rows are told apart by one sum each, over the columns in which they are not all the same. Whether those with the
    same sum are equal is looked at afterwards.

    >>> first, which = different(np.repeat([[1.0, 2.0], [2.0, 1.0]], 40, axis=0))
    >>> sorted(first.tolist()), np.unique(which).size
    ([0, 40], 2)
    """
    if rows.shape[0] < FEW_ROWS:
        return None
    rows = rows[:, ~shared_columns(rows)]
    factors = _factors(rows.shape[1])
    sums = rows @ factors
    blank = np.isnan(sums)
    some = bool(blank.any())
    if some:
        sums[blank] = np.nan_to_num(rows[blank], nan=_NO_VALUE) @ factors
    _, first, which = np.unique(sums, return_index=True, return_inverse=True)
    if 2 * first.size > rows.shape[0] or not np.array_equal(rows[first[which]], rows, equal_nan=some):
        return None
    return first, which


@cache
def _factors(size: int) -> FloatArray:
    """Numbers for which sums of different rows are hardly ever the same."""
    return np.random.default_rng(0).uniform(1.0, 2.0, size)


class RememberingSampler:
    """A sampler that draws once for each row and state of the generator, and leaves the generator as drawing does.

    >>> from armin.sampling import Uniform
    >>> from armin.schema import Feature
    >>> schema = Schema((Feature("a", "integer", lower=0, upper=9),))
    >>> sampler = RememberingSampler(Uniform().fit(np.array([[1.0]]), schema))
    >>> first, again = np.random.default_rng(0), np.random.default_rng(0)
    >>> sampler.sample(np.array([np.nan]), 3, first) is sampler.sample(np.array([np.nan]), 3, again)
    True
    >>> first.random() == again.random()
    True
    """

    def __init__(self, sampler: Sampler) -> None:
        self._sampler = sampler
        self._drawn: dict[tuple[bytes, int, str], tuple[Draws, Any]] = {}

    def fit(self, X: FloatArray, schema: Schema) -> Self:
        """Learn from codes ``X``, and forget what was drawn before."""
        self._sampler = self._sampler.fit(X, schema)
        self._drawn = {}
        return self

    def sample(self, row: FloatArray, n: int, rng: np.random.Generator) -> Draws:
        """``n`` completions of ``row`` (D,)."""
        key = (row.tobytes(), n, repr(rng.bit_generator.state))
        if key in self._drawn:
            draws, rng.bit_generator.state = self._drawn[key]
            return draws
        draws = self._sampler.sample(row, n, rng)
        self._drawn[key] = (draws, rng.bit_generator.state)
        return draws

    def __repr__(self) -> str:
        return repr(self._sampler)
