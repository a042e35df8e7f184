"""Data to learn and to test with, and ways to make blanks in it.

The published sets are not part of the package: they are read from the folder that the environment variable
``ARMIN_DATA`` names, or downloaded once from OpenML; see :mod:`armin.datasets.fetch`.
"""

from armin.datasets.adult import load_adult
from armin.datasets.amputate import Amputated, mar, masks_like, mcar, mnar
from armin.datasets.attrition import load_attrition
from armin.datasets.credit import load_give_me_credit
from armin.datasets.dataset import Dataset, Form
from armin.datasets.encoder import BlankOneHotEncoder
from armin.datasets.fico import load_fico
from armin.datasets.loans import Loans, make_loans
from armin.datasets.student import load_student
from armin.datasets.wine import load_wine_quality

__all__ = [
    "Amputated",
    "BlankOneHotEncoder",
    "Dataset",
    "Form",
    "Loans",
    "load_adult",
    "load_attrition",
    "load_fico",
    "load_give_me_credit",
    "load_student",
    "load_wine_quality",
    "make_loans",
    "mar",
    "masks_like",
    "mcar",
    "mnar",
]
