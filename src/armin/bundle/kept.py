"""What a bundle knows about the people in the training data: as little as explaining needs, and in plain words."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from armin.costs import TableCost
from armin.impute import (
    ChainedEquations,
    ForestDonors,
    GaussianCopula,
    KNearestImputer,
    Marginal,
    MeanImputer,
    MICEImputer,
    Mixture,
    NearestDonors,
    Uniform,
)
from armin.impute.conditional import Matching

__all__ = ["slim", "what_is_kept"]


def slim(learned: Any) -> Any:
    """A fitted sampler or imputer without training values that it never looks at; it draws the same as before.

    Chained equations and forests keep the values of every column for the first fill. After ``fit`` only their number
    matters, unless a column has no regression or forest.

    Parameters
    ----------
    learned : any fitted cost, sampler or imputer; most have nothing to leave out
    """
    if type(learned) is MICEImputer:
        thin = copy(learned)
        thin.chain_ = slim(learned.chain_)
        del thin.chain_.start_  # only needed to draw
        return thin
    if type(learned) is Mixture:
        thin = copy(learned)
        thin.members_ = tuple(slim(member) for member in learned.members_)
        return thin
    if type(learned) not in (ChainedEquations, ForestDonors):
        return learned
    thin, marginal = copy(learned), copy(learned.marginal_)
    marginal.observed_ = tuple(
        values if model is None else np.full(values.size, feature.low_code)
        for values, model, feature in zip(marginal.observed_, _models(learned), learned.schema_, strict=True)
    )
    thin.marginal_ = marginal
    return thin


def _models(sampler: Any) -> tuple[Any, ...]:
    """What each column is drawn from given the others, or None."""
    found: tuple[Any, ...] = sampler.models_ if type(sampler) is ChainedEquations else sampler.forests_
    return found


def what_is_kept(learned: dict[str, Any]) -> list[str]:
    """What a bundle holds about the training data, one sentence for each thing.

    Parameters
    ----------
    learned : the fitted attributes of an explainer, by name
    """
    said = ["Column names, column types, and the schema's bounds and categories."]
    said += ["What the classifier itself has learned; some classifiers keep training rows."]
    said += _cost(learned["cost_"])
    said += _sampler(learned["sampler_"])
    if "imputer_" in learned:
        said += _imputer(learned["imputer_"])
    if learned.get("people_") is not None:
        said.append(
            f"{len(learned['people_']):,} complete rows of real people who were rejected, to test the promise on."
        )
    if learned.get("calibrations_"):
        said.append("For how many of these people plans worked, at each level of confidence.")
    return said


def _cost(cost: Any) -> list[str]:
    name = type(cost).__name__
    if getattr(cost, "distributions_", None) is None:
        return [f"{name}, the cost: not one of ARMIN's own, so what it keeps is not known."]
    if isinstance(cost, TableCost):
        return [f"{name}, the cost: the prices.", *_cost(cost.otherwise_)]
    return [
        f"{name}, the cost: for each column the values that occurred, sorted, and how usual they are. "
        "Values of one person are not linked across columns."
    ]


def _sampler(sampler: Any) -> list[str]:
    if type(sampler) in (ChainedEquations, ForestDonors):
        return _chain(sampler)
    if type(sampler) is Mixture:
        return [sentence for member in sampler.members_ for sentence in _sampler(member)]
    if type(sampler) is GaussianCopula:
        return [
            "GaussianCopula, the sampler: for each column the values that occurred and how often, and the correlation "
            "of each pair of columns. Values of one person are not linked."
        ]
    if type(sampler) is NearestDonors:
        return [f"NearestDonors, the sampler: all {_rows(sampler.neighbours_.codes.shape[0])}, as they are."]
    if type(sampler) is Marginal:
        if all(np.all(values[1:] >= values[:-1]) for values in sampler.observed_):
            return ["Marginal, the sampler: all training values of each column, sorted, not linked across columns."]
        return [
            "Marginal, the sampler: all training values of each column in the order of the rows, "
            "so that whole rows can be put together again."
        ]
    if type(sampler) is Uniform:
        return ["Uniform, the sampler: nothing."]
    return [f"{type(sampler).__name__}, the sampler: not one of ARMIN's own, so what it keeps is not known."]


def _chain(sampler: Any) -> list[str]:
    who, models = f"{type(sampler).__name__}, the sampler:", _models(sampler)
    per_column = "one regression per column (coefficients only)."
    if type(sampler) is ForestDonors:
        per_column = "for each column a forest whose leaves hold that column's training values."
    said = [
        f"{who} {per_column}",
        f"{who} {_rows(sampler.start_.neighbours_.codes.shape[0])}, blanks filled by drawing, to start from where a "
        "person leaves more than one blank.",
    ]
    names = [f.name for f, model in zip(sampler.schema_, models, strict=True) if model is None]
    if names:
        said.append(f"{who} all training values of {', '.join(names)}.")
    matched = [f.name for f, model in zip(sampler.schema_, models, strict=True) if isinstance(model, Matching)]
    if matched:
        said.append(f"{who} the training values of {', '.join(matched)}, as donors.")
    return said


def _imputer(imputer: Any) -> list[str]:
    if type(imputer) is MeanImputer:
        return ["MeanImputer: one typical value per column."]
    if type(imputer) is MICEImputer:
        return ["MICEImputer: one typical value and one regression per column."]
    if type(imputer) is KNearestImputer:
        return [f"KNearestImputer: all {_rows(imputer.neighbours_.codes.shape[0])}, as they are."]
    return [f"{type(imputer).__name__}: not one of ARMIN's own, so what it keeps is not known."]


def _rows(count: int) -> str:
    return f"{count:,} training rows"
