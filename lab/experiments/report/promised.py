"""Calibrated on some people, judged on others: how often a promise is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from armin.arrays import FloatArray
from armin.promise import LEVELS, Trials, choose_level
from lab.experiments.report.stats import Share, by
from lab.experiments.report.tables import NONE, Rows, markdown
from lab.experiments.store import Row

__all__ = ["promised", "trials_of"]

PROMISE, ASSURANCE, HALVES = 0.9, 0.9, 200
LEAST = 4
"""People that it takes to have two in each half."""


def trials_of(rows: list[Row]) -> Trials:
    """What stored paths did for people at each level of confidence; those who can do nothing at all are left out.

    >>> rows = [{"points": [[0.5, 1.0, False, 1.0], [1.0, 2.0, True, 2.0]], "status": "optimal"}]
    >>> found = trials_of(rows)
    >>> bool(found.worked[0, 49]), bool(found.worked[0, 50])
    (False, True)
    """
    known = [row for row in rows if row["points"]]
    planned = np.zeros((len(known), LEVELS.size), dtype=bool)
    worked = np.zeros_like(planned)
    for i, row in enumerate(known):
        first = np.searchsorted([p[0] for p in row["points"]], LEVELS - 1e-9)
        planned[i] = first < len(row["points"])
        for j in np.flatnonzero(planned[i]):
            worked[i, j] = bool(row["points"][first[j]][2])
    return Trials(LEVELS, planned, worked)


def kept_by_halves(trials: Trials, halves: int = HALVES, seed: int = 0) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For random halves: the level chosen on one; on the other, the share of plans that work and of people with one."""
    rng, levels, works, plans = np.random.default_rng(seed), [], [], []
    for _ in range(halves):
        order = rng.permutation(trials.people)
        one, other = order[: order.size // 2], order[order.size // 2 :]
        chosen = choose_level(
            Trials(trials.levels, trials.planned[one], trials.worked[one]), PROMISE, ASSURANCE
        ).used_level
        j = int(np.searchsorted(trials.levels, chosen - 1e-9))
        planned = trials.planned[other, j]
        levels.append(chosen)
        plans.append(planned.mean())
        works.append(trials.worked[other, j][planned].mean() if planned.any() else np.nan)
    return np.array(levels), np.array(works), np.array(plans)


def promised(read: Rows, pictures: Path) -> list[str]:
    """(p)"""
    rows = read("promise")
    if not rows:
        return [NONE]
    body: list[list[object]] = []
    for (dataset, model), group in by(rows, "dataset", "model").items():
        trials = trials_of(group)
        if trials.people < LEAST:
            body.append([dataset, model, f"{trials.people}: too few", *["–"] * 6])
            continue
        levels, works, plans = kept_by_halves(trials)
        judged = works[~np.isnan(works)]
        if not judged.size:
            body.append([dataset, model, f"{trials.people}: no plan to judge", *["–"] * 6])
            continue
        below = Share(int((judged < PROMISE).sum()), int(judged.size))
        at = int(np.searchsorted(LEVELS, 0.75 - 1e-9))
        plain = trials.worked[:, at][trials.planned[:, at]]
        body.append([
            dataset, model, f"{trials.people // 2} / {trials.people - trials.people // 2}",
            f"{np.median(levels):.2f}", f"{100 * judged.mean():.1f} %", f"{100 * np.quantile(judged, 0.05):.0f} %",
            f"{100 * below.value:.0f} % ({below.k} of {below.n})", f"{100 * plans.mean():.0f} %",
            str(Share(int(plain.sum()), int(plain.size))),
        ])  # fmt: skip
    head = [
        "data set", "model", "calibrated on / judged on", "confidence chosen (median)", "plans that work",
        "in the worst 5 % of halves", "halves below the promise", "people with a plan", "without calibration, ρ = 0.75",
    ]  # fmt: skip
    return [
        f"The people are cut into two halves at random, {HALVES} times. On one half a confidence is chosen that "
        f"promises {100 * PROMISE:.0f} % with {100 * ASSURANCE:.0f} % assurance; on the other, whom nobody has looked "
        "at, it is "
        "counted for how many of those who get a plan it works. The promise is about the failure rate among all "
        "people, so a half of finite size may fall short of it by chance even where it is kept: with 50 people and a "
        "true rate of 90 % it does so for about two halves in five. The halves of one data set overlap, so their "
        "number is no sample size.",
        markdown(head, body),
        read.source("promise"),
    ]
