"""Whether all answers are still the same, to the last digit: ``python -m lab.same --help``."""
