"""The model inputs of one person's problem that have several raw columns behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.encoding import ReadClassifier
from armin.models.joint import JointColumns, JointEncoder, distinct_rows
from armin.problem.blocks import Block
from armin.problem.data import Options

__all__ = ["AskedJoint", "foresee", "join"]


@dataclass(frozen=True, eq=False)
class AskedJoint:
    """What combinations of options become, asked of the user's own transformers when somebody wants to know.

    Attributes
    ----------
    encode : asks them
    columns : int array (E,), places among the inputs that ``encode`` gives
    rows : codes (S, D), one row for each sort of candidate
    members : the positions of the features that combine
    values : for each of them the codes (1 or S, J) of its options
    sort : int array (N,), the sort of each candidate; empty if there is one for all
    """

    encode: JointEncoder
    columns: IntArray
    rows: FloatArray
    members: tuple[int, ...]
    values: tuple[FloatArray, ...]
    sort: IntArray

    @property
    def same_for_all(self) -> bool:
        return not self.sort.size

    def __call__(self, picks: IntArray) -> FloatArray:
        """The model inputs (1 or N, M, E) after each of M combinations (M, members)."""
        found = self.encode.behind(self._codes(picks))[:, self.columns]
        found = found.reshape(self.rows.shape[0], picks.shape[0], -1)
        return found if self.same_for_all else found[self.sort]

    def ahead(self, picks: IntArray) -> None:
        """Take note that these combinations will be asked for: the transformers take them all in one call."""
        self.encode.ahead(self._codes(picks))

    def _codes(self, picks: IntArray) -> FloatArray:
        """Codes (S * M, D) of each sort of candidate after each combination."""
        sorts, m = self.rows.shape[0], picks.shape[0]
        codes = np.repeat(self.rows, m, axis=0).reshape(sorts, m, self.rows.shape[1])
        for position, values, j in zip(self.members, self.values, picks.T, strict=True):
            codes[:, :, position] = values[:, j]
        return codes.reshape(sorts * m, -1)

    def among(self, rows: IntArray) -> AskedJoint:
        """The same for some of the candidates."""
        return self if self.same_for_all else replace(self, sort=self.sort[rows])


def foresee(read: ReadClassifier, judged: FloatArray, values: Mapping[int, FloatArray]) -> None:
    """Have the candidates and every single change of them worked out in one go, where columns are joined.

    The parameters are those of :func:`join`, which asks for them.
    """
    if not isinstance(read.encode, JointEncoder):
        return
    read.encode.ahead(judged)
    for joint in read.joint:
        members = tuple(p for p in values if p in joint.positions)
        if members:
            table = _asked(read.encode, joint, judged, members, tuple(values[p] for p in members))
            table.ahead(single_changes([values[p].shape[1] for p in members]))


def single_changes(sizes: Sequence[int]) -> IntArray:
    """The combinations that change one member, the first member's options first.

    >>> single_changes([2, 3]).tolist()
    [[1, 0], [0, 1], [0, 2]]
    """
    picks = np.zeros((sum(size - 1 for size in sizes), len(sizes)), dtype=np.intp)
    start = 0
    for place, size in enumerate(sizes):
        picks[start : start + size - 1, place] = np.arange(1, size)
        start += size - 1
    return picks


def join(
    read: ReadClassifier,
    judged: FloatArray,
    inputs: FloatArray,
    values: Mapping[int, FloatArray],
    options: tuple[Options, ...],
) -> tuple[tuple[Options, ...], tuple[Block, ...]]:
    """Give the inputs that have several columns behind them to the one feature that can change them, or to a block.

    Parameters
    ----------
    read : the model
    judged, inputs : codes (N, D) of the candidates, and their model inputs (N, P)
    values : the codes (1 or N, J) of each option, by the positions of the features that may change, in their order
    options : the same features' options, with the inputs that each determines alone

    Returns
    -------
    options, blocks
        What a problem needs.
    """
    if not isinstance(read.encode, JointEncoder):
        return options, ()
    place = {position: i for i, position in enumerate(values)}
    found, blocks = list(options), []
    for joint in read.joint:
        members = tuple(p for p in values if p in joint.positions)
        if not members:
            continue
        table = _asked(read.encode, joint, judged, members, tuple(values[p] for p in members))
        if len(members) > 1:
            blocks.append(Block(tuple(place[p] for p in members), joint.columns, table))
            continue
        i = place[members[0]]
        found[i] = _with(found[i], joint.columns, table(np.arange(found[i].size)[:, None]), inputs)
    return tuple(found), tuple(blocks)


def _asked(
    encode: JointEncoder,
    joint: JointColumns,
    judged: FloatArray,
    members: tuple[int, ...],
    values: tuple[FloatArray, ...],
) -> AskedJoint:
    n = judged.shape[0]
    own = [table for table in values if table.shape[0] > 1]
    first, sort = distinct_rows(np.concatenate([judged[:, joint.positions], *own], axis=1))
    columns = np.flatnonzero(np.isin(encode.columns, joint.columns))
    columns = columns[np.argsort(encode.columns[columns])]
    if first.size == 1:
        return AskedJoint(encode, columns, judged[:1], members, tuple(t[:1] for t in values), np.zeros(0, np.intp))
    tables = tuple(t if t.shape[0] == 1 else t[first] for t in values)
    return AskedJoint(encode, columns, judged[first], members, tables, sort if n > 1 else np.zeros(0, np.intp))


def _with(options: Options, columns: IntArray, outcomes: FloatArray, inputs: FloatArray) -> Options:
    """The same options with more inputs; option 0 is what the candidates are, to the last bit."""
    outcomes[:, 0] = inputs[: outcomes.shape[0], columns]
    rows = max(options.outcomes.shape[0], outcomes.shape[0])
    parts = [np.broadcast_to(table, (rows, *table.shape[1:])) for table in (options.outcomes, outcomes)]
    return replace(options, columns=np.concatenate([options.columns, columns]), outcomes=np.concatenate(parts, axis=2))
