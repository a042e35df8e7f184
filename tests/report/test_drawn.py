"""Laws that small faults would break: what pictures and tables show, read back from them."""

from __future__ import annotations

import math
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armin import ARMIN
from armin.datasets import make_loans
from armin.recourse import Plans
from armin.report.plot import INK
from armin.report.plot_assess import (
    _short,
    assessment_html,
    assessment_text,
    assessment_verdict,
    plot_assessment,
)
from armin.report.plot_stress import plot_stress
from armin.words import Name


def judged(feature: str, p_value: float | None, **more: Any) -> dict[str, Any]:
    """What was found about one feature."""
    given = {
        "feature": feature, "hidden": 40, "cover_50": 0.5, "se_50": 0.08, "cover_80": 0.7, "se_80": 0.06,
        "cover_90": 0.95, "se_90": 0.06, "p_value": p_value, "crps": 0.25, "brier": None, "energy": math.nan,
        "log_score": -1234.5, "histogram": [10, 2, 13, 15],
    }  # fmt: skip
    return given | more


def assessed(n: int = 2) -> dict[str, Any]:
    features = [judged(f"f{i}", 0.5 + i / 100) for i in range(n)]
    overall = judged("", 0.0004, hidden=80, calibrated=True, ms_per_100=1.25)
    del overall["feature"]
    return {"features": features, "overall": overall, "sampler": "Uniform()"}


def test_the_dots_of_an_assessment_are_its_shares_and_the_lines_its_errors() -> None:
    ax = plot_assessment(assessed(), "Fine.")[0]
    dots = {line.get_label(): line for line in ax.lines if line.get_marker() in "osD"}
    assert list(dots) == ["50 %", "80 %", "90 %"]
    np.testing.assert_allclose(dots["80 %"].get_xdata(), [70.0] * 3)
    np.testing.assert_array_equal(dots["80 %"].get_ydata(), [2, 1, 0])  # "all" on top
    assert [text.get_text() for text in ax.get_yticklabels()] == ["all", "f0", "f1"]
    aims = [line.get_xdata()[0] for line in ax.lines if line.get_marker() not in "osD"]
    assert len({line.get_marker() for line in dots.values()}) == 3
    assert aims == [50, 80, 90]
    ends = [[segment[:, 0].tolist() for segment in part.get_segments()] for part in ax.collections]
    np.testing.assert_allclose(ends, [[[34, 66]] * 3, [[68, 92]] * 3, [[78, 100]] * 3])
    assert ax.get_xlim() == (0, 103)
    assert "inside the interval" in ax.get_xlabel()


def test_a_histogram_of_ranks_marks_what_chance_does_not_explain() -> None:
    panels = plot_assessment(assessed(), "Fine.")[1:]
    assert [ax.get_title(loc="left") for ax in panels] == ["all", "f0", "f1"]
    band, *bars = panels[1].patches
    error = 2.576 * math.sqrt(40 / 4 * 3 / 4)
    np.testing.assert_allclose([band.get_y(), band.get_y() + band.get_height()], [10 - error, 10 + error])
    assert [bar.get_height() for bar in bars] == [10, 2, 13, 15]
    np.testing.assert_allclose([bar.get_x() + bar.get_width() / 2 for bar in bars], [0.125, 0.375, 0.625, 0.875])
    bad = tuple(int(INK["bad"][i : i + 2], 16) / 255 for i in (1, 3, 5))
    assert [np.allclose(bar.get_facecolor()[:3], bad) for bar in bars] == [False, True, False, False]
    few = plot_assessment({**assessed(), "features": [judged("f", 0.5, histogram=[1, 0, 0, 1])]}, "Fine.")
    assert few[2].patches[0].get_y() == 0.0  # no count is below zero


def test_of_many_features_the_worst_are_drawn_in_their_order() -> None:
    summary = assessed(14)
    summary["features"][13]["p_value"] = 0.001
    summary["features"][0]["p_value"] = None
    panels = plot_assessment(summary, "Fine.")[1:]
    shown = [ax.get_title(loc="left") for ax in panels]
    assert shown == ["all", *(f"f{i}" for i in range(1, 11)), "f13"]
    assert len(panels[0].figure.axes) == 12


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""), (math.nan, ""), (0.0, "<0.001"), (0.0009, "<0.001"), (0.001, "0.001"), (-0.0004, "-0.0004"),
        (0.12345, "0.123"), (999.0, "999"), (1000.0, "1,000"), (-1234.5, "-1,234"),
    ],
)  # fmt: skip
def test_scores_in_few_digits(value: float | None, text: str) -> None:
    assert _short(value) == text


def test_the_table_of_an_assessment() -> None:
    title, empty, head, first, _, last, _, verdict, speed = assessment_text(assessed(), "Fine.").splitlines()
    assert (title, empty, verdict) == ("How good is the sampler Uniform()?", "", "Fine.")
    assert first.split() == ["f0", "40", "50", "±8", "70", "±6", "95", "±6", "0.5", "0.25", "-1,234"]
    assert last.split()[:2] == ["all", "80"]
    assert "<0.001" in last
    assert "1.2 ms" in speed
    assert head.startswith("feature  hidden")
    html = assessment_html(assessed(), "Fine.")
    assert html.count("<th ") == 10
    assert html.count("<td ") == 30
    assert html.count("text-align:left") == 4  # the first cell of each line


@pytest.mark.parametrize(
    ("overall", "words"),
    [
        ({"calibrated": None}, "Too little to judge: 80 hidden values"),
        ({"calibrated": True}, "about 1 time in 100,"),
        ({"calibrated": False, "cover_80": 0.6}, "Overconfident: its 80 % intervals hold only 60 % of 80 hidden"),
        ({"calibrated": False, "cover_80": 0.95}, "Too cautious: its 80 % intervals hold 95 % of"),
        ({"calibrated": False, "cover_80": 0.7}, "Not calibrated"),  # within two errors
        ({"calibrated": False, "cover_80": 0.6}, "Look first at 'b'."),
    ],
)
def test_the_verdict(overall: dict[str, Any], words: str) -> None:
    features = [judged("none", None), judged("a", 0.2), judged("b", 0.01), judged("c", math.nan)]
    assert words in str(assessment_verdict(features, judged("", 0.1, hidden=80) | overall, 0.01))


def test_without_any_test_no_feature_is_blamed() -> None:
    found = assessment_verdict([judged("none", None)], judged("", 0.1, calibrated=False, cover_80=0.6), 0.01)
    assert "Look first" not in str(found)


def test_the_lines_of_a_stress_test_are_its_reliable_points() -> None:
    def curve(label: str, shift: float) -> dict[str, Any]:
        points = [{"delta": d, "validity": 0.5 + d / 10 + shift, "reliable": d < 2} for d in (-1.0, 0.0, 1.0, 2.0)]
        return {"label": label, "points": points}

    names = [f"blank {i}" for i in range(6)]
    summary = {"curves": [curve(name, i / 100) for i, name in enumerate(names)], "asked": 0.75, "kind": "tilt"}
    named = [Name("labels", name, name) for name in names]
    ax = plot_stress(summary, named)
    lines = [line for line in ax.lines if line.get_marker() != "None"]
    assert [line.get_label() for line in lines] == names
    assert len({line.get_marker() for line in lines}) == 6  # known without colours
    np.testing.assert_array_equal(lines[0].get_xdata(), [-1.0, 0.0, 1.0])
    np.testing.assert_allclose(lines[2].get_ydata(), [0.42, 0.52, 0.62])
    assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == 6  # none looks like another
    (asked,) = [line for line in ax.lines if line.get_marker() == "None" and set(line.get_ydata()) == {0.75}]
    assert asked.get_linestyle() == ":"
    assert any(set(line.get_xdata()) == {0} for line in ax.lines)
    assert ax.get_ylim() == (0, 1.02)
    assert ax.yaxis.get_major_formatter()(0.25, None) == "25 %"
    assert "tilted" in ax.get_xlabel()
    assert "spreads" in plot_stress(summary | {"kind": "shift"}, named).get_xlabel()
    assert ax.get_legend() is not None
    assert plot_stress(summary | {"curves": []}, []).get_legend() is None


def test_plans_and_a_stress_test_in_a_notebook() -> None:
    loans = make_loans()
    explainer = ARMIN.from_settings(loans.classifier, loans.schema, desired="approved", n_samples=200).fit(loans.X)
    plans = explainer.alternatives(loans.applicant, 2)
    assert isinstance(plans, Plans)
    shown = plans._repr_html_()
    assert shown.count("<ol") == len(plans) == 2
    assert all(escape(str(change)) in shown for plan in plans for change in plan.changes)
    assert str(plans).startswith("1. ")
    assert "\n\n2. " in str(plans)
    assert Plans()._repr_html_() == "<p>No plan.</p>"
    tested = explainer.stress(loans.applicant)
    html = tested._repr_html_()
    assert html.count("<tr>") == 1 + len(tested.curves) > 1
    assert html.count("<td") == 3 * len(tested.curves)
    assert escape(tested.sentence) in html


def test_solvers_in_the_picture_of_the_engines_are_known_without_colours(tmp_path: Path) -> None:
    from lab.benchmarks.engine import Record, draw

    solvers = ["search", "highs", "gurobi"]
    records = [
        Record("FICO", "LR", solver, 1, 0.1 + i, 0.2 + i, 1.0, 0, 1.0, 1.0, 0.3) for i, solver in enumerate(solvers)
    ]
    ax = draw(records, tmp_path / "engine.png")
    shapes = {dots.get_paths()[0].vertices.tobytes() for dots in ax.collections if dots.get_label() in solvers}
    assert len(shapes) == len(solvers)
