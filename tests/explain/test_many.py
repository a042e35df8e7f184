"""Many rows at once: over processes, over a Dask cluster that loses a worker, and with the same answers."""

from __future__ import annotations

import os
import signal
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest

from armin import ARMIN, Promise
from armin.recourse import Recourse

from worlds import make_world


@pytest.fixture(scope="module")
def crowd():
    world = make_world(3, "forest", blanks=2)
    explainer = ARMIN.from_settings(
        world.classifier, world.schema, desired="yes", n_samples=20, n_fresh=100, sampler="donors", max_options=8
    ).fit(world.X)
    frame = world.X.head(12).copy()
    frame["rate"] = frame["rate"].mask(np.arange(12) % 2 == 0)
    frame["city"] = frame["city"].mask(np.arange(12) % 3 == 0)
    return explainer, frame, explainer.explain_many(frame)


def same(first, second) -> bool:
    return first.to_frame().equals(second.to_frame())


def test_processes(crowd):
    explainer, frame, alone = crowd
    assert all(isinstance(answer, Recourse) for answer in alone)
    assert same(alone, explainer.explain_many(frame, n_jobs=2))


def test_threads(crowd):
    explainer, frame, alone = crowd
    with joblib.parallel_config("threading", n_jobs=2):
        assert same(alone, explainer.explain_many(frame))


def kill_when_busy(client, address: str, pid: int, killed: list[float]) -> None:
    """Kill a worker process that is at work, and note when."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if client.processing([address]).get(address):
            os.kill(pid, signal.SIGKILL)
            killed.append(time.monotonic())
            return
        time.sleep(0.01)


def test_a_cluster_that_loses_a_worker(crowd):
    distributed = pytest.importorskip("distributed", reason="the dask extra is not installed")
    explainer, frame, alone = crowd
    frame = pd.concat([frame] * 10, ignore_index=True)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        address, pid = next(iter(client.run(os.getpid).items()))
        killed: list[float] = []
        killer = threading.Thread(target=kill_when_busy, args=(client, address, pid, killed))
        killer.start()
        with joblib.parallel_config("dask"):
            answers = explainer.explain_many(frame)
        finished = time.monotonic()
        killer.join()
        assert killed, "the worker was never seen at work"
        assert killed[0] < finished, "the worker was killed too late: the test shows nothing"
    assert not answers.failures
    expected = pd.concat([alone.to_frame()] * 10, ignore_index=True)
    pd.testing.assert_frame_equal(answers.to_frame().reset_index(drop=True), expected)


def test_many_rows_are_tested_once_for_each_pattern_before_they_are_shared_out(monkeypatch):
    """A promise is calibrated in this process; the others find it there."""
    from armin.datasets import make_loans
    from armin.explain import methods

    loans, asked = make_loans(), []
    half = len(loans.X) // 2
    explainer = ARMIN.from_settings(
        loans.classifier, loans.schema, desired="approved", promise=Promise(0.7, n_people=12), n_samples=20, n_fresh=0
    ).fit(loans.X[:half], people=loans.X[half:])
    original = methods.calibrate
    monkeypatch.setattr(methods, "calibrate", lambda *a, **k: asked.append(1) or original(*a, **k))
    frame = pd.DataFrame([loans.applicant, {**loans.applicant, "Age": 40}, {**loans.applicant, "Age": None}])
    answers = explainer.explain_many(frame, n_jobs=2)
    assert len(asked) == len(explainer.calibrations_) == 2
    assert all(answer.certificate.calibration is not None for answer in answers)
