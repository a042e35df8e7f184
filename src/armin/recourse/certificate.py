"""What an answer may claim, and on what grounds: machine-readable, and one honest sentence."""

from __future__ import annotations

import math
import platform
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from scipy.stats import beta

from armin.problem import Status
from armin.promise import Calibration
from armin.recourse.origin import Origin
from armin.recourse.world import COMPLETE, World
from armin.words import Message, Printable

__all__ = ["Certificate", "Claim", "Scope", "Validity", "claim_of", "library_versions"]

Scope = Literal["domain", "list"]
Claim = Literal["cheapest", "within", "list"]
"""Nothing is cheaper; nothing is cheaper by more than the tolerance; nothing on the list of values is cheaper."""


def claim_of(scope: Scope, gap: float | None) -> Claim:
    """What may be said of a plan that is proved over all values or a list, with its distance from the bound."""
    return "list" if scope == "list" else "within" if gap else "cheapest"


FORMAT = "armin.certificate/1"
FAILURE = 0.05
"""How often the bounds of the certificate may be wrong."""


@dataclass(frozen=True)
class Validity:
    """For how much of a sample an action works.

    Attributes
    ----------
    accepted, of : weight of the accepted candidates, and of all

    >>> v = Validity(75, 100)
    >>> v.share, tuple(round(b, 3) for b in v.interval())
    (0.75, (0.653, 0.831))
    """

    accepted: float
    of: float

    @property
    def share(self) -> float:
        return self.accepted / self.of

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The exact (Clopper-Pearson) binomial interval of the share."""
        k, n, tail = self.accepted, self.of, (1 - level) / 2
        low = 0.0 if k <= 0 else float(beta.ppf(tail, k, n - k + 1))
        high = 1.0 if k >= n else float(beta.ppf(1 - tail, k + 1, n - k))
        return low, high

    def to_dict(self) -> dict[str, float]:
        return {"accepted": self.accepted, "of": self.of, "share": self.share}


@dataclass(frozen=True, repr=False)
class Certificate(Printable):
    """Every ground on which an answer stands.

    Attributes
    ----------
    status, bound, gap, scope, tolerance : what is proved; see :class:`armin.Recourse`
    confidence : the share of completions that was asked for
    validity : on the completions that were optimised over, each judged by the user's own model
    fresh : on completions drawn afterwards, from which the plan knows nothing
    error : Proposition 3: with probability 95 %, ``validity.share`` exceeds the true share under the sampler by no
        more than this, whichever action was chosen
    calibration : the test on real people behind a promise, or None
    conditioned : the share of draws that agree with the known rejection and the rules; None if not used
    blanks : how many values were not given
    sampler, samples, seed : how the completions were drawn
    versions : the libraries
    rank : 1 for the cheapest plan, 2, 3, ... for alternatives
    origin : the fingerprints of the model, the schema and the bundle behind it; equality does not look at it

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> explainer.explain(loans.person).certificate.sentence
    'Nothing was left blank: the model itself accepts the row after the changes, and no cheaper allowed plan exists.'
    """

    status: Status
    bound: float
    gap: float | None
    confidence: float | None
    validity: Validity | None
    fresh: Validity | None
    error: float | None
    calibration: Calibration | None
    conditioned: float | None
    blanks: int
    sampler: str
    samples: int
    seed: int | None
    versions: dict[str, str] = field(default_factory=dict, hash=False)
    rank: int = 1
    world: World = COMPLETE
    origin: Origin | None = field(default=None, compare=False)
    scope: Scope = "domain"
    tolerance: float = 0.0

    @property
    def exact(self) -> bool:
        """Whether the model itself has decided about the one row that is submitted, whatever its blanks hide."""
        return self.world.reapply == "blank" and self.fresh is None and self.validity == Validity(1.0, 1.0)

    @property
    def at_least(self) -> float | None:
        """Proposition 3's lower bound of the share of completions for which the action works."""
        if self.validity is None or self.error is None:
            return None
        return max(0.0, self.validity.share - self.error)

    @property
    def claim(self) -> Claim:
        """What is said of cheaper plans, where one is proved the cheapest."""
        return claim_of(self.scope, self.gap)

    @property
    def message(self) -> Message:
        """What is known, and what is not, in words that a layperson can hold us to."""
        if self.validity is None:
            none = "certificate.none_list" if self.scope == "list" else "certificate.none"
            codes = {Status.INFEASIBLE: none, Status.UNKNOWN: "certificate.time"}
            return Message(codes.get(self.status, "certificate.nothing"))
        proved = "certificate.unproved"
        if self.status is Status.OPTIMAL:
            proved = f"certificate.{'cheapest' if self.claim == 'cheapest' else f'cheapest_{self.claim}'}"
        cheapest = Message("certificate.alternative" if self.rank > 1 else proved, tolerance=self.tolerance)
        if not self.blanks:
            return Message("certificate.complete", cheapest=cheapest)
        if self.world.accepted:
            return Message("certificate.accepted")
        if self.exact:
            return Message("certificate.row", cheapest=cheapest)
        if self.calibration is not None:
            return Message("certificate.tested", tested=self.calibration.message, cheapest=cheapest)
        if self.fresh is None:
            return Message("certificate.sample", share=self.validity.share, cheapest=cheapest)
        low, _ = self.fresh.interval(1 - 2 * FAILURE)  # one-sided
        return Message(
            "certificate.fresh", share=self.fresh.share, of=round(self.fresh.of), low=low, level=1 - FAILURE,
            cheapest=cheapest,
        )  # fmt: skip

    @property
    def population(self) -> Message | None:
        """Whom this is about: what is known of them, and who will judge; None where nothing is blank."""
        return self.world.message

    @property
    def sentence(self) -> str:
        """The message in English."""
        return self.text()

    def text(self, language: str = "en") -> str:
        """The message in a language."""
        return self.message.text(language)

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain data."""
        message, fresh = self.message, None
        if self.fresh is not None:
            fresh = self.fresh.to_dict() | {"interval": list(self.fresh.interval()), "level": 0.95}
        return {
            "format": FORMAT,
            "sentence": str(message),
            "message": message.to_dict(),
            "status": self.status.value,
            "bound": self.bound if math.isfinite(self.bound) else None,
            "gap": self.gap,
            "scope": self.scope,
            "tolerance": self.tolerance,
            "rank": self.rank,
            "confidence": self.confidence,
            "validity": None if self.validity is None else self.validity.to_dict(),
            "fresh": fresh,
            "estimation_error": self.error,
            "at_least": self.at_least,
            "failure": FAILURE,
            "promise": None if self.calibration is None else self.calibration.summary(),
            "conditioned": self.conditioned,
            "blanks": self.blanks,
            "sampler": self.sampler,
            "samples": self.samples,
            "seed": self.seed,
            "versions": dict(self.versions),
            "fingerprint": None if self.origin is None else self.origin.to_dict(),
            "world": self.world.to_dict(),
            "population": None if self.population is None else str(self.population),
        }


@cache
def library_versions() -> dict[str, str]:
    """The versions of what an answer rests on.

    >>> sorted(library_versions())
    ['armin', 'numba', 'numpy', 'pandas', 'python', 'scikit-learn', 'scipy']
    """
    found = {"python": platform.python_version()}
    for name in ("armin", "numba", "numpy", "pandas", "scikit-learn", "scipy"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # a source tree that was never installed
            found[name] = "unknown"
    return found
