"""Does the advice depend on how the blanks are treated? Several explainers on one row, each judged by all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from armin.errors import ParameterError
from armin.explainer.base import Explainer
from armin.recourse import Recourse
from armin.report.words import percent
from armin.schema import Rows

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True, eq=False)
class Comparison:
    """The plans of several explainers for one row.

    Attributes
    ----------
    plans : by name, what each explainer advises
    validity : for each plan (row), the share of each explainer's own fresh completions (column) for which it works
    """

    plans: dict[str, Recourse]
    validity: pd.DataFrame

    @property
    def same_advice(self) -> bool:
        """Whether all plans are the same."""
        return len({_key(plan) for plan in self.plans.values()}) == 1

    def to_frame(self) -> pd.DataFrame:
        """One line per plan: cost, changes, and how well it does under each view."""
        rows = {
            name: {"cost": plan.cost, "changes": "; ".join(c.short for c in plan.changes) or plan.outcome}
            for name, plan in self.plans.items()
        }
        shares = self.validity.map(lambda share: "" if np.isnan(share) else percent(share))
        return pd.DataFrame(rows).T.join(shares.add_prefix("works for: "))

    def __str__(self) -> str:
        verdict = "The advice does not depend" if self.same_advice else "The advice depends"
        return f"{verdict} on how the blanks are treated.\n\n{self.to_frame().to_string()}"


def compare(explainers: Mapping[str, Explainer], row: Rows | pd.Series[Any]) -> Comparison:
    """Explain one row in several ways, and judge every plan by every way.

    Parameters
    ----------
    explainers : fitted explainers by name, such as one for each sampler, or one with ``NativeMissing``
    row : the row

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
    plans = {name: explainer.explain(row) for name, explainer in explainers.items()}
    table = pd.DataFrame(np.nan, index=list(plans), columns=list(plans), dtype=float)
    for judge, explainer in explainers.items():
        codes = explainer.schema.encode(row)[0]
        _, fresh = explainer._samples(codes)
        if fresh is None:
            continue
        frame = explainer.schema.decode(fresh.values, like=explainer.oracle_.like)
        share = fresh.weights / fresh.weights.sum()
        for name, plan in plans.items():
            if plan.found:
                accepted = explainer.oracle_.accepts(explainer.schema.encode(plan.apply(frame)))
                table.loc[name, judge] = float(share[accepted].sum())
    return Comparison(plans, table)


def _key(plan: Recourse) -> tuple[Any, ...]:
    changes = sorted((c.feature.name, c.mode, str(c.after), c.amount) for c in plan.changes)
    return (plan.outcome, *changes)
