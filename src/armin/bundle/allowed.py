"""The estimators of scikit-learn that a bundle may hold without being trusted.

skops trusts all of them by their type. A type says nothing about attributes, which a file may set to anything, and
compiled code follows them without looking. So the list is short: what ARMIN reads or follows, and what wraps it. Of
each, either nothing but NumPy looks at the attributes, which then can only raise, or :mod:`armin.bundle.checks` has
compared them with each other before anybody asks the model.
"""

from __future__ import annotations

__all__ = ["ALLOWED", "LOSSES", "is_allowed"]

_BY_MODULE = {
    "linear_model._logistic": "LogisticRegression LogisticRegressionCV",
    "linear_model._ridge": "Ridge RidgeCV RidgeClassifier RidgeClassifierCV",
    "linear_model._base": "LinearRegression",
    "linear_model._bayes": "BayesianRidge",
    "linear_model._coordinate_descent": "Lasso LassoCV ElasticNet ElasticNetCV",
    "linear_model._passive_aggressive": "PassiveAggressiveClassifier",
    "linear_model._perceptron": "Perceptron",
    "linear_model._stochastic_gradient": "SGDClassifier",
    "svm._classes": "LinearSVC SVC",
    "discriminant_analysis": "LinearDiscriminantAnalysis",
    "naive_bayes": "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB",
    "neural_network._multilayer_perceptron": "MLPClassifier",
    "dummy": "DummyClassifier DummyRegressor",
    "isotonic": "IsotonicRegression",
    "tree._classes": "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
    "ensemble._forest": "ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor",
    "ensemble._gb": "GradientBoostingClassifier",
    "ensemble._hist_gradient_boosting.gradient_boosting": "HistGradientBoostingClassifier",
    "ensemble._bagging": "BaggingClassifier",
    "ensemble._weight_boosting": "AdaBoostClassifier",
    "ensemble._voting": "VotingClassifier",
    "ensemble._stacking": "StackingClassifier",
    "calibration": "CalibratedClassifierCV",
    "frozen._frozen": "FrozenEstimator",
    "model_selection._search": "GridSearchCV RandomizedSearchCV",
    "model_selection._classification_threshold": "FixedThresholdClassifier TunedThresholdClassifierCV",
    "pipeline": "FeatureUnion Pipeline",
    "compose._column_transformer": "ColumnTransformer",
    "impute._base": "MissingIndicator SimpleImputer",
    "impute._iterative": "IterativeImputer",
    "impute._knn": "KNNImputer",
    "preprocessing._data": (
        "Binarizer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer QuantileTransformer RobustScaler "
        "StandardScaler"
    ),
    "preprocessing._discretization": "KBinsDiscretizer",
    "preprocessing._encoders": "OneHotEncoder OrdinalEncoder",
    "preprocessing._function_transformer": "FunctionTransformer",
    "preprocessing._label": "LabelBinarizer LabelEncoder",
    "preprocessing._polynomial": "PolynomialFeatures SplineTransformer",
    "preprocessing._target_encoder": "TargetEncoder",
    "decomposition._pca": "PCA",
    "decomposition._truncated_svd": "TruncatedSVD",
    "feature_selection._from_model": "SelectFromModel",
    "feature_selection._rfe": "RFE RFECV",
    "feature_selection._sequential": "SequentialFeatureSelector",
    "feature_selection._univariate_selection": (
        "GenericUnivariateSelect SelectFdr SelectFpr SelectFwe SelectKBest SelectPercentile"
    ),
    "feature_selection._variance_threshold": "VarianceThreshold",
    "feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer",
}

ALLOWED = frozenset(f"sklearn.{module}.{name}" for module, names in _BY_MODULE.items() for name in names.split())
"""By the names of their classes; all others need trust."""

LOSSES = ("sklearn._loss.", "sklearn.linear_model._sgd_fast.")
"""Where boosters and linear models keep what they were fitted by; without a state of its own."""

_INSIDE = (
    *LOSSES,
    "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
)
"""What boosters hold that is no estimator: losses without a state of their own, and what is checked with them."""


def is_allowed(name: str) -> bool:
    """Whether a type of scikit-learn is on the list; types of other libraries are not judged here.

    >>> is_allowed("sklearn.linear_model._logistic.LogisticRegression"), is_allowed("sklearn.svm._classes.NuSVC")
    (True, False)
    """
    return not name.startswith("sklearn.") or name in ALLOWED or name.startswith(_INSIDE)
