"""``python -m lab.experiments list``, ``run NAME``, ``report``."""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # one thread for each process: times can be compared, and sums do not vary

from lab.experiments.cli import main  # noqa: E402  the libraries read these when they are loaded

if __name__ == "__main__":
    main()
