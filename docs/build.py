"""Write the pages that say what the code says: ``python docs/build.py``; with ``--check``, only compare."""

# ruff: noqa: E501  the rows of a table are long
from __future__ import annotations

import sys
from pathlib import Path

from armin.models import supported_models, traceable_transformers

HERE = Path(__file__).resolve().parent
LIBRARIES = {
    "sklearn": "scikit-learn",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "armin": "PyTorch",
}
KINDS = {
    "linear": "linear score",
    "network": "ReLU network",
    "trees": "sum of trees",
    "as inside": "as the classifier inside",
}

LINEAR = "all penalties; bit for bit on float64 data"
FOREST = "bit for bit; own NaN branch"
SEARCH = "the best classifier that was found, with its pipeline"
NOTES = {
    "LogisticRegression": LINEAR,
    "LogisticRegressionCV": LINEAR,
    "LinearSVC": LINEAR,
    "SGDClassifier": "all losses; a threshold for those with probabilities",
    "RidgeClassifier": LINEAR,
    "RidgeClassifierCV": LINEAR,
    "Perceptron": LINEAR,
    "PassiveAggressiveClassifier": LINEAR,
    "LinearDiscriminantAnalysis": LINEAR,
    "SVC": "linear kernel and two classes; no threshold (its probabilities come from a second model)",
    "MLPClassifier": "any depth, ReLU or identity",
    "DecisionTreeClassifier": FOREST,
    "ExtraTreeClassifier": FOREST,
    "RandomForestClassifier": FOREST,
    "ExtraTreesClassifier": FOREST,
    "GradientBoostingClassifier": "bit for bit, if it starts from a constant",
    "HistGradientBoostingClassifier": "bit for bit; own NaN branch and native categories, on raw frames",
    "BaggingClassifier": "over single decision trees, each with its own features",
    "VotingClassifier": "soft votes of single decision trees, with weights",
    "AdaBoostClassifier": "over single decision trees, algorithm SAMME",
    "FixedThresholdClassifier": "the cut on the score inside is found by asking",
    "TunedThresholdClassifierCV": "the cut on the score inside is found by asking",
    "CalibratedClassifierCV": "one map of one score (ensemble=False), two classes: sigmoid, isotonic, temperature",
    "FrozenEstimator": "the classifier inside",
    "GridSearchCV": SEARCH,
    "RandomizedSearchCV": SEARCH,
    "HalvingGridSearchCV": SEARCH,
    "HalvingRandomSearchCV": SEARCH,
    "XGBClassifier": "bit for bit in float32; own NaN branch and native categories, on raw frames; early stopping",
    "XGBRFClassifier": "as XGBClassifier",
    "LGBMClassifier": "bit for bit; own NaN branch, zero as missing, native categories, on raw frames; early stopping; "
    "gbdt, dart, goss and rf",
    "CatBoostClassifier": "bit for bit; own NaN branch; one-hot categories, on raw frames; all grow policies",
    "TorchClassifier": "`armin.models.TorchClassifier(module, classes)` around a Sequential of Linear, ReLU, BatchNorm1d, "
    "Dropout, Flatten, Identity",
}

BLOCKS = """| data | model | blanks | without, ms | with blocks, ms | times | proved | equal to brute force |
|---|---|---|---|---|---|---|---|
| GiveMeCredit | LR | 0 | 9 | 44 | 5.0 | 6 of 6 | 3 of 3 |
| GiveMeCredit | LR | 2 | 18 | 104 | 5.8 | 6 of 6 | 3 of 3 |
| GiveMeCredit | RF | 0 | 15 | 55 | 3.6 | 6 of 6 | 3 of 3 |
| GiveMeCredit | RF | 2 | 37 | 121 | 3.3 | 6 of 6 | 3 of 3 |
| GiveMeCredit | HistGB | 0 | 12 | 55 | 4.8 | 6 of 6 | 3 of 3 |
| GiveMeCredit | HistGB | 2 | 34 | 150 | 4.5 | 6 of 6 | 3 of 3 |
| GiveMeCredit | XGBoost | 0 | 13 | 63 | 4.8 | 6 of 6 | 3 of 3 |
| GiveMeCredit | XGBoost | 2 | 38 | 147 | 3.9 | 6 of 6 | 3 of 3 |
| GiveMeCredit | MLP | 0 | 10 | 48 | 4.8 | 6 of 6 | 3 of 3 |
| GiveMeCredit | MLP | 2 | 27 | 144 | 5.3 | 6 of 6 | 3 of 3 |
| FICO | LR | 0 | 10 | 59 | 6.0 | 4 of 4 | 3 of 3 |
| FICO | RF | 0 | 17 | 115 | 6.7 | 4 of 4 | 3 of 3 |
| FICO | HistGB | 0 | 11 | 67 | 6.1 | 4 of 4 | 3 of 3 |
| FICO | XGBoost | 0 | 15 | 65 | 4.5 | 4 of 4 | 3 of 3 |
| FICO | MLP | 0 | 22 | 117 | 5.3 | 4 of 4 | 3 of 3 |
| FICO | LR | 2 | 12 | 95 | 7.8 | 4 of 4 | 3 of 3 |
| FICO | RF | 2 | 63 | 344 | 5.4 | 4 of 4 | 3 of 3 |
| FICO | HistGB | 2 | 37 | 153 | 4.1 | 4 of 4 | 3 of 3 |
| FICO | XGBoost | 2 | 31 | 187 | 6.1 | 4 of 4 | 3 of 3 |
| FICO | MLP | 2 | 114 | 596 | 5.3 | 4 of 4 | 3 of 3 |"""

PAGE = """# Models

<!-- Written by docs/build.py from the registries in armin.models. Change it there. -->

A classifier is read once, into plain arrays that every solver understands. The law that the tests hold it to:
**what was read accepts a row exactly when the user's own `predict` returns the desired label** (or `predict_proba`
gives it at least `threshold`), on random rows, at every split threshold and at its two floating-point neighbours, on
categories that were never seen, with and without blanks. What cannot be read that way is refused, with a reason.
Whatever a solver finds is judged again by the user's own classifier before anybody sees it.

## Read exactly

{models}

Two classes or many; one desired label or a set of them. `threshold` works for two classes, and for one label of a forest
with any number of classes. A pipeline may stand before any of these, or inside a search, a threshold or a calibration.

## Followed exactly before the model

Options are finite, so each is pushed through the fitted transformers themselves; it is only necessary to know which
raw columns stand behind each output. That is known for

{transformers}

and for anything that `armin.models.register_transformer` declares. PCA, TruncatedSVD and the linear scalers may also mix
columns in front of a linear model or a ReLU network, where they are multiplied into its first layer; such scores can differ
in the last bits.

## Features made from several columns

A ratio, a difference, a product, a bin of two columns: an output may have up to three columns behind it that the person
can change, and any number that stay. Their options are then looked at in combination, through the pipeline itself, and
the plan is the proven cheapest one. At most `max_changes` counts columns, costs add up over columns, and rules and
locks hold, as if there were no such feature.

```python
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from armin import ARMIN, Schema


def with_ratio(frame):
    return frame.assign(debt_to_income=frame.debt / frame.income)


rng = np.random.default_rng(0)
X = pd.DataFrame({{"debt": rng.integers(1, 60, 400), "income": rng.integers(10, 90, 400), "years": rng.integers(0, 30, 400)}})
y = np.where(X.debt / X.income < 0.6 + X.years / 100, "approved", "rejected")
classifier = make_pipeline(FunctionTransformer(with_ratio), StandardScaler(), LogisticRegression()).fit(X, y)

explainer = ARMIN(classifier, Schema.infer(X), desired="approved").fit(X)
person = pd.DataFrame({{"debt": [40], "income": [30], "years": [2]}})
recourse = explainer.explain(person)
print(recourse.status.value, classifier.predict(recourse.apply(person))[0])
```

```text
optimal approved
```

Which columns stand behind an output is

- *known*, for the steps above;
- *bounded*, for any other step inside a `ColumnTransformer`: it sees no other columns than those it is given. If these
  are at most three, that is enough;
- *declared*: `register_transformer(cls, tracer)`, where `tracer(fitted, n_inputs)` lists for each output its column, a
  set of them, or None;
- or *found by asking*. Rows are drawn from the schema's ranges, blanks among them where the steps take them; each column
  is changed in each of 96 rows; then 512 other rows must not contradict what was found, or more are asked about. A
  dependence that shows in one row of a million can be missed that way: declare it. The user's own `predict`
  still has the last word on every plan.

A step that mixes more columns than that (PCA before trees, a normaliser of whole rows) is not followed. With
`method="auto"` the classifier is then asked as a black box, with a `BlackBoxWarning` that says why, and how long all
choices with one and with two changes take at the classifier's measured speed; the answer says "searched in order of
cost". Any other method refuses. Where the features that belong together have more than 200,000 combinations below
the best known cost, the search goes through them in order of cost as well, with the model that was read.

A column of the schema that the classifier does not have is carried and never acted on with effect; a column that
a leading `ColumnTransformer` drops need not be in the schema.

What it costs: two quotients and a product of two columns each, up to a hundred options per column, four changes, a confidence
of 75 % over 100 completions. Median CPU milliseconds of `explain` on the same rows, with a model on the raw columns and with one
behind these steps (two cores shared with much other work; `python -m benchmarks.blocks`, six rows of GiveMeCredit, four of FICO;
the former before the pairs of all blocks went through the transformers in one call). "Brute force" lists every choice of the
same problem with 12 options and two changes. The aim, five times, is met in ten of the twenty lines.

{blocks}

## Native categories and blanks

A booster with native categories is given the raw frame. What it does to that frame is asked of the library itself:

- **HistGradientBoostingClassifier**: its own encoder. A category that it does not know is a blank to it.
- **LightGBM**: the position among the pandas categories of the training frame; an unknown one is a blank. What is
  closer to zero than 1e-35 is zero.
- **XGBoost**: since 3.1 the categories of the training frame are remembered, and found again through trees of ours that
  have a leaf for each. Before 3.1 the codes are those of the frame at hand, so keep its categories as in training.
- **CatBoost**: categories are told apart by their hash, through trees of ours with one split. It takes no blank for
  a category; fill them with a word.

## Precision

| library | inputs are compared as | outputs are added as | so that |
|---|---|---|---|
| scikit-learn, linear and network | - | float64 | equal to the last bit, if the model was fitted on float64; a model fitted and asked in float32 multiplies in float32, and rows within that rounding of the boundary may differ |
| scikit-learn, trees | float32 | float64, in order | equal to the last bit; with `n_jobs` above 1 exact ties of a forest can fall differently |
| HistGradientBoosting | float64 | float64 | equal to the last bit |
| XGBoost | float32 | float32, in order | equal to the last bit |
| LightGBM | float64 | float64, in order | equal to the last bit |
| CatBoost | float32 | float64, in order | equal to the last bit |
| PyTorch | the module's type | float64 | the module multiplies in float32; rows within that rounding of the boundary may differ, and `predict` has the last word |

## A black box

With `method="blackbox"` any fitted classifier is only asked: choices in the order of their cost, until the first that
is accepted. That is exact when it ends, and it says so when it does not. It is the way for

- kernel machines, neighbours, Gaussian processes, naive Bayes, stacking, votes and bags of anything but single trees;
- a CalibratedClassifierCV that averages several classifiers (`ensemble=True`);
- `threshold` on boosters and networks with more than two classes, and on the sum of several labels;
- networks with other activations than ReLU, XGBoost's `dart` and `gblinear`, functions as objectives, LightGBM's linear
  trees, CatBoost's statistics of categories (CTR), texts and embeddings;
- a subclass with its own `predict`.

A bare `xgboost.Booster` or `lightgbm.Booster` has no labels: use the library's classifier.

## Teach it another class

A reader gets the fitted estimator and a `Target` (its labels, the positions of the desired ones, the threshold), and
returns a `LinearModel`, `ReluNetwork` or `TreeEnsemble`.

```python
import numpy as np
from armin.models import Above, LinearModel, read_model, register_reader


class Points:
    \"\"\"A score card: so many points for each unit, approved from 100 on.\"\"\"

    classes_ = np.array(["rejected", "approved"])

    def __init__(self, points):
        self.points = np.asarray(points, dtype=float)
        self.n_features_in_ = self.points.size

    def predict(self, X):
        return self.classes_[(np.asarray(X, dtype=float) @ self.points >= 100).astype(int)]


def read_points(card, target):
    if target.accepted == (1,):
        return LinearModel(card.points[None, :], np.zeros(1), Above(100.0))
    return LinearModel(-card.points[None, :], np.zeros(1), Above.strictly(-100.0))


register_reader(Points, read_points, kind="linear")
model = read_model(Points([3, 10]), desired="approved")
print(model.accepts(np.array([[20.0, 4.0], [20.0, 3.0]])))
```

```text
[ True False]
```

`register_reader("library.Class", ...)` does the same without importing the library. Where the class takes more than
numbers, `prepare=` gives the function from its rows to the model's inputs.
"""


def models_page() -> str:
    """The page on models."""
    rows = ["| library | class | read as | what |", "|---|---|---|---|"]
    for library, name, kind in sorted(supported_models(), key=lambda row: list(NOTES).index(row[1])):
        rows.append(f"| {LIBRARIES[library]} | `{name}` | {KINDS[kind]} | {NOTES[name]} |")
    names = ", ".join(f"`{name}`" for name in traceable_transformers())
    return PAGE.format(models="\n".join(rows), transformers=names, blocks=BLOCKS)


def main() -> int:
    """Write or compare all pages."""
    stale = []
    for name, text in {"models.md": models_page()}.items():
        path = HERE / name
        if "--check" in sys.argv[1:]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8")
    if stale:
        sys.stderr.write(f"{', '.join(stale)} is stale. Run python docs/build.py.\n")
    return len(stale)


if __name__ == "__main__":
    sys.exit(main())
