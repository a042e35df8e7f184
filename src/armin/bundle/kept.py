"""What a bundle knows about the people in the training data, in plain words."""

from __future__ import annotations

from typing import Any

from armin.learned import kept

__all__ = ["what_is_kept"]

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
    if learned.get("carried_"):
        said.append(f"What these people hold in {', '.join(learned['carried_'])}, which is carried along.")
    if learned.get("calibrations_"):
        said.append("For how many of these people plans worked, at each level of confidence.")
    return said
