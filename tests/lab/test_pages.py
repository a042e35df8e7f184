"""The pages, from rows that are complete or not: nothing crashes, nothing is silently absent, all is traceable."""

from __future__ import annotations

import gzip
import json
import re
import warnings
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from armin.errors import DataError, ParameterError

pytest.importorskip("matplotlib")
pytest.importorskip("lab.experiments", reason="the experiments live beside the package")

from lab.experiments.cli import main
from lab.experiments.config import EXPERIMENTS, RUNGS, Cell, cells_of
from lab.experiments.report import figures, style
from lab.experiments.report.clusters import clustered
from lab.experiments.report.gaps import gaps_of, said_gaps
from lab.experiments.report.ladder import on_all_rungs
from lab.experiments.report.page import PAGES, write_pages, write_section
from lab.experiments.report.sections import SECTIONS, reader
from lab.experiments.store import pack, read_head, read_rows

Row = dict[str, Any]
PEOPLE = 3


def made(cell: Cell, method: str, person: int) -> Row:
    """A row as a run would store it, with numbers that depend on its place only."""
    e = cell.experiment
    name = f"{e.name}{cell.name}{method}{person}"
    rng = Random(zlib.crc32(name.encode()))  # noqa: S311  numbers for a table
    row: Row = {
        "experiment": e.name, "dataset": cell.dataset, "model": cell.model, "missing": cell.missing,
        "variant": cell.variant.name, "instance": person, "method": method, "blanks": ["a"] * max(0, cell.missing),
    }  # fmt: skip
    if "split=" in cell.variant.name:
        row |= {"split": cell.variant.split, "mask": cell.variant.mask}
    if e.kind == "model":
        return row | {"status": "optimal", "accuracy": 0.75, "rejected": PEOPLE, "test": 90, "train": 300, "columns": 3}
    if e.kind == "path":
        shares = sorted({round(rng.random(), 2) for _ in range(4)} | ({1.0} if person else set()))
        points = [[share, 1 + 3 * share**3, rng.random() < share, 1 + share] for share in shares]
        return row | {"status": "optimal", "note": "", "points": points}
    found = rng.random() < 0.85
    row |= {
        "status": "optimal" if found else "infeasible", "note": "", "possible": person != 1 or rng.random() < 0.5,
        "valid": found and rng.random() < 0.8, "cost": rng.lognormvariate(0.5, 1) if found else None,
        "own_cost": rng.lognormvariate(0.5, 1) if found else None, "sign": rng.random() if found else None,
        "n_changes": 1, "changes": [["a", "1", "2", "+1"]] if found else [],
    }  # fmt: skip
    if e.plausibility and found:
        row |= {k: rng.gauss(0, 1) for k in ("isolation", "lof", "isolation_before", "lof_before")}
    if e.kind == "blanks":
        row |= {"valid": None, "sign": None, "fresh": {"chained": rng.random() if found else None, "donors": 0.5}}
    if e.kind == "picture":
        row["picture"] = {
            "border": [[0, 20_000.0], [1, 50_000.0], [2, None]], "person": [30_000.0, 2.0], "guess": 60_000.0,
            "after": [30_000.0, 0.0], "row": {"Income": "30000"},
        }  # fmt: skip
    return row


def rows_of(cell: Cell) -> list[Row]:
    asked = 1 if cell.experiment.kind in ("model", "picture") else PEOPLE
    return [made(cell, m, i) for i in range(asked) for m in cell.experiment.methods or ("model",)]


def kept(folder: Path, cells: Iterable[Cell]) -> Path:
    """Rows and times of cells as packed files, which are quick to write."""
    by_name: dict[str, list[Row]] = {}
    for cell in cells:
        by_name.setdefault(cell.experiment.name, []).extend(rows_of(cell))
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in by_name.items():
        head = {"code": ["c0de"], "commit": ["c0mmit"], "versions": {"numpy": "2"}, "rows": len(rows)}
        clock = {"machine": {"cpu": "a cpu", "cores": 2, "python": "3", "jobs": 1}}
        places = ("dataset", "model", "missing", "variant")
        times = [{k: row[k] for k in places} | timed(row) for row in rows]
        for end, lines in ((".jsonl.gz", [head, *rows]), (".times.jsonl.gz", [clock, *times])):
            text = "".join(json.dumps(line) + "\n" for line in lines)
            (folder / f"{name}{end}").write_bytes(gzip.compress(text.encode("utf-8"), 1))
    return folder


def store(folder: Path, cells: Iterable[Cell]) -> Path:
    """Rows and times of cells, in the files that a run writes."""
    for (experiment, cell), rows in {(c.experiment.name, c.name): rows_of(c) for c in cells}.items():
        for kind, lines in (("results", rows), ("times", map(timed, rows))):
            path = folder / kind / experiment / f"{cell}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        about = {"code": "c0de", "commit": "c0mmit", "versions": {"numpy": "2"}, "settings": "s"}
        (folder / "times" / experiment / f"{cell}.origin.json").write_text(json.dumps(about) + "\n", encoding="utf-8")
    machine = {"cpu": "a cpu", "cores": 2, "python": "3", "jobs": 1}
    (folder / "times" / "machine.json").write_text(json.dumps(machine), encoding="utf-8")
    return folder


def timed(row: Row) -> Row:
    engine = {"engine": 0.25} if row["experiment"] == "engine" else {}
    return {"instance": row["instance"], "method": row["method"], "seconds": 0.5, **engine}


ALL = [cell for experiment in EXPERIMENTS.values() for cell in cells_of(experiment)]


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are named, and not drawn: that takes most of the time."""

    def named(rows: list[Row], *where: Any, **_: object) -> str:
        return f"![{where[-1]}](img/paper/{where[-1]}.svg)"

    for name in figures.__all__:
        monkeypatch.setattr(figures, name, named)


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(tmp_path_factory.mktemp("complete"), ALL)


def texts(pages: Iterable[Path]) -> dict[str, str]:
    return {page.stem: page.read_text(encoding="utf-8") for page in pages}


def tables(text: str) -> Iterator[tuple[str, str]]:
    """Each table with what follows it until the next heading or table."""
    blocks = text.split("\n\n")
    for i, block in enumerate(blocks):
        if block.lstrip().startswith("|"):
            yield block, "\n\n".join(blocks[i + 1 : i + 9])


class TestWhatIsMissing:
    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 0.4]))
    def test_any_part_of_a_run_gives_pages_that_name_the_rest(
        self, no_pictures: None, tmp_path_factory: pytest.TempPathFactory, seed: int, share: float
    ) -> None:
        rng = Random(seed)  # noqa: S311  which cells are there
        there = [cell for cell in ALL if rng.random() < share] or ALL[:1]
        folder = kept(tmp_path_factory.mktemp("part"), there)
        read = reader(folder)
        pages = texts(write_pages(folder, folder / "docs"))
        letters = {cell.experiment.letter for cell in there}
        assert set(pages) == {f"section-{letter}" if letter in PAGES else "reproduction" for letter in letters}
        for text in pages.values():
            assert "nan" not in re.sub(r"<[^>]*>", "", text).lower().replace("finance", "")
        for gaps in gaps_of(read, EXPERIMENTS):
            mine = [cell for cell in there if cell.experiment.name == gaps.experiment]
            assert len(gaps.absent) == len(gaps.cells) - len(mine)
            letter = EXPERIMENTS[gaps.experiment].letter
            text = pages.get(f"section-{letter}" if letter in PAGES else "reproduction")
            if text is None:  # without a row the page that was there stays
                continue
            if gaps.absent:
                assert f"- {gaps.experiment}, {gaps.whole} of " in text
            if mine:  # what is there is shown, whatever else is not
                assert f"`python -m lab.experiments rows {gaps.experiment}" in text, gaps.experiment
            for cell in gaps.absent if mine else ():
                assert f"{cell.dataset} {cell.model}" in said_gaps([gaps])

    def test_a_complete_run_lacks_nothing_and_a_cell_that_was_stopped_is_named(self, complete: Path) -> None:
        found = gaps_of(reader(complete), EXPERIMENTS)
        assert said_gaps(found) == ""
        assert sum(g.whole for g in found) == len(ALL)

        def stopped(name: str) -> list[Row]:
            rows = reader(complete)(name)
            return [r for r in rows if not (name == "mcar" and r["dataset"] == "FICO" and r["instance"] > 0)]

        said = said_gaps(gaps_of(stopped, ["mcar"]))
        assert "mcar, 27 of 36 cells complete" in said
        assert f"begun: FICO LR 2 missing, 1 of {PEOPLE} people by all methods" in said

    def test_a_model_that_rejects_nobody_leaves_nothing_to_run(self, complete: Path) -> None:
        def read(name: str) -> list[Row]:
            rows = reader(complete)(name)
            world = {"dataset": "Attrition", "model": "MLP", "split": 3}
            here = [r for r in rows if all(r.get(k) == v for k, v in world.items())]
            if name == "split-models":
                return [r | {"rejected": 0} if r in here else r for r in rows]
            return [r for r in rows if r not in here] if name == "splits" else rows

        (gaps,) = gaps_of(read, ["splits"])
        assert said_gaps([gaps]) == ""
        assert {cell.variant.split for cell in gaps.nobody} == {3}
        assert len(gaps.nobody) == 5
        (gaps,) = gaps_of(lambda name: [] if name == "split-models" else read(name), ["splits"])
        assert len(gaps.absent) == 5  # as far as anybody knows, they were not run

    def test_a_quick_run_is_held_against_a_quick_run(self, tmp_path: Path) -> None:
        store(tmp_path, cells_of(EXPERIMENTS["ladder"], ("Attrition",), missing=(2,)))
        (gaps,) = gaps_of(reader(tmp_path, few=True), ["ladder"], few=True)
        assert (len(gaps.cells), len(gaps.absent)) == (6, 3)
        assert "not there: WineQuality LR-published, WineQuality MLP-published" in said_gaps([gaps])


class TestTraceable:
    def test_under_every_table_stands_where_its_rows_are(
        self, no_pictures: None, complete: Path, tmp_path: Path
    ) -> None:
        pages = texts(write_pages(complete, tmp_path))
        for name, text in pages.items():
            body = text.split("## Every cell, counted")[0].split("## Where the rows come from")[0]
            found = list(tables(body))
            assert found, name
            for table, after in found:
                assert "*Rows: " in after, f"{name}: {table.splitlines()[0]}"
            assert "c0mmit" in text
            assert "c0de" in text

    def test_a_source_leads_to_the_rows_it_speaks_of(self, complete: Path, capsys: pytest.CaptureFixture[str]) -> None:
        said = reader(complete).source("ladder", dataset="FICO", model="LR-published")
        count = int(re.search(r"([\d,]+) rows", said)[1].replace(",", ""))
        command = re.search(r"`python -m lab.experiments (rows [^`]*)`", said)[1]
        main([*command.split(), "--out", str(complete)])
        shown = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert len(shown) == count == 3 * PEOPLE * len(RUNGS)
        assert {(r["dataset"], r["model"]) for r in shown} == {("FICO", "LR-published")}

    def test_a_page_in_the_project_links_to_its_rows(self, complete: Path) -> None:
        here = Path(figures.__file__).parents[3]
        read = reader(complete, here / "lab" / "pages")
        read.folder = here / "lab" / "experiments" / "rows"
        read.known = {"mcar": [{"dataset": "FICO"}]}
        kept = read_head
        try:
            from lab.experiments.report import sections

            sections.read_head = lambda folder, name: {"file": (folder / f"{name}.jsonl.gz").as_posix()}
            said = read.source("mcar")
        finally:
            sections.read_head = kept
        assert "[lab/experiments/rows/mcar.jsonl.gz](../experiments/rows/mcar.jsonl.gz)" in said

    @pytest.mark.parametrize(
        ("command", "message"),
        [
            (["rows", "nope"], "no experiment 'nope'"),
            (["rows", "mcar", "--datasets", "Iris"], "no such rows of 'mcar'"),
        ],
    )
    def test_rows_that_are_not_there(self, complete: Path, command: list[str], message: str) -> None:
        with pytest.raises(SystemExit, match=message):
            main([*command, "--out", str(complete)])


class TestPacked:
    def test_packed_rows_write_the_same_pages(self, no_pictures: None, tmp_path: Path) -> None:
        folder = store(tmp_path / "out", [c for c in ALL if c.model == "LR" and c.experiment.name != "splits"])
        pack([folder], tmp_path / "rows")
        for name in EXPERIMENTS:
            assert read_rows(folder, name) == read_rows(tmp_path / "rows", name)
        first = texts(write_pages(folder, tmp_path / "one"))
        second = texts(write_pages(tmp_path / "rows", tmp_path / "two"))
        links = re.compile(r"`[\w./-]*`, |\| `[\w./-]*` \|")
        assert {k: links.sub("", v) for k, v in first.items()} == {k: links.sub("", v) for k, v in second.items()}

    def test_what_depends_on_the_machine_is_apart(self, tmp_path: Path) -> None:
        cells = cells_of(EXPERIMENTS["engine"], ("FICO",))
        first = pack([store(tmp_path / "a", cells)], tmp_path / "one")
        slower = store(tmp_path / "b", cells)
        for path in (slower / "times").rglob("*.jsonl"):
            path.write_text(path.read_text(encoding="utf-8").replace("0.5", "0.75"), encoding="utf-8")
        second = pack([slower], tmp_path / "two")
        assert [path.name for path in first] == ["engine.jsonl.gz", "engine.times.jsonl.gz"]
        assert first[0].read_bytes() == second[0].read_bytes()
        assert first[1].read_bytes() != second[1].read_bytes()
        assert b"seconds" not in gzip.decompress(first[0].read_bytes())
        head = json.loads(gzip.decompress(first[1].read_bytes()).splitlines()[0])
        assert head["depends"].startswith("on the machine")
        assert {r["seconds"] for r in read_rows(tmp_path / "two", "engine")} == {0.75}

    def test_several_folders_make_one_set_of_rows_unless_two_have_the_same_experiment(self, tmp_path: Path) -> None:
        one = store(tmp_path / "a", cells_of(EXPERIMENTS["engine"], ("FICO",)))
        two = store(tmp_path / "b", cells_of(EXPERIMENTS["scaled"], ("FICO",)))
        names = {path.name for path in pack([one, two], tmp_path / "rows")}
        assert names == {f"{n}{e}" for n in ("engine", "scaled") for e in (".jsonl.gz", ".times.jsonl.gz")}
        three = store(tmp_path / "c", cells_of(EXPERIMENTS["scaled"], ("Student",)))
        with pytest.raises(DataError, match=r"The rows of 'scaled' are in .*b and in .*c\. Rows of two runs do not"):
            pack([one, two, three], tmp_path / "again")
        with pytest.raises(DataError, match="There are no rows in"):
            pack([tmp_path / "nowhere"], tmp_path / "again")


class TestSections:
    def test_every_experiment_has_a_section_that_reads_it(
        self, no_pictures: None, complete: Path, tmp_path: Path
    ) -> None:
        asked: set[str] = set()
        read = reader(complete, tmp_path)

        class Watched:
            def __call__(self, name: str) -> list[Row]:
                asked.add(name)
                return read(name)

            def source(self, *names: str, **only: object) -> str:
                return read.source(*names, **only)

        for section in SECTIONS.values():
            section(Watched(), tmp_path)
        assert asked == set(EXPERIMENTS)

    def test_one_ladder_table_and_figure_for_each_data_set_and_model(
        self, no_pictures: None, complete: Path, tmp_path: Path
    ) -> None:
        text = write_section(complete, tmp_path, "l").read_text(encoding="utf-8")
        for cell in cells_of(EXPERIMENTS["ladder"]):
            part = text.split(f"#### {cell.dataset}, {cell.model}\n")[1].split("####")[0].split("###")[0]
            assert f"img/paper/ladder-{cell.dataset}-{cell.model}.svg".lower() in part
            assert part.count("| + conditioning |") == 3  # 1, 2 and 3 missing

    def test_every_rung_is_judged_on_the_same_people_where_a_cell_was_stopped(self) -> None:
        cells = cells_of(EXPERIMENTS["ladder"], ("FICO",), ("LR-published",))
        rows = [row for cell in cells for row in rows_of(cell)]
        found = on_all_rungs(rows[:-1])
        assert len(rows) - len(found) == len(RUNGS)
        assert {len([r for r in found if r["method"] == m]) for m in RUNGS} == {3 * PEOPLE - 1}

    def test_all_confidences_and_numbers_of_blanks_are_in_tables(
        self, no_pictures: None, complete: Path, tmp_path: Path
    ) -> None:
        text = texts(write_pages(complete, tmp_path))["reproduction"]
        assert text.count("| people | 0.5 | 0.55 | 0.6 | 0.65 | 0.7 | 0.75 | 0.8 | 0.85 | 0.9 |") == 6
        assert text.count("| 0.5 | 0.55 | 0.6 | 0.65 | 0.7 | 0.75 | 0.8 | 0.85 | 0.9 | 0.95 | 1 |") == 2
        clock = text.split("## (t) Time")[1]
        for title in ("**1 value missing**", "**2 values missing**", "**3 values missing**", "search, median"):
            assert title in clock
        assert "almost saturated when ρ ≥ 0.6" in text
        assert "sharply when the confidences exceed 0.9" in text


class TestIntervals:
    def test_one_split_has_an_interval_over_its_people_and_says_so(self) -> None:
        rows = [
            {"split": 0, "mask": m, "instance": i, "status": "optimal", "x": float(i)}
            for m in range(5)
            for i in range(9)
        ]
        found = clustered(rows, lambda r: r["x"])
        assert found.splits == 1
        # masks of one person are no further people: the half width is that of nine numbers, not of forty-five
        assert 1.7 < found.half < 2.3
        assert found.text().endswith("†")

    def test_without_an_interval_nothing_is_called_outside(self) -> None:
        lone = clustered([{"split": 0, "mask": 0, "instance": 0, "status": "optimal", "x": 1.0}], lambda r: r["x"])
        assert lone.holds(100.0)


class TestFigures:
    @given(st.floats(1e-3, 1e4), st.floats(1.0, 1e4))
    def test_a_log_axis_has_two_ticks_at_least(self, low: float, times: float) -> None:
        low_end, high_end = style.spread(low, low * times)
        assert low_end < low
        assert high_end > low * times
        ticks = [d * 10.0**k for k in range(-6, 12) for d in (1, 2, 5) if low_end <= d * 10.0**k <= high_end]
        assert len(ticks) >= 2

    def test_methods_of_one_figure_look_different(self) -> None:
        for experiment in EXPERIMENTS.values():
            looks = [style.look(m) for m in experiment.methods if not m.startswith("rung-")]
            assert len(set(looks)) == len(looks)
            markers = [marker for _, marker in looks]
            assert len(set(markers)) == len(markers)

    @pytest.mark.parametrize(("seed", "share"), [(1, 0.03), (2, 0.06), (3, 0.15)])
    def test_every_figure_can_be_drawn_from_a_part_of_a_run(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, share: float
    ) -> None:
        drawn = []
        monkeypatch.setattr(figures, "save", lambda figure, folder, name: drawn.append(name) or name)
        rng = Random(seed)  # noqa: S311  which cells are there
        folder = kept(tmp_path, [c for c in ALL if c.experiment.name != "splits" and rng.random() < share])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            write_pages(folder, tmp_path / "docs")
        assert len(drawn) == len(set(drawn)) > 3

    def test_who_has_no_plan_is_named(self, tmp_path: Path) -> None:
        cell = next(cell for cell in ALL if cell.experiment.name == "mar")
        rows = [made(cell, m, i) for m in ("mean", "exact") for i in range(3)]
        nobody = [{**r, "status": "infeasible", "valid": False, "cost": None, "possible": True, "method": "robust"}
                  for r in rows[:3]]  # fmt: skip
        figures.trade_off(rows + nobody, tmp_path, "one")
        assert "no plan: RobustAR" in (tmp_path / "one.svg").read_text(encoding="utf-8")


class TestBlanks:
    def test_other_blanks_are_named_in_every_row_and_refused_if_unknown(self) -> None:
        from lab.experiments.cli import choose

        (cell,) = choose(
            "mcar", datasets=["FICO"], models=["LR"], blanks="mar:ExternalRiskEstimate:NumSatisfactoryTrades"
        )
        assert cell.experiment.blanks == "mar:ExternalRiskEstimate:NumSatisfactoryTrades"
        assert (cell.missing, cell.variant.name) == (1, "blanks=mar:ExternalRiskEstimate:NumSatisfactoryTrades")
        assert ":" not in cell.name
        with pytest.raises(ParameterError, match=r"Blanks are made by mcar, mar, mnar, .* Got 'magic:a' instead"):
            choose("mcar", blanks="magic:a")
