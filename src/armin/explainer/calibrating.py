"""Try an explainer on real people whose complete rows are known."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from armin.arrays import BoolArray, FloatArray
from armin.errors import ParameterError
from armin.promise import LEVELS, Trials

if TYPE_CHECKING:
    from armin.explainer.base import Explainer
    from armin.explainer.judging import Judged
    from armin.problem.stated import Case

__all__ = ["Missingness", "masks_from", "rejected_people", "run_trials"]

Missingness = Callable[[pd.DataFrame], object]
"""Makes blanks in complete rows, such as ``functools.partial(armin.datasets.mcar, n_missing=2)``."""


def rejected_people(explainer: Explainer, codes: FloatArray, most: int, rng: np.random.Generator) -> FloatArray:
    """Complete rows that the model rejects, at most ``most``, picked at random."""
    complete = codes[~np.isnan(codes).any(axis=1)]
    if complete.shape[0] == 0:
        return complete
    rejected = complete[~explainer.decision_.accepts(complete)]
    if rejected.shape[0] > most:
        rejected = rejected[rng.choice(rejected.shape[0], most, replace=False)]
    return rejected


def masks_from(explainer: Explainer, people: FloatArray, missingness: Missingness) -> BoolArray:
    """Where a missingness model of the user makes blanks in ``people``."""
    schema = explainer.schema
    made = missingness(schema.decode(people, like=explainer.oracle_.like))
    frame = getattr(made, "X", made)
    if not isinstance(frame, pd.DataFrame) or len(frame) != people.shape[0]:
        raise ParameterError(
            f"'missingness' must return a DataFrame with as many rows as it was given ({people.shape[0]}). "
            f"Got {type(frame).__name__} instead."
        )
    return np.isnan(schema.encode(frame, clip=True))


def run_trials(
    explainer: Explainer,
    people: FloatArray,
    masks: BoolArray,
    *,
    locked: Collection[str] = (),
    levels: FloatArray = LEVELS,
    n_jobs: int | None = None,
    progress: bool = False,
) -> Trials:
    """Give each person blanks, advise them at every level, and judge the advice by who they really are.

    Parameters
    ----------
    explainer : a fitted one
    people : codes (n, D) of complete rows that the model rejects
    masks : where each gets blanks (n, D)
    locked : features that nobody may change
    levels : the confidences to try
    n_jobs, progress : as in :meth:`armin.ARMIN.explain_many`

    Returns
    -------
    Trials
    """
    from joblib import Parallel, delayed

    tasks = (delayed(_one_trial)(explainer, p, m, tuple(locked), levels) for p, m in zip(people, masks, strict=True))
    found = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    if progress:
        from rich.console import Console
        from rich.progress import track

        found = track(found, description="Calibrating", total=len(people), transient=True, console=Console(stderr=True))
    outcomes = list(found)
    shape = (len(outcomes), levels.size)
    planned = np.array([planned for planned, _ in outcomes], dtype=bool).reshape(shape)
    worked = np.array([worked for _, worked in outcomes], dtype=bool).reshape(shape)
    return Trials(levels, planned, worked)


def _one_trial(
    explainer: Explainer, person: FloatArray, mask: BoolArray, locked: tuple[str, ...], levels: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """At which levels there is a plan, and at which it works."""
    row = np.where(mask, np.nan, person)
    case, judged = explainer._carefully(lambda one: _advised(one, row, locked))
    planned, worked = np.zeros(levels.size, dtype=bool), np.zeros(levels.size, dtype=bool)
    if not judged:
        return planned, worked
    choices = [point.solution.choice for point in judged if point.solution.choice is not None]
    after = [case.grid.apply_to_others(choice, person[None, :]) for choice in choices]
    valid = explainer.decision_.accepts(np.concatenate(after))
    total = float(case.problem.weights.sum())
    shares = np.array([case.problem.weights[point.accepted].sum() / total for point in judged])
    # the cheapest point that reaches the level, as in Explainer._from_path
    first = np.searchsorted(shares, levels - 1e-9)
    planned = first < shares.size
    worked[planned] = valid[first[planned]]
    return planned, worked


def _advised(explainer: Explainer, row: FloatArray, locked: tuple[str, ...]) -> tuple[Case, list[Judged]]:
    case = explainer._case(row, explainer._sample(row), locked)
    return case, explainer._judged_path(case)[0]
