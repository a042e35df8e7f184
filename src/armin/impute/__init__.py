"""From a row with blanks to its completions.

Samplers draw many completions of one row, imputers fill in one. A new one is a subclass of :class:`BaseSampler` or
:class:`BaseImputer` in a file of its own; :data:`SAMPLERS` and :data:`IMPUTERS` know them all by name.
:func:`sample_conditioned` keeps the completions that agree with a known decision.
"""

from armin.impute.auto import AutoSampler
from armin.impute.base import (
    IMPUTERS,
    SAMPLERS,
    BaseImputer,
    BaseSampler,
    Draws,
    Imputer,
    RowSampler,
    Sampler,
    row_sampler,
)
from armin.impute.chained import ChainedEquations
from armin.impute.choose import as_imputer, as_sampler, compared_samplers
from armin.impute.condition import Conditioned, sample_conditioned
from armin.impute.copula import GaussianCopula
from armin.impute.custom import FromCallable
from armin.impute.donors import NearestDonors
from armin.impute.forest import ForestDonors
from armin.impute.mixture import Mixture
from armin.impute.native import NativeMissing
from armin.impute.private import PrivateCopula
from armin.impute.simple import Marginal, Uniform
from armin.impute.single import KNearestImputer, MeanImputer, MICEImputer

__all__ = [
    "IMPUTERS",
    "SAMPLERS",
    "AutoSampler",
    "BaseImputer",
    "BaseSampler",
    "ChainedEquations",
    "Conditioned",
    "Draws",
    "ForestDonors",
    "FromCallable",
    "GaussianCopula",
    "Imputer",
    "KNearestImputer",
    "MICEImputer",
    "Marginal",
    "MeanImputer",
    "Mixture",
    "NativeMissing",
    "NearestDonors",
    "PrivateCopula",
    "RowSampler",
    "Sampler",
    "Uniform",
    "as_imputer",
    "as_sampler",
    "compared_samplers",
    "row_sampler",
    "sample_conditioned",
]
