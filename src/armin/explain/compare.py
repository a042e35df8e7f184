"""Does the advice depend on how the blanks are filled? Several explainers on one row, each judged by all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from armin.arrays import FloatArray
from armin.errors import ParameterError
from armin.explain.draw import fresh_of
from armin.explain.fitted import Fitted
from armin.explain.world import find_world
from armin.recourse import Recourse
from armin.sampling import Sampler, as_sampler, compared_samplers
from armin.words import Message, Printable, catalogue
from armin.words.numbers import figure_digits

__all__ = ["Comparison", "compare", "sampled_by"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Printable):
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
    def message(self) -> Message:
        """Whether the advice depends on how the blanks are filled, to be said in any language."""
        found = {name: plan for name, plan in self.plans.items() if plan.found}
        n, least = len(self.plans), self._least(found)
        if self.same_advice:
            if n == 1:
                return Message("compare.alone")
            return Message("compare.same", n=n, least=least) if found else Message("compare.same_none", n=n)
        kinds = len({_key(plan) for plan in found.values()})
        without = tuple(name for name in self.plans if name not in found)
        return Message(
            "compare.other", n=n, plans=Message("compare.plans", n=kinds), least=least,
            cost=self._costs(found) if kinds > 1 else "",
            none=Message("compare.none", names=without) if without else "",
        )  # fmt: skip

    @property
    def sentence(self) -> str:
        """The message in English."""
        return str(self.message)

    @staticmethod
    def _costs(found: dict[str, Recourse]) -> Message:
        costs = [plan.cost for plan in found.values() if plan.cost is not None]
        low, high = min(costs), max(costs)
        if figure_digits(low) == figure_digits(high):
            return Message("compare.cost", cost=low)
        return Message("compare.costs", low=low, high=high)

    def _least(self, found: dict[str, Recourse]) -> Message | str:
        """What the plan that does best at worst does at worst."""
        worst = self.validity.loc[list(found)].min(axis=1).dropna()
        if worst.empty:
            return ""
        name = str(worst.idxmax())
        share = float(worst[name])
        if len({_key(plan) for plan in found.values()}) == 1:
            return Message("compare.least", share=share)
        return Message("compare.least_of", name=name, share=share)

    def to_frame(self, language: str = "en") -> pd.DataFrame:
        """One line per plan: cost, changes, and how well it does under each view, as a language writes it."""
        words = catalogue(language)
        rows = {
            name: {
                "cost": plan.cost,
                "changes": "; ".join(c.short_message.text(language) for c in plan.changes) or plan.outcome,
            }
            for name, plan in self.plans.items()
        }
        shares = self.validity.map(lambda share: "" if np.isnan(share) else words.percent(share).replace("\u00a0", " "))
        return pd.DataFrame(rows).T.join(shares.rename(columns=lambda name: words.say("compare.works_for", name=name)))

    def text(self, language: str = "en") -> str:
        """The comparison as text in a language, such as "de"; ``print`` shows it in English."""
        return f"{self.message.text(language)}\n\n{self.to_frame(language).to_string()}"


def compare(ways: Mapping[str, Fitted], codes: FloatArray, plans: Mapping[str, Recourse]) -> Comparison:
    """Judge every plan for one row by every way to see it.

    Parameters
    ----------
    ways : fitted explainers by name
    codes : the row (D,)
    plans : what each advises
    """
    table = pd.DataFrame(np.nan, index=list(plans), columns=list(plans), dtype=float)
    for judge, fitted in ways.items():
        fresh = fresh_of(fitted, find_world(fitted, codes), codes)
        if fresh is None:
            continue
        share = fresh.weights / fresh.weights.sum()
        for name, plan in plans.items():
            if plan.found:
                accepted = fitted.oracle.accepts(plan.apply_codes(fitted.schema, fresh.values))
                table.loc[name, judge] = min(1.0, round(float(share[accepted].sum()), 12))
    return Comparison(dict(plans), table)


def sampled_by(
    fitted: Fitted, codes: FloatArray, samplers: Sequence[str] | Mapping[str, str | Sampler] | None
) -> dict[str, Fitted]:
    """The same explainer with several samplers, each fitted on training ``codes`` (n, D)."""
    if isinstance(samplers, str):
        raise ParameterError(f"'samplers' must be a list of names. Got the text {samplers!r} instead.")
    if samplers is None:
        named: dict[str, str | Sampler] = {name: name for name in compared_samplers()}
    else:
        named = dict(samplers) if isinstance(samplers, Mapping) else {name: name for name in samplers}
    if not named:
        raise ParameterError("compare_samplers needs at least one sampler. Got none; write samplers=('chained', ...).")
    return {
        name: replace(fitted, sampler=deepcopy(as_sampler(spec)).fit(codes, fitted.schema), imputer=None, native=False)
        for name, spec in named.items()
    }


def _key(plan: Recourse) -> tuple[Any, ...]:
    changes = sorted((c.feature.name, c.mode, str(c.after), c.amount) for c in plan.changes)
    return (plan.outcome, *changes)
