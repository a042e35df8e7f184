"""The paper's experiments, one command each: ``python -m experiments list``."""
