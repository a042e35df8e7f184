"""What a bundle knows about the people in the training data, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np

from armin.arrays import FloatArray
from armin.bundle.trees import parts_of
from armin.impute.anonymous import unique_rows
from armin.impute.neighbours import Neighbours
from armin.learned import kept

__all__ = ["keeps_rows", "what_is_kept"]

ROLES = ("cost", "sampler", "imputer")


def what_is_kept(learned: dict[str, Any]) -> list[str]:
    """What a bundle holds about the training data, one sentence for each thing.

    Parameters
    ----------
    learned : the fitted attributes of an explainer, by name
    """
    said = ["Column names, column types, and the schema's bounds and categories."]
    said += ["What the classifier itself has learned; some classifiers keep training rows."]
    for role in ROLES:
        if f"{role}_" in learned:
            said += kept(learned[f"{role}_"], role)
    if learned.get("people_") is not None:
        said.append(
            f"{len(learned['people_']):,} complete rows of real people who were rejected, to test the promise on."
        )
    if learned.get("background_") is not None:
        said.append(f"{len(learned['background_']):,} training rows as they are, to compare people with.")
    rows = _rows(learned)
    if rows.shape[0]:
        said.append(
            f"Of the {rows.shape[0]:,} rows that are kept, {unique_rows(rows):,} are the only one with their values: "
            "who knows enough about such a person can look up the rest."
        )
    if learned.get("carried_"):
        said.append(f"What these people hold in {', '.join(learned['carried_'])}, which is carried along.")
    if learned.get("calibrations_"):
        said.append("For how many of these people plans worked, at each level of confidence.")
    return said


def keeps_rows(learned: dict[str, Any]) -> bool:
    """Whether anything that was learned holds whole rows, but for those that people are compared with."""
    return _rows({name: value for name, value in learned.items() if name != "background_"}).size > 0


def _rows(learned: dict[str, Any]) -> FloatArray:
    """All whole rows in what was learned, whoever keeps them."""
    found = [part.codes for part in parts_of(learned) if isinstance(part, Neighbours)]
    found += [learned[name] for name in ("people_", "others_", "background_") if learned.get(name) is not None]
    return np.concatenate(found) if found else np.empty((0, 0))
