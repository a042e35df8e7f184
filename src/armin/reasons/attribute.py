"""How much each feature weighs in a score: exact where the model can be followed, played out where it cannot.

The reference is a group of real people. A feature's weight is its Shapley value in the game whose value of a coalition
is the mean score over that group, with the coalition's values replaced by the person's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from armin.arrays import FloatArray, IntArray
from armin.models.joint import JOINT
from armin.models.kinds import LinearModel, TreeEnsemble
from armin.reasons.games import Played, coalitions, play, play_orders, shapley
from armin.reasons.score import Score

__all__ = ["MOST_JOINT", "Attribution", "attribute", "untold"]

MOST_JOINT = 4
"""Columns behind one input of a linear model up to which every coalition of them is played."""
MOST_BLANKS = 8
"""Blanks up to which every coalition of them is played."""


@dataclass(frozen=True, eq=False)
class Attribution:
    """What each feature weighs for each of several people.

    Attributes
    ----------
    weights : (n, D); they add up to ``scores - reference`` in each row, but for LIME's
    variance : the squared standard error of each; zeros where nothing was sampled
    scores : (n,)
    reference : the mean score of those with whom they are compared
    how : "linear", "trees" or "coalitions", which are exact; "orders" or "lime", which are sampled
    """

    weights: FloatArray
    variance: FloatArray
    scores: FloatArray
    reference: float
    how: str

    @property
    def exact(self) -> bool:
        """Whether nothing was sampled."""
        return self.how not in ("orders", "lime")


def attribute(score: Score, people: FloatArray, others: FloatArray, rng: np.random.Generator) -> Attribution:
    """What each feature weighs.

    Parameters
    ----------
    score : what is explained
    people : codes (n, D), complete
    others : codes (B, D) of those with whom they are compared, complete, each counting alike
    rng : for the orders, where they are sampled

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> from armin.models.encoding import read_classifier
    >>> from armin.models.oracle import Oracle
    >>> from armin.reasons.score import read_score
    >>> loans = make_loans()
    >>> oracle = Oracle(loans.classifier, loans.schema, loans.X.iloc[:0], "approved")
    >>> rows = loans.schema.encode(loans.X[:50])
    >>> found = attribute(read_score(read_classifier(oracle), oracle, rows), rows[:2], rows, np.random.default_rng(0))
    >>> found.how, bool(np.allclose(found.weights.sum(axis=1), found.scores - found.reference))
    ('linear', True)
    """
    model = score.read.model
    if score.margin is not None:
        if isinstance(model, LinearModel) and all(len(j.positions) <= MOST_JOINT for j in score.read.joint):
            return _linear(score, model, people, others)
        if isinstance(model, TreeEnsemble) and not score.read.joint:
            found = _trees(score, model, people, others)
            if found is not None:
                return found
    return _played(score, people, others, rng)


def _linear(score: Score, model: LinearModel, people: FloatArray, others: FloatArray) -> Attribution:
    """Each input times its weight, against the mean of the others; inputs of several columns are a game of these."""
    assert score.margin is not None  # noqa: S101  asked only then
    read, line = score.read, score.margin.coefficients @ model.weights
    mine, theirs = read.encode(people), read.encode(others)
    weights = np.zeros(people.shape)
    moved = (mine - theirs.mean(axis=0)) * line
    for i, owner in enumerate(read.owners.tolist()):
        if owner >= 0:
            weights[:, owner] += moved[:, i]
    for one in read.joint:
        values = np.empty((2 ** len(one.positions), people.shape[0]))
        for s, inside in enumerate(coalitions(len(one.positions))):
            rows = np.repeat(others[None], people.shape[0], axis=0)
            for p, yes in zip(one.positions, inside, strict=True):
                if yes:
                    rows[:, :, p] = people[:, p, None]
            inputs = read.encode(rows.reshape(-1, others.shape[1]))[:, one.columns]
            values[s] = (inputs @ line[one.columns]).reshape(people.shape[0], -1).mean(axis=1)
        weights[:, list(one.positions)] += shapley(values)
    base = float(score.margin.coefficients @ model.intercept) + score.margin.shift
    scores, reference = mine @ line + base, float((theirs @ line).mean() + base)
    return Attribution(weights, np.zeros_like(weights), scores, reference, "linear")


def _trees(score: Score, model: TreeEnsemble, people: FloatArray, others: FloatArray) -> Attribution | None:
    """Every leaf of every tree, in double precision; None where a way to a leaf has too many features."""
    from armin.reasons.trees import shares_of_orders, tree_depth, weigh_trees

    assert score.margin is not None  # noqa: S101  asked only then
    read, n, players = score.read, people.shape[0], people.shape[1]
    inputs = np.ascontiguousarray(read.encode(np.concatenate([people, others])), dtype=np.float64)
    sets, lefts = model.category_set, model.category_left
    if sets is None or lefts is None:
        sets, lefts = np.zeros(0, dtype=np.intp), np.zeros((0, 0), dtype=bool)
    line = score.margin.coefficients / model.divisor
    value = np.ascontiguousarray(model.value.astype(np.float64) @ line)
    # inputs without a feature behind them are a player that nobody can tell apart
    player: IntArray = np.where(read.owners >= 0, read.owners, players)
    out, total = np.zeros((n, players + 1)), np.zeros(inputs.shape[0])
    share = np.full(others.shape[0], 1.0 / others.shape[0])
    depth = tree_depth(model.roots, model.feature, model.left, model.right)
    fits = weigh_trees(
        inputs, n, model.roots, model.feature, model.threshold, model.left, model.right, model.nan_left, sets, lefts,
        model.strict, model.input_precision == "float32", value, player, share, shares_of_orders(), depth, out, total,
    )  # fmt: skip
    if not fits:
        return None
    total += float(model.base.astype(np.float64) @ line) + score.margin.shift
    weights = out[:, :players]
    return Attribution(weights, np.zeros_like(weights), total[:n], float(total[n:].mean()), "trees")


def _played(score: Score, people: FloatArray, others: FloatArray, rng: np.random.Generator) -> Attribution:
    """By asking the model about mixtures; a feature that the model does not take is no player."""
    players = _players(score, people, others)
    found = play(score, people, others, players, rng) if players else Played(*(np.zeros((people.shape[0], 0)),) * 2)
    weights, variance = np.zeros(people.shape), np.zeros(people.shape)
    weights[:, players], variance[:, players] = found.weights, found.variance
    scores = score(people)
    how = "orders" if not found.exact else "coalitions"
    return Attribution(weights, variance, scores, float(score(others).mean()), how)


def _players(score: Score, people: FloatArray, others: FloatArray) -> list[int]:
    """The features that the model takes and in which somebody differs from somebody else."""
    read = score.read
    taken = {int(p) for p in read.owners if p >= 0} | {p for one in read.joint for p in one.positions}
    if (read.owners == JOINT).any() and not read.joint:
        taken = set(range(people.shape[1]))
    rows = np.concatenate([people, others])
    return [p for p in sorted(taken) if (rows[:, p] != rows[0, p]).any()]


def untold(score: Score, row: FloatArray, completions: FloatArray, rng: np.random.Generator) -> FloatArray | None:
    """What not telling each blank weighs (N, D): from each completion to the row with its blanks, where a model decides
    about that row.

    In each row the weights add up to the score of the row with its blanks less that of the completion. None where the
    model's number for a row with blanks is not known.
    """
    if score.blanks is None:
        return None
    blanks = [int(p) for p in np.flatnonzero(np.isnan(row))]
    out = np.zeros(completions.shape)
    if not blanks:
        return out
    if len(blanks) > MOST_BLANKS:
        asked = replace(score, ask=score.blanks)
        for i, one in enumerate(completions):
            out[i, blanks] = play_orders(asked, row[None, :], one[None, :], blanks, rng).weights[0]
        return out
    member = coalitions(len(blanks))
    values = np.empty((member.shape[0], completions.shape[0]))
    for s, inside in enumerate(member):
        rows = completions.copy()
        rows[:, [p for p, yes in zip(blanks, inside, strict=True) if yes]] = np.nan
        values[s] = score.blanks(rows)
    out[:, blanks] = shapley(values)
    return out
