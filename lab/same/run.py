"""All answers of one part by the code of one tree, as a file: ``python -m lab.same.run PART FILE``.

It runs in a process of its own, so that the tree at hand and a reference are never loaded together.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    part, out = sys.argv[1], Path(sys.argv[2])
    start = time.process_time()

    def progress(name: str) -> None:
        if os.environ.get("LAB_PROGRESS"):
            print(f"{time.process_time() - start:6.1f} s  {part}  {name}", file=sys.stderr, flush=True)

    found = dict(importlib.import_module(f"lab.same.{part}").answers(progress))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"seconds": round(time.process_time() - start, 1), "answers": found}), encoding="utf-8")


if __name__ == "__main__":
    main()
