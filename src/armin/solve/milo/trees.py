"""Tree ensembles as rows: the paper's formulation (its equation "tree"), and a tighter one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armin.arrays import BoolArray, FloatArray, IntArray
from armin.models.kinds import Among, TreeEnsemble
from armin.problem import Problem
from armin.solve.milo.program import TOLERANCE, Draft, Program
from armin.solve.milo.shared import Margin, add_choice, add_requirement, add_vote, stack_ways

__all__ = ["write_trees"]


class _Split(NamedTuple):
    """Who goes left at an inner node, (1 or N, J): ``feature`` decides by option; or none does (-1), and J = 1."""

    feature: int
    left: BoolArray


class _Leaves(NamedTuple):
    """What one tree can become for one candidate.

    Attributes
    ----------
    nodes : the leaves that can be reached
    needs : for each leaf, the options J^(d)_{n,t,l} of every feature on its path
    branches : (leaves below a child, feature of the split above it, options that lead there)
    """

    nodes: list[int]
    needs: list[dict[int, BoolArray]]
    branches: list[tuple[list[int], int, BoolArray]]


def write_trees(problem: Problem, model: TreeEnsemble, formulation: str, until: float) -> Program:
    """Write the program of a tree ensemble.

    ``"paper"`` gives each candidate its own copy of each tree, and one row for each leaf,
    ``D phi <= sum_d sum_{j in J} pi_{d,j}``. ``"tight"`` gives candidates that pass a tree in the same way
    one copy, and one row for each branch: ``sum_{leaves below} phi <= sum_{j leads there} pi_{d,j}``.
    There the options determine the leaves, which need not be declared integer.
    """
    draft = Draft(until)
    picks = add_choice(draft, problem)
    trees = [_nodes(model, root) for root in model.roots.tolist()]
    splits, columns = [], []
    for nodes in trees:
        draft.check_time()
        splits.append(_splits(problem, model, nodes))
        columns.append(_variants(splits[-1], problem.n_candidates))
    variants = np.column_stack(columns)
    if formulation == "paper":
        variants[:] = np.arange(problem.n_candidates)[:, None]
    coefficients, cuts, ways = stack_ways(model.decision)
    # in units of the undivided sum
    values = model.value.astype(model.precision).astype(np.float64) @ coefficients.T
    constant = coefficients @ model.base.astype(model.precision).astype(np.float64)
    size, grain = _sizes(model, trees)
    off = max(TOLERANCE, (model.n_trees + 4) * float(np.finfo(model.precision).eps))
    cuts = _sum_cuts(model, cuts, grain) - np.abs(coefficients) @ size * off
    copies: dict[tuple[int, int], tuple[IntArray, list[int]]] = {}
    votes, weights = [], []
    _, first, member = np.unique(variants, axis=0, return_index=True, return_inverse=True)
    for group, n in enumerate(first.tolist()):
        for t, variant in enumerate(variants[n].tolist()):
            if (t, variant) not in copies:
                draft.check_time()
                leaves = _walk(model, splits[t], int(model.roots[t]), n, problem.limit)
                copies[t, variant] = _add_tree(draft, leaves, picks, formulation), leaves.nodes
        own = [copies[t, variant] for t, variant in enumerate(variants[n].tolist())]
        margins = [_margin(own, values[:, m], float(constant[m]), float(cut)) for m, cut in enumerate(cuts)]
        votes.append(add_vote(draft, [margins[way] for way in ways]))
        weights.append(float(problem.weights[member.reshape(-1) == group].sum()))
    add_requirement(draft, problem, votes, np.array(weights))
    return draft.finish(picks)


def _nodes(model: TreeEnsemble, root: int) -> list[int]:
    """All nodes of the tree below ``root``."""
    nodes = [root]
    for node in nodes:
        if model.feature[node] >= 0:
            nodes += [int(model.left[node]), int(model.right[node])]
    return nodes


def _sizes(model: TreeEnsemble, trees: Sequence[list[int]]) -> tuple[FloatArray, float]:
    """The largest that sums can get, for each output; and the power of two that divides them all, 0 if they round."""
    leaves = [model.value[[node for node in nodes if model.feature[node] < 0]] for nodes in trees]
    size = np.abs(model.base).astype(np.float64) + sum(np.abs(each).max(axis=0) for each in leaves)
    numbers = np.concatenate([model.base[None, :], *leaves]).astype(model.precision).astype(np.float64)
    mantissa, exponent = np.frexp(numbers[numbers != 0])
    whole = (mantissa * 2.0**53).astype(np.int64)
    grain = float(np.min(np.ldexp((whole & -whole) / 2.0**53, exponent), initial=np.inf))
    exact = 0 < grain < np.inf and float(size.max()) < grain / float(np.finfo(model.precision).eps) / 4
    return size, grain if exact else 0.0


def _sum_cuts(model: TreeEnsemble, cuts: FloatArray, grain: float) -> FloatArray:
    """The cuts of the undivided sums: of votes that are counted, the least count that suffices."""
    if grain == 0 or not np.isfinite(cuts).all():
        return cuts * model.divisor
    if isinstance(model.decision, Among):  # the order of two sums is that of their quotients
        return np.asarray(np.ceil(cuts * model.divisor / grain) * grain)
    # the least multiple of the grain whose quotient, rounded as the model rounds it, reaches the cut
    kind = np.dtype(model.precision).type
    with np.errstate(over="ignore"):  # a cut so many grains away is out of reach of the sums, or below all of them
        near = np.floor(cuts * model.divisor / grain) + np.arange(-2.0, 4.0)
    reaches = (near * grain).astype(kind) / kind(model.divisor) >= cuts
    return np.asarray(near[reaches][:1] * grain)


def _splits(problem: Problem, model: TreeEnsemble, nodes: Sequence[int]) -> dict[int, _Split]:
    """Who goes left at the inner nodes of a tree."""
    owner = {int(p): (d, e) for d, option in enumerate(problem.options) for e, p in enumerate(option.columns)}
    splits = {}
    for node in nodes:
        column = int(model.feature[node])
        if column < 0:
            continue
        feature, place = owner.get(column, (-1, 0))
        values = problem.candidates[:, [column]] if feature < 0 else problem.options[feature].outcomes[:, :, place]
        left = model.goes_left(np.array(node), values)
        splits[node] = _Split(feature, left[:1] if np.all(left == left[:1]) else left)
    return splits


def _variants(splits: dict[int, _Split], n_candidates: int) -> NDArray[np.intp]:
    """Candidates for which every split of a tree decides alike get the same number."""
    own = [split.left for split in splits.values() if split.left.shape[0] > 1]
    if not own:
        return np.zeros(n_candidates, dtype=np.intp)
    labels = np.unique(np.packbits(np.concatenate(own, axis=1), axis=1), axis=0, return_inverse=True)[1]
    return np.asarray(labels.reshape(-1), dtype=np.intp)


def _walk(model: TreeEnsemble, splits: dict[int, _Split], root: int, n: int, limit: int) -> _Leaves:
    """The leaves of a tree that candidate n can reach with at most ``limit`` changes."""
    leaves = _Leaves([], [], [])

    def visit(node: int, needs: dict[int, BoolArray]) -> list[int]:
        if sum(1 for options in needs.values() if not options[0]) > limit:
            return []
        if model.feature[node] < 0:
            leaves.nodes.append(node)
            leaves.needs.append(needs)
            return [len(leaves.nodes) - 1]
        split = splits[node]
        left = split.left[n if split.left.shape[0] > 1 else 0]
        sides = []
        for child, goes in ((int(model.left[node]), left), (int(model.right[node]), ~left)):
            here = needs
            if split.feature >= 0:
                goes = goes & needs.get(split.feature, np.True_)
                here = {**needs, split.feature: goes}
            below = visit(child, here) if goes.any() else []
            sides.append((below, split.feature, goes))
        if split.feature >= 0 and all(below for below, _, _ in sides):
            leaves.branches.extend(sides)
        return sides[0][0] + sides[1][0]

    visit(root, {})
    return leaves


def _add_tree(draft: Draft, leaves: _Leaves, picks: Sequence[IntArray], formulation: str) -> IntArray:
    """Variables phi_{n,t,l} of the leaves that can be reached; none if there is only one."""
    if len(leaves.nodes) == 1:
        return np.zeros(0, dtype=np.intp)
    # sum_l phi_{n,t,l} = 1
    phi = draft.add_variables(len(leaves.nodes), integer=formulation == "paper")
    draft.add_row(phi, np.ones(phi.size), lower=1, upper=1)
    if formulation == "paper":
        for variable, needs in zip(phi, leaves.needs, strict=True):
            # D phi_{n,t,l} <= sum_d sum_{j in J^(d)_{n,t,l}} pi_{d,j}; a feature off the path adds 1
            index = np.concatenate([picks[d][options] for d, options in needs.items()] or [phi[:0]])
            row, value = np.append(index, variable), np.append(np.ones(index.size), -float(len(picks)))
            draft.add_row(row, value, lower=len(needs) - len(picks))
        return phi
    for below, feature, options in leaves.branches:
        # sum_{l below v} phi_{t,l} <= sum_{j in J_v} pi_{d,j}, J_v the options of d that lead to v: this implies
        # phi_{n,t,l} <= sum_{j in J^(d)_{n,t,l}} pi_{d,j} for every feature d on the leaf's path, whose sum is
        # the paper's row
        index = np.append(phi[below], picks[feature][options])
        value = np.repeat([-1.0, 1.0], [len(below), int(options.sum())])
        draft.add_row(index, value, lower=0)
    return phi


def _margin(trees: Sequence[tuple[IntArray, list[int]]], values: FloatArray, constant: float, cut: float) -> Margin:
    """``sum_t sum_l yhat_{t,l} phi_{n,t,l}`` with its range."""
    parts = [values[nodes] for _, nodes in trees]
    fixed = sum(float(part[0]) for part in parts if part.size == 1)
    return Margin(
        index=np.concatenate([np.zeros(0, dtype=np.intp)] + [phi for phi, _ in trees]),
        value=np.concatenate([np.zeros(0)] + [part for part in parts if part.size > 1]),
        constant=constant + fixed,
        low=constant + sum(float(part.min()) for part in parts),
        high=constant + sum(float(part.max()) for part in parts),
        cut=cut,
    )
