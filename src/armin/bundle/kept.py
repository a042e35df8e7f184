"""What a bundle knows about the people in the training data, in plain words."""

from __future__ import annotations

from typing import Any

from armin.bundle.model import parts_of
from armin.learned import kept
from armin.sampling.anonymous import unique_rows
from armin.sampling.neighbours import Neighbours

__all__ = ["keeps_rows", "rows_kept", "say_unique", "what_is_kept", "what_was_learned"]

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
    rows, unique = rows_kept(learned)
    if rows:
        said.append(say_unique(rows, unique))
    if learned.get("carried_"):
        said.append(f"What these people hold in {', '.join(learned['carried_'])}, which is carried along.")
    if learned.get("calibrations_"):
        said.append("For how many of these people plans worked, at each level of confidence.")
    return said


def what_was_learned(learned: dict[str, Any]) -> list[str]:
    """The classes of costs, samplers, imputers and what they are made of."""
    return sorted({type(part).__name__ for part in parts_of(learned) if type(part).__module__.startswith("armin.")})


def keeps_rows(learned: dict[str, Any]) -> bool:
    """Whether anything that was learned holds whole rows, but for those that people are compared with."""
    return rows_kept({name: value for name, value in learned.items() if name != "background_"})[0] > 0


def rows_kept(learned: dict[str, Any]) -> tuple[int, int]:
    """How many people's whole rows stand in what was learned, whoever keeps them, and how many of these are unique.

    A person whose row is kept in several places is one person.
    """
    found = [part.codes for part in parts_of(learned) if isinstance(part, Neighbours)]
    found += [learned[name] for name in ("people_", "others_", "background_") if learned.get(name) is not None]
    return unique_rows(*found)


def say_unique(rows: int, unique: int) -> str:
    """What that means, in plain words.

    >>> say_unique(2000, 1998)[:73]
    'Of the 2,000 rows that are kept, 1,998 are the only one with their values'
    """
    return (
        f"Of the {rows:,} rows that are kept, {unique:,} are the only one with their values: who knows enough about "
        "such a person can look up the rest."
    )
