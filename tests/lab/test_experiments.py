"""The experiments' machinery, end to end on a tiny data set."""

from __future__ import annotations

import doctest
import json
import shutil
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from joblib import Parallel, delayed

from armin.errors import DataError, ParameterError

pytest.importorskip("matplotlib")
pytest.importorskip("lab.experiments", reason="the experiments live beside the package")

from lab.experiments.cli import choose, main
from lab.experiments.config import EXPERIMENTS, Cell, Experiment, Settings, Variant, cells_of, quick
from lab.experiments.measure import agreement
from lab.experiments.methods import METHODS, label_of, make_method
from lab.experiments.report.page import write_report
from lab.experiments.report.stats import Share, mean, paired, summarise
from lab.experiments.report.tables import at_least_as_good, order_breaks
from lab.experiments.run import run_cells
from lab.experiments.store import read_rows
from lab.experiments.worlds import DATASETS, MODELS

PLUGIN = '''
import numpy as np
import pandas as pd

from armin import Schema
from lab.experiments.methods import Outcome, register
from lab.experiments.worlds import Data, add_dataset


def tiny(blanks, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 20, 240), "b": rng.integers(0, 20, 240), "c": rng.normal(size=240).round(2)})
    y = pd.Series(((X["a"] + X["b"] + 3 * X["c"] + rng.normal(size=240)) < 19).astype(int))
    schema = Schema.infer(X)
    encoder = "passthrough"
    if blanks:
        from sklearn.impute import SimpleImputer

        X = X.astype(float)
        X.loc[::3, "c"] = np.nan
        encoder = SimpleImputer()
    return Data(X, y, schema, 0, 1, encoder)


add_dataset("Tiny", lambda: tiny(False))
add_dataset("TinyTwo", lambda: tiny(False, 1))
add_dataset("TinyBlanks", lambda: tiny(True))


@register("toy")
class Toy:
    """Raise everything to the top."""

    label = "a toy of ours"
    clocked = False

    def fit(self, context):
        self.schema = context.schema
        return self

    def explain(self, row):
        top = {f.name: f.upper for f in self.schema}
        return Outcome("feasible", lambda rows: rows.assign(**{n: type_of(rows, n)(v) for n, v in top.items()}))


def type_of(rows, name):
    return int if rows[name].dtype.kind == "i" else float


@register("raises")
class Raises:
    label = "one that raises"
    clocked = False

    def fit(self, context):
        return self

    def explain(self, row):
        raise RuntimeError("this one always fails")


@register("slow")
class Slow(Toy):
    label = "one that depends on the clock"
    clocked = True
'''


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("plugin")
    # processes that were started before anybody knew of the plugin are used again
    Parallel(n_jobs=2, backend="loky")(delayed(abs)(i) for i in range(2))
    (folder / "tiny_plugin.py").write_text(PLUGIN, encoding="utf-8")
    sys.path.insert(0, str(folder))
    import_module("tiny_plugin")
    yield "tiny_plugin"
    sys.path.remove(str(folder))
    for name in ("toy", "raises", "slow"):
        METHODS.pop(name, None)
    for name in ("Tiny", "TinyTwo", "TinyBlanks"):
        DATASETS.pop(name, None)


def tiny_cells() -> list[Cell]:
    experiment = Experiment(
        "mcar", "a", "compare", ("Tiny", "TinyTwo"), ("LR",),
        ("mean", "robust", "published", "exact-plain", "exact", "toy"), missing=(1, 2), instances=2, plausibility=True,
    )  # fmt: skip
    return cells_of(experiment)


@pytest.fixture(scope="module")
def whole(plugin: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    run_cells(tiny_cells(), folder, plugins=[plugin])
    return folder


def content(folder: Path) -> dict[str, list[str]]:
    files = sorted((folder / "results").rglob("*.jsonl"))
    return {str(f.relative_to(folder)): sorted(f.read_text(encoding="utf-8").splitlines()) for f in files}


class TestRows:
    def test_every_person_and_method_has_a_row(self, whole: Path) -> None:
        rows = read_rows(whole, "mcar")
        assert len(rows) == 2 * 2 * 2 * 6
        assert all(r["seconds"] > 0 for r in rows)
        assert {len(r["blanks"]) for r in rows} == {1, 2}

    def test_times_are_apart(self, whole: Path) -> None:
        assert not any("seconds" in line for lines in content(whole).values() for line in lines)

    def test_a_registered_method_shows_up(self, whole: Path) -> None:
        toys = [r for r in read_rows(whole, "mcar") if r["method"] == "toy"]
        assert len(toys) == 8
        assert all(r["valid"] for r in toys)

    def test_measures_speak_of_the_true_row(self, whole: Path) -> None:
        robust = [r for r in read_rows(whole, "mcar") if r["method"] == "robust" and r["status"] == "optimal"]
        assert robust
        for row in robust:
            assert row["n_changes"] == len(row["changes"])
            assert row["cost"] > 0
            assert 0 <= row["sign"] <= 1

    @pytest.mark.parametrize("share", [0.0, 0.55, 0.999])
    def test_a_killed_run_goes_on_to_the_same_bytes(
        self, whole: Path, tmp_path: Path, share: float, plugin: str
    ) -> None:
        cut = tmp_path / "cut"
        shutil.copytree(whole, cut)
        victim = next(iter(sorted((cut / "results" / "mcar").glob("*.jsonl"))))
        size = victim.stat().st_size
        victim.write_bytes(victim.read_bytes()[: int(size * share)])
        sorted((cut / "results" / "mcar").glob("*.jsonl"))[-1].unlink()
        run_cells(tiny_cells(), cut, resume=True, plugins=[plugin])
        assert content(cut) == content(whole)

    def test_a_row_whose_time_was_lost_is_computed_again(self, whole: Path, tmp_path: Path, plugin: str) -> None:
        cut = tmp_path / "cut"
        shutil.copytree(whole, cut)
        times = sorted((cut / "times" / "mcar").glob("*.jsonl"))[0]
        times.write_text(times.read_text(encoding="utf-8")[:-20], encoding="utf-8")
        run_cells(tiny_cells(), cut, resume=True, plugins=[plugin])
        assert content(cut) == content(whole)
        assert all(r["seconds"] is not None for r in read_rows(cut, "mcar"))

    def test_resuming_does_not_compute_again(self, whole: Path, tmp_path: Path, plugin: str) -> None:
        cut = tmp_path / "cut"
        shutil.copytree(whole, cut)
        before = {f: f.read_bytes() for f in (cut / "times" / "mcar").glob("*.jsonl")}
        run_cells(tiny_cells(), cut, resume=True, plugins=[plugin])
        assert before == {f: f.read_bytes() for f in (cut / "times" / "mcar").glob("*.jsonl")}

    def test_two_jobs_write_the_same(self, whole: Path, tmp_path: Path, plugin: str) -> None:
        run_cells(tiny_cells(), tmp_path, jobs=2, plugins=[plugin])
        assert content(tmp_path) == content(whole)

    def test_fewer_people_are_the_first_of_more(self, whole: Path, tmp_path: Path, plugin: str) -> None:
        cells = [replace(c, experiment=replace(c.experiment, instances=1)) for c in tiny_cells()[:1]]
        run_cells(cells, tmp_path, plugins=[plugin])
        for name, lines in content(tmp_path).items():
            assert set(lines) <= set(content(whole)[name])
            assert len(lines) == 6

    def test_a_data_set_that_cannot_be_had_does_not_stop_the_others(self, tmp_path: Path, plugin: str) -> None:
        experiment = Experiment("mcar", "a", "compare", ("Nowhere", "Tiny"), ("LR",), ("toy",), instances=1)
        with pytest.raises(DataError, match=r"1 of 2 groups could not run\. Nowhere, LR: There is no data set"):
            run_cells(cells_of(experiment), tmp_path, plugins=[plugin])
        assert [r["dataset"] for r in read_rows(tmp_path, "mcar")] == ["Tiny"]

    def test_what_fails_is_counted_and_named(self, tmp_path: Path, plugin: str) -> None:
        experiment = Experiment("mcar", "a", "compare", ("Tiny",), ("LR",), ("raises", "slow"), instances=2)
        run_cells(cells_of(experiment), tmp_path, plugins=[plugin])
        rows = read_rows(tmp_path, "mcar")
        failed = [r for r in rows if r["method"] == "raises"]
        assert [r["status"] for r in failed] == ["failed", "failed"]
        assert "this one always fails" in failed[0]["note"]
        page = write_report(tmp_path, tmp_path / "docs").read_text(encoding="utf-8")
        assert "2 rows: one that raises, failed: RuntimeError: this one always fails" in page
        again = write_report(tmp_path, tmp_path / "again")
        assert again.read_text(encoding="utf-8") == page
        for svg in (tmp_path / "docs" / "img" / "paper").glob("*.svg"):
            assert (again.parent / "img" / "paper" / svg.name).read_bytes() == svg.read_bytes()

    def test_answers_that_depend_on_the_clock_are_not_in_the_results(self, tmp_path: Path, plugin: str) -> None:
        experiment = Experiment("clock", "t", "compare", ("Tiny",), ("LR",), ("slow",), instances=1)
        run_cells(cells_of(experiment), tmp_path, plugins=[plugin])
        stored = json.loads(next(iter(content(tmp_path).values()))[0])
        assert stored["status"] == "clocked"
        assert "cost" not in stored
        assert read_rows(tmp_path, "clock")[0]["cost"] > 0


@pytest.fixture(scope="module")
def page(whole: Path, plugin: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    two = (Variant("rho=0.50", Settings(confidence=0.5)), Variant("rho=0.90", Settings(confidence=0.9)))
    more = [
        replace(EXPERIMENTS["rho"], datasets=("Tiny",), instances=2, variants=two),
        replace(EXPERIMENTS["path"], datasets=("Tiny",), instances=2),
        replace(EXPERIMENTS["complete"], datasets=("Tiny",), models=("LR",), instances=2),
        replace(EXPERIMENTS["figure1"]),
        replace(
            EXPERIMENTS["blanks"], datasets=("TinyBlanks",), models=("LR",), methods=("mean", "exact"), instances=2
        ),
    ]
    run_cells([c for e in more for c in cells_of(e)], folder, plugins=[plugin])
    return write_report(folder, folder / "docs")


class TestReport:
    def test_every_section_is_there(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")
        for part in ("## (a)", "## (h)", "## (i)", "Every cell, counted", "a toy of ours", "reach certainty", "LOF"):
            assert part in text
        assert "No rows are stored for: " in text
        assert "xgboost" in text.split("No rows are stored for: ")[1].split(".")[0]
        assert "nan" not in text

    def test_no_rival_is_cheaper_on_complete_rows(self, page: Path) -> None:
        assert "is above the best of MILO and brute force for none of 4 problems" in page.read_text(encoding="utf-8")

    def test_real_blanks_are_judged_by_fresh_completions(self, page: Path) -> None:
        rows = read_rows(page.parents[1], "blanks")
        assert all(r["valid"] is None and set(r["fresh"]) == {"chained", "donors"} for r in rows)

    def test_figures_exist_and_are_small(self, page: Path) -> None:
        text = page.read_text(encoding="utf-8")
        names = [part.split(")")[0] for part in text.split("](")[1:] if part.startswith("img/")]
        assert len(names) >= 8
        for name in names:
            svg = page.parent / name
            assert svg.is_file()
            assert svg.with_suffix(".png").is_file()
            assert svg.stat().st_size < 150_000


def row(method: str, instance: int, valid: bool, cost: float | None) -> dict[str, object]:
    return {
        "dataset": "D", "model": "M", "missing": 2, "variant": "", "method": method, "instance": instance,
        "status": "optimal", "valid": valid, "cost": cost, "own_cost": cost, "sign": 1.0,
    }  # fmt: skip


DOCUMENTED = (
    "cli", "config", "measure", "store", "methods", "origin", "report.stats", "report.tables", "report.published",
    "report.clusters", "report.promised", "report.style", "report.parameters", "report.beyond",
)  # fmt: skip


class TestNumbers:
    def test_a_less_valid_cell_is_listed(self) -> None:
        rows = [row("exact", i, i < 10, 1.0) for i in range(30)] + [row("published", i, True, 1.0) for i in range(30)]
        total, less, dearer, _ = at_least_as_good(rows, "exact", "published")
        assert (total, len(less), dearer) == (1, 1, [])
        assert "20 worse" in less[0]

    def test_a_dearer_cell_is_listed(self) -> None:
        rows = [row("exact", i, True, 2.0 + i / 100) for i in range(30)]
        rows += [row("published", i, True, 1.0) for i in range(30)]
        _, less, dearer, _ = at_least_as_good(rows, "exact", "published")
        assert less == []
        assert len(dearer) == 1

    def test_an_equal_cell_is_not_listed(self) -> None:
        rows = [row(m, i, i % 2 == 0, 1.0) for m in ("exact", "published") for i in range(30)]
        assert at_least_as_good(rows, "exact", "published")[:3] == (1, [], [])

    def test_cheap_and_useless_is_not_a_dearer_rival(self) -> None:
        rows = [row("exact", i, True, 1.0) for i in range(20)] + [row("published", i, False, 0.0) for i in range(20)]
        assert at_least_as_good(rows, "exact", "published")[1:3] == ([], [])

    def test_breaks_of_the_order_are_named(self) -> None:
        rows = [row("exact", i, i < 5, 2.0) for i in range(10)] + [row("mean", i, True, 1.0) for i in range(10)]
        rows += [row("robust", i, True, 1.5) for i in range(10)]
        total, breaks = order_breaks(rows, "exact")
        assert total == 1
        assert {text: len(which) for text, which in breaks.items()} == {
            "An ImputationAR is more valid": 1,
            "An ImputationAR is dearer": 0,
            "RobustAR is less valid": 0,
            "RobustAR is cheaper": 1,
        }

    def test_people_beyond_help_do_not_count(self) -> None:
        rows = [row("exact", 0, True, 1.0), {**row("exact", 1, False, None), "possible": False}]
        assert summarise(rows).valid == Share(1, 1)

    def test_people_without_an_action_have_no_cost(self) -> None:
        found = paired(
            [row("a", 0, False, None), row("a", 1, True, 3.0)], [row("b", 0, True, 1.0), row("b", 1, True, 1.0)]
        )
        assert (found.n, found.better, found.worse) == (2, 0, 1)
        assert found.cost.value == 2.0

    def test_intervals(self) -> None:
        low, high = Share(8, 10).interval
        assert (round(low, 3), round(high, 3)) == (0.490, 0.943)
        assert mean([]).n == 0

    def test_sign_agreement(self) -> None:
        assert agreement({"a": 1.0}, {"a": -1.0}) == 0
        assert agreement({"a": 1.0, "b": 1.0}, {"b": 1.0, "c": 1.0}) == 0.5

    @pytest.mark.parametrize("name", DOCUMENTED)
    def test_examples_in_the_texts(self, name: str) -> None:
        found = doctest.testmod(import_module(f"lab.experiments.{name}"), optionflags=doctest.NORMALIZE_WHITESPACE)
        assert found.attempted > 0
        assert found.failed == 0


class TestConfig:
    def test_every_experiment_names_what_exists(self) -> None:
        for e in EXPERIMENTS.values():
            assert set(e.datasets) <= set(DATASETS)
            assert set(e.models) <= set(MODELS)
            for method in e.methods:
                make_method(method)
                assert label_of(method) != method
        assert set("abcdefgh") <= {e.letter for e in EXPERIMENTS.values()}

    def test_cells_have_different_files(self) -> None:
        for e in EXPERIMENTS.values():
            names = [c.name for c in cells_of(e)]
            assert len(set(names)) == len(names)

    def test_quick_is_smaller(self) -> None:
        for e in EXPERIMENTS.values():
            few = quick(e)
            assert all(c.people(m) <= 4 for c in cells_of(few) for m in few.methods)

    def test_the_settings_are_the_papers(self) -> None:
        s = Settings()
        assert (s.confidence, s.n_samples, s.max_changes, s.max_options) == (0.75, 100, 4, 100)


class TestRefusals:
    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ({"name": "nope"}, "no experiment 'nope'"),
            ({"name": "mcar", "datasets": ["Iris"]}, "no data set 'Iris'"),
            ({"name": "mcar", "models": ["SVM"]}, "no model 'SVM'"),
            ({"name": "mcar", "methods": ["magic"]}, "no method 'magic'"),
            ({"name": "mcar", "instances": 0}, "at least 1"),
        ],
    )
    def test_what_does_not_exist(self, given: dict[str, object], message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            choose(**given)  # type: ignore[arg-type]

    def test_the_command_says_so_in_a_line(self) -> None:
        with pytest.raises(SystemExit, match="no experiment 'nope'"):
            main(["run", "nope"])

    def test_a_report_without_rows(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no rows"):
            write_report(tmp_path, tmp_path)

    def test_list(self, capsys: pytest.CaptureFixture[str]) -> None:
        main(["list"])
        assert "(a) mcar" in capsys.readouterr().out
