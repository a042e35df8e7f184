"""The methods of the paper, with one grammar: fit, then explain a row, many rows, or a row's whole path.

>>> import numpy as np, pandas as pd
>>> from sklearn.linear_model import LogisticRegression
>>> from armin import ARMIN, Schema
>>> rng = np.random.default_rng(0)
>>> X = pd.DataFrame({"income": rng.integers(10, 100, 400), "debt": rng.integers(0, 60, 400)})
>>> y = np.where(X["income"] - X["debt"] > 30, "approve", "reject")
>>> model = LogisticRegression().fit(X, y)
>>> explainer = ARMIN(model, Schema.infer(X), desired="approve").fit(X)
>>> recourse = explainer.explain({"income": None, "debt": 40})
>>> recourse.outcome, recourse.validity.share >= 0.75
('plan', True)
"""

from armin.explainer.ask import AskOrAct, Question
from armin.explainer.compare import Comparison
from armin.explainer.estimator import Explainer
from armin.explainer.methods import ARMIN, ImputationAR, RobustAR
from armin.explainer.side import compare
from armin.explainer.stress import StressTest
from armin.explainer.what_if import WhatIf

__all__ = [
    "ARMIN", "AskOrAct", "Comparison", "Explainer", "ImputationAR", "Question", "RobustAR", "StressTest", "WhatIf",
    "compare",
]  # fmt: skip
