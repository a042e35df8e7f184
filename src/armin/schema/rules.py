"""Rules between features, as sentences that are also enforced.

A rule judges a plan: codes before and after, for all candidates. Nobody may be *led into* breaking a rule; a person who
breaks it already, before any change, is not blocked by it. "Changes" speaks of the plan: a feature changes if the plan
changes it for any candidate.

>>> import numpy as np
>>> from armin.schema import Feature, Schema
>>> schema = Schema((Feature("total", "integer", lower=0, upper=9), Feature("part", "integer", lower=0, upper=9)))
>>> rule = AtLeast("total", "part")
>>> print(rule.message(schema))
total must be at least part.
>>> rule.allows(schema, np.array([[5.0, 3.0]]), np.array([[2.0, 3.0]]))
array([False])
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from armin.arrays import BoolArray, FloatArray
from armin.errors import SchemaError
from armin.schema.values import Value
from armin.words import Message, Name

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = [
    "AtLeast",
    "AtMostOne",
    "Condition",
    "Forbid",
    "IfThen",
    "Rule",
    "Together",
    "rule_from_dict",
    "rule_to_dict",
]

Relation = Literal["is", "is not", "is at least", "is at most", "changes", "does not change", "increases", "decreases"]
_WITH_VALUE = ("is", "is not", "is at least", "is at most")


@dataclass(frozen=True)
class AtLeast:
    """``larger`` must be at least ``smaller``, such as a total and its part.

    >>> AtLeast("total_years", "years_here").features
    ('total_years', 'years_here')
    """

    larger: str
    smaller: str

    @property
    def features(self) -> tuple[str, ...]:
        return (self.larger, self.smaller)

    def check(self, schema: Schema) -> None:
        """Refuse names that are not two numbers of the schema."""
        _check_group("AtLeast", self.features, schema)
        for name in self.features:
            if not schema[name].is_number:
                raise SchemaError(f"AtLeast compares numbers. {name!r} is {schema[name].kind}.")

    def message(self, schema: Schema) -> Message:
        """The rule, to be said."""
        return Message("rules.at_least", larger=schema[self.larger].named, smaller=schema[self.smaller].named)

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates are not led into breaking the rule."""
        return self.fits(schema, after) | ~self.fits(schema, before)

    def fits(self, schema: Schema, codes: FloatArray) -> BoolArray:
        """Which rows, as they stand, do not contradict the rule."""
        return np.asarray(codes[:, schema.position(self.larger)] >= codes[:, schema.position(self.smaller)])


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


@dataclass(frozen=True)
class IfThen:
    """If one thing is so after the change, then another must be.

    >>> rule = IfThen(Condition("owner", "is", "yes"), Condition("income", "is at least", 20_000))
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
        return Message("rules.if_then", when=self.when.message(schema), then=self.then.message(schema))

    def allows(self, schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
        """Which candidates are not led into breaking the rule."""
        broken = self.when.holds(schema, before, after) & ~self.then.holds(schema, before, after)
        return np.asarray(~broken | ~self.fits(schema, before))

    def fits(self, schema: Schema, codes: FloatArray) -> BoolArray:
        """Which rows, as they stand, do not contradict the rule."""
        return np.asarray(~self.when.holds(schema, codes, codes) | self.then.holds(schema, codes, codes))


@dataclass(frozen=True)
class Forbid:
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


@dataclass(frozen=True)
class Together:
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


@dataclass(frozen=True)
class AtMostOne:
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


Rule: TypeAlias = AtLeast | IfThen | Forbid | Together | AtMostOne
_RULES: dict[str, type[Any]] = {
    "at_least": AtLeast,
    "if_then": IfThen,
    "forbid": Forbid,
    "together": Together,
    "at_most_one": AtMostOne,
}


def pairwise(rule: Rule) -> list[Rule]:
    """The same rule as rules on at most two features."""
    if isinstance(rule, Together | AtMostOne):
        return [type(rule)(pair) for pair in combinations(rule.features, 2)]
    return [rule]


def rule_to_dict(rule: Rule) -> dict[str, Any]:
    """A rule as plain data.

    >>> rule_to_dict(AtLeast("total", "part"))
    {'rule': 'at_least', 'larger': 'total', 'smaller': 'part'}
    """
    data: dict[str, Any] = {"rule": next(key for key, cls in _RULES.items() if type(rule) is cls)}
    for key, value in vars(rule).items():
        if isinstance(value, Condition):
            data[key] = [value.feature, value.relation, *([] if value.value is None else [value.value])]
        elif value is not None:
            data[key] = list(value) if isinstance(value, tuple) else value
    return data


def rule_from_dict(data: dict[str, Any]) -> Rule:
    """The rule behind :func:`rule_to_dict`."""
    name = data.get("rule")
    cls = _RULES.get(str(name))
    if cls is None:
        raise SchemaError(f"A rule must be one of {', '.join(_RULES)}. Got {name!r} instead.")
    given = {key: value for key, value in data.items() if key != "rule"}
    try:
        if cls is IfThen:
            given = {key: Condition(*value) for key, value in given.items()}
        elif cls in (Together, AtMostOne):
            given = {key: tuple(value) for key, value in given.items()}
        elif cls is Forbid:
            given = {"before": None, **given}
        rule: Rule = cls(**given)
    except TypeError:
        raise SchemaError(f"The rule {name!r} has wrong or missing keys: {', '.join(given)}.") from None
    return rule


def _check_group(name: str, features: tuple[str, ...], schema: Schema) -> None:
    if not isinstance(features, tuple) or len(set(features)) < 2 or len(set(features)) != len(features):
        raise SchemaError(f"{name} needs at least two different features. Got {features!r}.")
    for feature in features:
        schema.position(feature)


def _named(features: tuple[str, ...], schema: Schema) -> tuple[Name, ...]:
    return tuple(schema[name].named for name in features)


def _moved(features: tuple[str, ...], schema: Schema, before: FloatArray, after: FloatArray) -> BoolArray:
    columns = [schema.position(name) for name in features]
    return np.asarray((before[:, columns] != after[:, columns]).any(axis=0))
