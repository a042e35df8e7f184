"""From what a user says to a sampler or an imputer."""

from __future__ import annotations

from collections.abc import Callable

from armin.errors import ParameterError
from armin.impute.base import Imputer, Sampler
from armin.impute.chained import ChainedEquations
from armin.impute.copula import GaussianCopula
from armin.impute.custom import FromCallable
from armin.impute.donors import NearestDonors
from armin.impute.forest import ForestDonors
from armin.impute.mixture import Mixture
from armin.impute.simple import Marginal, Uniform
from armin.impute.single import KNearestImputer, MeanImputer, MICEImputer

__all__ = ["as_imputer", "as_sampler"]


def _mixture() -> Sampler:
    return Mixture((ChainedEquations(), ForestDonors(), NearestDonors()))


_SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "chained": ChainedEquations,
    "copula": GaussianCopula,
    "donors": NearestDonors,
    "forest": ForestDonors,
    "marginal": Marginal,
    "mixture": _mixture,
    "uniform": Uniform,
}
_IMPUTERS: dict[str, Callable[[], Imputer]] = {"mean": MeanImputer, "knn": KNearestImputer, "mice": MICEImputer}


def as_sampler(spec: object) -> Sampler:
    """The sampler that ``spec`` stands for.

    Parameters
    ----------
    spec : a sampler (returned as it is, not copied), a function for :class:`FromCallable`, or one of
        "chained", "copula", "donors", "forest", "marginal", "mixture" (of chained, forest and donors, weighted by
        what held-out rows say), "uniform"

    Examples
    --------
    >>> as_sampler("donors")
    NearestDonors()
    """
    if isinstance(spec, str) and spec in _SAMPLERS:
        return _SAMPLERS[spec]()
    if not isinstance(spec, str | type):
        if isinstance(spec, Sampler):
            return spec
        if callable(spec):
            return FromCallable(spec)
    raise ParameterError(
        f"'sampler' must be one of {_listed(_SAMPLERS)}, a sampler object with fit and sample, or a function "
        f"(row, n, rng). Got {_got(spec)} instead."
    )


def as_imputer(spec: object) -> Imputer:
    """The imputer that ``spec`` stands for.

    Parameters
    ----------
    spec : an imputer (returned as it is, not copied), or one of "mean", "knn", "mice"

    Examples
    --------
    >>> as_imputer("knn")
    KNearestImputer()
    """
    if isinstance(spec, str) and spec in _IMPUTERS:
        return _IMPUTERS[spec]()
    if not isinstance(spec, str | type) and isinstance(spec, Imputer):
        return spec
    raise ParameterError(
        f"'imputer' must be one of {_listed(_IMPUTERS)}, or an imputer object with fit and impute. "
        f"Got {_got(spec)} instead."
    )


def _listed(names: dict[str, Callable[[], Sampler]] | dict[str, Callable[[], Imputer]]) -> str:
    return ", ".join(repr(name) for name in names)


def _got(spec: object) -> str:
    return f"the class {spec.__name__} (write {spec.__name__}())" if isinstance(spec, type) else repr(spec)
