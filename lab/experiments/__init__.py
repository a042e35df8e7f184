"""The paper's experiments, one command each: ``python -m lab.experiments list``."""
