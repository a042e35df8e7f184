"""What people get: the answer, its certificate, and the last check of it."""

from armin.recourse.answers import Change, Failure, Outcome, Plans, Recourse, Recourses
from armin.recourse.certificate import Certificate, Validity
from armin.recourse.path import RecoursePath
from armin.recourse.recheck import Recheck

__all__ = [
    "Certificate", "Change", "Failure", "Outcome", "Plans", "Recheck", "Recourse", "RecoursePath", "Recourses",
    "Validity",
]  # fmt: skip
