"""The judge of answers: plans re-applied by hand, the user's own ``predict``, and brute force over the same options.

From the package it takes what was stated about a row: the completions, and the options with their prices. What comes
of a change, which rules hold, what the model says and what is cheapest is worked out here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from armin import ARMIN, Feature, Schema
from armin.explain.advise import Posed, pose
from armin.problem import Status
from armin.recourse import Change, Recourse

from laws.end_to_end.tables import Table

__all__ = ["Judge", "differences", "same_answer"]

SLACK = 1e-9
MOST_ACTIONS = 20_000
MOST_ROWS = {"quick": 60_000, "slow": 8_000}
"""Rows that the user's model is asked about for one brute force; what is beyond is a random choice of actions."""
MOST_CALLS = {"quick": 8_000, "slow": 800}
"""Calls of the user's model for one brute force, each about one action."""


def same_answer(one: Recourse, other: Recourse) -> bool:
    """Whether two answers say the same, to the last bit; how long they took does not count."""
    return not differences(one, other)


def differences(one: Recourse, other: Recourse) -> dict[str, tuple[str, str]]:
    """What two answers say differently."""

    def said(plan: Recourse) -> dict[str, str]:
        kept = plan.to_dict()
        proof = {key: value for key, value in kept["proof"].items() if key not in ("seconds", "steps")}
        return {key: repr(value) for key, value in (kept | {"proof": proof}).items()}

    first, second = said(one), said(other)
    return {key: (first[key], second[key]) for key in first if first[key] != second[key]}


def moved(feature: Feature, change: Change, before: np.ndarray) -> np.ndarray:
    """What codes become by one change, by the words of the documentation."""
    if change.mode == "shift":
        return np.minimum(np.maximum(before + change.amount, feature.low_code), feature.high_code)
    target = feature.code(change.after)
    if change.mode == "reach" and change.sense:
        there = before >= target if change.sense > 0 else before <= target
        return np.where(there, before, target)
    return np.full_like(before, target)


@dataclass
class Judge:
    """Judges the answers to one row.

    Attributes
    ----------
    table, schema : the training data, and what was said about it
    accepts : the user's own classifier, asked about rows in the container of the training data
    explainer : fitted
    row, values, locked : what was asked about
    level : the confidence
    rng : for the choice of actions, where there are too many
    slow : whether the model is slow to ask
    report : takes the law that is broken, and the details
    """

    table: Table
    schema: Schema
    accepts: Callable[[Any], np.ndarray]
    explainer: ARMIN
    row: Any
    values: dict[str, Any]
    locked: tuple[str, ...]
    level: float
    rng: np.random.Generator
    slow: bool
    report: Callable[[str, str], None]

    def __post_init__(self) -> None:
        self.codes = np.array([0.0 if f.is_carried else f.code(self.values[f.name]) for f in self.schema])
        self._posed: list[Posed] | None = None

    # --- what the user's model says

    def rows(self, codes: np.ndarray) -> Any:
        """Codes (n, D) as a user would write them down, in the types of the training data."""
        made = {}
        for i, (name, column) in enumerate(self.table.columns.items()):
            feature = self.schema.features[i]
            if feature.is_carried:
                values = [self.values[str(name)]] * len(codes)
            else:
                different, which = np.unique(codes[:, i], return_inverse=True)
                spelled = [feature.value(code) for code in different.tolist()]
                values = [spelled[k] for k in which.tolist()]
            made[name] = _typed(values, column.values)
        return self.table.like(pd.DataFrame(made))

    def accepted(self, codes: np.ndarray) -> np.ndarray:
        """Which rows the user's model accepts; each different one is asked about once."""
        if not len(codes):
            return np.zeros(0, dtype=bool)
        blank = np.isnan(codes)
        different, which = np.unique(np.where(blank, -1.0e300, codes), axis=0, return_inverse=True)
        rows = np.where(different == -1.0e300, np.nan, different)
        try:
            return self.accepts(self.rows(rows))[which.ravel()]
        except ValueError:  # a row that the user's pipeline refuses, such as one divided by zero, refuses all beside it
            return np.array([self._taken(row) for row in rows])[which.ravel()]

    def _taken(self, row: np.ndarray) -> bool:
        """Whether the user's model accepts a row; one that it refuses is not accepted."""
        try:
            return bool(self.accepts(self.rows(row[None, :]))[0])
        except ValueError:
            return False

    def unstable(self, codes: np.ndarray) -> bool:
        """Whether the user's model itself says something else about a row when other rows stand beside it."""
        beside = [1, 2, 7, 64]
        said = {bool(self.accepts(self.rows(np.repeat(codes[None, :], n, axis=0)))[0]) for n in beside}
        return len(said) > 1

    def after(self, plan: Recourse, codes: np.ndarray) -> np.ndarray:
        """Completions (n, D) after a plan, by hand."""
        codes = codes.copy()
        for change in plan.changes:
            i = self.schema.position(change.feature.name)
            codes[:, i] = moved(self.schema.features[i], change, codes[:, i])
        return codes

    def rows_after(self, plan: Recourse, people: np.ndarray) -> np.ndarray:
        """The row as completions (n, D) submit it after a plan: what is to be reached is given, other blanks stay."""
        codes = np.repeat(self.codes[None, :], len(people), axis=0)
        for change in plan.changes:
            i = self.schema.position(change.feature.name)
            if not np.isnan(self.codes[i]) or change.mode == "reach":
                codes[:, i] = moved(self.schema.features[i], change, people[:, i])
        return codes

    # --- what was stated

    def posed(self, plan: Recourse | None = None) -> Posed:
        """What was stated about the row; by the model itself if its reading did not stand where a plan was made."""
        if self._posed is None:
            fitted, codes = self.explainer.current.at(self.row, self.locked)
            asked = [fitted, fitted.varied(trusts=False)]
            self._posed = [pose(one, codes, self.locked, self.level) for one in asked]
        if plan is not None and plan.validity is not None:
            for posed in self._posed:
                if self._validity(plan, posed) == plan.validity.accepted:
                    return posed
        return self._posed[0]

    def _validity(self, plan: Recourse, posed: Posed) -> float:
        accepted = self.works(plan, posed.sample.values)
        share = float(posed.sample.weights[accepted].sum())
        return _tidy(share / float(posed.sample.weights.sum()) if plan.exact else share)

    def works(self, plan: Recourse, people: np.ndarray) -> np.ndarray:
        """For which completions all that must be accepted is."""
        works = np.ones(len(people), dtype=bool)
        if plan.world.reapply != "blank":
            works &= self.accepted(self.after(plan, people))
        if plan.world.blanks and plan.world.reapply != "disclosed":
            works &= self.accepted(self.rows_after(plan, people))
        return works

    # --- laws

    def answer(
        self, plan: Recourse, what: str, *, checks: bool, level: float | None = None, brute: bool = True
    ) -> None:
        """All laws of one answer."""
        level = self.level if level is None else level
        if plan.world.accepted:
            if plan.changes or not self.accepted(self.codes[None, :])[0]:
                self.report(f"{what}: an accepted row", f"{plan.changes}")
            return
        posed = self.posed(plan)
        self.completions(posed, what)
        if plan.found:
            self.constraints(plan, posed, what)
            self.shares(plan, posed, level, what)
        if brute:
            self.brute_force(plan, posed, level, what, checks)

    def completions(self, posed: Posed, what: str) -> None:
        """Completions keep what was given, are legal, and agree with what is known."""
        values, seen = posed.sample.values, ~np.isnan(self.codes)
        if not np.array_equal(values[:, seen], np.broadcast_to(self.codes[seen], values[:, seen].shape)):
            self.report(f"{what}: completions change what was given", "")
        for i in np.flatnonzero(~seen):
            feature, column = self.schema.features[i], values[:, i]
            if self.explainer.sampler == "native":
                continue
            illegal = (column < feature.least_code) | (column > feature.most_code) | np.isnan(column)
            if feature.kind != "continuous":
                illegal |= column != np.rint(column)
            if illegal.any():
                self.report(f"{what}: illegal completions", f"{feature.name}: {column[illegal][:3]}")
        notes = [note.code for note in posed.sample.notes]
        if posed.world.conditioned and "draws.none" not in notes:
            wrong = np.flatnonzero(self.accepted(values))
            if wrong.size and not self.unstable(values[wrong[0]]):
                self.report(
                    f"{what}: completions are accepted, but the person is known to be rejected", f"{wrong.size}"
                )

    def constraints(self, plan: Recourse, posed: Posed, what: str) -> None:
        """What a plan asks for is allowed."""
        before = posed.sample.values
        after = self.after(plan, before)
        most = self.explainer.max_changes
        if most is not None and len(plan.changes) > most:
            self.report(f"{what}: too many changes", f"{len(plan.changes)} > {most}")
        for change in plan.changes:
            i = self.schema.position(change.feature.name)
            self._change(change, self.schema.features[i], self.codes[i], before[:, i], after[:, i], what)
        for rule in self.schema.rules:
            if not rule.allows(self.schema, before, after).all():
                self.report(f"{what}: a rule is broken", str(rule))
        if plan.changes:
            told = pd.DataFrame(
                {f.name: [f.value(c) for c in before[:5, i]] for i, f in enumerate(self.schema) if not f.is_carried}
            )
            done = plan.apply(told)
            for change in plan.changes:
                i = self.schema.position(change.feature.name)
                by_hand = [self.schema.features[i].value(c) for c in after[:5, i]]
                if done[change.feature.name].tolist() != by_hand:
                    self.report(f"{what}: apply() differs from the plan done by hand", str(change))

    def _change(
        self, change: Change, feature: Feature, given: float, before: np.ndarray, after: np.ndarray, what: str
    ) -> None:
        def wrong(law: str) -> None:
            self.report(f"{what}: {law}", f"{change} ({feature})")

        if not feature.actionable or feature.name in self.locked:
            wrong("a feature that cannot change")
        mode = feature.blank_mode if np.isnan(given) else "observed"
        if change.mode != mode:
            wrong(f"mode {change.mode}, not {mode}")
        if feature.direction == "increase" and (after < before).any():
            wrong("may only increase")
        if feature.direction == "decrease" and (after > before).any():
            wrong("may only decrease")
        new = after[after != before]
        if ((new < feature.low_code) | (new > feature.high_code)).any():
            wrong("out of bounds")
        if feature.kind != "continuous" and (new != np.rint(new)).any():
            wrong("no whole number, or no category")
        if not (after != before).any():
            wrong("a change that changes nobody")
        if feature.step is not None and self.explainer.options.grid == "human":
            target = change.amount if change.mode == "shift" else feature.code(change.after)
            steps = float(target) / feature.step
            ends = change.mode != "shift" and target in (feature.low_code, feature.high_code)
            if abs(steps - round(steps)) > 1e-6 and not ends:
                wrong("off the grid of its step")

    def shares(self, plan: Recourse, posed: Posed, level: float, what: str) -> None:
        """A plan works for whom it says, and for as many as were asked for."""
        world, sample, fresh = plan.world, posed.sample, posed.fresh
        assert plan.validity is not None
        share = self._validity(plan, posed)
        if abs(share - plan.validity.accepted) > 1e-6 * plan.validity.of and not self._unstable(plan, sample.values):
            self.report(f"{what}: stated share", f"{plan.validity} by hand {share}")
        if world.reapply != "either" and plan.validity.share < level - SLACK:
            self.report(f"{what}: below the confidence", f"{plan.validity.share} < {level}")
        if posed.fresh is not None and plan.fresh is not None and fresh is not None:
            accepted = self.works(plan, fresh.values)
            share = float(fresh.weights[accepted].sum() / fresh.weights.sum())
            if abs(share - plan.fresh.share) > 1e-6 and not self._unstable(plan, fresh.values):
                self.report(f"{what}: stated share of fresh completions", f"{plan.fresh} by hand {share}")
        if world.blanks and world.answers:
            rows = self.rows_after(plan, sample.values)
            said = bool(self.accepted(rows).all())
            if plan.resubmitted is not None and said != plan.resubmitted and not self._unstable_rows(rows):
                self.report(f"{what}: the row after the plan", f"stated {plan.resubmitted}, by hand {said}")
        low, _, high = plan.cost_range or (0.0, 0.0, 0.0)
        if plan.cost is None or not low - 1e-6 - abs(low) * 1e-6 <= plan.cost <= high + 1e-6 + abs(high) * 1e-6:
            self.report(f"{what}: cost out of its range", f"{plan.cost} {plan.cost_range}")

    def _unstable(self, plan: Recourse, codes: np.ndarray) -> bool:
        return self._unstable_rows(self.after(plan, codes)) or self._unstable_rows(self.rows_after(plan, codes))

    def _unstable_rows(self, rows: np.ndarray) -> bool:
        return any(self.unstable(row) for row in np.unique(rows, axis=0)[:50])

    # --- brute force

    def brute_force(self, plan: Recourse, posed: Posed, level: float, what: str, checks: bool) -> None:
        """No action over the same options is cheaper where that is stated as proved; none works where none is found."""
        if plan.status is Status.UNKNOWN:
            return
        options, finish = posed.stated.problem.options, posed.stated.cost.finish
        actions = self._actions([option.size for option in options])
        each = np.array([o.costs[actions[:, d]] for d, o in enumerate(options)]).reshape(len(options), len(actions))
        costs = each.max(axis=0, initial=0.0) if posed.stated.problem.aggregate == "max" else each.sum(axis=0)
        # what is stated as a bound: the cost itself where it is proved
        bound = np.inf if plan.status is Status.INFEASIBLE else plan.bound
        finished = np.array([finish(c) for c in costs.tolist()])
        cheaper = np.flatnonzero(
            finished < bound - 1e-7 * max(1.0, abs(bound)) if np.isfinite(bound) else finished < np.inf
        )
        speed = "slow" if self.slow else "quick"
        rows = min(MOST_CALLS[speed], MOST_ROWS[speed] // max(1, len(posed.sample.values)))
        if cheaper.size > rows:
            cheaper = self.rng.choice(cheaper, rows, replace=False)
        asked = level * posed.sample.weights.sum()
        if plan.found and checks and plan.validity is not None and not plan.exact:
            # the demand may have been raised until fresh ones agree
            asked = max(asked, self._demand(plan, posed))
        for k in cheaper[np.argsort(costs[cheaper], kind="stable")].tolist():
            if self._works(posed, tuple(actions[k].tolist()), float(asked)):
                chosen = {
                    self.schema.features[m.position].name: float(m.targets[j])
                    for m, j in zip(posed.stated.grid.moves, actions[k], strict=True) if j
                }  # fmt: skip
                law = "a plan exists" if plan.status is Status.INFEASIBLE else "a cheaper plan exists"
                self.report(
                    f"{what}: {law}",
                    f"{chosen} at {finished[k]}, stated {plan.status.value} {plan.cost} bound {plan.bound}",
                )
                return

    def _actions(self, sizes: Sequence[int]) -> np.ndarray:
        """Choices of options: all of them, or all of one feature and a random choice of others."""
        most = len(sizes) if self.explainer.max_changes is None else min(self.explainer.max_changes, len(sizes))
        count = sum(
            int(np.prod([float(sizes[d] - 1) for d in some]))
            for k in range(most + 1) for some in itertools.islice(itertools.combinations(range(len(sizes)), k), 5000)
        )  # fmt: skip
        if count <= MOST_ACTIONS:
            parts = []
            for k in range(most + 1):
                for some in itertools.combinations(range(len(sizes)), k):
                    grid = np.array(list(itertools.product(*(range(1, sizes[d]) for d in some))), dtype=int)
                    part = np.zeros((len(grid), len(sizes)), dtype=int)
                    part[:, list(some)] = grid.reshape(len(grid), k)
                    parts.append(part)
            return np.concatenate(parts)
        found = np.zeros((MOST_ACTIONS, len(sizes)), dtype=int)
        for d, size in enumerate(sizes):
            found[:, d] = self.rng.integers(0, size, MOST_ACTIONS)
        for row in found:
            keep = self.rng.choice(len(sizes), int(self.rng.integers(1, most + 1)), replace=False)
            row[np.setdiff1d(np.arange(len(sizes)), keep)] = 0
        return np.unique(found, axis=0)

    def _demand(self, plan: Recourse, posed: Posed) -> float:
        """What the plan has of what the search demands: completions, or submitted rows where those alone are judged."""
        people = posed.sample.values
        rows = self.rows_after(plan, people) if plan.world.reapply == "blank" else self.after(plan, people)
        return float(posed.sample.weights[self.accepted(rows)].sum())

    def _works(self, posed: Posed, choice: tuple[int, ...], asked: float) -> bool:
        """Whether an action is allowed and accepted by those who were asked for."""
        before, world = posed.sample.values, posed.world
        after = before.copy()
        # by everybody, or beside completions by somebody who is beyond no target
        only = world.reapply == "blank" and world.blanks
        submitted = np.repeat(self.codes[None, :], len(before) if only else 1, axis=0)
        for move, j in zip(posed.stated.grid.moves, choice, strict=True):
            if j:
                after[:, move.position] = move.values[:, j]
                is_blank = np.isnan(self.codes[move.position])
                if is_blank and move.mode == "shift":
                    submitted[:, move.position] = np.nan
                else:
                    submitted[:, move.position] = move.values[:, j] if only else move.targets[j]
        if not all(rule.allows(self.schema, before, after).all() for rule in self.schema.rules):
            return False
        if only:
            after = submitted
        elif world.blanks and world.reapply != "disclosed" and not self.accepted(submitted)[0]:
            return False
        accepted = self.accepted(after)
        weight = float(posed.sample.weights[accepted].sum())
        if weight < asked - SLACK * posed.sample.weights.sum():
            return False
        return not any(self.unstable(row) for row in np.unique(after[accepted], axis=0)[:20])


def _typed(values: list[Any], like: pd.Series) -> pd.Series:
    """Values as a column of the training data, with its own sign of a blank."""
    dtype, blanks = like.dtype, like[like.isna()].tolist()
    blank = blanks[0] if blanks and pd.api.types.is_object_dtype(dtype) else np.nan
    column = pd.Series([blank if value is None else value for value in values], dtype=object)
    if isinstance(dtype, np.dtype) and dtype.kind in "iub" and column.isna().any():
        return column.astype("float64")  # as pandas reads a column of numbers with blanks
    return column.astype(dtype)


def _tidy(weight: float) -> float:
    whole = round(weight)
    return float(whole) if abs(weight - whole) < 1e-9 * max(1.0, abs(weight)) else weight
