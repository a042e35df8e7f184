"""Write the pages that say what the code says: ``python docs/build.py``; with ``--check``, only compare."""

# ruff: noqa: E501  the rows of a table are long
from __future__ import annotations

import sys
from pathlib import Path

from armin.models import supported_models, traceable_transformers
from armin_desk.letter import read_pack
from armin_desk.letter.pack import known_fields

HERE = Path(__file__).resolve().parent
LIBRARIES = {
    "sklearn": "scikit-learn",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "catboost": "CatBoost",
    "interpret": "interpret",
    "optbinning": "optbinning",
    "armin.TorchClassifier": "PyTorch",
    "armin.ScorecardCut": "optbinning",
    "armin.StatsmodelsClassifier": "statsmodels",
    "armin.OnnxClassifier": "ONNX",
}
KINDS = {
    "linear": "linear score",
    "network": "ReLU network",
    "trees": "sum of trees",
    "as inside": "as the classifier inside",
    "together": "one sum, or a mixture",
    "as the file": "as what is in the file",
}

OURS = ("Beside", "ColumnParts", "_InTurn")  # steps that ARMIN makes itself
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
    "MultinomialNB": "bit for bit",
    "ComplementNB": "bit for bit",
    "BernoulliNB": "bit for bit",
    "GaussianNB": "its parabolas are run column by column; the sums can differ in the last bits",
    "CategoricalNB": "a table for each column; bit for bit",
    "SVC": "linear kernel and two classes; no threshold (its probabilities come from a second model)",
    "MLPClassifier": "any depth, ReLU or identity",
    "DecisionTreeClassifier": FOREST,
    "ExtraTreeClassifier": FOREST,
    "RandomForestClassifier": FOREST,
    "ExtraTreesClassifier": FOREST,
    "GradientBoostingClassifier": "bit for bit, if it starts from a constant",
    "HistGradientBoostingClassifier": "bit for bit; own NaN branch and native categories, on raw frames",
    "BaggingClassifier": "over single decision trees, each with its own features",
    "VotingClassifier": "soft votes of trees, forests and bags of trees, hard votes of single trees; with two classes soft and "
    "hard votes of any that are sums of trees or linear, behind steps of their own or not; weights",
    "StackingClassifier": "a linear classifier on top of shares of forests, or of scores (`decision_function`) that are all "
    "linear or all trees; with two classes of anything that sums of trees and linear classifiers say, and of the inputs",
    "AdaBoostClassifier": "over single decision trees, algorithm SAMME",
    "FixedThresholdClassifier": "the cut on the score inside is found by asking",
    "TunedThresholdClassifierCV": "the cut on the score inside is found by asking",
    "CalibratedClassifierCV": "two classes; one map of one score (ensemble=False): sigmoid, isotonic, temperature; or the mean of "
    "sigmoids or isotonic tables of linear scores or sums of trees (ensemble=True, the default)",
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
    "ExplainableBoostingClassifier": "terms of one or two columns, blanks, unknown categories; bit for bit",
    "interpret.LogisticRegression": "on continuous columns",
    "interpret.ClassificationTree": "on continuous columns",
    "Scorecard": "its bins are run column by column",
    "ScorecardCut": "`armin.models.ScorecardCut(scorecard, cut, classes)`: a cut on the points of a fitted Scorecard; bit "
    "for bit with rounding=True",
    "StatsmodelsClassifier": "`armin.models.StatsmodelsClassifier(results, classes, threshold)` around the results of Logit, "
    "Probit or a binomial GLM on plain columns; the sums can differ in the last bits",
    "OnnxClassifier": "`armin.models.OnnxClassifier(path)`, run by onnxruntime, with the weights that it keeps in "
    "files beside it: TreeEnsembleClassifier (bit for bit), LinearClassifier, layers of MatMul, Gemm, Add and Relu, behind steps that work column by column",
    "TorchClassifier": "`armin.models.TorchClassifier(module, classes)` around a Sequential of Linear, ReLU, BatchNorm1d, "
    "Dropout, Flatten, Identity",
}

BLOCKS = """| data | model | blanks | without, ms | with blocks, ms | times | proved | equal to brute force |
|---|---|---|---|---|---|---|---|
| GiveMeCredit | LR | 0 | 6 | 19 | 3.5 | 50 of 50 | 3 of 3 |
| GiveMeCredit | LR | 2 | 11 | 43 | 3.8 | 50 of 50 | 3 of 3 |
| GiveMeCredit | RF | 0 | 10 | 29 | 2.8 | 50 of 50 | 3 of 3 |
| GiveMeCredit | RF | 2 | 23 | 74 | 3.2 | 50 of 50 | 3 of 3 |
| GiveMeCredit | HistGB | 0 | 8 | 27 | 3.3 | 50 of 50 | 3 of 3 |
| GiveMeCredit | HistGB | 2 | 19 | 61 | 3.3 | 50 of 50 | 3 of 3 |
| GiveMeCredit | XGBoost | 0 | 8 | 26 | 3.3 | 50 of 50 | 3 of 3 |
| GiveMeCredit | XGBoost | 2 | 22 | 77 | 3.5 | 50 of 50 | 3 of 3 |
| GiveMeCredit | MLP | 0 | 7 | 23 | 3.3 | 50 of 50 | 3 of 3 |
| GiveMeCredit | MLP | 2 | 14 | 60 | 4.2 | 50 of 50 | 3 of 3 |
| FICO | LR | 0 | 3 | 18 | 5.1 | 50 of 50 | 3 of 3 |
| FICO | LR | 2 | 6 | 28 | 4.9 | 50 of 50 | 3 of 3 |
| FICO | RF | 0 | 10 | 43 | 4.4 | 50 of 50 | 3 of 3 |
| FICO | RF | 2 | 20 | 71 | 3.5 | 50 of 50 | 3 of 3 |
| FICO | HistGB | 0 | 7 | 27 | 3.9 | 50 of 50 | 3 of 3 |
| FICO | HistGB | 2 | 14 | 61 | 4.4 | 50 of 50 | 3 of 3 |
| FICO | XGBoost | 0 | 9 | 38 | 4.2 | 50 of 50 | 3 of 3 |
| FICO | XGBoost | 2 | 16 | 69 | 4.2 | 50 of 50 | 3 of 3 |
| FICO | MLP | 0 | 12 | 25 | 2.2 | 50 of 50 | 3 of 3 |
| FICO | MLP | 2 | 38 | 109 | 2.9 | 50 of 50 | 3 of 3 |"""

PAGE = """# Models

<!-- Written by docs/build.py from the registries in armin.models. Change it there. -->

A classifier is read once, into plain arrays that every solver understands. The law that the tests hold it to:
**what was read accepts a row exactly when the user's own `predict` returns the desired label** (or `predict_proba`
gives it at least `threshold`), on random rows, at every split threshold and at its two floating-point neighbours, on
categories that were never seen, with and without blanks. What cannot be read that way is
asked in order of cost, with a warning that says why; any other `method` than "auto" refuses it.
Whatever a solver finds is judged again by the user's own classifier before anybody sees it.

## Read exactly

{models}

Two classes or many; one desired label or a set of them. `threshold` works for two classes, and for one label or several of
a forest with any number of classes. A pipeline may stand before any of these, or inside a search, a threshold or a calibration.

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
`method="auto"`, the default, the classifier is then asked as a black box, with a `BlackBoxWarning` that says why, and how long all
choices with one and with two changes take at the classifier's measured speed; the answer says "searched in order of
cost". Any other method refuses. Where the features that belong together have more than 200,000 combinations below
the best known cost, these are searched in pieces, the cheaper options of a feature first; and where blanks are among features that
share a column (debt and rent, both over income), the options of that column are gone through one by one.

A column of the schema that the classifier does not have is carried and never acted on with effect; a column that
a leading `ColumnTransformer` drops need not be in the schema.

What it costs: two quotients and a product of two columns each, up to a hundred options per column, four changes, a confidence
of 75 % over 100 completions. Median CPU milliseconds of `explain` on the same rows, with a model on the raw columns and with one
behind these steps (two cores shared with much other work; `python -m lab.benchmarks.blocks --rows 50`). "Brute force" lists every
choice of the same problem with 12 options and two changes, for three of the rows. The aim, five times, is met in 19 of
these 20 lines, as rounded; FICO was measured in three sessions (trees since their cells are shared between the parts of a problem, the network
since its combinations are refused [in groups](dev/bounds.md#relu-networks), LR with it). What a combination becomes behind the steps is
remembered for everybody; three rows are explained before any is measured. The slowest row of the network, with a blank in each of two
quotients, has 120,000 combinations of their options; it was not proved within 20 seconds before, and takes 6 now.

{blocks}

Where the two quotients and the product have one column in common (`--shared`; income, or the number of trades), four columns belong together.
15 rows each, beside `make fuzz` and others:

| data | model | blanks | without, ms | with blocks, ms | times | slowest | proved | equal to brute force |
|---|---|---|---|---|---|---|---|---|
| GiveMeCredit | LR | 0 | 6 | 19 | 3.1 | 33 ms | 15 of 15 | 3 of 3 |
| GiveMeCredit | LR | 2 | 14 | 67 | 4.6 | 685 ms | 15 of 15 | 3 of 3 |
| GiveMeCredit | HistGB | 0 | 11 | 35 | 3.1 | 45 ms | 15 of 15 | 3 of 3 |
| GiveMeCredit | HistGB | 2 | 19 | 80 | 4.2 | 5255 ms | 15 of 15 | 3 of 3 |
| GiveMeCredit | MLP | 0 | 9 | 22 | 2.4 | 32 ms | 15 of 15 | 3 of 3 |
| GiveMeCredit | MLP | 2 | 15 | 84 | 5.5 | 295 ms | 15 of 15 | 3 of 3 |
| FICO | LR | 0 | 5 | 37 | 7.6 | 1201 ms | 15 of 15 | 3 of 3 |
| FICO | LR | 2 | 10 | 77 | 7.7 | 605 ms | 15 of 15 | 3 of 3 |
| FICO | HistGB | 0 | 9 | 50 | 5.5 | 573 ms | 15 of 15 | 3 of 3 |
| FICO | HistGB | 2 | 15 | 159 | 10.3 | 575 ms | 15 of 15 | 3 of 3 |
| FICO | MLP | 0 | 12 | 27 | 2.3 | 284 ms | 15 of 15 | 3 of 3 |
| FICO | MLP | 2 | 25 | 148 | 5.8 | 1141 ms | 15 of 15 | 3 of 3 |

Most of what is slow are rows with a blank in one of the four. Before the options of the shared column were gone through one by one,
such rows of a made-up table with three columns that belong together (24 rows) ended unproved after ten seconds and more: 1 of LR's, 1 of HistGB's
and 3 of RF's. All are proved since; the slowest takes 1.4, 4 and 11.5 s.

`KNNImputer` and `IterativeImputer` fill a blank from the other columns, so that they are followed where nothing is blank: a complete row
passes them unchanged. That is all that `reapply="disclosed"` asks for; the row with its blanks is left to the model itself. `reapply="blank"`,
`"either"` and `NativeMissing` are refused with the way out `ExpertOptions(method="blackbox")`.

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
| interpret, boosting machines | float64 | float64, in order | equal to the last bit |
| naive Bayes of counts, bits, categories | - | float64 | equal to the last bit; a probability near its threshold is asked of scikit-learn |
| GaussianNB, statsmodels, ScorecardCut without rounding, stacks of linear scores | - | float64 | sums are made in another order: rows within that rounding of the boundary may differ, and `predict` has the last word |
| votes and stacks of trees | float32 or float64, as their members | float64 | equal to the last bit: near a tie scikit-learn is asked |
| mixtures: calibrated folds, votes and stacks of all kinds | as their members | float64 | within 1e-9 of the cut, and within the rounding of each map, scikit-learn is asked; scores of linear members and of GaussianNB may differ in the last bits |
| ONNX, trees | float32 | float32, in order | equal to the last bit, in one thread, as `OnnxClassifier` runs it |
| ONNX, linear and layers | float32 | float64 | onnxruntime multiplies in float32, as PyTorch does |
| PyTorch | the module's type | float64 | the module multiplies in float32; rows within that rounding of the boundary may differ, and `predict` has the last word |

## A black box

With `options=ExpertOptions(method="blackbox")` any fitted classifier is only asked: choices in the order of their cost, until the first that
is accepted. That is exact when it ends, and it says so when it does not. It is the way for

- kernel machines, neighbours, Gaussian processes;
- votes, stacks and calibrated folds of networks, of classifiers with native categories, or of more than two classes, unless
  all that the members say are sums of trees or linear scores; members whose probability is neither their sum nor its logistic;
- maps of means of maps: calibrated folds of votes, votes of stacks; folds calibrated by a temperature;
- a stack whose final estimator is not linear, or that passes inputs through beside members with steps of their own;
- bags of anything but single trees;
- `threshold` on linear models, boosters and networks with more than two classes;
- networks with other activations than ReLU, XGBoost's `dart` and `gblinear`, functions as objectives, LightGBM's linear
  trees, CatBoost's statistics of categories (CTR), texts and embeddings;
- a subclass with its own `predict`.

A bare `xgboost.Booster` or `lightgbm.Booster` has no labels: use the library's classifier.

PMML is not read. Of the libraries that run it, pypmml (1.5.8) starts a Java machine through py4j or JPype1, and what that
machine compares and adds in which precision is not documented; sklearn-pmml-model (1.0.8) turns a file into estimators of
its own, which were not tried. Where the model can be written as ONNX, that is the way.

## How fast

FICO as in the paper: people whom the model rejects hide two of 23 values, everything may change, up to four changes, three
quarters of 100 completions. Milliseconds of computing for one person, all of it, each person being explained once before;
measured by `python -m lab.benchmarks.readers` in one run (forests of 50 trees with 8 leaves, boosters of 50 with 8). All is proven. The aim was 20 ms, and 300 ms for mixtures (calibrated folds, votes and stacks of all
kinds): every median is below its aim.

| model | people | plans | proven | median ms | 90% ms | longest ms | median ms the first time |
|---|---|---|---|---|---|---|---|
| interpret: EBM | 50 | 50 | 50 | 6.1 | 9.8 | 27 | 8.4 |
| interpret: EBM, 10 pairs | 50 | 50 | 50 | 4.1 | 5.3 | 13 | 6.0 |
| interpret: EBM without pairs | 50 | 50 | 50 | 3.6 | 4.4 | 9 | 5.1 |
| optbinning: Scorecard | 50 | 50 | 50 | 7.5 | 8.1 | 8 | 9.0 |
| optbinning: cut on the points of a Scorecard | 50 | 50 | 50 | 17.2 | 18.3 | 31 | 19.0 |
| optbinning: BinningProcess + LogisticRegression | 50 | 50 | 50 | 7.4 | 9.0 | 10 | 10.1 |
| statsmodels: Logit | 50 | 50 | 50 | 7.8 | 8.5 | 9 | 9.0 |
| scikit-learn: GaussianNB | 50 | 50 | 50 | 3.2 | 4.4 | 6 | 4.4 |
| scikit-learn: CalibratedClassifierCV of LinearSVC (5 folds) | 50 | 50 | 50 | 19.1 | 40.7 | 136 | 21.7 |
| scikit-learn: CalibratedClassifierCV of LinearSVC, isotonic (5 folds) | 50 | 50 | 50 | 21.1 | 61.9 | 116 | 22.9 |
| scikit-learn: CalibratedClassifierCV of RandomForest (5 folds) | 50 | 50 | 50 | 38.4 | 95.6 | 187 | 50.4 |
| scikit-learn: CalibratedClassifierCV of RandomForest, isotonic (5 folds) | 50 | 50 | 50 | 35.3 | 66.4 | 354 | 44.9 |
| scikit-learn: CalibratedClassifierCV of HistGradientBoosting (5 folds) | 50 | 50 | 50 | 23.1 | 67.3 | 418 | 28.7 |
| scikit-learn: CalibratedClassifierCV of GaussianNB, isotonic (5 folds) | 50 | 50 | 50 | 33.7 | 100.7 | 270 | 35.7 |
| scikit-learn: soft votes of LogisticRegression, RandomForest, GaussianNB | 50 | 50 | 50 | 30.0 | 176.6 | 448 | 34.0 |
| scikit-learn: hard votes of the same | 50 | 50 | 50 | 23.5 | 75.7 | 155 | 25.5 |
| scikit-learn: stack of RandomForest and LinearSVC | 50 | 50 | 50 | 25.9 | 145.5 | 232 | 30.6 |
| scikit-learn: soft votes of a RandomForest and ExtraTrees | 50 | 50 | 50 | 10.3 | 18.5 | 184 | 14.4 |
| scikit-learn: LogisticRegression, for comparison | 50 | 50 | 50 | 2.2 | 2.4 | 3 | 3.1 |

Where a library is slow to ask, that is most of the time: the Scorecard's own `predict` took 6 ms a call on a slower machine, whatever the
number of rows, and is called twice. A machine with pairs has tens of thousands of leaves (23,103 with ten pairs). They are searched as
[tables of one or two columns](dev/bounds.md#tree-ensembles). With masks of leaves, made anew for every budget, the median of the same 50
people was 157 ms with the default pairs, where this search took 19 (one run after the other, on a busier machine than for the
table); the costs of their plans were the same.

## Tutorials of other libraries, as tried

`python -m lab.benchmarks.tutorials` builds the classifiers of other libraries' own tutorials, fits them on a small table of ours
with the same kinds of columns, and explains one person who hides a value, with the default method. None is refused; two cannot be
read, and are asked in order of cost.

| library | tutorial | columns | outcome |
|---|---|---|---|
| scikit-learn | Getting started: StandardScaler, LogisticRegression | numbers | read as LinearModel, optimal |
| scikit-learn | Column Transformer with Mixed Types | words, blanks | read as LinearModel, optimal |
| scikit-learn | Pipelining: StandardScaler, PCA, LogisticRegression, searched | numbers | read as LinearModel, optimal |
| scikit-learn | Pipeline ANOVA SVM: SelectKBest, LinearSVC | numbers | read as LinearModel, optimal |
| scikit-learn | Permutation importance: imputed, ordinal, RandomForestClassifier | words, blanks | read as TreeEnsemble, optimal |
| scikit-learn | Categorical support in gradient boosting: ordinal, native categories | words, blanks | read as TreeEnsemble, optimal |
| scikit-learn | Hard votes of LogisticRegression, RandomForestClassifier, GaussianNB | numbers | read as ScoreMixture, optimal |
| scikit-learn | Soft votes of the same | numbers | read as ScoreMixture, optimal |
| scikit-learn | Stack of RandomForestClassifier and a scaled LinearSVC | numbers | read as ScoreMixture, optimal |
| scikit-learn | Probability calibration of GaussianNB, isotonic (ensemble=True) | numbers | read as ScoreMixture, optimal |
| scikit-learn | The same with ensemble=False | numbers | read as LinearModel, optimal |
| scikit-learn | Post-tuning the decision threshold: scaled LogisticRegression | numbers | read as LinearModel, optimal |
| scikit-learn | Multi-layer perceptron behind StandardScaler | numbers | read as ReluNetwork, optimal |
| scikit-learn | AdaBoostClassifier | numbers | read as TreeEnsemble, optimal |
| scikit-learn | GradientBoostingClassifier | numbers | read as TreeEnsemble, optimal |
| scikit-learn | KNeighborsClassifier behind StandardScaler | numbers | asked in order of cost, optimal |
| scikit-learn | SVC with an RBF kernel behind StandardScaler | numbers | asked in order of cost, optimal |
| skrub | Getting started: tabular_pipeline('classifier') | words, blanks | read as TreeEnsemble, optimal |
| skrub | tabular_pipeline(HistGradientBoostingClassifier()) | words, blanks | read as TreeEnsemble, optimal |
| skrub | tabular_pipeline(LogisticRegression()) | words, blanks | read as LinearModel, optimal |
| skrub | tabular_pipeline(RandomForestClassifier()) | words, blanks | read as TreeEnsemble, optimal |
| skrub | TableVectorizer, HistGradientBoostingClassifier | words, blanks | read as TreeEnsemble, optimal |
| skrub | TableVectorizer, imputed, scaled, LogisticRegression | words, blanks | read as LinearModel, optimal |
| skrub | TableVectorizer with MinHashEncoder for words | words, blanks | read as TreeEnsemble, optimal |
| skrub | TableVectorizer with StringEncoder for words | words, blanks | read as TreeEnsemble, optimal |
| skrub | TableVectorizer with GapEncoder for words | words, blanks | read as TreeEnsemble, optimal |
| interpret | Getting started: ExplainableBoostingClassifier | words | read as TreeEnsemble, optimal |
| interpret | ExplainableBoostingClassifier with interactions=0 | words | read as TreeEnsemble, optimal |
| interpret | ExplainableBoostingClassifier with blanks | words, blanks | read as TreeEnsemble, optimal |
| interpret | Interpretable classification: its LogisticRegression | numbers | read as LinearModel, optimal |
| interpret | Interpretable classification: its ClassificationTree | numbers | read as TreeEnsemble, optimal |
| interpret | Explaining black boxes: PCA, RandomForestClassifier | numbers | read as TreeEnsemble, optimal |
| optbinning | Binning process: BinningProcess, LogisticRegression | words | read as LinearModel, optimal |
| optbinning | Binning process with selection_criteria | words | read as LinearModel, optimal |
| optbinning | Binning process, HistGradientBoostingClassifier | words | read as TreeEnsemble, optimal |
| optbinning | Scorecard (scaling_method=None) | words | read as LinearModel, optimal |
| optbinning | Scorecard (pdo_odds) | words | read as LinearModel, optimal |
| optbinning | Scorecard (min_max, rounding, intercept_based) | words | read as LinearModel, optimal |
| optbinning | the last one with a cut on its points (`ScorecardCut`) | words | read as LinearModel, optimal |

## Teach it another class

A reader gets the fitted estimator and a `Target` (its labels, the positions of the desired ones, the threshold), and
returns a `LinearModel`, `ReluNetwork`, `TreeEnsemble` or `ScoreMixture`.

```python
import numpy as np
from armin import register_model
from armin.models import Above, LinearModel, read_model


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


register_model(Points, read_points, kind="linear")
model = read_model(Points([3, 10]), desired="approved")
print(model.accepts(np.array([[20.0, 4.0], [20.0, 3.0]])))
```

```text
[ True False]
```

`register_model("library.Class", ...)` does the same without importing the library. Where the class takes more than
numbers, `prepare=` gives the function from its rows to the model's inputs.
"""


def _key(library: str, name: str, table: dict[str, str]) -> str:
    """Under which name a class is found: with its library where another one has the same name."""
    return f"{library}.{name}" if f"{library}.{name}" in table else name


def models_page() -> str:
    """The page on models."""
    rows = ["| library | class | read as | what |", "|---|---|---|---|"]
    for library, name, kind in sorted(supported_models(), key=lambda row: list(NOTES).index(_key(*row[:2], NOTES))):
        known = LIBRARIES[_key(library, name, LIBRARIES) if library == "armin" else library]
        rows.append(f"| {known} | `{name}` | {KINDS[kind]} | {NOTES[_key(library, name, NOTES)]} |")
    names = ", ".join(f"`{name}`" for name in traceable_transformers() if name not in OURS)
    return PAGE.format(models="\n".join(rows), transformers=names, blocks=BLOCKS)


PACKS = """# What the letters of each pack must say

<!-- Written by docs/build.py from desk/src/armin_desk/letter; do not edit. -->

**This is no legal advice.** A pack is our reading of what the sources named here ask of a letter. It checks that something is said, not
that it is true, in time, or enough for your case. Have your lawyers read the letters that you send. [The letter](letter.md) says how packs
are used.

| pack | covers | does not cover |
|---|---|---|
{covers}

## Sections

A required section that is missing in the finished letter, in HTML or in text, is an error. `needed` and `respond` are in the letter that
asks for missing information only. The texts are in `src/armin/words/en.toml` and `de.toml`, under the name in the third column.

| pack | required section | text | who asks for it |
|---|---|---|---|
{sections}

## Fields

| field | kind | what it says | needed by |
|---|---|---|---|
{fields}
"""
COVERED = {
    "us-credit": (
        "a notice of adverse action on an application for consumer credit, with reasons; a notice of incompleteness",
        "state law; business credit; counteroffers; existing accounts; mortgages and appraisals; risk-based pricing notices; "
        "affiliates (15 U.S.C. 1681m(b)(2)); more than one reporting agency; the deadlines of 12 CFR 1002.9(a)(1); records",
    ),
    "eu-credit": (
        "a rejection of consumer credit, assessed with the help of a program. Directive (EU) 2023/2225 applies from "
        "20 November 2026, through national law",
        "national law; mortgages (Directive 2014/17/EU); the full information of GDPR Art. 13 and 14 (purposes, legal basis, "
        "recipients, storage); whether GDPR Art. 22(2) allows the decision to be automated at all",
    ),
    "eu-employment": (
        "a rejection of an application for work, or of a worker, assessed with the help of a program",
        "national law: works councils, collective agreements, and in Germany the AGG. Reasons in a letter can be evidence of "
        "discrimination (section 22 AGG), and claims must be made within two months of it (section 15(4) AGG): the letter says "
        "nothing about either. The notice to workers of Art. 26(7) comes before use, so a letter can only recall it",
    ),
    "education": (
        "a rejection of an application for a place, assessed with the help of a program",
        "national law on admissions, appeals and quotas; grading and exams; what a public institution must add, which the field "
        "`legal_remedy` takes as it is; education outside the European Union",
    ),
    "plain": ("nothing: no law is met by it", "everything; without a sender it is marked as a draft"),
}  # fmt: skip


def packs_page() -> str:
    """The page on packs of letters."""
    covers, sections = [], []
    for name, (what, what_not) in COVERED.items():
        pack = read_pack(name)
        covers.append(f"| `{name}` | {what} | {what_not} |")
        if pack.sender:
            sections.append(f"| `{name}` | `sender` | | {pack.sender} |")
        own = {"decision": f"pack.action.{pack.action}", "needed": "pack.needed"}
        for part in pack.sections:
            if part.required:
                unless = f", unless `{part.when}` is none" if part.when else ""
                text = part.title.rpartition(".")[0] or own.get(part.name, part.name)
                sections.append(f"| `{name}` | `{part.name}`{unless} | `{text}` | {part.source} |")
    rows = []
    for name, field in known_fields().items():
        users = [
            p for p in COVERED if name in {f for part in read_pack(p).sections if part.required for f in part.needs}
        ]
        users = [p for p in COVERED if read_pack(p).sender] if name == "organisation" else users
        by = "all" if len(users) == len(COVERED) else ", ".join(f"`{one}`" for one in users) or "none; it may be told"
        rows.append(f"| `{name}` | {field.kind}{', or none' if field.none else ''} | {field.asks} | {by} |")
    return PACKS.format(covers="\n".join(covers), sections="\n".join(sections), fields="\n".join(rows))


def main() -> int:
    """Write or compare all pages."""
    stale = []
    for name, text in {"models.md": models_page(), "packs.md": packs_page()}.items():
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
