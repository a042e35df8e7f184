"""Is the judge of samplers right? Known distributions in, known verdicts and scores out."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

from armin.datasets import make_loans
from armin.errors import DataError, MissingDependencyError, ParameterError
from armin.sampling import ChainedEquations, Draws, FromCallable, Marginal
from armin.sampling.assess import assess
from armin.sampling.scores import pooled_p, uniform_p
from armin.schema import Feature, Schema

MEAN = np.array([1.0, -2.0, 0.0])
COV = np.array([[1.0, 0.8, 0.3], [0.8, 2.0, -0.4], [0.3, -0.4, 1.5]])
GAUSS = Schema(tuple(Feature(name, "continuous", lower=-40, upper=40) for name in "abc"))
SHARES = np.array([0.5, 0.3, 0.2])
COLOURS = Schema(
    (
        Feature("colour", "categorical", categories=("red", "green", "blue")),
        Feature("shade", "categorical", categories=("x", "y", "z")),
    )
)


def gaussian(spread: float = 1.0, shift: float = 0.0, forget: bool = False) -> FromCallable:
    """Draws from the true conditional distribution, or from one that is too wide, off centre or ignores the rest."""

    def draw(row, n, rng):
        codes = np.array([np.nan if row[name] is None else row[name] for name in "abc"])
        blank = np.isnan(codes)
        given = ~blank & (not forget)
        gain = COV[np.ix_(blank, given)] @ np.linalg.inv(COV[np.ix_(given, given)])
        centre = MEAN[blank] + gain @ (codes[given] - MEAN[given]) + shift
        cov = COV[np.ix_(blank, blank)] - gain @ COV[np.ix_(given, blank)]
        values = np.repeat(codes[None, :], n, axis=0)
        values[:, blank] = centre + spread * rng.multivariate_normal(np.zeros(blank.sum()), cov, size=n)
        return values

    return FromCallable(draw).fit(MEAN[None, :], GAUSS)


def people(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multivariate_normal(MEAN, COV, size=n)


def colours(shares: np.ndarray) -> FromCallable:
    def draw(row, n, rng):
        return rng.choice(3, size=(n, 2), p=shares).astype(float)

    return FromCallable(draw).fit(np.zeros((1, 2)), COLOURS)


def painted(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).choice(3, size=(n, 2), p=SHARES).astype(float)


def test_the_true_conditional_passes():
    # false alarms are at most about 1 in 100, so 3 or more of 15 have a chance below 0.0005
    alarms = 0
    for seed in range(15):
        found = assess(gaussian(), people(80, seed), schema=GAUSS, n_draws=40, random_state=seed)
        alarms += not found.overall["calibrated"]
    assert alarms <= 2
    found = assess(gaussian(), people(800, 99), schema=GAUSS, n_draws=40, n_rows=800)
    for level in (50, 80, 90):
        # 4.5 standard errors: a false alarm in about 1 of 100,000
        assert abs(found.overall[f"cover_{level}"] - level / 100) < 4.5 * found.overall[f"se_{level}"]
    assert found.verdict.startswith("Calibrated")


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (gaussian(spread=0.6), "Overconfident"),
        (gaussian(spread=1.8), "Too cautious"),
        (gaussian(shift=0.8), "Overconfident"),
        (gaussian(spread=1.15, shift=0.5), "Not calibrated"),
    ],
)
def test_a_wrong_sampler_fails(sampler, words):
    found = assess(sampler, people(300, 5), schema=GAUSS, n_draws=80)
    assert found.overall["calibrated"] is False
    assert found.verdict.startswith(words), found.verdict


def test_the_true_conditional_scores_best():
    X = people(250, 7)
    true = assess(gaussian(), X, schema=GAUSS, n_draws=60)
    for wrong in (gaussian(spread=0.5), gaussian(spread=2.0), gaussian(shift=1.0), gaussian(forget=True)):
        other = assess(wrong, X, schema=GAUSS, n_draws=60)
        gap = other.energies - true.energies
        assert gap.mean() > 3 * gap.std() / np.sqrt(gap.size)
        assert other.overall["log_score"] > true.overall["log_score"]
        assert (other.table["crps"] > true.table["crps"]).all()


def test_ignoring_the_rest_is_calibrated_but_dull():
    found = assess(gaussian(forget=True), people(300, 3), schema=GAUSS, n_draws=80)
    assert found.overall["calibrated"] is True


@pytest.mark.parametrize("n_draws", [2, 20])
def test_crps_has_no_bias_however_few_the_draws(n_draws):
    # the expected CRPS of the truth N(m, s) is s / sqrt(pi); 5 standard errors
    X = people(800, 1)
    found = assess(gaussian(forget=True), X, schema=GAUSS, hide=1, n_draws=n_draws, n_rows=800)
    for _, row in found.table.iterrows():
        sigma = np.sqrt(COV[GAUSS.position(row["feature"]), GAUSS.position(row["feature"])])
        error = sigma * (1.2 if n_draws == 2 else 0.7) / np.sqrt(row["hidden"])
        assert abs(row["crps"] - sigma / np.sqrt(np.pi)) < 5 * error


def test_brier_and_log_score_of_categories():
    X = painted(800, 2)
    found = assess(colours(SHARES), X, schema=COLOURS, n_draws=40, n_rows=800, hide=2)
    entropy = -(SHARES * np.log(SHARES)).sum()
    assert found.overall["calibrated"] is True
    assert found.table["brier"].to_numpy() == pytest.approx(1 - (SHARES**2).sum(), abs=0.06)
    assert found.table["energy"].to_numpy() == pytest.approx(found.table["brier"].to_numpy() / 2)
    assert found.table["log_score"].to_numpy() == pytest.approx(entropy, abs=0.08)
    assert found.table["crps"].isna().all()
    for level in (50, 80, 90):
        assert abs(found.overall[f"cover_{level}"] - level / 100) < 4.5 * found.overall[f"se_{level}"]


@pytest.mark.parametrize("shares", [[0.9, 0.06, 0.04], [0.2, 0.3, 0.5]])
def test_wrong_categories_fail(shares):
    found = assess(colours(np.array(shares)), painted(300, 2), schema=COLOURS, n_draws=60)
    assert found.overall["calibrated"] is False
    assert found.verdict.startswith("Overconfident")


def test_whole_numbers_cover_as_they_should():
    schema = Schema((Feature("k", "integer", lower=0, upper=60), Feature("z", "ordinal", categories=("a", "b", "c"))))

    def draw(row, n, rng):
        return np.column_stack([rng.poisson(1.2, n).clip(0, 60), rng.binomial(2, 0.3, n)]).astype(float)

    truth = draw({}, 800, np.random.default_rng(4))
    found = assess(FromCallable(draw).fit(truth, schema), truth, schema=schema, n_draws=30, n_rows=800)
    assert found.overall["calibrated"] is True
    assert abs(found.overall["cover_50"] - 0.5) < 4.5 * found.overall["se_50"]
    assert found.table["brier"].isna().all()


class Fixed:
    """Two completions, weighted; keeps nothing and needs no fit."""

    def __init__(self, values: np.ndarray, weights: np.ndarray) -> None:
        self.values, self.weights = values, weights

    def fit(self, X, schema):
        raise AssertionError("a sampler that can draw is not fitted again")

    def sample(self, row, n, rng):
        return Draws(np.where(np.isnan(row), self.values, row), self.weights)


def test_weights_count():
    # weights 3 to 1 are shares of 3/4 and 1/4; by hand: w(1 - w) pairs, corrected by 1 - sum of w squared
    X = np.tile([0.0, 1.0], (12, 1))
    found = assess(Fixed(np.array([[0.0, 0], [1.0, 1]]), np.array([3.0, 1.0])), X, schema=COLOURS, hide=1)
    pairs = 0.5 * (2 * 0.75 * 0.25) / (1 - 0.75**2 - 0.25**2)
    energy = dict(zip(found.table["feature"], found.table["energy"], strict=True))
    assert energy["colour"] == pytest.approx(0.25 - pairs)
    assert energy["shade"] == pytest.approx(0.75 - pairs)


def test_joint_energy_by_hand():
    schema = Schema((Feature("a", "continuous", lower=0, upper=9), COLOURS[0]))
    X = np.array([[1.0, 0.0], [3.0, 0.0]])  # standard deviation 1
    found = assess(Fixed(np.array([[1.0, 0], [4.0, 1]]), np.ones(2)), X, schema=schema)
    far = [0.5 * np.hypot(3, 1), 0.5 * (2 + np.hypot(1, 1))]
    assert sorted(found.energies) == pytest.approx(sorted(np.array(far) - 0.5 * np.hypot(3, 1)))


def test_the_same_seed_gives_the_same_table_and_the_same_hidden_values():
    loans = make_loans()
    one, two, other = (
        assess(s, loans.X, schema=loans.schema, n_rows=40, n_draws=30) for s in ("donors", "donors", "marginal")
    )
    pd.testing.assert_frame_equal(one.table, two.table)
    assert one.energies.tolist() == two.energies.tolist()
    assert one.table["hidden"].tolist() == other.table["hidden"].tolist()
    changed = assess("donors", loans.X, schema=loans.schema, n_rows=40, n_draws=30, random_state=1)
    assert changed.energies.tolist() != one.energies.tolist()


def test_an_unfitted_sampler_is_copied_and_a_fitted_one_judged_on_every_row():
    loans = make_loans()
    codes = loans.schema.encode(loans.X)
    sampler = ChainedEquations(sweeps=2)
    assess(sampler, codes, schema=loans.schema, n_rows=10, n_draws=10)
    assert not hasattr(sampler, "schema_")
    fitted = Marginal().fit(codes[:50], loans.schema)
    assert assess(fitted, codes[50:90], schema=loans.schema, n_draws=10).overall["rows"] == 40
    assert assess("marginal", codes[:40], schema=loans.schema, n_draws=10).overall["rows"] == 10


def test_real_blanks_are_neither_hidden_nor_judged():
    X = people(200, 8)
    X[:, 1] = np.nan
    X[:50, 0] = np.nan
    found = assess(gaussian(), X, schema=GAUSS, n_draws=20)
    assert found.table["feature"].tolist() == ["a", "c"]
    assert found.overall["rows"] == 150


def test_the_tests_of_uniformity_keep_their_level():
    # dependent within a row, uniform one by one; of 600 p-values 30 ± 5 are below 0.05 if the test is exact
    rng = np.random.default_rng(0)
    low = {"one": 0, "all": 0}
    for _ in range(600):
        ranks = (rng.random((80, 1)) + 0.1 * rng.random((80, 2))) % 1.0
        low["one"] += uniform_p(ranks[:, 0]) < 0.05
        low["all"] += pooled_p(ranks) < 0.05
    assert 10 < low["one"] < 52
    assert 5 < low["all"] < 52


def test_too_little_to_judge_is_said():
    found = assess(gaussian(), people(4, 0), schema=GAUSS, n_draws=20)
    assert found.overall["calibrated"] is None
    assert "Too little" in str(found)


def test_text_html_and_json():
    schema = Schema((Feature("<b>$x", "continuous", lower=-40, upper=40), *GAUSS.features[1:]))
    found = assess("marginal", pd.DataFrame(people(200, 1), columns=schema.names), schema=schema, n_draws=20)
    text = str(found)
    assert found.verdict in text
    assert all(name in text for name in schema.names)
    assert "&lt;b&gt;" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert sum(plain["overall"]["histogram"]) == found.overall["hidden"]
    assert plain["features"][0]["brier"] is None
    assert plain["settings"]["hide"] == 2


def test_the_picture_is_drawn():
    pytest.importorskip("matplotlib")
    schema = Schema(tuple(Feature(f"$f{i}", "continuous", lower=-9, upper=9) for i in range(14)))
    X = np.random.default_rng(0).normal(size=(300, 14)).clip(-9, 9)
    drawn = assess("marginal", X, schema=schema, n_draws=20).plot()
    figure = drawn[0].figure.figure
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=40)
    assert picture.getbuffer().nbytes > 5000
    # coverage, all values, and the eleven features with the smallest p-values
    assert len(drawn) == 13
    assert [ax for ax in figure.get_axes() if ax.get_visible()] == list(drawn)


def test_no_picture_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingDependencyError, match=r"armin\[plot\]"):
        assess(gaussian(), people(12, 0), schema=GAUSS, n_draws=10).plot()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"sampler": "magic"}, ParameterError, "'sampler' must be one of"),
        ({"schema": None}, ParameterError, "'schema' must be a Schema"),
        ({"schema": COLOURS, "X": painted(20, 0)}, ParameterError, "another schema"),
        ({"hide": 0}, ParameterError, "'hide'"),
        ({"hide": 4}, ParameterError, "at most the number of columns, 3. Got 4"),
        ({"n_draws": 1}, ParameterError, "'n_draws'"),
        ({"n_rows": 0}, ParameterError, "'n_rows'"),
        ({"random_state": -1}, ParameterError, "'random_state'"),
        ({"X": np.zeros((5, 2))}, DataError, r"shape \(n, 3\)"),
        ({"X": np.full((5, 3), 99.0)}, DataError, "'a'"),
        ({"X": np.zeros((0, 3))}, DataError, "at least one row"),
        ({"X": np.zeros((1, 3)), "sampler": "marginal"}, DataError, "at least 2 rows"),
        ({"X": np.full((5, 3), np.nan)}, DataError, "Choose a smaller 'hide'"),
        ({"X": pd.DataFrame({"a": [1.0]})}, DataError, "'b' is missing"),
        ({"sampler": Fixed(np.zeros((1, 3)), np.ones(1))}, DataError, "at least 2 completions"),
    ],
)
def test_refusals(change, error, words):
    call = {"sampler": gaussian(), "X": people(20, 0), "schema": GAUSS} | change
    with pytest.raises(error, match=words):
        assess(call.pop("sampler"), call.pop("X"), **call)
