"""Listing the choices of a small node."""

from __future__ import annotations

import numpy as np

from armin.solve.search.compiled import inner, inner_fast
from armin.solve.search.relu_data import BLOCK, FREE, HIGH, LOW, MUST, STATE, Crowd, Deep, Floats, Ints, Leaf, Moves, Node, Words
from armin.solve.search.relu_deep import carry_forward

__all__ = ["best_choice", "number_of_choices"]


@inner_fast
def _score(crowd: Crowd, deep: Deep, q: int, u: Floats, first: int, last: int, now: int, score: Floats) -> None:
    """Margin q of the candidates ``first .. last - 1`` at u."""
    count = last - first
    for n in range(count):
        score[n] = crowd.bias[q]
    for h in range(crowd.margin.shape[1]):
        v = crowd.margin[q, h]
        if deep.width.size > 1:
            for n in range(count):
                score[n] += v * deep.layer[now, h, n]
        else:
            a = u[h]
            for n in range(count):
                x = crowd.base[h, first + n] + a
                score[n] += v * (x if x > 0.0 else 0.0)


@inner
def _satisfied(crowd: Crowd, deep: Deep, u: Floats, score: Floats, alive: Ints) -> bool:
    """Whether candidates of the required weight are accepted at u, within the tolerance."""
    n_candidates, n_margins = crowd.weight.size, crowd.bias.size
    spare, lost, now = crowd.total - crowd.required, 0.0, 0
    for first in range(0, n_candidates, BLOCK):
        last = min(n_candidates, first + BLOCK)
        count = last - first
        if deep.width.size > 1:
            now = carry_forward(deep, crowd.base, u, first, last)
        for n in range(count):
            alive[n] = 0
        for q in range(n_margins):
            if q == 0 or crowd.way[q] != crowd.way[q - 1]:
                for n in range(count):
                    alive[n] |= 2  # may be accepted this way
            _score(crowd, deep, q, u, first, last, now, score)
            for n in range(count):
                if score[n] < -crowd.tolerance:
                    alive[n] &= 1
            if q + 1 == n_margins or crowd.way[q + 1] != crowd.way[q]:
                for n in range(count):
                    alive[n] = 1 if alive[n] else 0
        for n in range(count):
            if alive[n] == 0:
                lost += crowd.weight[first + n]
        if lost > spare:
            return False
    return True


@inner
def _allowed(words: Words, choice: Ints) -> bool:
    """Whether no rule and no list forbids ``choice``."""
    for i in range(words.rule.shape[0]):
        first, second, at, width = words.rule[i, 0], words.rule[i, 1], words.rule[i, 2], words.rule[i, 3]
        if not words.table[at + choice[first] * width + choice[second]]:
            return False
    for i in range(words.forbidden.shape[0]):
        same = True
        for d in range(choice.size):
            if words.forbidden[i, d] != choice[d]:
                same = False
                break
        if same:
            return False
    return True


@inner
def _test(crowd: Crowd, deep: Deep, words: Words, leaf: Leaf, depth: int, n_groups: int) -> bool:
    """Whether the choice taken so far satisfies the problem."""
    if n_groups > 1:
        lost = 0.0
        for g in range(n_groups):
            gain = 0.0
            for i in range(depth):
                gain += leaf.gain[g, leaf.taken[1, i]]
            if gain < leaf.need[g]:
                for n in range(deep.group[g], deep.group[g + 1]):
                    lost += crowd.weight[n]
        if lost > crowd.total - crowd.required:
            return False
    if not _satisfied(crowd, deep, leaf.u[depth], leaf.score, leaf.alive):
        return False
    choice = leaf.choice[0]
    for d in range(choice.size):
        choice[d] = words.fixed[d]
    for i in range(depth):
        choice[words.slot[leaf.sequence[leaf.taken[0, i]]]] = words.option[leaf.taken[1, i]]
    if not _allowed(words, choice):
        return False
    for d in range(choice.size):
        leaf.choice[1, d] = choice[d]
    return True


@inner
def number_of_choices(node: Node, left: int, sums: Floats) -> float:
    """How many choices a node holds: a product, times elementary symmetric sums."""
    product = 1.0
    for i in range(left + 1):
        sums[i] = 0.0
    sums[0] = 1.0
    for d in range(node.shape[1]):
        size = node[HIGH, d] - node[LOW, d]
        if node[STATE, d] == MUST:
            product *= size
        elif node[STATE, d] == FREE:
            for i in range(left, 0, -1):
                sums[i] += sums[i - 1] * size
    total = 0.0
    for i in range(left + 1):
        total += sums[i]
    return product * total


@inner
def _arrange(moves: Moves, leaf: Leaf, node: Node, left: int) -> tuple[int, int, float]:
    """Put what must change first, and note what the later features can still gain and must still cost."""
    sequence, best, more_gain, more_cost = leaf.sequence, leaf.ahead[0], leaf.ahead[1], leaf.ahead[2]
    size, n_must = 0, 0
    for d in range(node.shape[1]):
        if node[STATE, d] == MUST:
            sequence[n_must] = d
            n_must += 1
    size = n_must
    for d in range(node.shape[1]):
        if node[STATE, d] == FREE:
            sequence[size] = d
            size += 1
    more_gain[size] = 0.0
    for i in range(size - 1, n_must - 1, -1):
        more_gain[i] = max(more_gain[i + 1], best[sequence[i]])
    free_gain = left * more_gain[n_must]
    gain, cost = free_gain, 0.0
    for i in range(n_must - 1, -1, -1):
        least = np.inf
        for j in range(node[LOW, sequence[i]], node[HIGH, sequence[i]]):
            least = min(least, moves.cost[j])
        gain += best[sequence[i]]
        cost = max(cost, least) if moves.largest else cost + least
        more_gain[i], more_cost[i] = gain, cost
    more_cost[n_must] = 0.0
    return n_must, size, free_gain


@inner
def best_choice(
    moves: Moves,
    crowd: Crowd,
    deep: Deep,
    words: Words,
    leaf: Leaf,
    node: Node,
    left: int,
    incumbent: float,
    n_groups: int,
) -> tuple[float, int]:
    """The least cost below ``incumbent`` among all choices of a node (infinity if none), and how many were scored.

    The choice goes to ``leaf.choice[1]``. With one group, ``leaf.gain`` and ``leaf.need`` rule out partial choices;
    with more, whole ones; with none, they say nothing.
    """
    n_must, size, free_gain = _arrange(moves, leaf, node, left)
    at, taken, paid, got, more_gain = leaf.taken[0], leaf.taken[1], leaf.got[0], leaf.got[1], leaf.ahead[1]
    need = leaf.need[0] if n_groups == 1 else -np.inf
    deepest = n_must + left
    result, scored = np.inf, 0
    neurons = leaf.u.shape[1]
    for h in range(neurons):
        leaf.u[0, h] = 0.0
    paid[0], got[0] = moves.paid, 0.0
    if n_must == 0 and moves.paid < incumbent and need <= 0.0 and _test(crowd, deep, words, leaf, 0, n_groups):
        result = moves.paid
        incumbent = result
    level = 0 if size > 0 and deepest > 0 else -1
    at[0], taken[0] = 0, node[LOW, leaf.sequence[0]]
    while level >= 0:
        if taken[level] == node[HIGH, leaf.sequence[at[level]]]:
            at[level] += 1
            if level >= n_must and at[level] < size:
                taken[level] = node[LOW, leaf.sequence[at[level]]]
            else:
                level -= 1
                if level >= 0:
                    taken[level] += 1
            continue
        j, done, following = taken[level], level + 1, level + 1
        cost = max(paid[level], moves.cost[j]) if moves.largest else paid[level] + moves.cost[j]
        gain = got[level] + leaf.gain[0, j]
        rest_cost, rest_gain = 0.0, free_gain
        if done < n_must:
            rest_cost, rest_gain = leaf.ahead[2, done], more_gain[done]
        elif done > n_must:
            following = at[level] + 1
            rest_gain = (deepest - done) * more_gain[following]
        least = max(cost, rest_cost) if moves.largest else cost + rest_cost
        if least >= incumbent or (n_groups == 1 and gain + rest_gain < need):
            taken[level] += 1
            continue
        for h in range(neurons):
            leaf.u[done, h] = leaf.u[level, h] + moves.move[j, h]
        paid[done], got[done] = cost, gain
        if done >= n_must and (n_groups != 1 or gain >= need):
            scored += 1
            if _test(crowd, deep, words, leaf, done, n_groups):
                result = cost
                incumbent = cost
        if done < deepest and following < size:
            level = done
            at[level], taken[level] = following, node[LOW, leaf.sequence[following]]
        else:
            taken[level] += 1
    return result, scored
