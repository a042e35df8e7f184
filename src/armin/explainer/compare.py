"""Does the advice depend on how the blanks are filled? Several explainers on one row, each judged by all."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from armin.actions import outcome
from armin.arrays import FloatArray
from armin.errors import ParameterError
from armin.explainer.base import Explainer
from armin.impute import Sampler, as_sampler
from armin.recourse import Recourse
from armin.report.words import figure, percent
from armin.schema import Rows, Schema

__all__ = ["SAMPLERS", "Comparison", "after_plan", "compare", "compare_samplers"]


SAMPLERS = ("chained", "donors", "forest", "copula", "marginal")
"""The ways to fill blanks that are compared if none are named, as far as they are known."""


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

    @property
    def sentence(self) -> str:
        """Whether the advice depends on how the blanks are filled, in plain words."""
        found = {name: plan for name, plan in self.plans.items() if plan.found}
        ways = f"{len(self.plans)} ways"
        if self.same_advice:
            told = "The advice does not depend on how the blanks are filled"
            if len(self.plans) == 1:
                return f"{told}, as far as one way can tell: compare with another."
            what = "lead to the same plan" if found else "leave no plan"
            return f"{told}: all {ways} {what}{self._least(found)}."
        told = "The advice depends on how the blanks are filled"
        kinds = len({_key(plan) for plan in found.values()})
        lead = f"{ways} lead to {kinds} different plans" if kinds > 1 else f"{ways} lead to one plan"
        costs = [plan.cost for plan in found.values() if plan.cost is not None]
        if kinds > 1:
            low, high = figure(min(costs)), figure(max(costs))
            lead += f", at a cost of {low}" if low == high else f", at costs from {low} to {high}"
        if len(found) < len(self.plans):
            without = ", ".join(name for name in self.plans if name not in found)
            lead += f" or to none ({without})"
        return f"{told}: {lead}{self._least(found)}."

    def _least(self, found: dict[str, Recourse]) -> str:
        """What the plan that does best at worst does at worst."""
        worst = self.validity.loc[list(found)].min(axis=1).dropna()
        if worst.empty:
            return ""
        name = worst.idxmax()
        which = "it" if len({_key(plan) for plan in found.values()}) == 1 else f"the plan of “{name}”"
        return f"; {which} works for at least {percent(float(worst[name]))}, whichever way is right"

    def to_frame(self) -> pd.DataFrame:
        """One line per plan: cost, changes, and how well it does under each view."""
        rows = {
            name: {"cost": plan.cost, "changes": "; ".join(c.short for c in plan.changes) or plan.outcome}
            for name, plan in self.plans.items()
        }
        shares = self.validity.map(lambda share: "" if np.isnan(share) else percent(share))
        return pd.DataFrame(rows).T.join(shares.add_prefix("works for: "))

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.to_frame().to_string()}"


def compare(
    explainers: Mapping[str, Explainer], row: Rows | pd.Series[Any], *, locked: Collection[str] = ()
) -> Comparison:
    """Explain one row in several ways, and judge every plan by every way.

    Parameters
    ----------
    explainers : fitted explainers by name, such as one for each sampler, or one with ``NativeMissing``
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
    table = pd.DataFrame(np.nan, index=list(plans), columns=list(plans), dtype=float)
    for judge, explainer in explainers.items():
        codes = explainer.schema.encode(row)[0]
        _, fresh = explainer._samples(codes)
        if fresh is None:
            continue
        share = fresh.weights / fresh.weights.sum()
        for name, plan in plans.items():
            if plan.found:
                accepted = explainer.oracle_.accepts(after_plan(plan, explainer.schema, fresh.values))
                table.loc[name, judge] = min(1.0, round(float(share[accepted].sum()), 12))
    return Comparison(plans, table)


def compare_samplers(
    explainer: Explainer,
    X: pd.DataFrame | NDArray[Any],
    row: Rows | pd.Series[Any],
    samplers: Sequence[str] | Mapping[str, str | Sampler] | None = None,
    *,
    locked: Collection[str] = (),
) -> Comparison:
    """Explain one row with several ways to fill its blanks; only the samplers are fitted, nothing else.

    Parameters
    ----------
    explainer : a fitted explainer
    X : the training data to fit the samplers on
    row, locked : as in :func:`compare`
    samplers : their names, or samplers by a name of your own; None for all of :data:`SAMPLERS` that are known

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> list(compare_samplers(explainer, loans.X, loans.applicant, ("donors", "marginal")).plans)
    ['donors', 'marginal']
    """
    if isinstance(samplers, str):
        raise ParameterError(f"'samplers' must be a list of names. Got the text {samplers!r} instead.")
    if samplers is None:
        named: dict[str, str | Sampler] = {name: name for name in SAMPLERS if _known(name)}
    else:
        named = dict(samplers) if isinstance(samplers, Mapping) else {name: name for name in samplers}
    if not named:
        raise ParameterError("compare_samplers needs at least one sampler. Got none; write samplers=('chained', ...).")
    explainer._check_fitted()
    codes = explainer.schema.encode(explainer.schema.frame(X), clip=True)
    ways: dict[str, Explainer] = {}
    for name, spec in named.items():
        way = copy(explainer)
        way.sampler = spec
        way.sampler_ = deepcopy(as_sampler(spec)).fit(codes, explainer.schema)
        ways[name] = way
    return compare(ways, row, locked=locked)


def after_plan(plan: Recourse, schema: Schema, codes: FloatArray) -> FloatArray:
    """Do as told, in codes: what completions (n, D) become after ``plan``; see :meth:`armin.Recourse.apply`."""
    after = codes.copy()
    for change in plan.changes:
        position = schema.position(change.feature.name)
        target = change.amount if change.mode == "shift" else change.feature.code(change.after)
        after[:, position] = outcome(change.feature, change.mode, codes[:, position], float(target or 0.0))
    return after


def _known(name: str) -> bool:
    try:
        as_sampler(name)
    except ParameterError:
        return False
    return True


def _key(plan: Recourse) -> tuple[Any, ...]:
    changes = sorted((c.feature.name, c.mode, str(c.after), c.amount) for c in plan.changes)
    return (plan.outcome, *changes)
