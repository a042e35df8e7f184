"""Data to learn and to test with, and ways to make blanks in it."""

from armin.datasets.amputate import Amputated, mar, masks_like, mcar, mnar
from armin.datasets.described import Dataset, load_dataset
from armin.datasets.encoder import BlankOneHotEncoder
from armin.datasets.loans import Loans, make_loans

__all__ = [
    "Amputated",
    "BlankOneHotEncoder",
    "Dataset",
    "Loans",
    "load_dataset",
    "make_loans",
    "mar",
    "masks_like",
    "mcar",
    "mnar",
]
