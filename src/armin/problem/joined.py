"""The model inputs of one person's problem that have several raw columns behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.encoding import ReadClassifier
from armin.models.joint import JointEncoder, Wanted, distinct_rows
from armin.problem.blocks import Block
from armin.problem.data import Options

__all__ = ["AskedJoint", "foresee", "join"]


@dataclass(frozen=True, eq=False)
class AskedJoint:
    """What combinations of options become, asked of the user's own transformers when somebody wants to know.

    Attributes
    ----------
    encode : asks them
    wanted : whose options combine; one row of codes for each sort of candidate
    sort : int array (N,), the sort of each candidate; empty if there is one for all
    """

    encode: JointEncoder
    wanted: Wanted
    sort: IntArray

    @property
    def same_for_all(self) -> bool:
        return not self.sort.size

    def __call__(self, picks: IntArray) -> FloatArray:
        """The model inputs (1 or N, M, E) after each of M combinations (M, members)."""
        found = self.encode.behind(self.wanted, picks)
        return found if self.same_for_all else found[self.sort]

    def ahead(self, picks: IntArray) -> None:
        """Take note that these combinations will be asked for: the transformers take them all in one call."""
        self.encode.ahead(self.wanted, picks)

    def among(self, rows: IntArray) -> AskedJoint:
        """The same for some of the candidates."""
        return self if self.same_for_all else replace(self, sort=self.sort[rows])


def foresee(read: ReadClassifier, judged: FloatArray, values: Mapping[int, FloatArray]) -> list[AskedJoint]:
    """The inputs with several columns behind them that the person can change; single changes are worked out in one go.

    Parameters
    ----------
    read : the model
    judged : codes (N, D) of the candidates
    values : the codes (1 or N, J) of each option, by the positions of the features that may change, in their order
    """
    if not isinstance(read.encode, JointEncoder):
        return []
    judged, found = read.encode.canonical(judged), []
    for which, joint in enumerate(read.joint):
        members = tuple(p for p in values if p in joint.positions)
        if members:
            table = _asked(read.encode, which, judged, members, tuple(values[p] for p in members))
            table.ahead(single_changes([values[p].shape[1] for p in members]))
            found.append(table)
    return found


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
    asked: Sequence[AskedJoint], inputs: FloatArray, positions: Sequence[int], options: tuple[Options, ...]
) -> tuple[tuple[Options, ...], tuple[Block, ...]]:
    """Give the inputs that have several columns behind them to the one feature that can change them, or to a block.

    Parameters
    ----------
    asked : what :func:`foresee` found
    inputs : the model inputs (N, P) of the candidates
    positions : the features that may change
    options : their options, with the inputs that each determines alone

    Returns
    -------
    options, blocks
        What a problem needs.
    """
    place = {position: i for i, position in enumerate(positions)}
    found, blocks = list(options), []
    for table in asked:
        members, columns = table.wanted.members, table.encode.joint[table.wanted.which].columns
        if len(members) > 1:
            blocks.append(Block(tuple(place[p] for p in members), columns, table))
            continue
        i = place[members[0]]
        found[i] = _with(found[i], columns, table(np.arange(found[i].size)[:, None]), inputs)
    return tuple(found), tuple(blocks)


def _asked(
    encode: JointEncoder, which: int, judged: FloatArray, members: tuple[int, ...], values: tuple[FloatArray, ...]
) -> AskedJoint:
    behind = judged[:, encode.joint[which].positions]
    first, sort = distinct_rows(behind)
    if any(t.shape[0] > 1 and not np.array_equal(t[first][sort], t, equal_nan=True) for t in values):
        # options that do not follow from the value alone
        own = [table for table in values if table.shape[0] > 1]
        first, sort = distinct_rows(np.concatenate([behind, *own], axis=1))
    tables = tuple(t if t.shape[0] == 1 else t[first] for t in values)
    nobody: IntArray = np.zeros(0, dtype=np.intp)
    return AskedJoint(encode, Wanted(which, judged[first], members, tables), sort if first.size > 1 else nobody)


def _with(options: Options, columns: IntArray, outcomes: FloatArray, inputs: FloatArray) -> Options:
    """The same options with more inputs; option 0 is what the candidates are, to the last bit."""
    rows = max(options.outcomes.shape[0], outcomes.shape[0])
    parts = [np.broadcast_to(table, (rows, *table.shape[1:])) for table in (options.outcomes, outcomes)]
    both = np.concatenate(parts, axis=2)  # the encoder's own table is not to be written to
    both[:, 0, options.columns.size :] = inputs[:rows, columns]
    return replace(options, columns=np.concatenate([options.columns, columns]), outcomes=both)
