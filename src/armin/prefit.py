"""Something fitted that must not be fitted again."""

from __future__ import annotations

from typing import Any, Self

__all__ = ["Prefit"]


class Prefit:
    """A fitted cost, sampler or imputer that an explainer takes as it is: shared, not copied, not fitted again.

    Parameters
    ----------
    fitted : what was fitted, on the codes of the same schema

    Examples
    --------
    >>> from armin import ARMIN, Prefit
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> first = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> shared = {"cost": Prefit(first.fitted_.cost), "sampler": Prefit(first.fitted_.sampler)}
    >>> second = ARMIN(loans.classifier, loans.schema, desired="approved", confidence=0.9, **shared).fit(loans.X)
    >>> second.fitted_.sampler.fitted is first.fitted_.sampler
    True
    """

    def __init__(self, fitted: Any) -> None:
        self.fitted = fitted

    def fit(self, X: Any, schema: Any) -> Self:
        """Nothing to learn."""
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __sklearn_clone__(self) -> Self:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "fitted":
            raise AttributeError(name)
        return getattr(self.fitted, name)

    def __repr__(self) -> str:
        return f"Prefit({self.fitted!r})"
