"""What is special to the search over tree ensembles; the rest is in the contract of all searches."""

from __future__ import annotations

import numpy as np

from armin.models.kinds import Above
from armin.problem import Options, Problem
from armin.solve.search import search_path

from problems import stump, stumps
from searching import check_path


def test_many_weights_make_a_long_path() -> None:
    # weights 1, 2, 4, 8, each with a stump of its own: more points than candidates
    rng = np.random.default_rng(0)
    n = 4
    outcomes = np.zeros((n, 16, 1))
    outcomes[:, 0, 0] = -1.0 - np.arange(n)
    for j in range(1, 16):
        outcomes[:, j, 0] = np.where((j >> np.arange(n)) & 1, 1.0 + np.arange(n), -1.0 - np.arange(n))
    options = (Options("x", np.array([0]), outcomes, np.append(0.0, np.sort(rng.random(15)))),)
    weights = 2.0 ** np.arange(n)
    problem = Problem(outcomes[:, 0], options, stumps([stump(0, 0.0, -1, 1)], 1, Above(0.0)), 1.0, weights)
    path = search_path(problem)
    assert [p.weight for p in path] == [float(w) for w in range(1, 16)]
    check_path(problem, path)
