"""What may be promised: calibration on real people, and the paper's bounds as functions."""

from armin.promise.calibration import LEVELS, Calibration, LevelTest, Trials, choose_level
from armin.promise.promise import Missingness, Pattern, Promise
from armin.promise.theory import (
    ImputationGap,
    closed_form_action,
    estimation_error,
    imputation_gap,
    imputation_gap_bound,
    log_growth,
    sample_size,
    sample_size_anywhere,
)
from armin.promise.tilt import Tilt

__all__ = [
    "LEVELS",
    "Calibration",
    "ImputationGap",
    "LevelTest",
    "Missingness",
    "Pattern",
    "Promise",
    "Tilt",
    "Trials",
    "choose_level",
    "closed_form_action",
    "estimation_error",
    "imputation_gap",
    "imputation_gap_bound",
    "log_growth",
    "sample_size",
    "sample_size_anywhere",
]
