"""The desk and the file that it serves: one bundle in all workers, from a trusted signer, ready in time or never."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from armin import ARMIN
from armin.bundle import save_bundle
from armin.cli import app
from armin.datasets import make_loans
from armin.errors import BundleChangedError, DataError
from armin.sampling import ChainedEquations

pytest.importorskip("skops")
pytest.importorskip("fastapi")
pytest.importorskip("uvicorn")

from armin.bundle.archive import file_digest
from armin_desk import serve, workers
from armin_desk.settings import DeskSettings

from sealed import rewrite

LOANS = make_loans(300)


def packed(file: Path, **settings: object) -> Path:
    words = {"sampler": "private", "n_samples": 5, "n_fresh": 0} | settings
    return save_bundle(
        file, ARMIN.from_settings(LOANS.classifier, LOANS.schema, desired="approved", **words).fit(LOANS.X)
    )


def test_a_worker_refuses_another_file_than_the_desk_was_started_with(tmp_path: Path, monkeypatch: Any) -> None:
    """A file was replaced while the desk ran, a worker died, and two models answered side by side."""
    file = packed(tmp_path / "b.armin")
    work = serve._Work(str(file), file_digest(file), DeskSettings(), False, ())
    assert work._load().explainer
    packed(file, confidence=0.6)
    assert file_digest(file) != work.digest
    sent: list[Exception] = []
    monkeypatch.setattr(serve, "end_with_parent", lambda _: None)
    monkeypatch.setattr(serve.signal, "signal", lambda *_: None)
    work(None, SimpleNamespace(send=sent.append))  # type: ignore[arg-type]
    assert [type(error) for error in sent] == [BundleChangedError]
    file.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        file_digest(file)


@pytest.mark.parametrize("error", [BundleChangedError("'b.armin' is another file."), DataError("Ada's income is -5.")])
def test_the_log_says_why_a_worker_does_not_begin_and_quotes_nobody(error: Exception) -> None:
    assert workers.reason_of(error) == ("'b.armin' is another file." if "armin" in str(error) else "DataError")


def test_a_stranger_is_not_served(tmp_path: Path) -> None:
    file = packed(tmp_path / "b.armin")
    rewrite(file, {}, key=None)
    shown = CliRunner().invoke(app, ["serve", str(file), "--port", "0"])
    assert shown.exit_code == 2
    assert "is not signed, so it is not loaded" in shown.stderr
    assert "--trusted-key PUB.pem" in shown.stderr
    assert "--trust" in shown.stderr


@pytest.mark.parametrize("count", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_what_does_not_answer_is_not_served(tmp_path: Path, count: str) -> None:
    """A sampler that goes through a row for hours: the desk says so and ends, rather than to wait in silence."""
    file = packed(tmp_path / "b.armin", sampler=ChainedEquations(sweeps=10**9))
    words = [sys.executable, "-m", "armin", "serve", str(file), "--port", "0", "--starting", "8"]
    done = subprocess.run([*words, "--workers", count], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2, done.stderr
    assert "had not answered one question after 8 seconds" in done.stderr
    assert "--starting SECONDS" in done.stderr
    assert "Traceback" not in done.stderr
