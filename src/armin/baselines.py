"""What the paper compares ARMIN with; the same questions, asked the same way."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace

import pandas as pd

from armin.arrays import FloatArray
from armin.explain.estimator import Explainer
from armin.explain.methods import ARMIN
from armin.explain.settings import Settings
from armin.sampling import Imputer, as_imputer
from armin.schema import Carried

__all__ = ["METHODS", "ImputationAR", "RobustAR"]


@dataclass(eq=False, repr=False)
class RobustAR(Explainer):
    """Recourse that works for every drawn completion: the paper's expensive baseline, by constraint generation.

    Parameters are those of :class:`armin.ARMIN`, without ``confidence`` and ``promise``.

    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> robust = RobustAR(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> robust.explain(loans.applicant).validity.share
    1.0
    """

    def _settings(self) -> Settings:
        settings = super()._settings()
        options, solving = replace(self.options, checks=False), replace(settings.solving, for_all=True)
        return replace(settings, options=options, solving=solving)


@dataclass(eq=False, repr=False)
class ImputationAR(Explainer):
    """Recourse for one way to fill the blanks: what people do today, and the paper's cheap baseline.

    The answer's ``fresh`` validity says for how many plausible people the advice really works.

    Parameters
    ----------
    imputer : "mean", "knn", "mice", or an imputer object
    sampler : only used to judge the advice
    classifier, schema, desired, threshold, cost, decision, reapply, max_changes, random_state, options : as in
        :class:`armin.ARMIN`

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> naive = ImputationAR(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> naive.explain(loans.applicant).fresh.share < 0.75
    True
    """

    learned = (*Explainer.learned, "imputer")

    imputer: str | Imputer = "mean"

    def _settings(self) -> Settings:
        return replace(super()._settings(), states=False, options=replace(self.options, n_samples=1, checks=False))

    def _learn(self, codes: FloatArray, like: pd.DataFrame | None, along: Carried | None) -> None:
        super()._learn(codes, like, along)
        imputer = deepcopy(as_imputer(self.imputer)).fit(codes, self.schema)
        self.fitted_ = replace(self.fitted_, imputer=imputer)


METHODS: dict[str, type[Explainer]] = {"ARMIN": ARMIN, "RobustAR": RobustAR, "ImputationAR": ImputationAR}
"""ARMIN and the baselines, by the paper's names."""
