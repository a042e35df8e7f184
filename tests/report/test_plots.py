"""Pictures are figures of pyplot, which is what notebooks show."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from armin import ARMIN
from armin.cli.demo import draw_story, make_story
from armin.datasets import make_loans
from armin.errors import MissingDependencyError
from armin.sampling.assess import assess

plt = pytest.importorskip("matplotlib.pyplot")

LOANS = make_loans(200)
NAMES = ("explain", "path", "stress", "reasons", "assess")


@pytest.fixture(scope="module")
def drawing() -> dict[str, Callable[..., Any]]:
    explainer = ARMIN.from_settings(LOANS.classifier, LOANS.schema, desired="approved", n_samples=10, n_fresh=30).fit(
        LOANS.X
    )
    found = {name: getattr(explainer, name)(LOANS.applicant).plot for name in NAMES[:-1]}
    return found | {"assess": assess("marginal", LOANS.X, schema=LOANS.schema, n_draws=10).plot}


def root(drawn: Any) -> Any:
    """The figure of axes, or of an array of them."""
    figure = getattr(drawn, "flat", [drawn])[0].figure
    while figure is not figure.figure:
        figure = figure.figure
    return figure


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_is_a_figure_of_pyplot(name: str, drawing: dict[str, Callable[..., Any]]) -> None:
    backend = plt.get_backend()
    drawn = drawing[name]()
    assert root(drawn) is plt.gcf()
    assert plt.get_fignums() == [1]
    plt.close(root(drawn))
    assert plt.get_fignums() == []
    assert plt.get_backend() == backend


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_in_a_figure_of_ones_own_opens_no_other(name: str, drawing: dict[str, Callable[..., Any]]) -> None:
    figure = plt.figure()
    drawn = drawing[name](figure=figure) if name == "assess" else drawing[name](ax=figure.subplots())
    assert root(drawn) is figure
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("name", NAMES)
def test_no_picture_without_pyplot(
    name: str, drawing: dict[str, Callable[..., Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
        with pytest.raises(MissingDependencyError, match=r"armin\[plot\]"):
            drawing[name]()


def test_a_picture_for_a_file_opens_no_window(tmp_path: Path) -> None:
    assert draw_story(make_story(), tmp_path).stat().st_size > 5000
    assert plt.get_fignums() == []
