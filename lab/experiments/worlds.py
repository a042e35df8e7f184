"""A world: one data set with one trained model, and the people it rejects, as in the paper."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import Schema
from armin.datasets import make_loans, mar, mcar, mnar
from armin.errors import MissingDependencyError, ParameterError
from lab.experiments.data import encoder, load
from lab.experiments.kept import PublishedForest, PublishedLR

__all__ = [
    "DATASETS",
    "MODELS",
    "Data",
    "People",
    "World",
    "add_dataset",
    "make_people",
    "make_world",
    "published_schema",
]

MOST_ROWS = 10_000
"""Training rows from which costs and samplers learn; the model itself learns from all."""


@dataclass(frozen=True, eq=False)
class Data:
    """Rows and labels; ``undesired`` is the label of the people who ask for recourse."""

    X: pd.DataFrame
    y: pd.Series[Any]
    schema: Schema
    desired: Any
    undesired: Any
    encoder: Any
    fit_all: bool = True
    """Whether the bounds are stretched to all rows; if not, to the people explained only."""
    person: dict[str, Any] | None = None
    """The one person to explain, where it is not the first test rows."""


@dataclass(frozen=True, eq=False)
class World:
    """A trained model, and what is needed to explain the people it rejects."""

    dataset: str
    model: str
    classifier: Any
    schema: Schema
    fit_all: bool
    desired: Any
    train: pd.DataFrame
    labels: pd.Series[Any]
    test: pd.DataFrame
    rejected: NDArray[np.bool_]
    accuracy: float
    split: int = 0


@dataclass(frozen=True, eq=False)
class People:
    """Rejected people with blanks, and who they are; ``complete`` is None where nobody knows."""

    world: World
    schema: Schema
    masked: pd.DataFrame
    complete: pd.DataFrame | None


def _paper(name: str, *, fit_all: bool = True) -> Callable[[], Data]:
    def get() -> Data:
        data = load(name, "paper")
        return Data(data.X, data.y, data.schema, 0, 1, encoder(data), fit_all)

    return get


def _raw(name: str) -> Callable[[], Data]:
    def get() -> Data:
        data = load(name)
        undesired = next(label for label in data.y.unique() if label != data.desired)
        numbers = [f.name for f in data.schema if f.is_number]
        groups = [f.name for f in data.schema if not f.is_number]
        steps = [(make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers)]
        if groups:
            one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
            steps.append((make_pipeline(SimpleImputer(strategy="most_frequent"), one_hot), groups))
        return Data(data.X, data.y, data.schema, data.desired, undesired, make_column_transformer(*steps))

    return get


def _loans() -> Data:
    loans = make_loans()
    schema = loans.schema.update(immutable=["Education", "Purpose"])
    encoder = loans.classifier[0]
    return Data(loans.X, loans.y, schema, "approved", "rejected", encoder, person=loans.person)


DATASETS: dict[str, Callable[[], Data]] = {
    "FICO": _paper("FICO"),
    "Attrition": _paper("Attrition"),
    "WineQuality": _paper("WineQuality"),
    "Student": _paper("Student"),
    "GiveMeCredit": _paper("GiveMeCredit", fit_all=False),
    "FICO-raw": _raw("FICO"),
    "GiveMeCredit-raw": _raw("GiveMeCredit"),
    "Adult": _raw("Adult"),
    "Loans": _loans,
}


def _xgboost() -> Any:
    try:
        from xgboost import XGBClassifier
    except ImportError:
        raise MissingDependencyError(
            "This experiment needs XGBoost. Install it with: pip install 'armin[xgboost]'."
        ) from None
    return XGBClassifier(n_estimators=50, max_leaves=8, tree_method="hist", n_jobs=1)


def _network() -> Any:
    return MLPClassifier((30,), max_iter=500, random_state=0)


def _forest() -> Any:
    return RandomForestClassifier(50, max_leaf_nodes=8, class_weight="balanced", random_state=0)


MODELS: dict[str, Callable[[], Any]] = {
    "LR-published": lambda: PublishedLR(solver="liblinear", C=1.0),
    "LR": lambda: LogisticRegression(solver="liblinear", C=1.0),
    "MLP-published": _network,
    "MLP": _network,
    "MLP-scaled": lambda: make_pipeline(StandardScaler(), _network()),
    "RF-published": lambda: PublishedForest(50, max_leaf_nodes=8, class_weight="balanced"),
    "RF": _forest,
    "XGBoost": _xgboost,
}
CHAINED = ("LR-published", "MLP-published", "RF-published")
"""Models whose random numbers are those that the split has left over, as in the published code: it seeds once."""


def add_dataset(name: str, get: Callable[[], Data]) -> None:
    """Make a data set known by name."""
    DATASETS[name] = get


def add_model(name: str, make: Callable[[], Any]) -> None:
    """Make a model known by name; ``make`` gives it unfitted."""
    MODELS[name] = make


def published_schema(people: People) -> Schema:
    """The schema with the bounds of the training rows, as published, stretched to people who lie beyond them."""
    world = people.world
    if not world.fit_all:
        return people.schema  # trimmed bounds are the published ones already
    train = world.train
    numbers = [f.name for f in people.schema if f.is_number]
    bounds = {name: (float(train[name].min()), float(train[name].max())) for name in numbers}
    # always the same people, so that the number of people asked for does not change the options
    return people.schema.update(bounds=bounds).widened(world.test[world.rejected].head(100))


@lru_cache(maxsize=2)
def _data(name: str) -> Data:
    if name not in DATASETS:
        raise ParameterError(f"There is no data set {name!r}. The data sets are: {', '.join(DATASETS)}.")
    return DATASETS[name]()


@lru_cache(maxsize=2)
def make_world(dataset: str, model: str, split: int = 0) -> World:
    """Split 75/25, stratified, by a seed; train; find the test rows that are predicted undesired."""
    if model not in MODELS:
        raise ParameterError(f"There is no model {model!r}. The models are: {', '.join(MODELS)}.")
    data = _data(dataset)
    rng = np.random.RandomState(split)
    train, test, y_train, y_test = train_test_split(data.X, data.y, test_size=0.25, stratify=data.y, random_state=rng)
    estimator = MODELS[model]()
    seeds = [name for name in estimator.get_params() if name.split("__")[-1] == "random_state"]
    if model in CHAINED:
        estimator.set_params(**dict.fromkeys(seeds, rng))
    elif split:
        estimator.set_params(**dict.fromkeys(seeds, split))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the paper's number of iterations, reached or not
        warnings.simplefilter("ignore", FutureWarning)
        classifier = make_pipeline(data.encoder, *_steps(estimator)).fit(train, y_train)
    accuracy = float(np.mean(classifier.predict(test) == y_test.to_numpy()))
    if data.person is not None:
        test = pd.DataFrame([data.person]).astype(data.X.dtypes.to_dict())
    rejected = np.asarray(classifier.predict(test) == data.undesired)
    schema = data.schema.widened(data.X) if data.fit_all else data.schema
    return World(
        dataset, model, classifier, schema, data.fit_all, data.desired, train, y_train, test, rejected, accuracy, split
    )  # fmt: skip


def _steps(estimator: Any) -> list[Any]:
    return [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]


def make_people(world: World, blanks: str, missing: int, count: int, mask: int = 0) -> People:
    """The first ``count`` rejected people, with blanks of a kind.

    Parameters
    ----------
    world : who is rejected
    blanks : "mcar", "mar" or "mar:COLUMN:DRIVER", "mnar" or "mnar:COLUMN", "column:NAME", "real"; "mar@train" and
        "mnar@train" take the median of the training rows, as published, instead of that of the test rows
    missing : how many values are lost completely at random
    count : how many people
    mask : which blanks, where chance makes them; other splits have other ones
    """
    test, rejected = world.test, world.rejected
    how, _, column = blanks.partition(":")
    how = how.partition("@")[0]
    if how == "real":
        rows = test[rejected & test.isna().any(axis=1).to_numpy() & ~test.isna().all(axis=1).to_numpy()].head(count)
        return People(world, world.schema, rows, None)
    if how in ("mar", "mnar"):
        made, hidden = _made(world, blanks)
        chosen = rejected & hidden
        complete, masked = test[chosen].head(count), made[chosen].head(count)
    elif how == "mcar":
        complete = test[rejected].head(count)
        masked = mcar(complete, missing, random_state=1000 * world.split + mask).X
    elif how == "column":
        complete = test[rejected].head(count)
        masked = mcar(complete, 1, columns=[column]).X
    else:
        raise ParameterError(f"Blanks are made by mcar, mar, mnar, column:NAME or real. Got {blanks!r} instead.")
    # bounds that were trimmed to quantiles are stretched just enough to hold the people themselves; always to the
    # first hundred of them, so that the number of people asked for does not change the options
    holding = test[rejected] if world.fit_all else _first(world, blanks)
    schema = world.schema if world.fit_all else world.schema.widened(holding)
    return People(world, schema, masked, complete)


def _made(world: World, blanks: str) -> tuple[pd.DataFrame, NDArray[np.bool_]]:
    """The test rows with one column blank at random or not at random, and whose it is."""
    how, _, names = blanks.partition(":")
    how, _, of = how.partition("@")
    column, _, driver = (names or "MonthlyIncome:age").partition(":")
    for name in (column, driver) if how == "mar" else (column,):
        if name not in world.test:
            raise ParameterError(
                f"Blanks {blanks!r} need the column {name!r}, which {world.dataset} does not have. Its columns are: "
                f"{', '.join(map(str, world.test))}. Write mar:COLUMN:DRIVER or mnar:COLUMN."
            )
    if of == "train":
        decides = driver if how == "mar" else column
        hidden = (world.test[decides] > world.train[decides].median()).to_numpy()
        return world.test.assign(**{column: world.test[column].mask(hidden)}), hidden
    made = mar(world.test, column, driver=driver) if how == "mar" else mnar(world.test, column)
    return made.X, made.mask[column].to_numpy()


def _first(world: World, blanks: str, count: int = 100) -> pd.DataFrame:
    """The people that a mechanism can choose from, the first hundred of each."""
    test, rejected = world.test, world.rejected
    how, _, names = blanks.partition(":")
    how, at, of = how.partition("@")
    if how not in ("mar", "mnar"):
        return test[rejected].head(count)
    kinds = [f"mar{at}{of}", f"mnar{at}{of}"] if not names else [blanks]
    return pd.concat([test[rejected & _made(world, kind)[1]].head(count) for kind in kinds])
