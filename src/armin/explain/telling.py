"""Tell each plausible value of a blank in turn, and see what the person would be advised."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from armin.arrays import FloatArray
from armin.explain.advise import advise
from armin.explain.draw import candidates_of, draw, fresh_of, row_stream
from armin.explain.fitted import Fitted
from armin.explain.memory import RememberingJudge, RememberingSampler, accepted_by_all
from armin.explain.verify import solve_all_then_verify
from armin.explain.world import find_world
from armin.promise import Calibration
from armin.recourse import Recourse
from armin.schema import Feature, Value
from armin.schema.columns import completed
from armin.solve.stopping import stopped

__all__ = ["Teller", "Told", "representatives"]

PLAIN_DRAWS = 1000
"""Draws behind the chance that telling alone is enough."""
REPEATS = 3
"""How often acting now is solved again with other draws, to see by how much its cost is down to chance."""


@dataclass(frozen=True)
class Told:
    """What one value, once told, leads to: its chance, and the plan."""

    value: Value | None
    weight: float
    plan: Recourse


class Teller:
    """One person's row, and an explainer that remembers what it has asked the model.

    Parameters
    ----------
    fitted : the explainer
    codes : the row (D,)
    locked : features that this person cannot change
    level_of : the test on real people that chooses the confidence of a row; None where nothing was promised
    """

    def __init__(
        self,
        fitted: Fitted,
        codes: FloatArray,
        locked: tuple[str, ...],
        level_of: Callable[[FloatArray], Calibration | None],
    ) -> None:
        self.codes, self.locked, self.level_of = codes, locked, level_of
        decision = RememberingJudge(fitted.decision)
        oracle = RememberingJudge(fitted.oracle) if fitted.stricter else decision
        self.quick = replace(fitted, decision=decision, oracle=oracle, sampler=RememberingSampler(fitted.sampler))
        self.world = find_world(fitted, codes)
        # a child of the stream for fresh completions, so that neither stream is used twice
        self.rng = row_stream(fitted.settings.random_state, codes, "fresh").spawn(1)[0]
        sample = candidates_of(self.quick, self.world, codes)
        if np.isnan(sample.values).any() or (len(sample.weights) < 2 and self.world.blanks):
            sample = draw(self.quick, self.world, codes, 200, self.rng)  # not completed many times
        self.sample = sample

    def explain_all(self, rows: Sequence[FloatArray], seeds: Sequence[int | None]) -> list[Recourse] | None:
        """What somebody who tells each of ``rows`` gets, each with its seed; None if the search was stopped.

        The calls to the user's model are what is expensive, so it is asked about all of them at once.
        """

        def tasks() -> Iterator[tuple[Fitted, Callable[[Fitted], Recourse]]]:
            for codes, seed in zip(rows, seeds, strict=True):
                if stopped():
                    return
                calibration = self.level_of(codes)
                work = partial(advise, codes=codes, locked=self.locked, calibration=calibration)
                yield self.quick.varied(random_state=seed), work

        plans = solve_all_then_verify(tasks())
        return None if stopped() else plans

    def telling(self, position: int, code: float) -> FloatArray:
        """The row with one blank told."""
        codes = self.codes.copy()
        codes[position] = code
        return np.asarray(completed(self.quick.schema, codes[None, :])[0])

    def tell(self, position: int, most: int) -> tuple[Told, ...] | None:
        """Tell each plausible value in turn; None if the search was stopped."""
        feature = self.quick.schema[position]
        values, weights = representatives(feature, self.sample.values[:, position], self.sample.weights, most)
        rows = [self.telling(position, float(value)) for value in values]
        plans = self.explain_all(rows, [self.quick.settings.random_state] * len(rows))
        if plans is None:
            return None
        given = zip(values.tolist(), weights.tolist(), plans, strict=True)
        return tuple(Told(feature.value(value), weight, plan) for value, weight, plan in given)

    def plain(self) -> tuple[FloatArray, FloatArray]:
        """Completions that obey the rules, whatever was decided, and their weights."""
        draws = self.quick.ready.at(self.codes).sample(PLAIN_DRAWS, self.rng)
        return draws.values, draws.weights

    def accepted(self, values: FloatArray, weights: FloatArray) -> float | None:
        """The share of completions that the model accepts as they are; None without any."""
        if not len(weights):
            return None
        return float(weights[self.quick.decision.accepts(values)].sum() / weights.sum())

    def alone(self, position: int, values: FloatArray, weights: FloatArray) -> float | None:
        """The chance that telling one blank, and nothing else, gets the row accepted; None if that cannot be known.

        Where the rejection of the complete person is known, telling changes nothing. Where other blanks are left, the
        model must be able to decide about them.
        """
        if self.world.conditioned or not len(weights):
            return None
        rows = np.repeat(self.codes[None, :], len(weights), axis=0)
        rows[:, position] = values[:, position]
        if self.quick.refusal(rows[0]) is not None:
            return None
        return float(weights[self.quick.decision.accepts(rows)].sum() / weights.sum())

    def now(self, plan: Recourse, position: int, told: Sequence[Told]) -> list[tuple[float, float]]:
        """Acting now in the worlds of told values: for each, the share for which it works, and what telling saves.

        Both are about fresh completions of the told row; the share is about the rows that they submit where the model
        decides about those. What is saved is 0 where there is no plan once the value is told.
        """
        feature, found, blocks, blank = self.quick.schema[position], [], [], []
        for one in told:
            row = self.telling(position, feature.code(one.value))
            world = find_world(self.quick, row)
            sample = fresh_of(self.quick, world, row) or candidates_of(self.quick, world, row)
            after = plan.apply_codes(self.quick.schema, sample.values)
            saved = 0.0
            if one.plan.cost is not None:
                share = sample.weights / sample.weights.sum()
                then = one.plan.apply_codes(self.quick.schema, sample.values)
                saved = self._cost(sample.values, after, share) - self._cost(sample.values, then, share)
            found.append((world, sample, saved))
            blocks.append(after)
            blank.append(plan.submitted(self.quick.schema, row, sample.values))
        verdicts = accepted_by_all(self.quick.oracle, blocks)
        shares = []
        for (world, sample, saved), verdict, rows in zip(found, verdicts, blank, strict=True):
            works = verdict
            if world.blanks and world.reapply != "disclosed":
                submitted = accepted_by_all(self.quick.oracle, [rows])[0]
                works = submitted if world.reapply == "blank" else submitted & verdict
            shares.append((float(sample.weights[works].sum() / sample.weights.sum()), saved))
        return shares

    def _cost(self, before: FloatArray, after: FloatArray, share: FloatArray) -> float:
        """The average cost of a change of completions, as acting is priced."""
        cost, parts = self.quick.cost, [0.0]
        made = {one.position for one in self.quick.schema.derived}
        for d in sorted(set(np.flatnonzero((before != after).any(axis=0)).tolist()) - made):
            prices = cost.table(d, before[:, d], np.stack([before[:, d], after[:, d]], axis=1))
            parts.append(float(share @ np.asarray(prices)[:, 1]))
        return float(cost.finish(max(parts) if cost.aggregate == "max" else sum(parts)))

    def noise(self, plan: Recourse) -> float | None:
        """By how much the cost of acting now is down to the draws; None if the search was stopped."""
        if plan.cost is None:
            return 0.0
        seed = self.quick.settings.random_state
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
