"""The published set-up, and the rungs from there to ours."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from armin import ARMIN, Schema
from armin.errors import DataError

pytest.importorskip("matplotlib")
pytest.importorskip("lab.experiments", reason="the experiments live beside the package")

from lab.experiments.config import EXPERIMENTS, PUBLISHED, RUNGS, Experiment, Variant, cells_of
from lab.experiments.kept import PublishedLR
from lab.experiments.methods.imputers import Matrix, PosteriorDraws, ScikitImputer
from lab.experiments.methods.ladder import by_mean_probability
from lab.experiments.report.ladder import ladder
from lab.experiments.report.page import write_section
from lab.experiments.report.published import published
from lab.experiments.report.sections import reader
from lab.experiments.report.stats import summarise
from lab.experiments.run import run_cells
from lab.experiments.store import read_rows
from lab.experiments.worlds import DATASETS, Data, add_dataset, make_world

PEOPLE = {
    ("Attrition", "LR"): 23, ("Attrition", "MLP"): 22, ("Attrition", "RF"): 89, ("Student", "LR"): 41,
    ("Student", "MLP"): 36, ("WineQuality", "LR"): 100, ("WineQuality", "MLP"): 100, ("WineQuality", "RF"): 100,
    ("FICO", "LR"): 100, ("FICO", "MLP"): 100, ("FICO", "RF"): 100,
}  # fmt: skip
QUICK = {("Attrition", "LR")}
needs_data = pytest.mark.skipif(not os.environ.get("ARMIN_DATA"), reason="the data sets are not here (ARMIN_DATA)")


@needs_data
@pytest.mark.parametrize(
    ("dataset", "model"),
    [cell if cell in QUICK else pytest.param(*cell, marks=pytest.mark.slow) for cell in PEOPLE],
)
def test_the_papers_optimum_comes_out(dataset: str, model: str, tmp_path: Path) -> None:
    """On complete rows, with the published cost, options and model: within half a percent, for as many people."""
    run_cells(cells_of(EXPERIMENTS["published"], (dataset,), (f"{model}-published",)), tmp_path)
    found = summarise(read_rows(tmp_path, "published"))
    theirs = published(dataset, model, "optimal")
    assert theirs is not None
    people = PEOPLE[dataset, model]
    assert (found.n, theirs["instances"]) == (people, people)
    assert found.cost.value == pytest.approx(theirs["average_cost"], rel=0.005)
    assert found.valid.k == people


@needs_data
def test_the_kept_forest_rejects_as_many_as_the_papers_and_others_are_grown_anew() -> None:
    kept, other = make_world("Attrition", "RF-published"), make_world("Attrition", "RF-published", 1)
    assert int(kept.rejected.sum()) == 89
    again = make_world("Attrition", "RF", 1)
    trees = zip(kept.classifier[-1], other.classifier[-1], strict=True)
    assert any(not np.array_equal(a.tree_.threshold, b.tree_.threshold) for a, b in trees)
    assert other.test.index.equals(again.test.index)
    assert not kept.test.index.equals(other.test.index)


@needs_data
def test_the_kept_regression_is_for_its_own_rows_only() -> None:
    fitted = make_world("Student", "LR", 1).classifier[-1]
    np.testing.assert_array_equal(make_world("Student", "LR-published", 1).classifier[-1].coef_, fitted.coef_)


def tiny() -> Data:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({
        "a": rng.integers(0, 20, 240), "b": rng.normal(size=240).round(2),
        "c": pd.Categorical(rng.choice(["x", "y", "z"], 240)),
    })  # fmt: skip
    y = pd.Series(((X["a"] / 5 + X["b"] + (X["c"] == "x") + rng.normal(size=240)) < 2.2).astype(int))
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OneHotEncoder

    encoder = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    return Data(X, y, Schema.infer(X, blanks={"a": "shift", "b": "shift"}), 0, 1, encoder)


def test_every_rung_is_run_on_the_same_people_and_told_apart(tmp_path: Path) -> None:
    add_dataset("TinyLadder", tiny)
    try:
        experiment = Experiment(
            "ladder", "l", "compare", ("TinyLadder",), ("LR", "RF"), RUNGS, variants=(Variant("", PUBLISHED),),
            instances=1,
        )  # fmt: skip
        optimum = Experiment(
            "published", "l", "compare", ("TinyLadder",), ("LR",), ("optimal-published",), missing=(0,),
            variants=(Variant("cost=published", PUBLISHED),), instances=2,
        )  # fmt: skip
        run_cells([*cells_of(experiment), *cells_of(optimum)], tmp_path)
    finally:
        DATASETS.pop("TinyLadder")
    rows = read_rows(tmp_path, "ladder")
    assert len(rows) == 2 * len(RUNGS)
    assert not [r["note"] for r in rows if r["status"] == "failed"]
    exact = RUNGS[RUNGS.index("rung-exact") :]
    assert {r["status"] for r in rows if r["method"] in exact} <= {"optimal", "infeasible"}
    same = ("rung-options", "rung-rule", "rung-exact")
    linear = [[r["own_cost"] for r in rows if r["model"] == "LR" and r["method"] == name] for name in same]
    assert linear[0] == linear[1] == linear[2]  # the published code has no heuristic for them
    parts = ladder(reader(tmp_path), tmp_path / "img")
    page = "\n".join(parts)
    assert (tmp_path / "img" / "ladder.svg").is_file()
    for name in ("published code", "+ the paper's rule", "+ exact search", "+ our sampler", "+ conditioning"):
        assert page.count(f"| {name} |") == 2


def test_the_rule_of_the_published_code_asks_for_the_mean_probability() -> None:
    data = tiny()
    from sklearn.linear_model import LogisticRegression

    classifier = make_pipeline(data.encoder, LogisticRegression()).fit(data.X, data.y)
    from armin.explain.advise import pose

    explainer = ARMIN.from_settings(
        classifier, data.schema, desired=0, n_samples=30, n_fresh=0, decision=None, sampler="marginal", max_options=15
    ).fit(data.X)
    rejected = data.X[classifier.predict(data.X) == 1].iloc[0].to_dict()
    codes = data.schema.encode({**rejected, "b": None})[0]
    problem = pose(explainer.current, codes, (), 0.75).stated.problem
    final = classifier[-1]
    choice = by_mean_probability(problem, final, 0, PUBLISHED)
    sure = final.predict_proba(problem.inputs(choice))[:, 0].mean()
    keep = final.predict_proba(problem.inputs(problem.keep))[:, 0].mean()
    assert problem.allows(choice)
    assert keep < sure  # what cannot reach the confidence is at least the best of ten


def test_codes_become_the_matrix_and_come_back() -> None:
    data = tiny()
    codes = data.schema.encode(data.X)
    matrix = Matrix(data.schema)
    wide = matrix.of(codes)
    assert wide.shape == (240, 5)
    np.testing.assert_array_equal(matrix.back(wide, np.arange(3)), codes)
    blank = codes[:1].copy()
    blank[0, 2] = np.nan
    assert np.isnan(matrix.of(blank)).sum() == 3


@pytest.mark.parametrize("which", ["mean", "knn", "mice"])
def test_the_published_imputers_are_scikit_learns(which: str) -> None:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

    data = tiny()
    codes = data.schema.encode(data.X)
    row = codes[0].copy()
    row[0] = np.nan
    filled = ScikitImputer(which).fit(codes, data.schema).impute(row)
    matrix = Matrix(data.schema)
    theirs = {"mean": SimpleImputer(), "knn": KNNImputer(), "mice": IterativeImputer(random_state=0)}[which]
    expected = theirs.fit(matrix.of(codes)).transform(matrix.of(row[None, :]))[0, 0]
    assert filled[0] == round(float(np.clip(expected, 0, 19)))
    np.testing.assert_array_equal(filled[1:], row[1:])


def test_posterior_draws_vary_are_legal_and_depend_on_the_generator_only() -> None:
    data = tiny()
    codes = data.schema.encode(data.X)
    sampler = PosteriorDraws().fit(codes, data.schema)
    row = np.array([np.nan, 0.5, np.nan])
    first = sampler.sample(row, 50, np.random.default_rng(1)).values
    again = sampler.sample(row, 50, np.random.default_rng(1)).values
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first[:, 0])) > 5
    assert (first[:, 0] == np.round(first[:, 0])).all()
    assert ((first[:, 0] >= 0) & (first[:, 0] <= 19)).all()


def test_other_rows_are_fitted_anew() -> None:
    data = tiny()
    X = data.X[["a", "b"]].to_numpy(dtype=float)
    mine = PublishedLR(solver="liblinear").fit(X, data.y)
    assert mine.coef_.shape == (1, 2)


def test_a_section_is_a_page_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no rows of published, models, scaled, ladder.*run l"):
        write_section(tmp_path, tmp_path, "l")
