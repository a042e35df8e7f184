"""Where the frozen problems are, and what was answered when they were frozen; read without the package."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

FROZEN = Path(__file__).parent / "frozen"
ANSWERS = FROZEN / "answers.json.gz"


def frozen_answers() -> dict[str, Any]:
    """What every question gave when the problems were frozen."""
    found: dict[str, Any] = json.loads(gzip.decompress(ANSWERS.read_bytes()))
    return found


def write_answers(found: dict[str, Any]) -> None:
    """Keep the answers, a line for each, in an archive that depends on nothing but them."""
    lines = (f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in found.items())
    ANSWERS.write_bytes(gzip.compress(("{" + ",\n".join(lines) + "}\n").encode(), mtime=0))
