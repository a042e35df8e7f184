"""From what a user says to a sampler or an imputer."""

from __future__ import annotations

from armin.errors import ParameterError
from armin.sampling.base import IMPUTERS, SAMPLERS, Imputer, Sampler
from armin.sampling.custom import FromCallable

__all__ = ["as_imputer", "as_sampler", "compared_samplers"]


def as_sampler(spec: object) -> Sampler:
    """The sampler that ``spec`` stands for.

    Parameters
    ----------
    spec : a sampler (returned as it is, not copied), a function for :class:`FromCallable`, or the alias of a class:
        one of ARMIN's own, listed in docs/samplers.md, or of any subclass of :class:`BaseSampler` that has one

    Examples
    --------
    >>> as_sampler("donors")
    NearestDonors()
    """
    named = SAMPLERS.find(spec)
    if named is not None:
        return named.usual()
    if not isinstance(spec, str | type):
        if isinstance(spec, Sampler):
            return spec
        if callable(spec):
            return FromCallable(spec)
    raise ParameterError(
        f"'sampler' must be one of {SAMPLERS.listed()}, a sampler object with fit and sample, or a function "
        f"(row, n, rng). Got {_got(spec)} instead."
    )


def as_imputer(spec: object) -> Imputer:
    """The imputer that ``spec`` stands for.

    Parameters
    ----------
    spec : an imputer (returned as it is, not copied), or the alias of a class: "mean", "knn", "mice", or of any other
        subclass of :class:`BaseImputer` that has one

    Examples
    --------
    >>> as_imputer("knn")
    KNearestImputer()
    """
    named = IMPUTERS.find(spec)
    if named is not None:
        return named.usual()
    if not isinstance(spec, str | type) and isinstance(spec, Imputer):
        return spec
    raise ParameterError(
        f"'imputer' must be one of {IMPUTERS.listed()}, or an imputer object with fit and impute. "
        f"Got {_got(spec)} instead."
    )


def compared_samplers() -> tuple[str, ...]:
    """The aliases of the samplers that are compared if none are named.

    >>> compared_samplers()
    ('chained', 'copula', 'donors', 'forest', 'marginal')
    """
    return tuple(alias for alias, cls in SAMPLERS.all().items() if cls.compared)


def _got(spec: object) -> str:
    return f"the class {spec.__name__} (write {spec.__name__}())" if isinstance(spec, type) else repr(spec)
