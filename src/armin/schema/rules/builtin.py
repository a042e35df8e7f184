"""The rules that ARMIN brings along."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import SchemaError
from armin.schema.rules.base import OptionsOf, Rule, after_option
from armin.schema.values import Value
from armin.words import Message, Name

if TYPE_CHECKING:
    from armin.schema.feature import Feature
    from armin.schema.table import Schema

__all__ = ["AtMostOne", "Condition", "Forbid", "Implies", "Order", "Together"]

Relation = Literal["is", "is not", "is at least", "is at most", "changes", "does not change", "increases", "decreases"]
_WITH_VALUE = ("is", "is not", "is at least", "is at most")


@dataclass(frozen=True)
class Order(Rule, alias="order"):
    """None of these features may be more than the next one, such as a part and its total, or late payments by severity.

    >>> Order(("years_here", "total_years")).features
    ('years_here', 'total_years')
    """

    features: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "features", tuple(self.features))

    def check(self, schema: Schema) -> None:
        """Refuse names that are not numbers, or all levels of the same scale."""
        _check_group("Order", self.features, schema)
        first = schema[self.features[0]]
        for name in self.features:
            feature = schema[name]
            same = feature.is_ordered and feature.categories == first.categories
            if not same and not (_counts(feature) and _counts(first)):
                raise SchemaError(
                    f"Order compares numbers, or columns with the same ordered values. {name!r} is {feature.kind}."
                )

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        if len(self.features) == 2:
            smaller, larger = _named(self.features, schema)
            return Message("rules.order", smaller=smaller, larger=larger)
        return Message("rules.order_many", labels=_named(self.features, schema))

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates are not led into breaking the rule between two neighbours."""
        return np.asarray((self._holds(schema, after) | ~self._holds(schema, before)).all(axis=1))

    def fits(self, schema: Schema, codes: FloatArray) -> BoolArray:
        """Which rows, as they stand, do not contradict the rule."""
        return np.asarray(self._holds(schema, codes).all(axis=1))

    def _holds(self, schema: Schema, codes: FloatArray) -> BoolArray:
        """Whether each feature is at most the next, (N, features - 1)."""
        values = codes[:, [schema.position(name) for name in self.features]]
        return np.asarray(values[:, :-1] <= values[:, 1:])

    def pairs(self) -> list[Order]:
        """Each with the next one."""
        return [Order(pair) for pair in pairwise(self.features)]

    def table(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Which options it allows together."""
        first_codes, second_codes = first.values[:, :, None], second.values[:, None, :]
        if schema.position(self.features[0]) == first.position:
            fine = first_codes <= second_codes
        else:
            fine = second_codes <= first_codes
        return np.asarray((fine | ~fine[:, :1, :1]).all(axis=0))


@dataclass(frozen=True)
class Condition:
    """Something that is true or false of one feature.

    >>> Condition("owner", "is", "yes").features
    ('owner',)
    """

    feature: str
    relation: Relation
    value: Value | None = None

    @property
    def features(self) -> tuple[str, ...]:
        return (self.feature,)

    def check(self, schema: Schema) -> None:
        """Refuse a relation or value that the feature cannot have."""
        feature = schema[self.feature]
        if self.relation not in get_args(Relation):
            raise SchemaError(f"A relation must be one of {', '.join(get_args(Relation))}. Got {self.relation!r}.")
        if (self.relation in _WITH_VALUE) != (self.value is not None):
            need = "needs a value" if self.relation in _WITH_VALUE else "takes no value"
            raise SchemaError(f"The relation {self.relation!r} on {self.feature!r} {need}. Got {self.value!r}.")
        if self.relation not in ("is", "is not", "changes", "does not change") and not feature.is_ordered:
            raise SchemaError(f"{self.feature!r} has no order, so {self.relation!r} means nothing for it.")
        if self.value is not None:
            feature.code(self.value)

    def message(self, schema: Schema) -> Message:
        """The condition, to be said."""
        feature = schema[self.feature]
        given = {} if self.value is None else {"value": feature.quoted(self.value)}
        return Message(f"rules.{self.relation.replace(' ', '_')}", label=feature.named, **given)

    def holds(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """For which candidates it is true after the change."""
        i = schema.position(self.feature)
        old, new = before[:, i], after[:, i]
        if self.relation in _WITH_VALUE:
            code = schema[self.feature].code(self.value)
            compared = {"is": new == code, "is not": new != code, "is at least": new >= code, "is at most": new <= code}
            return np.asarray(compared[self.relation])
        moves = {
            "changes": (new != old).any(),
            "does not change": (new == old).all(),
            "increases": (new > old).any(),
            "decreases": (new < old).any(),
        }
        return np.full(new.shape, moves[self.relation])

    def holds_after(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Where it is true after an option: (N, J_first, 1) or (N, 1, J_second)."""
        mine = first if schema.position(self.feature) == first.position else second
        columns = [
            self.holds(schema, candidates, after_option(candidates, mine, j)) for j in range(mine.values.shape[1])
        ]
        found = np.stack(columns, axis=1)
        return found[:, :, None] if mine is first else found[:, None, :]

    def to_list(self) -> list[Any]:
        """The condition as plain data."""
        return [self.feature, self.relation, *([] if self.value is None else [self.value])]


@dataclass(frozen=True)
class Implies(Rule, alias="implies"):
    """If one thing is so after the change, then another must be.

    >>> rule = Implies(Condition("owner", "is", "yes"), Condition("income", "is at least", 20_000))
    >>> rule.features
    ('owner', 'income')
    """

    when: Condition
    then: Condition

    @property
    def features(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.when.feature, self.then.feature)))

    def check(self, schema: Schema) -> None:
        """Refuse conditions that do not fit the schema."""
        self.when.check(schema)
        self.then.check(schema)

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        return Message("rules.implies", when=self.when.message(schema), then=self.then.message(schema))

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates are not led into breaking the rule."""
        broken = self.when.holds(schema, before, after) & ~self.then.holds(schema, before, after)
        return np.asarray(~broken | ~self.fits(schema, before))

    def fits(self, schema: Schema, codes: FloatArray) -> BoolArray:
        """Which rows, as they stand, do not contradict the rule."""
        return np.asarray(~self.when.holds(schema, codes, codes) | self.then.holds(schema, codes, codes))

    def table(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Which options it allows together."""
        when = self.when.holds_after(schema, first, second, candidates)
        then = self.then.holds_after(schema, first, second, candidates)
        broken = when & ~then
        return np.asarray(~(broken & ~broken[:, :1, :1]).any(axis=0))

    def to_dict(self) -> dict[str, Any]:
        """The rule as plain data."""
        return {"rule": self.alias, "when": self.when.to_list(), "then": self.then.to_list()}

    @classmethod
    def of_dict(cls, given: dict[str, Any]) -> Self:
        """The rule behind :meth:`to_dict`."""
        return cls(**{key: Condition(*value) for key, value in given.items()})


@dataclass(frozen=True)
class Forbid(Rule, alias="forbid"):
    """A category may not turn into another; ``before=None`` means from any other category.

    >>> Forbid("marital_status", "married", "single").features
    ('marital_status',)
    """

    feature: str
    before: Value | None
    after: Value

    @property
    def features(self) -> tuple[str, ...]:
        return (self.feature,)

    def check(self, schema: Schema) -> None:
        """Refuse categories that the feature does not have."""
        feature = schema[self.feature]
        feature.code(self.after)
        if self.before is not None:
            feature.code(self.before)

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        feature = schema[self.feature]
        values = {"label": feature.named, "after": feature.quoted(self.after)}
        if self.before is None:
            return Message("rules.forbid", **values)
        return Message("rules.forbid_from", before=feature.quoted(self.before), **values)

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates do not make the forbidden step."""
        i, feature = schema.position(self.feature), schema[self.feature]
        arrives = (after[:, i] == feature.code(self.after)) & (before[:, i] != after[:, i])
        if self.before is not None:
            arrives &= before[:, i] == feature.code(self.before)
        return np.asarray(~arrives)

    @classmethod
    def of_dict(cls, given: dict[str, Any]) -> Self:
        """The rule behind :meth:`to_dict`."""
        return super().of_dict({"before": None, **given})


@dataclass(frozen=True)
class Together(Rule, alias="together"):
    """These features change together or not at all.

    >>> Together(("job", "employer")).features
    ('job', 'employer')
    """

    features: tuple[str, ...]

    def check(self, schema: Schema) -> None:
        """Refuse fewer than two features, or unknown ones."""
        _check_group("Together", self.features, schema)

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        return Message("rules.together", labels=_named(self.features, schema))

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Whether the plan changes all or none of them."""
        moved = _moved(self.features, schema, before, after)
        return np.full(after.shape[0], moved.all() or not moved.any())

    def pairs(self) -> list[Together]:
        """Each two of them together."""
        return [Together(pair) for pair in combinations(self.features, 2)]

    def table(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Both kept or both changed."""
        one, other = _changing(first, second)
        return np.asarray(one == other)


@dataclass(frozen=True)
class AtMostOne(Rule, alias="at_most_one"):
    """At most one of these features changes.

    >>> AtMostOne(("job", "city", "school")).features
    ('job', 'city', 'school')
    """

    features: tuple[str, ...]

    def check(self, schema: Schema) -> None:
        """Refuse fewer than two features, or unknown ones."""
        _check_group("AtMostOne", self.features, schema)

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        return Message("rules.at_most_one", labels=_named(self.features, schema))

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Whether the plan changes at most one of them."""
        return np.full(after.shape[0], _moved(self.features, schema, before, after).sum() <= 1)

    def pairs(self) -> list[AtMostOne]:
        """At most one of each two."""
        return [AtMostOne(pair) for pair in combinations(self.features, 2)]

    def table(self, schema: Schema, first: OptionsOf, second: OptionsOf, candidates: FloatArray) -> BoolArray:
        """Not both changed."""
        one, other = _changing(first, second)
        return np.asarray(~(one & other))


def _check_group(name: str, features: tuple[str, ...], schema: Schema) -> None:
    if not isinstance(features, tuple) or len(set(features)) < 2 or len(set(features)) != len(features):
        raise SchemaError(f"{name} needs at least two different features. Got {features!r}.")
    for feature in features:
        schema.position(feature)


def _counts(feature: Feature) -> bool:
    """Whether the codes of a feature are its values: a number, or 0 and 1."""
    return feature.is_number or (feature.is_ordered and feature.categories == tuple(range(len(feature.categories))))


def _named(features: tuple[str, ...], schema: Schema) -> tuple[Name, ...]:
    return tuple(schema[name].named for name in features)


def _moved(features: tuple[str, ...], schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
    columns = [schema.position(name) for name in features]
    return np.asarray((before[:, columns] != after[:, columns]).any(axis=0))


def _changing(first: OptionsOf, second: OptionsOf) -> tuple[BoolArray, BoolArray]:
    """Which options are a change, (J_first, 1) and (1, J_second)."""
    return np.arange(first.values.shape[1])[:, None] > 0, np.arange(second.values.shape[1])[None, :] > 0
