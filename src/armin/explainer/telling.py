"""Tell each plausible value of a blank in turn, and see what the person would be advised."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from armin.arrays import FloatArray
from armin.explainer.base import Explainer
from armin.explainer.compare import after_plan
from armin.explainer.memory import GuessingOracle, RememberingOracle, RememberingSampler
from armin.impute import NativeMissing
from armin.models.kinds import BlackBox
from armin.recourse import Recourse
from armin.schema import Feature, Value
from armin.solve.stopping import stopped

__all__ = ["Desk", "Told", "matters", "representatives", "settled"]


PLAIN_DRAWS = 1000
"""Draws behind the chance that the person is accepted already."""
REPEATS = 3
"""How often acting now is solved again with other draws, to see by how much its cost is down to chance."""
SIGMAS = 4.0
"""How far beyond chance a plan must fail elsewhere before two plans count as different advice."""


@dataclass(frozen=True)
class Told:
    """What one value, once told, leads to: its chance, and the plan."""

    value: Value | None
    weight: float
    plan: Recourse


class Desk:
    """One person's row, and an explainer that remembers what it has asked the model."""

    def __init__(self, explainer: Explainer, codes: FloatArray, locked: tuple[str, ...]) -> None:
        self.codes, self.locked = codes, locked
        self.quick = copy(explainer)
        self.quick.n_fresh = 0
        self.quick.decision_ = RememberingOracle(explainer.decision_)
        same = explainer.oracle_ is explainer.decision_
        self.quick.oracle_ = self.quick.decision_ if same else RememberingOracle(explainer.oracle_)
        self.quick.sampler_ = RememberingSampler(explainer.sampler_)
        # a child of the stream for fresh completions, so that neither stream is used twice
        self.rng = explainer._streams(codes)[1].spawn(1)[0]
        sample = self.quick._samples(codes)[0]
        once = bool(np.isnan(sample.values).any()) or len(sample.weights) < 2  # not completed many times
        # without draws behind them, plans differ if they say different things
        self.exact = once or int(np.isnan(codes).sum()) == 1
        if once and np.isnan(codes).any():
            sample = self.quick._draw(codes, 200, self.rng)
        self.sample = sample

    def level(self, plan: Recourse) -> float:
        """The share of completions that must be accepted."""
        return self.quick._asked if plan.confidence is None else plan.confidence

    def explain_all(self, rows: Sequence[FloatArray], seeds: Sequence[int | None]) -> list[Recourse] | None:
        """What somebody who tells each of ``rows`` gets, each with its seed; None if the search was stopped.

        It is the calls to the user's model that are dear. So its reading decides first, row by row; then the model is
        asked once about all that was decided, and where it disagrees, the row is explained again by the model itself.
        """
        reads = not isinstance(self.quick.read_.model, BlackBox)
        plans: list[Recourse] = []
        guesses: list[GuessingOracle] = []
        for codes, seed in zip(rows, seeds, strict=True):
            if stopped():
                return None
            one = self._seeded(seed)
            if reads:
                one.oracle_ = GuessingOracle(self.quick.oracle_, self.quick.read_)
                guesses.append(one.oracle_)
            plans.append(_advised(one, codes, self.locked))
        asked = [block for guess in guesses for block in guess.asked]
        if asked:
            self.quick.oracle_.accepts(np.concatenate(asked))
        for i, guess in enumerate(guesses):
            if guess.wrong(self.quick.oracle_):
                plans[i] = _advised(self._seeded(seeds[i]), rows[i], self.locked)
        return None if stopped() else plans

    def _seeded(self, seed: int | None) -> Explainer:
        other = copy(self.quick)
        other.random_state = seed
        return other

    def plain(self) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
        """Completions without regard to the decision, their weights, and which of them are accepted."""
        draws = self.quick.sampler_.sample(self.codes, PLAIN_DRAWS, self.rng)
        legal = self.quick.schema.plausible(draws.values)
        values, weights = draws.values[legal], draws.weights[legal]
        verdict = self.quick.decision_.accepts(values) if len(values) else np.zeros(0, dtype=bool)
        return values, weights, verdict

    def telling(self, position: int, code: float) -> FloatArray:
        """The row with one blank told."""
        codes = self.codes.copy()
        codes[position] = code
        return codes

    def tell(self, position: int, most: int) -> tuple[Told, ...] | None:
        """Tell each plausible value in turn; None if the search was stopped."""
        feature = self.quick.schema[position]
        values, weights = representatives(feature, self.sample.values[:, position], self.sample.weights, most)
        rows = [self.telling(position, float(value)) for value in values]
        self._look_ahead(rows)
        plans = self.explain_all(rows, [self.quick.random_state] * len(rows))
        if plans is None:
            return None
        given = zip(values.tolist(), weights.tolist(), plans, strict=True)
        return tuple(Told(feature.value(value), weight, plan) for value, weight, plan in given)

    def _look_ahead(self, rows: list[FloatArray]) -> None:
        """Ask the model once about the draws that ``explain`` is going to make, row by row, from the same streams."""
        if not np.isnan(rows[0]).any():
            self.quick.read_.encode(np.stack(rows))
            return
        if self.quick.random_state is None or isinstance(self.quick.sampler, NativeMissing):
            return
        sampler, n = self.quick.sampler_, self.quick.n_samples
        self.quick.read_.encode(np.concatenate([sampler.sample(r, n, self.quick._streams(r)[0]).values for r in rows]))

    def noise(self, plan: Recourse) -> float | None:
        """By how much the cost of acting now is down to the draws; None if the search was stopped."""
        if plan.cost is None:
            return 0.0
        seed = self.quick.random_state
        seeds = [None if seed is None else int(seed) + k for k in range(1, REPEATS + 1)]
        again = self.explain_all([self.codes] * REPEATS, seeds)
        if again is None:
            return None
        costs = [one.cost for one in (plan, *again) if one.cost is not None]
        return float(np.std(costs, ddof=1)) if len(costs) > 1 else 0.0

    def variance(self, d: int, share: FloatArray, costs: FloatArray, expected: float, noise: float) -> float:
        """How far the average over the told values may be off, squared."""
        w = self.sample.weights
        drawn = float(share @ (costs - expected) ** 2 * (w**2).sum() / w.sum() ** 2)
        each = noise**2 if np.isnan(self.codes).sum() > 1 else 0.0
        if self.quick.schema[d].is_ordered and np.unique(self.sample.values[:, d]).size > costs.size > 1:
            # values that speak for a group: neighbours tell what is left to chance within it
            each = max(each, float((np.diff(costs) ** 2).mean()) / 2)
        return drawn + each * float((share**2).sum())

    def differ(self, position: int, one: Told, other: Told) -> bool:
        """Whether two plans are different advice, beyond the chance of the draws that they rest on."""
        values, weights = [], []
        for told in (one, other):
            code = self.quick.schema[position].code(told.value)
            sample = self.quick._samples(self.telling(position, code))[0]
            values.append(sample.values)
            weights.append(sample.weights / sample.weights.sum())
        least = min(self.level(one.plan), 1 - 1 / max(2, min(map(len, values))))
        slack = SIGMAS * float(np.sqrt(least * (1 - least) * sum((w**2).sum() for w in weights)))
        costs = np.full((2, 2), np.nan)  # plan by world
        for p, told in enumerate((one, other)):
            if not told.plan.found:
                continue
            for w in range(2):
                after = after_plan(told.plan, self.quick.schema, values[w])
                if w != p and float(weights[w] @ self.quick.oracle_.accepts(after)) < least - slack:
                    return True
                costs[p, w] = self._cost(values[w], after, weights[w])
        # both would do in both worlds: different only if each is clearly the cheaper one in its own
        return bool(costs[0, 0] < 0.98 * costs[1, 0] and costs[1, 1] < 0.98 * costs[0, 1])

    def _cost(self, before: FloatArray, after: FloatArray, share: FloatArray) -> float:
        """The average cost of a change of completions, as acting is priced."""
        cost, parts = self.quick.cost_, [0.0]
        for d in np.flatnonzero((before != after).any(axis=0)).tolist():
            prices = cost.table(d, before[:, d], np.stack([before[:, d], after[:, d]], axis=1))
            parts.append(float(share @ np.asarray(prices)[:, 1]))
        return float(cost.finish(max(parts) if cost.aggregate == "max" else sum(parts)))


def matters(desk: Desk, d: int, plan: Recourse, told: tuple[Told, ...], saves: bool) -> bool:
    """Whether the advice depends on the value, or only the value makes it possible."""
    name = desk.quick.schema[d].name
    groups: dict[tuple[Any, ...], list[Told]] = {}
    for t in told:
        groups.setdefault(_advice_key(t.plan, name), []).append(t)
    heads = [max(group, key=lambda t: t.weight) for group in groups.values()]
    sizes = [sum(t.weight for t in group) for group in groups.values()]
    heads = [head for _, head in sorted(zip(sizes, heads, strict=True), key=lambda pair: -pair[0])]
    if desk.exact:
        if len(heads) > 1:
            return True
    elif any(desk.differ(d, heads[0], other) for other in heads[1:]):
        return True
    # acting on a value that is told has other options than acting on a blank
    moved = any(change.feature.name == name for change in (*plan.changes, *heads[0].plan.changes))
    return moved and ((heads[0].plan.found and not plan.found) or saves)


def _advice_key(plan: Recourse, told: str) -> tuple[Any, ...]:
    """What a plan says; how far the told value itself is from its target is not part of it."""
    said = [(c.feature.name, str(c.after), None if c.feature.name == told else c.amount) for c in plan.changes]
    return (plan.found, *sorted(said, key=str))


def representatives(
    feature: Feature, values: FloatArray, weights: FloatArray, most: int
) -> tuple[FloatArray, FloatArray]:
    """At most ``most`` of the drawn values, with chances that add up to 1.

    Ordered values are cut into groups of equal chance, each spoken for by its median; of categories the most likely
    are kept, and the last one speaks for the rest.

    >>> income = Feature("income", "integer", lower=0, upper=9)
    >>> representatives(income, np.array([1.0, 2.0, 3.0, 8.0]), np.ones(4), 2)
    (array([1., 3.]), array([0.5, 0.5]))
    """
    distinct, place = np.unique(values, return_inverse=True)
    chance = np.bincount(place, weights=weights) / weights.sum()
    if distinct.size <= most:
        return distinct, chance
    if not feature.is_ordered:
        order = np.argsort(-chance, kind="stable")
        kept = order[:most]
        heavy = chance[kept]
        heavy[-1] += chance[order[most:]].sum()
        return distinct[kept], heavy
    middle = np.cumsum(chance) - chance / 2
    group = np.minimum((middle * most).astype(int), most - 1)
    chosen, sizes = [], []
    for g in np.unique(group).tolist():
        inside = np.flatnonzero(group == g)
        run = np.cumsum(chance[inside])
        chosen.append(distinct[inside[np.searchsorted(run, run[-1] / 2 * (1 - 1e-12))]])
        sizes.append(run[-1])
    return np.array(chosen), np.array(sizes)


def settled(
    feature: Feature, values: FloatArray, weights: FloatArray, verdict: NDArray[np.bool_], most: int, level: float
) -> float:
    """The chance of a value given which enough completions are accepted as they are."""
    heads, _ = representatives(feature, values, weights, most)
    nearest = np.abs(values[:, None] - heads[None, :]).argmin(axis=1)
    size = np.bincount(nearest, weights=weights, minlength=heads.size)
    good = np.bincount(nearest, weights=weights * verdict, minlength=heads.size)
    return float(size[good >= level * size * (1 - 1e-9)].sum() / size.sum())


def _advised(explainer: Explainer, codes: FloatArray, locked: tuple[str, ...]) -> Recourse:
    """What :meth:`armin.ARMIN.explain` says to a row of codes, without fresh completions."""

    def advise(one: Explainer) -> Recourse:
        sample = one._sample(codes)
        case = one._case(codes, sample, locked)
        return one._answer(case, one._judge(case, case.problem, None), sample, None, one._stated, locked, {})

    return explainer._carefully(advise)
