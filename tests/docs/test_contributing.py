"""The exercise of CONTRIBUTING.md: a sampler, a cost, a rule and a model reader, each in one file, through the door."""

from __future__ import annotations

import importlib
import itertools
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

from armin import ARMIN, Schema
from armin.actions import build_grid
from armin.baselines import ImputationAR
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.bundle.plain import KNOWN
from armin.cli import app
from armin.costs import COSTS, NumberOfChanges, TotalLogPercentileShift, as_cost
from armin.errors import AuditError, ModelError, ParameterError, SchemaError
from armin.models import BlackBox, LinearModel, read, read_model, supported_models
from armin.problem.rules import apply_rules
from armin.recourse import Change
from armin.recourse.audit import check_action
from armin.sampling import (
    IMPUTERS,
    SAMPLERS,
    BaseImputer,
    BaseSampler,
    ChainedEquations,
    Marginal,
    MICEImputer,
    as_imputer,
    as_sampler,
    compared_samplers,
)
from armin.schema import RULES, Feature, Rule
from armin.words import catalogue, languages

from worlds import World, make_world

pytest.importorskip("skops")

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
FILE = re.compile(r"^`src/armin/(?P<path>[\w/]+\.py)`[^\n]*:\n\n```python\n(?P<code>.*?)```", re.DOTALL | re.MULTILINE)
FILES = {match["path"]: match["code"] for match in FILE.finditer(PAGE.read_text(encoding="utf-8"))}

LIBRARY = """
import numpy as np

class Card:
    classes_ = np.array(["rejected", "approved"])

    def __init__(self, points):
        self.points = np.asarray(points, dtype=float)
        self.n_features_in_ = self.points.size

    def predict(self, X):
        return self.classes_[(np.asarray(X, dtype=float) @ self.points >= 100).astype(int)]
"""

Define = Callable[[str], ModuleType]


@pytest.fixture(autouse=True)
def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a test defines is not known to the next."""
    supported_models()  # loads ARMIN's own readers
    for registry in (SAMPLERS, IMPUTERS, COSTS, RULES):
        registry.all()
        monkeypatch.setattr(registry, "known", dict(registry.known))
    monkeypatch.setattr(read, "_ENTRIES", dict(read._ENTRIES))


@pytest.fixture
def define(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Define:
    """Import one of the files on the page as a user's own module."""
    monkeypatch.syspath_prepend(tmp_path)

    def one(path: str) -> ModuleType:
        name = f"own_{Path(path).stem}"
        (tmp_path / f"{name}.py").write_text(FILES.get(path, LIBRARY), encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
        found = importlib.import_module(name)
        monkeypatch.setitem(sys.modules, name, found)  # so that it is forgotten again
        return found

    return one


@pytest.fixture(scope="module")
def world() -> World:
    return make_world(2)


def explainer_of(world: World, **settings: Any) -> ARMIN:
    return ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=20, n_fresh=50, **settings).fit(
        world.X
    )


def advice(explainer: Any, world: World) -> tuple[Any, ...]:
    """The plan, without how long it took."""
    plan = explainer.explain(world.row)
    return plan.outcome, plan.cost, [change.short for change in plan.changes]


def shown_help(command: str) -> str:
    """The help of a command in one line, without the lines around it."""
    done = CliRunner().invoke(app, [command, "--help-all"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})
    return " ".join(re.sub(r"[^\w:,.]+", " ", done.output).split())


def test_the_page_has_all_four() -> None:
    rooms = sorted(str(Path(path).parent) for path in FILES)
    assert rooms == ["costs", "models/readers", "sampling", "schema/rules"]
    assert all(len(code.splitlines()) < 45 for code in FILES.values())


HOUSE = """
import sys
import tomllib
from pathlib import Path
import numpy as np
import pandas as pd
import armin.costs, armin.sampling, armin.models.readers, armin.schema.rules

rooms = {
    "costs": armin.costs, "sampling": armin.sampling,
    "models/readers": armin.models.readers, "schema/rules": armin.schema.rules,
}
for path, room in rooms.items():
    room.__path__.append(str(Path(sys.argv[1]) / path))
sys.path.insert(0, sys.argv[1])

from armin.models import Above, LinearModel, read_model, register_model
from sklearn.linear_model import Perceptron

# a reader of one's own stands, even if ARMIN's are only loaded later
register_model("sklearn.Perceptron", lambda model, target: LinearModel(np.ones((1, 1)), np.zeros(1), Above(7.0)))
one = Perceptron().fit([[0.0], [1.0]], [0, 1])
assert read_model(one, 1).accepts(np.array([[6.0], [7.0]])).tolist() == [False, True]

from armin import ARMIN, Schema
from armin.bundle import inspect_bundle, load_bundle, save_bundle
from armin.datasets import make_loans

loans = make_loans(400)
explainer = ARMIN(loans.classifier, loans.schema, desired="approved", sampler="latest", cost="range").fit(loans.X)
plan = explainer.explain(loans.applicant)
assert plan.found and type(explainer.fitted_.sampler).__module__ == "armin.sampling.latest"
file = save_bundle(Path(sys.argv[1]) / "b.armin", explainer)  # ARMIN's own classes need no trust
assert inspect_bundle(file)["trust"] == []
assert any("the last 20 training rows" in sentence for sentence in inspect_bundle(file)["kept"])
loaded = load_bundle(file).explainer.explain(loans.applicant)
assert (loaded.cost, [c.short for c in loaded.changes]) == (plan.cost, [c.short for c in plan.changes])

schema = Schema.infer(pd.DataFrame({"paid": range(50), "owed": range(50)}))
text = schema.to_toml() + '\\n[[rules]]\\nrule = "within"\\none = "paid"\\nother = "owed"\\nmost = 5\\n'
assert Schema.from_toml(text).rules[0].sentence(schema) == "paid and owed must be within 5 of each other."

import scorecards
model = read_model(scorecards.Card([3, 10]), "approved")
assert model.accepts(np.array([[20.0, 4.0], [20.0, 3.0]])).tolist() == [True, False]
print("all four")
"""


def test_one_file_in_the_package_is_enough(tmp_path: Path) -> None:
    for path, code in {**FILES, "scorecards.py": LIBRARY}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(code, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", HOUSE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "all four", done.stderr


# a sampler


def test_a_sampler(define: Define, world: World, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'sampler' must be one of 'auto', 'chained'"):
        explainer_of(world, sampler="latest")
    LatestRows = define("sampling/latest.py").LatestRows
    assert type(as_sampler("latest")) is LatestRows
    explainer = explainer_of(world, sampler="latest")
    codes = world.schema.encode(world.X)
    drawn = explainer.fitted_.sampler.sample(world.schema.encode(world.row)[0], 200, np.random.default_rng(0)).values
    blank = np.isnan(world.schema.encode(world.row)[0])
    np.testing.assert_array_equal(np.unique(drawn[:, blank], axis=0), np.unique(codes[-20:][:, blank], axis=0))
    assert advice(explainer, world) == advice(explainer_of(world, sampler=LatestRows()), world)
    with pytest.raises(ParameterError, match="'forest', 'latest', 'marginal'"):
        as_sampler("newest")
    compared = explainer.compare_samplers(world.row, world.X, ("latest", "marginal"))
    assert list(compared.plans) == ["latest", "marginal"]
    assert "latest" not in compared_samplers()
    assert "latest: all blanks at once, copied from one of the last training rows." in shown_help("explain")


def test_a_sampler_of_ones_own_needs_trust_in_a_bundle(define: Define, world: World, tmp_path: Path) -> None:
    define("sampling/latest.py")
    explainer, file = explainer_of(world, sampler="latest"), tmp_path / "b.armin"
    with pytest.raises(ModelError, match=r"own_latest\.LatestRows cannot be stored.*trust=True"):
        save_bundle(file, explainer)
    save_bundle(file, explainer, trust=True)
    said = "LatestRows, the sampler: the last 20 training rows without blanks, as they are."
    assert said in inspect_bundle(file)["kept"]
    with pytest.raises(ModelError, match=r"pickle.*trust=True"):
        load_bundle(file)
    assert advice(load_bundle(file, trust=True).explainer, world) == advice(explainer, world)


def test_a_class_that_no_module_holds_is_refused_by_name(world: World, tmp_path: Path) -> None:
    class Local(Marginal, alias="local", summary="as marginal"):
        pass

    explainer = explainer_of(world, sampler="local")
    assert advice(explainer, world) == advice(explainer_of(world, sampler="marginal"), world)
    for trust in (False, True):
        with pytest.raises(ModelError, match="Local"):
            save_bundle(tmp_path / "b.armin", explainer, trust=trust)
    assert not (tmp_path / "b.armin").exists()


def test_an_imputer(world: World) -> None:
    class Highest(BaseImputer, alias="highest", summary="the greatest legal value"):
        def _fill(self, row: Any, blanks: Any) -> Any:
            return self.bounds_.high[blanks]

    assert type(as_imputer("highest")) is Highest
    explainer = ImputationAR(world.classifier, world.schema, desired="yes", imputer="highest").fit(world.X)
    assert explainer.explain(world.row).found
    row = world.schema.encode(world.row)[0]
    filled = explainer.fitted_.imputer.impute(row)
    np.testing.assert_array_equal(filled, np.where(np.isnan(row), [f.high_code for f in world.schema], row))
    with pytest.raises(ParameterError, match="'highest', 'knn', 'mean', 'mice'"):
        as_imputer("lowest")


# a cost


def test_a_cost(define: Define, world: World, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="'cost' parameter must be one of 'changes'"):
        explainer_of(world, cost="range")
    ShareOfRange = define("costs/range.py").ShareOfRange
    assert type(as_cost("range")) is ShareOfRange
    explainer = explainer_of(world, cost="range")
    for position, feature in enumerate(world.schema):
        low, high = feature.low_code, feature.high_code
        table = explainer.fitted_.cost.table(position, np.array([low]), np.array([[low, high]]))
        np.testing.assert_allclose(table, [[0.0, feature.difficulty]])
    plan = explainer.explain(world.row)
    assert plan.found
    assert "ShareOfRange" in str(plan)
    assert "range: sum of changes as shares of the range." in shown_help("pack")
    file = save_bundle(tmp_path / "b.armin", explainer, trust=True)
    assert any(said.startswith("ShareOfRange, the cost: for each column") for said in inspect_bundle(file)["kept"])
    assert load_bundle(file, trust=True).explainer.explain(world.row).cost == plan.cost


# a rule

PAID = Schema((Feature("paid", "integer", lower=0, upper=20), Feature("owed", "integer", lower=0, upper=20)))


def test_a_rule(define: Define) -> None:
    text = PAID.to_toml() + '\n[[rules]]\nrule = "within"\none = "paid"\nother = "owed"\nmost = 5\n'
    with pytest.raises(SchemaError, match="A rule must be one of at_most_one, forbid, implies, linear"):
        Schema.from_toml(text)
    Within = define("schema/rules/within.py").Within
    schema = PAID.with_rules(Within("paid", "owed", 5.0))
    assert Schema.from_toml(schema.to_toml()) == Schema.from_toml(text) == schema
    assert "Rule: paid and owed must be within 5 of each other." in str(schema)
    assert schema.plausible(np.array([[1.0, 6.0], [1.0, 7.0]])).tolist() == [True, False]
    with pytest.raises(SchemaError, match="'debt' is not a column"):
        PAID.with_rules(Within("paid", "debt", 5.0))

    grid = build_grid(schema, np.array([4.0, np.nan]), np.array([[4.0, 4.0], [4.0, 12.0]]), max_options=50)
    candidates = np.array([[4.0, 4.0], [4.0, 12.0]])  # the second breaks the rule already
    thinned, pairs = apply_rules(grid, candidates)
    assert pairs
    for choice in itertools.product(*(range(move.size) for move in thinned.moves)):
        after = thinned.apply(choice, candidates)
        allowed = all(rule.allowed[choice[rule.first], choice[rule.second]] for rule in pairs)
        assert allowed == (abs(after[0, 0] - after[0, 1]) <= 5)

    rng = np.random.default_rng(0)
    X = pd.DataFrame({"paid": rng.integers(0, 21, 200), "owed": rng.integers(0, 21, 200)})
    model = LogisticRegression().fit(X, X["paid"] > 14)
    free, bound = (ARMIN(model, s, desired=True).fit(X).explain({"paid": 4, "owed": 4}) for s in (PAID, schema))
    assert [change.feature.name for change in free.changes] == ["paid"]
    assert sorted(change.feature.name for change in bound.changes) == ["owed", "paid"]
    after = {change.feature.name: change.after for change in bound.changes}
    assert abs(after["paid"] - after["owed"]) <= 5
    row = np.array([4.0, 4.0])
    with pytest.raises(AuditError, match="paid and owed must be within 5"):
        check_action(schema, row, row[None, :], np.array([[15.0, 4.0]]), max_changes=None)


def test_a_rule_on_three_features_must_say_how_it_comes_apart() -> None:
    @dataclass(frozen=True)
    class Balanced(Rule, alias="balanced"):
        features: tuple[str, ...]

        def sentence(self, schema: Schema) -> str:
            return "Balanced."

        def allows(self, schema: Schema, before: Any, after: Any) -> Any:
            return np.ones(len(after), dtype=bool)

    three = Schema(tuple(Feature(name, "integer", lower=0, upper=9) for name in "abc"))
    assert three.with_rules(Balanced(("a", "b"))).rules[0].to_dict() == {"rule": "balanced", "features": ["a", "b"]}
    with pytest.raises(SchemaError, match=r"Balanced is about 3 features.*pairs\(\)"):
        three.with_rules(Balanced(("a", "b", "c")))


# a model reader


def test_a_model_reader(define: Define, monkeypatch: pytest.MonkeyPatch) -> None:
    Card = define("library.py").Card
    Card.__module__ = "scorecards"
    card, rng = Card([3.0, 10.0]), np.random.default_rng(0)
    with pytest.raises(ModelError, match=r"cannot read a scorecards\.Card"):
        read_model(card, "approved")
    define("models/readers/scorecards.py")
    assert ("scorecards", "Card", "linear") in supported_models()
    turning = np.array([[a, (100.0 - 3 * a) / 10] for a in range(0, 40, 10)])
    rows = np.vstack([rng.integers(0, 40, (300, 2)), turning, np.nextafter(turning, 0.0)])
    for label in ("approved", "rejected"):
        np.testing.assert_array_equal(read_model(card, label).accepts(rows), card.predict(rows) == label)

    X = pd.DataFrame({"years": rng.integers(0, 40, 300), "saved": rng.integers(0, 10, 300)})
    settings = {"desired": "approved", "n_samples": 30, "n_fresh": 0}
    explainer, asked = (
        ARMIN.from_settings(card, Schema.infer(X), method=how, **settings).fit(X) for how in ("auto", "blackbox")
    )
    assert isinstance(explainer.fitted_.read.model, LinearModel)
    assert isinstance(asked.fitted_.read.model, BlackBox)
    row = {"years": 5, "saved": None}
    plan = explainer.explain(row)
    assert plan.found
    assert plan.cost == pytest.approx(asked.explain(row).cost)


# names


def test_a_name_belongs_to_one_class() -> None:
    def cell(summary: str) -> type[BaseSampler]:
        class Mine(BaseSampler, alias="mine", summary=summary):
            pass

        return Mine

    cell("first")
    again = cell("second")  # a notebook's cell that is run twice
    assert SAMPLERS.find("mine") is again
    with pytest.raises(ParameterError, match=r"'mine' of a sampler is taken by .*Mine.*Give Other another alias"):

        class Other(BaseSampler, alias="mine"):
            pass

    with pytest.raises(ParameterError, match=r"taken by armin\.costs\.percentile\.TotalLogPercentileShift"):
        type("Mine", (NumberOfChanges,), {}, alias="tlps")
    assert SAMPLERS.find("mine") is again
    assert as_cost("tlps").__class__ is TotalLogPercentileShift

    class Nameless(Marginal):
        pass

    assert Nameless not in SAMPLERS.known.values()
    assert type(as_sampler("marginal")) is Marginal


def test_no_class_speaks_for_another(world: World) -> None:
    """What a parent leaves out or keeps says nothing about a subclass, which may look at it or learn more."""

    class Longer(ChainedEquations):
        pass

    class Dearer(TotalLogPercentileShift):
        def fit(self, X: Any, schema: Schema) -> Any:
            self.rows_ = X
            return super().fit(X, schema)

    class Simple(NumberOfChanges):
        def _move(self, known: Any, before: Any, after: Any) -> Any:
            return np.full(after.shape, 2.0)

    codes = world.schema.encode(world.X)
    longer, parent = Longer().fit(codes, world.schema), ChainedEquations().fit(codes, world.schema)
    assert longer.slim() is longer
    assert parent.slim() is not parent
    mice = type("Own", (MICEImputer,), {})().fit(codes, world.schema)
    assert mice.slim() is mice
    unknown = "not one of ARMIN's own, so what it keeps is not known."
    for thing in (longer, mice, Dearer().fit(codes, world.schema)):
        assert [said.partition(": ")[2] for said in thing.kept()] == [unknown]
    assert unknown not in Simple().fit(codes, world.schema).kept()[0]


def test_every_own_class_describes_itself() -> None:
    for registry in (SAMPLERS, IMPUTERS, COSTS):
        for alias, cls in registry.all().items():
            assert cls.alias == alias
            assert re.fullmatch(r"[a-z][^\n\[\]]{5,90}[^.]", cls.summary), alias
            assert type(cls.usual()) is cls
            assert KNOWN[cls.__name__] is cls
    assert compared_samplers() == ("chained", "copula", "donors", "forest", "marginal")


def test_a_language() -> None:
    """The file on the page, as a company's own: its sentences are said, and English stands in for the rest."""
    page = PAGE.read_text("utf-8").partition("### A language")[2]
    own = tomllib.loads(re.search(r"```toml\n(.*?)```", page, re.DOTALL)[1])
    words = catalogue("fr", {"fr": own})
    income = Feature("Income", "integer", lower=0, upper=90_000)
    up, away = (
        Change(income, "observed", 30_000, 34_500, 4_500.0, 1.0),
        Change(income, "reach", None, 40_000, None, 1.0, 1),
    )
    assert up.message.said(words).replace("\u202f", " ") == "Faites passer Income de 30 000 à 34 500."
    assert away.message.said(words).startswith("Bring Income to at least")
    assert "fr" in languages({"fr": own})
