"""What a user says about columns, by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from armin.errors import SchemaError
from armin.schema.checks import KINDS
from armin.schema.feature import Blank, Feature, Kind
from armin.schema.values import Value, as_number

__all__ = ["Overrides"]

_LISTS = ("immutable", "mutable", "increase_only", "decrease_only", "protected", "carried")
_FIELDS = (
    ("step", "step"), ("blank", "blanks"), ("label", "labels"), ("unit", "units"), ("format", "formats"),
    ("difficulty", "difficulty"), ("reason", "reasons"),
)  # fmt: skip


@dataclass(frozen=True)
class Overrides:
    """What a user says about columns; see :meth:`armin.schema.Schema.infer`."""

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    categories: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    immutable: Sequence[str] = ()
    mutable: Sequence[str] | None = None
    increase_only: Sequence[str] = ()
    decrease_only: Sequence[str] = ()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    step: Mapping[str, float] = field(default_factory=dict)
    blanks: Mapping[str, Blank] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    difficulty: Mapping[str, float] = field(default_factory=dict)
    protected: Sequence[str] | None = None
    carried: Sequence[str] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    sentinels: Mapping[str, Sequence[Value]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for what, given in vars(self).items():
            if what in _LISTS:
                if isinstance(given, str):
                    raise SchemaError(
                        f"'{what}' must be a list of column names. Got the text {given!r}; write [{given!r}]."
                    )
                if given is not None:
                    object.__setattr__(self, what, tuple(given))
            elif given is None:
                object.__setattr__(self, what, {})
            elif not isinstance(given, Mapping):
                raise SchemaError(f"'{what}' must be a dict from column name to value. Got {given!r} instead.")
        for name, kind in self.kinds.items():
            if kind not in KINDS:
                raise SchemaError(f"The kind of {name!r} must be one of {', '.join(KINDS)}. Got {kind!r} instead.")
        for name, values in self.categories.items():
            if isinstance(values, str):
                raise SchemaError(f"The categories of {name!r} must be a list. Got the text {values!r} instead.")
        for what in ("bounds", "limits"):
            pairs = {name: _pair(name, what, pair) for name, pair in getattr(self, what).items()}
            object.__setattr__(self, what, pairs)

    def check(self, names: Sequence[str]) -> None:
        """Refuse a name that is not a column, and directions that contradict each other."""
        for what, given in vars(self).items():
            for name in given or ():
                if name not in names:
                    raise SchemaError(
                        f"'{what}' names {name!r}, which is not a column. The columns are: {', '.join(names)}."
                    )
        for name in names:
            said = [what for what in _LISTS if what != "mutable" and name in (getattr(self, what) or ())]
            if {"protected", "immutable"} <= set(said):
                said.remove("immutable")  # what is protected is immutable
            if {"carried", "immutable"} <= set(said):
                said.remove("immutable")
            if self.mutable is not None and name in self.mutable and name in self.immutable:
                said.append("mutable")
            if len(said) > 1:
                raise SchemaError(f"{name!r} cannot be {' and '.join(said)} at once. Name it in one list only.")
            if self.mutable is not None and name in self.mutable and said and said[0] in ("protected", "carried"):
                raise SchemaError(f"{name!r} cannot be {said[0]} and mutable at once. Name it in one list only.")
            free = ("immutable", "protected", "carried")
            if self.mutable is not None and name not in self.mutable and said and said[0] not in free:
                raise SchemaError(
                    f"{name!r} is in {said[0]}, but not in mutable, the list of all that may change. Add it to mutable."
                )

    def apply(self, feature: Feature) -> Feature:
        """The feature with everything said about it but kind and categories."""
        name = feature.name
        if name in self.carried and not feature.is_carried:
            feature = Feature(name, "carried", label=feature.label, protected=feature.protected)
        elif feature.is_carried and self.opens(name):
            raise SchemaError(
                f"{name!r} is carried along as it is, so advice cannot change it. Infer the schema anew and say what "
                f"it holds: Schema.infer(frame, kinds={{{name!r}: 'categorical'}}), for example."
            )
        changes: dict[str, Any] = {
            key: getattr(self, what)[name] for key, what in _FIELDS if name in getattr(self, what)
        }
        if name in self.bounds:
            changes["lower"], changes["upper"] = self.bounds[name]
            changes["limits"] = None  # bounds that are said are limits, unless limits are said too
        if name in self.limits:
            changes["limits"] = self.limits[name]
        if name in (self.protected or ()):
            changes |= {"direction": "fixed", "protected": True}
        elif self.opens(name):
            changes["protected"] = False
        if name in self.immutable or (self.mutable is not None and name not in self.mutable):
            changes["direction"] = "fixed"
        elif name in self.increase_only:
            changes["direction"] = "increase"
        elif name in self.decrease_only:
            changes["direction"] = "decrease"
        elif self.mutable is not None and not feature.actionable:
            changes["direction"] = "any"
        return replace(feature, **changes)

    def opens(self, name: str) -> bool:
        """Whether the user says that advice may change a column."""
        return name in (*(self.mutable or ()), *self.increase_only, *self.decrease_only)

    def settles(self, name: str) -> bool:
        """Whether the user says whether advice may change a column, so that nothing is guessed."""
        return self.protected is not None or self.mutable is not None or name in self.immutable or self.opens(name)


def _pair(name: str, what: str, given: object) -> tuple[float, float]:
    pair = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
    low, high = (as_number(b) for b in pair) if len(pair) == 2 else (None, None)
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)):
        raise SchemaError(
            f"The {what} of {name!r} must be a pair of finite numbers (lower, upper). Got {given!r} instead."
        )
    return low, high
