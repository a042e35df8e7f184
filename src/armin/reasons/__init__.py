"""Why a decision fell as it did: what each feature weighed, and what is open because of blanks.

Weights are Shapley values against a group of real people, exact where the model can be followed, for every plausible
way to fill the blanks; Rubin's rules make one statement of them. See ``docs/reasons.md``.
"""

from armin.reasons.answers import Reasons, Weight
from armin.reasons.people import People, Reference
from armin.reasons.stand import Standing
from armin.reasons.statements import Statement

__all__ = ["People", "Reasons", "Reference", "Standing", "Statement", "Weight"]
