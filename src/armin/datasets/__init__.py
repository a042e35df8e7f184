"""Data to learn and to test with."""

from armin.datasets.loans import Loans, make_loans

__all__ = ["Loans", "make_loans"]
