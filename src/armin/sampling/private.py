"""A joint distribution that keeps no row, and no number of fewer than some people."""

from __future__ import annotations

from armin.sampling.base import check_count
from armin.sampling.copula import GaussianCopula

__all__ = ["PrivateCopula"]


class PrivateCopula(
    GaussianCopula, alias="private", summary="as copula; no row is kept, and no number of fewer than ten people"
):
    """A Gaussian copula whose margins are coarse: each number that is kept is the mean of ``at_least`` people or more.

    What is kept about a person is his or her share in group means and correlations. That is far less than rows, and no
    proof: group means at the ends of a column still lean towards the one largest value in them, and nothing here is
    differentially private.

    Parameters
    ----------
    at_least : how many people stand behind each number
    sweeps, shrinkage, max_rows, random_state : as in :class:`GaussianCopula`

    Examples
    --------
    >>> import numpy as np
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("a", "continuous", lower=-9, upper=9), Feature("b", "continuous", lower=-9, upper=9)))
    >>> a = np.random.default_rng(0).normal(size=500).clip(-8, 8)
    >>> sampler = PrivateCopula().fit(np.column_stack([a, a + 1]), schema)
    >>> float(sampler.sample(np.array([1.0, np.nan]), 100, np.random.default_rng(1)).values[:, 1].mean().round(1))
    2.0
    >>> len(sampler.margins_[0].values)
    50
    """

    def __init__(
        self,
        at_least: int = 10,
        *,
        sweeps: int = 40,
        shrinkage: float = 2.0,
        max_rows: int | None = 5000,
        random_state: int = 0,
    ) -> None:
        super().__init__(sweeps, shrinkage=shrinkage, max_rows=max_rows, random_state=random_state)
        self.at_least = at_least

    def _people_behind_a_value(self) -> int:
        return check_count("at_least", self.at_least)

    def kept(self) -> list[str]:
        """Group means by column, and correlations."""
        return [
            self._keeps(
                f"for each number the means of groups of at least {self.at_least} people, for each category how often "
                "it occurred, and the correlation of each pair of columns. No row, and no value of one person."
            )
        ]
