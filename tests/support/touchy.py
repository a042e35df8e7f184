"""Classifiers that go wrong on one person; in a module, so that other processes find them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from armin.models.kinds import Above, LinearModel
from armin.models.read import register_model

ODD = 61
"""The age of the person whom they do not bear."""


class BadError(Exception):
    """An error that cannot travel: it needs two arguments and keeps one."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one)


class Touchy(LogisticRegression):
    """Does as it is told when it meets somebody of that age; ``folder`` is where it notes things."""

    def __init__(self, fault: str = "", folder: str = "", C: float = 1.0) -> None:
        super().__init__(C=C)
        self.fault = fault
        self.folder = folder

    def predict(self, X):
        self._meet(X)
        return super().predict(X)

    def predict_proba(self, X):
        self._meet(X)
        return super().predict_proba(X)

    def decision_function(self, X):
        self._meet(X)
        return super().decision_function(X)

    def __setstate__(self, state):
        super().__setstate__(state)
        if self.folder:
            (Path(self.folder) / f"loaded-{os.getpid()}-{len(list(Path(self.folder).glob('loaded-*')))}").touch()

    def _meet(self, X):
        if self.fault and (np.asarray(X)[:, 0] == ODD).any():
            once = Path(self.folder) / "once"
            if self.fault == "raise":
                raise BadError("no such", "person")
            if self.fault == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault == "kill once" and not once.exists():
                once.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault == "interrupt once" and not once.exists():
                once.touch()
                raise KeyboardInterrupt


def read_touchy(touchy, target):
    """A Touchy decides as a logistic regression does."""
    assert target.accepted == (1,)
    return LinearModel(touchy.coef_, touchy.intercept_, Above.strictly(0.0))


register_model("touchy.Touchy", read_touchy, kind="linear")
