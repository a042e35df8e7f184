"""200 answers of the desk over HTTP: every route and every refusal, on the demo's two bundles."""

from __future__ import annotations

import datetime
import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from babel.dates import format_date

from armin.bundle import load_bundle
from armin.bundle.sign import PRIVATE, PUBLIC, make_key
from armin.datasets import make_loans
from armin_desk.app import create_app
from armin_desk.demo import demo_people, save_demo_bundle
from lab.same.timeless import timeless

API = "/api/v1"
BLANKS = (("Income",), ("Education",), ("Income", "Education"), ("Income", "ExistingLoans"), ("Purpose",))
BUNDLES = {"linear": False, "forest": True}

Request = tuple[str, str, str, dict[str, Any]]
"""A name, a method, a path, and what ``TestClient.request`` is given besides."""


def answers(progress: Callable[[str], None] = lambda _: None) -> Iterator[tuple[str, Any]]:
    """Status, type and body of each answer, by bundle and request."""
    from fastapi.testclient import TestClient

    warnings.simplefilter("ignore")
    for name, forest in BUNDLES.items():
        progress(name)
        with tempfile.TemporaryDirectory() as folder:
            make_key(Path(folder))  # not the user's own
            file = save_demo_bundle(folder, forest=forest, key=Path(folder) / PRIVATE)
            bundle = load_bundle(file, trusted_keys=[Path(folder) / PUBLIC])
        with TestClient(create_app(bundle), base_url="http://localhost", raise_server_exceptions=False) as client:
            for what, method, path, more in requests():
                yield f"{name} {what}", _seen(client.request(method, path, **more))


def _seen(response: Any) -> dict[str, Any]:
    kind = response.headers.get("content-type", "")
    seen: dict[str, Any] = {"status": response.status_code, "type": kind}
    if "json" in kind and response.content:
        return seen | {"body": timeless(response.json())}
    text = response.text if kind.startswith(("text/", "image/svg")) else response.content.hex()
    if "# HELP" in text:  # counters: their names and what they are, without what was counted
        text = "\n".join(sorted(set(re.findall(r"^# .*", text, re.MULTILINE))))
    return seen | {"body": _undated(text)}


def _undated(text: str) -> str:
    """A text without the date of today."""
    today = datetime.date.today()
    for locale in ("en_GB", "en_US", "de_DE"):
        date = format_date(today, "long", locale=locale)
        text = text.replace(date, "TODAY").replace(date.replace(" ", "\u00a0"), "TODAY")
    return text.replace(today.isoformat(), "TODAY")


def requests() -> Iterator[Request]:
    """What is asked of each bundle."""
    yield from _questions()
    yield from _views()
    yield from _refusals()


def _post(name: str, route: str, row: Any, **more: Any) -> Request:
    return f"{route}: {name}", "POST", f"{API}/{route}", {"json": {"row": row, **more}}


def _rows() -> dict[str, dict[str, Any]]:
    """The three people of the demo, and five rejected ones of the data with blanks."""
    loans = make_loans()
    rows = {person["name"]: dict(person["row"]) for person in demo_people(loans)}
    rejected = loans.X[loans.y == "rejected"]
    for number, blank in enumerate(BLANKS):
        found = json.loads(pd.Series(rejected.iloc[100 * number]).to_json())
        rows[f"row {number}"] = {name: None if name in blank else value for name, value in found.items()}
    return rows


def _questions() -> Iterator[Request]:
    rows = _rows()
    alex, bo, charlie = rows["Alex"], rows["Bo"], rows["Charlie"]
    for name, row in rows.items():
        yield _post(name, "recourse", row)
        yield _post(name, "path", row)
    spoken = ["en", "de"]
    plain = {name: value for name, value in alex.items() if value is not None}
    yield _post("said", "recourse", alex, languages=spoken)
    yield _post("left out", "recourse", plain)
    for share in (0.5, 0.95, 1):
        yield _post(f"confidence {share}", "recourse", alex, confidence=share)
    yield _post("locked", "recourse", alex, locked=["ExistingLoans"])
    yield _post("all locked", "recourse", alex, locked=["ExistingLoans", "Purpose", "Education"], languages=spoken)
    yield _post("hard", "recourse", alex, difficulty={"ExistingLoans": "very hard", "Purpose": "easy"})
    yield _post("private", "recourse", bo, why={"Income": "private", "Education": "unknown"}, languages=spoken)
    for decision in ("auto", "complete", "blank", "none"):
        yield _post(f"decision {decision}", "recourse", bo, decision=decision)
    for reapply in ("disclosed", "blank", "either"):
        yield _post(f"reapply {reapply}", "recourse", bo, reapply=reapply)
    yield _post("path said", "path", bo, languages=spoken)
    yield _post("path locked", "path", alex, locked=["Purpose"], difficulty={"Education": "hard"})
    for name in ("Alex", "Bo", "row 2"):
        yield _post(name, "alternatives", rows[name], languages=spoken)
    for count in (1, 5):
        yield _post(f"{count} plans", "alternatives", alex, count=count)
    for name in ("Alex", "Bo", "Charlie"):
        yield _post(name, "ask", rows[name], languages=spoken)
    for reference in ("average", "accepted", "nearest", "threshold"):
        yield _post(f"{reference}", "reasons", alex, reference=reference, languages=spoken)
    yield _post("Bo", "reasons", bo)
    for number, idea in enumerate(({"ExistingLoans": 1}, {"Purpose": "Repairs"}, {"Income": 60_000}, {"Age": 40}, {})):
        yield _post(f"idea {number}", "what_if", alex, changes=idea, languages=spoken)
    yield _post("two changes", "what_if", bo, changes={"ExistingLoans": 0, "Education": "Masters"})
    quoted = {"reference": "DJGZF-52FHD-41"}
    for language in spoken:
        yield _post(language, "letter", alex, language=language, applicant="Ada Lovelace", **quoted)
    yield _post("choice", "letter", alex, choice=1, recipient=["Ada Lovelace", "1 Park Lane"], **quoted)
    yield _post("no plan", "letter", alex, locked=["ExistingLoans", "Purpose", "Education"], **quoted)
    yield _post("accepted", "letter", charlie, **quoted)


def _views() -> Iterator[Request]:
    views = ("/healthz", "/livez", "/readyz", "/metrics", f"{API}/openapi.json", f"{API}/schema", "/", "/words.json")
    more = (f"{API}/schema?language=de", f"{API}/schema?language=xx", "/words.json?languages=de-AT,en", "/no-such-page")
    for path in (*views, *more):
        yield f"GET {path}", "GET", path, {}
    yield "HEAD /healthz", "HEAD", "/healthz", {}
    yield "DELETE recourse", "DELETE", f"{API}/recourse", {}


def _refusals() -> Iterator[Request]:
    row, path = _rows()["Alex"], f"{API}/recourse"
    kind = {"content-type": "application/json"}
    bodies = {
        "no JSON": b"row", "NaN": b'{"row": {"Age": NaN}}', "twins": b'{"row": {}, "row": {}}', "list": b"[]",
        "nothing": b"", "nested": b"[" * 20_000, "no text": b'{"row": "\xff"}', "large": b" " * 70_000,
    }  # fmt: skip
    for name, body in bodies.items():
        yield f"refused: {name}", "POST", path, {"content": body, "headers": kind}
    yield "refused: form", "POST", path, {"data": {"row": "1"}}
    yield "refused: host", "POST", path, {"json": {"row": row}, "headers": {"host": "elsewhere.example"}}
    wrong: dict[str, tuple[str, Any, dict[str, Any]]] = {
        "no row": ("recourse", None, {}),
        "unknown column": ("recourse", row | {"Shoes": 44}, {}),
        "text for a number": ("recourse", row | {"Age": "old"}, {}),
        "out of bounds": ("recourse", row | {"Income": -1}, {}),
        "unknown category": ("recourse", row | {"Purpose": "Yacht"}, {}),
        "unknown field": ("recourse", row, {"colour": "red"}),
        "confidence 0": ("recourse", row, {"confidence": 0}),
        "unknown lock": ("recourse", row, {"locked": ["Shoes"]}),
        "language": ("recourse", row, {"languages": ["tlh"]}),
        "difficulty": ("recourse", row, {"difficulty": {"Age": "painful"}}),
        "why of a value": ("recourse", row, {"why": {"Age": "private"}}),
        "count 0": ("alternatives", row, {"count": 0}),
        "no such point": ("alternatives", row, {"point": 0.123}),
        "point and confidence": ("alternatives", row, {"point": 0.75, "confidence": 0.75}),
        "choice 4": ("letter", row, {"choice": 4}),
        "reference": ("letter", row, {"reference": "?"}),
        "no changes": ("what_if", row, {}),
        "several at once": ("recourse", row | {"Age": "old", "Income": -1}, {"confidence": 2, "locked": ["Shoes"]}),
    }
    for name, (route, given, more) in wrong.items():
        yield _post(f"refused: {name}", route, given, **more)
