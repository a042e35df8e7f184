"""Several explainers on one row, side by side."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from armin.errors import ParameterError
from armin.explain.compare import Comparison
from armin.explain.compare import compare as judge_all
from armin.explain.estimator import Explainer
from armin.schema import Rows

__all__ = ["compare"]


def compare(
    explainers: Mapping[str, Explainer], row: Rows | pd.Series[Any], *, locked: Collection[str] = ()
) -> Comparison:
    """Explain one row in several ways, and judge every plan by every way.

    Parameters
    ----------
    explainers : fitted explainers by name, such as one for each sampler, or one for each world
    row : the row
    locked : features that this person cannot change, on top of the schema

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> samplers = ("chained", "donors")
    >>> ways = {s: ARMIN(loans.classifier, loans.schema, desired="approved", sampler=s).fit(loans.X) for s in samplers}
    >>> compare(ways, loans.applicant).validity.shape
    (2, 2)
    """
    if not explainers:
        raise ParameterError("compare needs at least one explainer. Got none.")
    plans = {name: explainer.explain(row, locked=locked) for name, explainer in explainers.items()}
    found = {name: explainer.current.at(row, locked) for name, explainer in explainers.items()}
    _, codes = next(iter(found.values()))
    return judge_all({name: way for name, (way, _) in found.items()}, codes, plans)
