"""From a row with blanks to its completions.

Samplers draw many completions of one row, imputers fill in one. A new one is a subclass of :class:`BaseSampler` or
:class:`BaseImputer` in a file of its own; :data:`SAMPLERS` and :data:`IMPUTERS` know them all by name.
:func:`sample_conditioned` keeps the completions that agree with a known decision.
"""

from armin.sampling.auto import AutoSampler
from armin.sampling.base import (
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
from armin.sampling.chained import ChainedEquations
from armin.sampling.choose import as_imputer, as_sampler, compared_samplers
from armin.sampling.condition import Conditioned, sample_conditioned
from armin.sampling.copula import GaussianCopula
from armin.sampling.custom import FromCallable
from armin.sampling.donors import NearestDonors
from armin.sampling.forest import ForestDonors
from armin.sampling.native import NativeMissing
from armin.sampling.private import PrivateCopula
from armin.sampling.simple import Marginal, Uniform
from armin.sampling.single import KNearestImputer, MeanImputer, MICEImputer

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
