"""The method of the paper: fit, then explain a row, many rows, or a row's whole path.

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

from armin.explain.ask import AskOrAct, Question
from armin.explain.compare import Comparison
from armin.explain.estimator import Explainer
from armin.explain.methods import ARMIN
from armin.explain.parameters import ExpertOptions
from armin.explain.stress import StressTest
from armin.explain.what_if import WhatIf

__all__ = ["ARMIN", "AskOrAct", "Comparison", "ExpertOptions", "Explainer", "Question", "StressTest", "WhatIf"]
