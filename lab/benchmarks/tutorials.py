"""The classifiers of other libraries' own tutorials, as tried: ``python -m lab.benchmarks.tutorials``.

Each pipeline is built as its tutorial builds it and fitted on a small table with the kinds of columns that the tutorial
has (numbers, numbers with blanks, words); the table is ours, since most of theirs are downloads. One person whom it
rejects hides a value and is explained. "read" means that the search ran through the pipeline as arrays and proved its
answer; "refused" gives the first sentence that the user reads, and how the black box ends in 20 seconds.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, SelectPercentile, chi2, f_classif
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from armin import ARMIN, Schema
from armin.errors import ArminError
from armin.models import ScorecardCut

NUMBERS, WORDS = ["age", "income", "hours", "debt"], ["job", "town"]


def table(*, words: bool, blanks: bool, n: int = 400) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n).astype(float),
            "income": rng.lognormal(3, 0.5, n).round(1),
            "hours": rng.integers(0, 60, n).astype(float),
            "debt": rng.lognormal(2, 0.8, n).round(1),
            "job": rng.choice(["clerk", "nurse", "driver", "none"], n),
            "town": rng.choice(["Rome", "Oslo", "Bonn"], n),
        }
    )
    score = X["income"] - X["debt"] + 0.1 * X["hours"] + 4 * (X["job"] == "nurse") + rng.normal(size=n) * 3
    if blanks:
        X.loc[rng.random(n) < 0.1, "age"] = np.nan
    return X if words else X[NUMBERS], (score > score.median()).astype(int).to_numpy()


def titanic() -> Any:
    numeric = Pipeline([("imputer", SimpleImputer(strategy="median")), ("scaler", StandardScaler())])
    words = Pipeline(
        [("encoder", OneHotEncoder(handle_unknown="ignore")), ("selector", SelectPercentile(chi2, percentile=50))]
    )
    before = ColumnTransformer([("num", numeric, NUMBERS), ("cat", words, WORDS)])
    return Pipeline([("preprocessor", before), ("classifier", LogisticRegression())])


def importance() -> Any:
    before = ColumnTransformer(
        [("cat", OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), WORDS),
         ("num", SimpleImputer(strategy="mean"), NUMBERS)]
    )  # fmt: skip
    return Pipeline([("preprocess", before), ("classifier", RandomForestClassifier(random_state=42))])


def native_words() -> Any:
    ordinal = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan)
    encoder = make_column_transformer(
        (ordinal, make_column_selector(dtype_include=[object, "string"])),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    return make_pipeline(encoder, HistGradientBoostingClassifier(categorical_features=[0, 1], max_iter=40))


def votes(kind: str) -> Any:
    members = [
        ("lr", LogisticRegression(random_state=1, max_iter=1000)),
        ("rf", RandomForestClassifier(n_estimators=50, random_state=1)),
        ("gnb", GaussianNB()),
    ]
    return VotingClassifier(members, voting=kind)


def stack() -> Any:
    members = [
        ("rf", RandomForestClassifier(n_estimators=10, random_state=42)),
        ("svr", make_pipeline(StandardScaler(), LinearSVC(random_state=42))),
    ]
    return StackingClassifier(members, final_estimator=LogisticRegression())


def skrub_pipeline(what: Any) -> Callable[[], Any]:
    def make() -> Any:
        import skrub

        return skrub.tabular_pipeline(what() if callable(what) else what)

    return make


def vectorized(model: Callable[[], Any], **params: Any) -> Callable[[], Any]:
    def make() -> Any:
        import skrub

        steps = {k: getattr(skrub, v)() if isinstance(v, str) else v for k, v in params.items()}
        return make_pipeline(skrub.TableVectorizer(**steps), *model())

    return make


def glassbox(name: str, **params: Any) -> Callable[[], Any]:
    def make() -> Any:
        import interpret.glassbox as boxes

        return getattr(boxes, name)(**params)

    return make


def binned(final: Callable[[], Any], **params: Any) -> Callable[[], Any]:
    def make() -> Any:
        from optbinning import BinningProcess

        process = BinningProcess(NUMBERS + WORDS, categorical_variables=WORDS, **params)
        return Pipeline([("binning_process", process), ("classifier", final())])

    return make


def scorecard(**params: Any) -> Callable[[], Any]:
    def make() -> Any:
        from optbinning import BinningProcess, Scorecard

        return Scorecard(BinningProcess(NUMBERS + WORDS, categorical_variables=WORDS), LogisticRegression(), **params)

    return make


PDO = {"pdo": 30, "odds": 20, "scorecard_points": 600}
EBM = {"n_jobs": 1, "outer_bags": 4}
Entry = tuple[str, str, str, Callable[[], Any]]
N, W, B = "numbers", "words", "words blanks"
ENTRIES: list[Entry] = [
    ("scikit-learn", "Getting started: StandardScaler, LogisticRegression", N,
     lambda: make_pipeline(StandardScaler(), LogisticRegression())),
    ("scikit-learn", "Column Transformer with Mixed Types", B, titanic),
    ("scikit-learn", "Pipelining: StandardScaler, PCA, LogisticRegression, searched", N,
     lambda: GridSearchCV(
         Pipeline([("scaler", StandardScaler()), ("pca", PCA()), ("logistic", LogisticRegression())]),
         {"pca__n_components": [2, 3]}, cv=2)),
    ("scikit-learn", "Pipeline ANOVA SVM: SelectKBest, LinearSVC", N,
     lambda: make_pipeline(SelectKBest(f_classif, k=3), LinearSVC())),
    ("scikit-learn", "Permutation importance: imputed, ordinal, RandomForestClassifier", B, importance),
    ("scikit-learn", "Categorical support in gradient boosting: ordinal, native categories", B, native_words),
    ("scikit-learn", "Hard votes of LogisticRegression, RandomForestClassifier, GaussianNB", N, lambda: votes("hard")),
    ("scikit-learn", "Soft votes of the same", N, lambda: votes("soft")),
    ("scikit-learn", "Stack of RandomForestClassifier and a scaled LinearSVC", N, stack),
    ("scikit-learn", "Probability calibration of GaussianNB, isotonic (ensemble=True)", N,
     lambda: CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic")),
    ("scikit-learn", "The same with ensemble=False", N,
     lambda: CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic", ensemble=False)),
    ("scikit-learn", "Post-tuning the decision threshold: scaled LogisticRegression", N,
     lambda: TunedThresholdClassifierCV(make_pipeline(StandardScaler(), LogisticRegression()), cv=2)),
    ("scikit-learn", "Multi-layer perceptron behind StandardScaler", N,
     lambda: make_pipeline(StandardScaler(), MLPClassifier((10,), max_iter=200, random_state=0))),
    ("scikit-learn", "AdaBoostClassifier", N, lambda: AdaBoostClassifier(n_estimators=30)),
    ("scikit-learn", "GradientBoostingClassifier", N, lambda: GradientBoostingClassifier(n_estimators=30)),
    ("scikit-learn", "KNeighborsClassifier behind StandardScaler", N,
     lambda: make_pipeline(StandardScaler(), KNeighborsClassifier())),
    ("scikit-learn", "SVC with an RBF kernel behind StandardScaler", N, lambda: make_pipeline(StandardScaler(), SVC())),
    ("skrub", "Getting started: tabular_pipeline('classifier')", B, skrub_pipeline("classifier")),
    ("skrub", "tabular_pipeline(HistGradientBoostingClassifier())", B,
     skrub_pipeline(HistGradientBoostingClassifier)),
    ("skrub", "tabular_pipeline(LogisticRegression())", B, skrub_pipeline(LogisticRegression)),
    ("skrub", "tabular_pipeline(RandomForestClassifier())", B, skrub_pipeline(RandomForestClassifier)),
    ("skrub", "TableVectorizer, HistGradientBoostingClassifier", B,
     vectorized(lambda: [HistGradientBoostingClassifier(max_iter=40)])),
    ("skrub", "TableVectorizer, imputed, scaled, LogisticRegression", B,
     vectorized(lambda: [SimpleImputer(), StandardScaler(), LogisticRegression()])),
    ("skrub", "TableVectorizer with MinHashEncoder for words", B,
     vectorized(lambda: [HistGradientBoostingClassifier(max_iter=40)], high_cardinality="MinHashEncoder",
                cardinality_threshold=2)),
    ("skrub", "TableVectorizer with StringEncoder for words", B,
     vectorized(lambda: [HistGradientBoostingClassifier(max_iter=40)], high_cardinality="StringEncoder",
                cardinality_threshold=2)),
    ("skrub", "TableVectorizer with GapEncoder for words", B,
     vectorized(lambda: [HistGradientBoostingClassifier(max_iter=40)], high_cardinality="GapEncoder",
                cardinality_threshold=2)),
    ("interpret", "Getting started: ExplainableBoostingClassifier", W,
     glassbox("ExplainableBoostingClassifier", **EBM)),
    ("interpret", "ExplainableBoostingClassifier with interactions=0", W,
     glassbox("ExplainableBoostingClassifier", interactions=0, **EBM)),
    ("interpret", "ExplainableBoostingClassifier with blanks", B, glassbox("ExplainableBoostingClassifier", **EBM)),
    ("interpret", "Interpretable classification: its LogisticRegression", N,
     glassbox("LogisticRegression", max_iter=3000)),
    ("interpret", "Interpretable classification: its ClassificationTree", N, glassbox("ClassificationTree")),
    ("interpret", "Explaining black boxes: PCA, RandomForestClassifier", N,
     lambda: Pipeline([("pca", PCA()), ("rf", RandomForestClassifier(n_estimators=100, n_jobs=1))])),
    ("optbinning", "Binning process: BinningProcess, LogisticRegression", W, binned(LogisticRegression)),
    ("optbinning", "Binning process with selection_criteria", W,
     binned(LogisticRegression, selection_criteria={"iv": {"min": 0.02}})),
    ("optbinning", "Binning process, HistGradientBoostingClassifier", W,
     binned(lambda: HistGradientBoostingClassifier(max_iter=40))),
    ("optbinning", "Scorecard (scaling_method=None)", W, scorecard()),
    ("optbinning", "Scorecard (pdo_odds)", W, scorecard(scaling_method="pdo_odds", scaling_method_params=PDO)),
    ("optbinning", "Scorecard (min_max, rounding, intercept_based)", W,
     scorecard(scaling_method="min_max", scaling_method_params={"min": 300, "max": 850}, rounding=True,
               intercept_based=True)),
]  # fmt: skip


def outcome(kind: str, make: Callable[[], Any], method: str = "auto") -> str:
    """What becomes of one entry: how it was read, or what the user reads."""
    X, y = table(words="words" in kind, blanks="blanks" in kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier = make().fit(X, y)
        whole = X.dropna()
        person = whole[classifier.predict(whole) == 0].iloc[0].copy()
        person["hours"] = np.nan
        try:
            explainer = ARMIN.from_settings(
                classifier, Schema.infer(X), desired=1, method=method, n_samples=30, time_limit=20
            ).fit(X)
            answer = explainer.explain(person)
        except ArminError as error:
            asked = "" if method == "blackbox" else f" With method='blackbox': {outcome(kind, make, 'blackbox')}."
            return f"refused: {str(error).split('. ')[0]}.{asked}"
    how = type(explainer.fitted_.read.model).__name__
    return f"{'asked in order of cost' if how == 'BlackBox' else f'read as {how}'}, {answer.status.value}"


def points() -> str:
    """The last scorecard with a cut on its points."""
    X, y = table(words=True, blanks=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        card = ENTRIES[-1][3]().fit(X, y)
        cut = float(np.median(card.score(X)))
        return outcome(W, lambda: _Fitted(ScorecardCut(card, cut)))


class _Fitted:
    """Something that is fitted already."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier

    def fit(self, X: Any, y: Any) -> Any:
        return self.classifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="libraries whose names contain this")
    given = parser.parse_args()
    print("| library | tutorial | columns | outcome |")
    print("|---|---|---|---|")
    for library, name, kind, make in ENTRIES:
        if given.only in library:
            print(f"| {library} | {name} | {kind.replace(' ', ', ')} | {outcome(kind, make)} |", flush=True)
    if given.only in "optbinning":
        print(f"| optbinning | the last one with a cut on its points (`ScorecardCut`) | words | {points()} |")


if __name__ == "__main__":
    main()
