"""From a row with blanks to its completions.

Samplers draw many completions of one row: :class:`ChainedEquations`, :class:`ForestDonors`,
:class:`GaussianCopula`, :class:`NearestDonors`, :class:`Marginal`, :class:`Uniform`, :class:`FromCallable` and a
:class:`Mixture` of these. Imputers fill in one: :class:`MeanImputer`, :class:`KNearestImputer` and
:class:`MICEImputer`. :func:`sample_conditioned` keeps the completions that agree with a known decision.
"""

from armin.impute.base import Draws, Imputer, Sampler
from armin.impute.chained import ChainedEquations
from armin.impute.choose import as_imputer, as_sampler
from armin.impute.condition import Conditioned, sample_conditioned
from armin.impute.copula import GaussianCopula
from armin.impute.custom import FromCallable
from armin.impute.donors import NearestDonors
from armin.impute.forest import ForestDonors
from armin.impute.mixture import Mixture
from armin.impute.native import NativeMissing
from armin.impute.simple import Marginal, Uniform
from armin.impute.single import KNearestImputer, MeanImputer, MICEImputer

__all__ = [
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
    "Sampler",
    "Uniform",
    "as_imputer",
    "as_sampler",
    "sample_conditioned",
]
