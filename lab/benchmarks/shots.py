"""Pictures of the demo's page, as the documentation shows them.

python -m lab.benchmarks.shots docs/img
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path
from typing import Any

from armin.bundle import load_bundle
from armin_desk.demo import save_demo_bundle
from lab.benchmarks.page import serving

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 360, "height": 780}


def shoot(browser: Any, address: str, file: Path, *, letter: bool = False, **look: Any) -> None:
    """Alex's plan, with all that comes with it, or the letter about it."""
    page = browser.new_page(locale="en-GB", reduced_motion="reduce", **look)
    page.set_default_timeout(60_000)
    page.goto(address)
    page.locator(".person").first.click()
    page.locator("input[name=applied][value=refused]").check()
    page.locator("#send").click()
    page.locator(".step-sentence").first.wait_for()
    page.locator(".waiting").first.wait_for(state="detached")
    while page.locator(".waiting").count():
        page.wait_for_timeout(50)
    if letter:
        page.locator("#plan .second-button").first.click()
        page.locator("#letter-print:not([disabled])").wait_for()
    page.evaluate("document.activeElement.blur()")
    page.evaluate("window.scrollTo(0, 0)")
    if look["viewport"] is PHONE:
        page.locator("#answer").scroll_into_view_if_needed()
        page.evaluate("document.getElementById('answer').scrollIntoView()")
    page.screenshot(path=file)
    page.close()


def main() -> None:
    from playwright.sync_api import sync_playwright

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    with tempfile.TemporaryDirectory() as made:
        bundle = load_bundle(save_demo_bundle(made))
    with sync_playwright() as playwright, serving(bundle) as address:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shoot(browser, address, folder / "desk-top-light.png", viewport=DESKTOP)
        shoot(browser, address, folder / "desk-phone-top-light.png", viewport=PHONE)
        shoot(browser, address, folder / "desk-plan-dark.png", viewport=DESKTOP, color_scheme="dark")
        shoot(browser, address, folder / "desk-letter.png", viewport=DESKTOP, letter=True)
        browser.close()


if __name__ == "__main__":
    main()
