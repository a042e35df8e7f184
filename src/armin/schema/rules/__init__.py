"""Rules between features, as sentences that are also enforced.

A rule judges a plan: codes before and after, for all candidates. Nobody may be *led into* breaking a rule; a person who
breaks it already, before any change, is not blocked by it. "Changes" speaks of the plan: a feature changes if the plan
changes it for any candidate.

A new rule is a subclass of :class:`Rule` in a file of its own; :data:`RULES` knows them all by name.

>>> import numpy as np
>>> from armin.schema import Feature, Schema
>>> schema = Schema((Feature("total", "integer", lower=0, upper=9), Feature("part", "integer", lower=0, upper=9)))
>>> rule = Order(("part", "total"))
>>> print(rule.sentence(schema))
part must be at most total.
>>> rule.allows(schema, np.array([[5.0, 3.0]]), np.array([[2.0, 3.0]]))
array([False])
"""

from armin.schema.rules.base import RULES, OptionsOf, Rule, rule_from_dict
from armin.schema.rules.builtin import AtMostOne, Condition, Forbid, Implies, Order, Together
from armin.schema.rules.linear import Linear

__all__ = [
    "RULES",
    "AtMostOne",
    "Condition",
    "Forbid",
    "Implies",
    "Linear",
    "OptionsOf",
    "Order",
    "Rule",
    "Together",
    "rule_from_dict",
]
