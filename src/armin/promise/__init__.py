"""What may be promised: the paper's bounds as functions."""

from armin.promise.theory import (
    ImputationGap,
    closed_form_action,
    estimation_error,
    imputation_gap,
    imputation_gap_bound,
    log_growth,
    sample_size,
)

__all__ = [
    "ImputationGap",
    "closed_form_action",
    "estimation_error",
    "imputation_gap",
    "imputation_gap_bound",
    "log_growth",
    "sample_size",
]
