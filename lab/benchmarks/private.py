"""What does keeping no rows cost? ``python -m lab.benchmarks.private``.

The samplers that keep less about people, beside the default and what they are made from: same training rows, same
hidden values, as in ``lab.benchmarks.samplers`` (at most 5,000 rows to fit on, two values hidden in each of 200
held-out rows, 100 draws). Energy score of what was hidden; the difference to the default on the same rows, with its
standard error; how many training rows a bundle would keep, and how many of these are the only one with their values.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from armin.bundle.model import parts_of
from armin.sampling import ChainedEquations, GaussianCopula, NearestDonors, PrivateCopula
from armin.sampling.anonymous import unique_rows
from armin.sampling.assess import assess
from armin.sampling.neighbours import Neighbours
from lab.benchmarks.samplers import split
from lab.experiments.data import FILES, load

WAYS = {
    "chained": ChainedEquations,
    "copula": GaussianCopula,
    "private": PrivateCopula,
    "donors": NearestDonors,
    "donors, groups of 5": lambda: NearestDonors(anonymous=5),
    "donors, groups of 20": lambda: NearestDonors(anonymous=20),
}


def run(name: str, rows: int, seed: int) -> list[dict[str, Any]]:
    """Every way on one data set."""
    data = load(name)
    schema = data.schema.widened(data.X)
    train, test = split(data.X, schema, 5000, seed)
    records: list[dict[str, Any]] = []
    usual = None
    for way, make in WAYS.items():
        sampler = make().fit(train, schema)
        energies = assess(sampler, test, schema=schema, hide=2, n_draws=100, n_rows=rows, random_state=seed).energies
        usual = energies if usual is None else usual
        gap = energies - usual
        kept = [part.codes for part in parts_of(sampler.slim()) if isinstance(part, Neighbours)]
        records.append(
            {
                "dataset": name,
                "sampler": way,
                "energy": float(energies.mean()),
                "more": float(gap.mean()),
                "error": float(gap.std(ddof=1) / np.sqrt(gap.size)),
                "rows": sum(map(len, kept)),
                "unique": sum(unique_rows(table)[1] for table in kept),
            }
        )
    return records


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m lab.benchmarks.private", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--datasets", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    records = [record for name in args.datasets for record in run(name, args.rows, args.seed)]
    for r in records:
        print(
            f"{r['dataset']:<14}{r['sampler']:<22}{r['energy']:7.3f}  {r['more']:+.3f} ± {r['error']:.3f}"
            f"{r['rows']:>8,}{r['unique']:>8,}"
        )
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(records, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
