"""Which model, schema and bundle an answer comes from, as fingerprints."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from armin.schema import Schema

__all__ = ["Origin", "short"]


@dataclass(frozen=True)
class Origin:
    """Fingerprints (SHA-256, in hexadecimal) of what made an answer.

    Attributes
    ----------
    schema : of the schema as its file says it
    model : of the model as its bundle holds it; None where the explainer does not come from a bundle
    bundle : of all parts of the bundle; the date and the title do not count

    Examples
    --------
    >>> from armin.schema import Feature
    >>> origin = Origin.of(Schema((Feature("age", "integer", lower=18, upper=90),)))
    >>> len(origin.schema), origin.model
    (64, None)
    """

    schema: str
    model: str | None = None
    bundle: str | None = None

    @classmethod
    def of(cls, schema: Schema) -> Origin:
        """The origin of an explainer that was made here, not loaded from a bundle."""
        return cls(hashlib.sha256(schema.to_toml().encode()).hexdigest())

    def to_dict(self) -> dict[str, str | None]:
        """The fingerprints as plain data."""
        return {"model": self.model, "schema": self.schema, "bundle": self.bundle}


def short(fingerprint: str) -> str:
    """The first twelve digits, for people to compare.

    >>> short("0123456789abcdef0123")
    '0123 4567 89ab'
    """
    return " ".join(fingerprint[i : i + 4] for i in (0, 4, 8))
