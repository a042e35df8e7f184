"""The demo tells what the public API computes, and the classifier is asked about the real person."""

from __future__ import annotations

import io
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import armin.cli.demo
from armin import ARMIN
from armin.baselines import ImputationAR, RobustAR
from armin.cli import app
from armin.cli.demo import Story, draw_story, make_story, tell_story
from armin.datasets import make_loans
from armin.problem import Status


@pytest.fixture(scope="module")
def story() -> Story:
    return make_story()


def told(story: Story, width: int) -> str:
    page = io.StringIO()
    tell_story(story, Console(file=page, width=width))
    return page.getvalue()


def test_the_point_of_the_paper_is_made(story: Story) -> None:
    assert [advice.decision for advice in story.advice] == ["approved", "rejected", "approved", "approved"]
    assert story.guessed.cost < story.known.cost == story.armin.cost < story.robust.cost / 2
    assert all(advice.recourse.status is Status.OPTIMAL for advice in story.advice)
    assert story.guessed.recourse.fresh is not None
    assert story.guessed.recourse.fresh.share < 0.75
    assert story.armin.recourse.fresh is not None
    assert story.armin.recourse.fresh.share >= 0.75


@pytest.mark.parametrize(("method", "which"), [(ARMIN, "armin"), (RobustAR, "robust"), (ImputationAR, "guessed")])
def test_numbers_are_those_of_the_api(story: Story, method: type, which: str) -> None:
    loans = make_loans()
    expected = method(loans.classifier, loans.schema, desired="approved").fit(loans.X).explain(loans.applicant)
    advice = getattr(story, which)
    assert advice.recourse.changes == expected.changes
    assert advice.cost == expected.cost
    assert advice.recourse.fresh == expected.fresh


def test_the_classifier_was_asked_about_the_real_person(story: Story) -> None:
    for advice in story.advice:
        real = {**story.loans.person, **{c.feature.name: c.after for c in advice.recourse.changes}}
        assert real["Income"] == 30_000
        assert story.loans.classifier.predict(pd.DataFrame([real])).tolist() == [advice.decision]


def test_the_mean_is_that_of_the_data(story: Story) -> None:
    assert story.guess == pytest.approx(story.loans.X["Income"].mean(), abs=0.5)


def test_the_path_holds_the_methods(story: Story) -> None:
    costs = [point.cost for point in story.path]
    assert {story.guessed.cost, story.armin.cost, story.robust.cost} <= set(costs)
    assert costs == sorted(costs)


@pytest.mark.parametrize("width", [80, 100])
def test_the_page_fits_and_is_plain(story: Story, width: int) -> None:
    text = told(story, width)
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert all(line == line.rstrip() for line in lines)
    assert "\x1b" not in text
    assert "…" not in text  # nothing was cut off
    assert "not told" in text
    assert "$30,000" in text
    assert f"${round(story.guess):,}" in text


def test_the_table_holds_the_numbers(story: Story) -> None:
    lines = told(story, 80).splitlines()
    for advice in story.advice:
        line = next(line for line in lines if line.strip().startswith(advice.way) and advice.decision in line)
        assert f" {advice.cost:.2f} " in line
        if advice.recourse.fresh is not None:
            assert f" {advice.recourse.fresh.share:.0%}".replace("%", " %") in line


def test_the_longest_bar_is_the_dearest(story: Story) -> None:
    bars = [line.count("█") for line in told(story, 80).splitlines() if "█" in line]
    assert bars == sorted(bars)
    assert bars[-1] == armin.cli.demo.BAR
    assert len(bars) == len(story.path)


def test_the_picture_is_a_png(story: Story, tmp_path: Path) -> None:
    file = draw_story(story, tmp_path / "a" / "b")
    assert file.read_bytes().startswith(b"\x89PNG\r\n")
    assert file.stat().st_size > 10_000


def test_command(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(armin.cli.demo, "make_story", lambda: story)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "path.png").is_file()
    lines = result.stdout.splitlines()
    assert lines[-3] == " Picture: out/path.png"
    assert lines[-2].endswith("armin explain --help")
    assert lines[-1].endswith("armin demo --web")


def test_command_without_matplotlib(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(armin.cli.demo, "make_story", lambda: story)
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.figure", None)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "No picture" in result.stdout
    assert "armin[plot]" in result.stdout


def test_command_refuses_a_place_that_is_a_file(story: Story, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(armin.cli.demo, "make_story", lambda: story)
    (tmp_path / "file").touch()
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file" / "deeper")])
    assert result.exit_code == 2
    assert "--out" in result.stderr
