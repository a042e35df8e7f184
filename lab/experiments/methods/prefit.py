"""Something fitted that must not be fitted again."""

from __future__ import annotations

from typing import Any, Self

__all__ = ["Prefit"]


class Prefit:
    """A fitted cost, sampler or imputer that an explainer takes as it is: shared, not copied, not fitted again.

    Parameters
    ----------
    fitted : what was fitted, on the codes of the same schema
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
