"""Several hidden layers: linear bounds carried back through the layers, and scores carried forward."""

from __future__ import annotations

from armin.compiling import called, called_fast
from armin.solve.search.relu.data import BEST, CHEAPEST, Deep, Floats, Moves, Node, Own, Space
from armin.solve.search.relu.reach import gains_of_group, most_within

__all__ = ["base_of", "bound_layers", "carry_back", "carry_forward", "loosen_deep"]

Z_LOW, Z_HIGH, UP_SLOPE, UP_SHIFT, DOWN_SLOPE = 0, 1, 2, 3, 4
"""Rows of ``Deep.z``."""


@called_fast
def carry_forward(deep: Deep, base: Floats, u: Floats, first: int, last: int) -> int:
    """The last hidden layer of the candidates ``first .. last - 1`` at u, in ``deep.layer[result]``."""
    layer = deep.layer
    count = last - first
    for h in range(deep.width[0]):
        for n in range(count):
            x = base[h, first + n] + u[h]
            layer[0, h, n] = x if x > 0.0 else 0.0
    now = 0
    for i in range(1, deep.width.size):
        for k in range(deep.width[i]):
            for n in range(count):
                layer[1 - now, k, n] = deep.bias[i - 1, k]
            for h in range(deep.width[i - 1]):
                w = deep.weight[i - 1, k, h]
                for n in range(count):
                    layer[1 - now, k, n] += w * layer[now, h, n]
            for n in range(count):
                x = layer[1 - now, k, n]
                layer[1 - now, k, n] = x if x > 0.0 else 0.0
        now = 1 - now
    return now


@called
def _set_lines(z: Floats, i: int, h: int) -> None:
    """relu(z) <= up_slope z + up_shift and relu(z) >= down_slope z on the interval of neuron h in layer i."""
    low, high = z[Z_LOW, i, h], z[Z_HIGH, i, h]
    s = 1.0 if low >= 0.0 else (0.0 if high <= 0.0 else high / (high - low))
    z[UP_SLOPE, i, h] = s
    z[UP_SHIFT, i, h] = -s * low if low < 0.0 < high else 0.0
    z[DOWN_SLOPE, i, h] = 1.0 if high > -low else 0.0


@called_fast
def carry_back(deep: Deep, top: int, slope: Floats, record: bool) -> float:
    """Turn a bound back[0] @ relu(z) on layer ``top`` into one that is linear in the first layer.

    From the top down: c relu(z) <= c (up_slope z + up_shift) where c > 0, <= c down_slope z where c <= 0 (both lines
    hold on the neuron's interval); then z = weight @ relu(layer below) + bias. Returns the constant; the coefficients
    of the first layer go to ``slope``.
    """
    now, shift, z, back = 0, 0.0, deep.z, deep.back
    for i in range(top, -1, -1):
        for h in range(deep.width[i]):
            c = back[now, h]
            if record:
                gap = c * z[UP_SHIFT, i, h]
                if c < 0.0:
                    gap = -c * max(0.0, min(z[Z_HIGH, i, h], -z[Z_LOW, i, h]))
                deep.gap[i, h] = gap
            if c > 0.0:
                shift += c * z[UP_SHIFT, i, h]
                back[now, h] = c * z[UP_SLOPE, i, h]
            else:
                back[now, h] = c * z[DOWN_SLOPE, i, h]
        if i == 0:
            for h in range(deep.width[0]):
                slope[h] = back[now, h]
            return shift
        for h in range(deep.width[i - 1]):
            back[1 - now, h] = 0.0
        for k in range(deep.width[i]):
            c = back[now, k]
            if c != 0.0:
                shift += c * deep.bias[i - 1, k]
                for h in range(deep.width[i - 1]):
                    back[1 - now, h] += c * deep.weight[i - 1, k, h]
        now = 1 - now
    return shift


@called_fast
def base_of(deep: Deep, slope: Floats, g: int) -> float:
    """The most that slope @ z can be in the first layer for the candidates of group g when nothing changes.

    z = centre + spread.T @ place_n: the first part is fixed, the second largest at an end of each place's interval.
    """
    total = 0.0
    for h in range(slope.size):
        total += slope[h] * deep.centre[h]
    for e in range(deep.spread.shape[0]):
        k = 0.0
        for h in range(slope.size):
            k += slope[h] * deep.spread[e, h]
        total += max(k * deep.place[0, g, e], k * deep.place[1, g, e])
    return total


@called_fast
def _added(moves: Moves, deep: Deep, work: Space, node: Node, left: int, room: float, g: int, span: Floats) -> float:
    """The most that options of a node can add to slope @ z for the candidates of group g, for less than ``room``."""
    gains_of_group(moves, deep.delta[:, g], node, work.slope, work.gain, work.feature[BEST], span)
    return most_within(moves, node, work, left, work.feature[CHEAPEST], room)


@called_fast
def _first_layer(moves: Moves, deep: Deep, own: Own, work: Space, node: Node, left: int, room: float, g: int) -> None:
    """Intervals and lines of the first layer: where group g is, and what the options can add to each neuron."""
    slope = work.slope
    for h in range(deep.width[0]):
        for sign in (1.0, -1.0):
            for i in range(slope.size):
                slope[i] = 0.0
            slope[h] = sign
            if own.feature.size > 0:  # their moves count from the ends of the places
                x = base_of(deep, slope, g)
            else:
                x = deep.first[1, g, h] if sign > 0.0 else -deep.first[0, g, h]
            x += _added(moves, deep, work, node, left, room, g, deep.span[0, h])
            if sign > 0.0:
                deep.z[Z_HIGH, 0, h] = x
            else:
                deep.z[Z_LOW, 0, h] = -x
        deep.z[Z_LOW, 0, h] = min(deep.z[Z_LOW, 0, h], deep.z[Z_HIGH, 0, h])
        _set_lines(deep.z, 0, h)


@called_fast
def bound_layers(moves: Moves, deep: Deep, own: Own, work: Space, node: Node, left: int, room: float, g: int) -> None:
    """Intervals and lines of every hidden neuron for the candidates of group g.

    Layer by layer: the first by what the options can add for less than ``room``; the others from the intervals below
    (interval arithmetic), and where that leaves the sign open, from +z and -z carried back to the first layer. The
    tighter one holds, as both do.
    """
    z = deep.z
    _first_layer(moves, deep, own, work, node, left, room, g)
    for i in range(1, deep.width.size):
        for k in range(deep.width[i]):
            # plain intervals first: a neuron that they settle needs no better bound
            bias = deep.bias[i - 1, k]
            least, most = bias, bias
            for h in range(deep.width[i - 1]):
                w = deep.weight[i - 1, k, h]
                p, r = max(0.0, z[Z_LOW, i - 1, h]), max(0.0, z[Z_HIGH, i - 1, h])
                least += w * (p if w > 0.0 else r)
                most += w * (r if w > 0.0 else p)
            if least < 0.0 < most:
                for sign in (1.0, -1.0):
                    for h in range(deep.width[i - 1]):
                        deep.back[0, h] = sign * deep.weight[i - 1, k, h]
                    x = sign * bias + carry_back(deep, i - 1, work.slope, False) + base_of(deep, work.slope, g)
                    x += _added(moves, deep, work, node, left, room, g, deep.span[i, k])
                    if sign > 0.0:
                        most = min(most, x)
                    else:
                        least = max(least, -x)
            z[Z_LOW, i, k], z[Z_HIGH, i, k] = min(least, most), most
            _set_lines(z, i, k)


@called
def loosen_deep(deep: Deep, loose: Floats) -> None:
    """Add to ``loose`` how much of the recorded gaps each feature answers for."""
    for i in range(deep.width.size):
        for h in range(deep.width[i]):
            gap = deep.gap[i, h] / max(deep.z[Z_HIGH, i, h] - deep.z[Z_LOW, i, h], 1e-300)
            if gap > 0.0:
                for d in range(loose.size):
                    loose[d] += gap * deep.span[i, h, d]
