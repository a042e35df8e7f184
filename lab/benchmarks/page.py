"""The desk's page in figures: what the Tab key reaches, how tall the form is, and how soon the plan is there.

python -m lab.benchmarks.page
"""

from __future__ import annotations

import argparse
import shutil
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from armin import ARMIN, Schema
from armin.bundle import Bundle, load_bundle
from armin_desk.demo import save_demo_bundle

SCREEN = 900
STOPS = """[...document.querySelectorAll('#form input, #form select, #form button, #form summary, #form a')].filter(
  (one) => one.checkVisibility() && one.tabIndex >= 0 && (one.type !== 'radio' || one.checked)).length"""
"""What the Tab key reaches in the form; of radio buttons, the one that is checked."""
PLAN = """() => new Promise((done) => {
  const begun = performance.now();
  const there = () => document.querySelector('.step-sentence') && !document.querySelector('#answer[aria-busy=true]');
  const watch = new MutationObserver(() => {
    if (there()) { watch.disconnect(); done(performance.now() - begun); }
  });
  watch.observe(document.body, { childList: true, subtree: true, attributes: true });
  document.querySelector('input[name=applied][value=refused]').click();
  document.getElementById('send').click();
})"""


def wide(n: int) -> Bundle:
    """A desk with n columns in four sections, the last of which never changes, and a person who leaves one blank."""
    rng = np.random.default_rng(0)
    kinds = (
        lambda: rng.integers(0, 50_000, 500), lambda: rng.choice(["red", "green", "blue"], 500),
        lambda: rng.normal(5, 2, 500).round(2), lambda: rng.choice(["yes", "no"], 500),
    )  # fmt: skip
    X = pd.DataFrame({f"field {i}": kinds[i % 4]() for i in range(n)})
    numbers = X.select_dtypes("number")
    score = ((numbers - numbers.mean()) / numbers.std()).sum(axis=1)
    y = np.where(score > score.median(), "granted", "refused")
    texts = make_column_selector(dtype_exclude=np.number)
    encoder = make_column_transformer((OneHotEncoder(), texts), remainder=StandardScaler())
    model = make_pipeline(encoder, LogisticRegression(max_iter=500)).fit(X, y)
    sections = ["Home", "Money", "Work", "You"]
    form = {name: {"group": sections[(i * 4 // n + 3) % 4], "help": f"Question {i}."} for i, name in enumerate(X)}
    schema = Schema.infer(X, immutable=list(X)[: n // 4]).with_form(**form)
    row = X.iloc[int(np.flatnonzero(model.predict(X) == "refused")[0])].to_dict()
    plain = {name: value.item() if hasattr(value, "item") else value for name, value in row.items()}
    person = {"name": "Sam", "story": "", "row": plain | {"field 0": None}}
    explainer = ARMIN(model, schema, desired="granted").fit(X)
    return Bundle(explainer, {"title": "Wide desk", "desired": ["granted"]}, (person,))


@contextmanager
def serving(bundle: Any) -> Iterator[str]:
    """The address of a desk that runs in a thread on a free port."""
    import uvicorn

    from armin_desk.app import create_app

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(create_app(bundle), log_level="critical", lifespan="on"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(10)


def measured(browser: Any, address: str, runs: int) -> tuple[int, float, float]:
    """Tab stops and screens of the filled form, and the milliseconds from the button to the plan (the median)."""
    took = []
    for _ in range(runs + 1):  # the first one loads what all share
        page = browser.new_page(viewport={"width": 1280, "height": SCREEN}, locale="en-GB", reduced_motion="reduce")
        page.goto(address)
        page.locator(".person").first.click()
        stops = page.evaluate(STOPS)
        tall = page.locator("#fields").bounding_box()["height"] / SCREEN
        took.append(page.evaluate(PLAN))
        page.close()
    return stops, tall, statistics.median(took[1:])


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        desks: dict[int, Any] = {5: load_bundle(save_demo_bundle(folder)), 20: wide(20), 40: wide(40)}
    print("| fields | tab stops | screens of 900 px | ms to the plan |\n|---|---|---|---|")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for n, bundle in desks.items():
            with serving(bundle) as address:
                stops, tall, took = measured(browser, address, runs)
            print(f"| {n} | {stops} | {tall:.1f} | {took:.0f} |", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
