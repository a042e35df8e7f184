"""What a rule is, and what every rule has for nothing."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import SchemaError
from armin.registry import Registry
from armin.words import Message

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["RULES", "OptionsOf", "Rule", "after_option", "rule_from_dict"]

RULES: Registry[Rule] = Registry("rule", "armin.schema.rules")
"""The rules that can stand in a schema's file."""


class OptionsOf(Protocol):
    """What one person could do about one feature: codes ``values`` (1 or N, J), of which the first keeps it."""

    @property
    def position(self) -> int:
        """The feature's place in the schema."""

    @property
    def values(self) -> FloatArray:
        """The codes."""


class Rule:
    """A rule: a frozen dataclass with ``features``, ``sentence`` and ``allows``; see CONTRIBUTING.md for one in full.

    Parameters of a class definition
    --------------------------------
    alias : what the rule is called in a schema's file
    """

    alias: ClassVar[str] = ""

    if TYPE_CHECKING:  # a property here would be taken for the default of a dataclass's field

        @property
        def features(self) -> tuple[str, ...]:
            """The features that the rule is about."""

    def __init_subclass__(cls, *, alias: str = "") -> None:
        super().__init_subclass__()
        cls.alias = alias
        RULES.add(alias, cls)

    def applied(self, schema: Schema) -> Schema:
        """The schema with this rule."""
        return replace(schema, rules=(*schema.rules, self))

    def check(self, schema: Schema) -> None:
        """Refuse what does not fit the schema."""
        for name in self.features:
            schema.position(name)

    def message(self, schema: Schema) -> Message:
        """The rule, to be said in any language; a rule of your own may define ``sentence`` instead."""
        return Message("rules.own", text=self.sentence(schema))

    def sentence(self, schema: Schema) -> str:
        """The rule in English."""
        return str(self.message(schema))

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates (N,) a plan from ``before`` to ``after`` (N, D) does not lead into breaking the rule."""
        raise NotImplementedError

    def fits(self, schema: Schema, codes: FloatArray) -> BoolArray:
        """Which rows, as they stand, do not contradict the rule; all, if it speaks of changes only."""
        return np.ones(codes.shape[0], dtype=bool)

    def pairs(self) -> list[Self]:
        """The same rule as rules on at most two features, which is what a problem can hold."""
        if len(self.features) > 2:
            raise SchemaError(
                f"{type(self).__name__} is about {len(self.features)} features, and rules are enforced on pairs. "
                "Define its method pairs(), which says the same by rules on two features each."
            )
        return [self]

    def table(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Which options of two features it allows together, (J_first, J_second).

        This one asks ``allows`` about each pair. A rule that many people meet should know a faster way.

        Parameters
        ----------
        schema : the schema
        first, second : the options; for a rule on one feature ``second`` only keeps it
        candidates : codes of the completions (N, D)
        """
        allowed = np.empty((first.values.shape[1], second.values.shape[1]), dtype=bool)
        for k in range(allowed.shape[1]):
            start = after_option(candidates, second, k)
            for j in range(allowed.shape[0]):
                allowed[j, k] = self.allows(schema, candidates, after_option(start, first, j)).all()
        return allowed

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data; what is None is left out.

        >>> from armin.schema import Order
        >>> Order(("part", "total")).to_dict()
        {'rule': 'order', 'features': ['part', 'total']}
        """
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        told = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        return {"rule": self.alias} | {key: value for key, value in told.items() if value is not None}

    @classmethod
    def of_dict(cls, given: dict[str, Any]) -> Self:
        """The rule behind :meth:`to_dict`, without its name; a list becomes a tuple."""
        return cls(**{key: tuple(value) if isinstance(value, list) else value for key, value in given.items()})


def rule_from_dict(data: dict[str, Any]) -> Rule:
    """The rule behind :meth:`Rule.to_dict`."""
    name = data.get("rule")
    cls = RULES.find(name)
    if cls is None:
        raise SchemaError(f"A rule must be one of {', '.join(RULES.all())}. Got {name!r} instead.")
    given = {key: value for key, value in data.items() if key != "rule"}
    try:
        return cls.of_dict(given)
    except TypeError:
        raise SchemaError(f"The rule {name!r} has wrong or missing keys: {', '.join(given)}.") from None


def after_option(candidates: FloatArray, options: OptionsOf, j: int) -> FloatArray:
    """The candidates (N, D) after option ``j`` of one feature."""
    after = candidates.copy()
    after[:, options.position] = options.values[:, j]
    return after
