"""The desk in Firefox, driven by the browser's own protocol (WebDriver BiDi): no driver needs to be installed."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
if FIREFOX is None:
    pytest.skip("Firefox is not installed", allow_module_level=True)
client = pytest.importorskip("websockets.sync.client")
pytest.importorskip("test_page")

from lab.benchmarks.page import STOPS, wide  # noqa: E402
from test_page import desk, loan_bundle, serving  # noqa: E402, F401  fixtures

PATIENCE = 60.0


class Window:
    """One window of a Firefox."""

    def __init__(self, address: str) -> None:
        self.open = ExitStack()
        self.socket = self.open.enter_context(client.connect(address, max_size=None, open_timeout=PATIENCE))
        self.number = 0
        self.said: list[str] = []
        # a page that asks whether to leave is left
        prompts = {"default": "accept", "beforeUnload": "accept"}
        self.send("session.new", capabilities={"alwaysMatch": {"unhandledPromptBehavior": prompts}})
        self.send("session.subscribe", events=["log.entryAdded"])
        self.context = self.send("browsingContext.create", type="tab")["context"]

    def send(self, method: str, **params: Any) -> Any:
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv(timeout=PATIENCE))
            if answer.get("method") == "log.entryAdded":
                self.said.append(answer["params"]["text"])
            if answer.get("id") == self.number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def go(self, url: str, width: int = 1280, height: int = 900) -> None:
        self.send("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})
        self.send("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def reload(self) -> None:
        """Load the page again; if it asks whether to leave, yes."""
        self.send("browsingContext.reload", context=self.context, wait="complete")

    def value(self, script: str) -> Any:
        """What a JavaScript expression comes to."""
        whole = f"Promise.resolve({script}).then((found) => JSON.stringify(found))"
        found = self.send("script.evaluate", expression=whole, target={"context": self.context}, awaitPromise=True)
        assert found["type"] == "success", found
        text = found["result"].get("value")
        return None if text is None else json.loads(text)

    def until(self, script: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + PATIENCE
        while not self.value(f"Boolean({script})"):
            assert time.monotonic() < end, script
            time.sleep(0.05)

    def press(self, key: str) -> None:
        actions = [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]
        source = {"type": "key", "id": "keys", "actions": actions}
        self.send("input.performActions", context=self.context, actions=[source])

    def check_access(self) -> None:
        """No serious finding of axe in the state that is shown."""
        script = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
        self.send("script.evaluate", expression=script, target={"context": self.context}, awaitPromise=False)
        run = """axe.run(document, { iframes: false }).then((found) => found.violations
            .filter((one) => ["serious", "critical"].includes(one.impact)).map((one) => `${one.id}: ${one.help}`))"""
        assert self.value(run) == []


@pytest.fixture(scope="module")
def window(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    profile: Path = tmp_path_factory.mktemp("firefox")
    command = [FIREFOX, "--headless", "--no-remote", "--profile", str(profile), f"--remote-debugging-port={port}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                found = Window(f"ws://127.0.0.1:{port}/session")
                break
            except OSError:
                assert time.monotonic() < end, "Firefox did not start"
                time.sleep(0.2)
        yield found
        found.open.close()
    finally:
        process.terminate()
        process.wait(30)


def whole_journey(window: Window, address: str) -> list[str]:
    """A prepared person, the plan and all that comes with it; the plan's sentences."""
    window.said.clear()
    window.go(address)
    window.until("document.querySelector('.person')")
    window.check_access()
    window.value("document.querySelector('.person').click()")
    window.value("document.querySelector('input[name=applied][value=refused]').click()")
    window.value("document.getElementById('send').click()")
    window.until("document.querySelector('.step-sentence')")
    window.until("!document.querySelector('.card:not(#blanks) .waiting')")
    window.check_access()
    assert window.said == []
    found: list[str] = window.value("[...document.querySelectorAll('.step-sentence')].map((one) => one.textContent)")
    return found


def test_the_whole_journey(window: Window, desk: str, loan_bundle: Any) -> None:  # noqa: F811
    plan = whole_journey(window, desk)
    expected = loan_bundle.explainer.explain(dict(loan_bundle.people[0]["row"]))
    assert plan == [f"{text[0].upper()}{text[1:]}" for text in map(str, expected.changes)]

    # the slider, by the keyboard
    window.value("document.getElementById('sure-slider').focus()")
    window.press("\ue010")  # End
    last = loan_bundle.explainer.path(dict(loan_bundle.people[0]["row"]))[-1]
    assert len(window.value("[...document.querySelectorAll('.step-sentence')].map((one) => 1)")) == len(last.changes)
    assert int(window.value("document.getElementById('sure-slider').dataset.point")) > 0

    # the letter, and out of it with Esc
    window.until("document.querySelector('#plan .second-button')")
    window.value("document.querySelector('#plan .second-button').click()")
    window.until("document.getElementById('letter-note').textContent.includes('here')")
    assert "It is not a decision" in window.value(
        "document.getElementById('letter-page').contentDocument.body.textContent"
    )
    window.check_access()
    window.press("\ue00c")  # Escape
    window.until("!document.getElementById('letter').open")
    assert window.said == []


def test_errors_cases_and_a_reload(window: Window, desk: str) -> None:  # noqa: F811
    window.said.clear()
    window.go(desk)
    window.until("document.querySelector('.person')")
    window.value("document.querySelector('.person').click()")
    fill = "((one) => {{ one.value = '{}'; one.dispatchEvent(new Event('input', {{ bubbles: true }})); }})"
    age = "document.querySelector('[data-feature=Age] input')"
    window.value(f"{fill.format(320)}({age})")
    window.value("document.querySelector('input[name=applied][value=refused]').click()")
    window.value("document.getElementById('send').click()")
    assert window.value("document.activeElement === document.querySelector('#form-errors p')")
    window.check_access()
    window.value(f"{fill.format(80)}({age})")
    assert "Nobody" in window.value("document.querySelector('[data-feature=Age] .care').textContent")
    window.value("document.querySelector('#cases details').open = true")
    window.value(f"{fill.format('44;31000;NewCar;Masters;2')}(document.getElementById('cases-paste'))")
    window.value("document.querySelector('[data-tool^=cases_read]').click()")
    window.until("document.querySelectorAll('.cases tbody tr').length === 1")
    window.value("document.getElementById('cases-keep').click()")
    window.check_access()
    window.reload()
    window.until("document.querySelectorAll('.cases tbody tr').length === 1")
    assert window.value(f"{age}.value") == "80"
    window.value("document.querySelector('[data-tool^=cases_all]').click()")
    window.until("document.getElementById('cases-note').textContent.startsWith('1 of 1')")
    window.value("document.getElementById('cases-keep').click()")
    assert window.value("sessionStorage.length") == 0
    assert window.said == []


@pytest.mark.parametrize("n", [20, 40])
def test_many_fields(window: Window, n: int) -> None:
    with serving(wide(n)) as address:
        assert whole_journey(window, address)
        assert window.value(STOPS) <= 1.5 * n
        assert window.value("document.documentElement.scrollWidth <= window.innerWidth")
