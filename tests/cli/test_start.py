"""The first second: what a command has to import before it does anything, and what it must not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler
from sklearn.utils import all_estimators

from armin import ARMIN
from armin.bundle import save_bundle
from armin.bundle.types import estimators, known, unknown_types

from worlds import make_world

HEAVY = {"numba", "pandas", "scipy", "sklearn", "skops", "torch", "matplotlib", "jinja2"}


def run(*words: str) -> set[str]:
    """The heavy libraries that a command imported."""
    code = (
        "import sys\nfrom armin.cli import main\nsys.argv = ['armin', *sys.argv[1:]]\n"
        f"try:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code\n"
        f"print('\\nHEAVY', *({HEAVY!r} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return set(done.stdout.rpartition("HEAVY")[2].split())


def test_help_imports_nothing_heavy() -> None:
    assert run("--help") == set()


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("skops")
    world = make_world(3)
    explainer = ARMIN.from_settings(world.classifier, world.schema, desired="yes", n_samples=20).fit(world.X)
    return save_bundle(tmp_path_factory.mktemp("start") / "b.armin", explainer)


def test_looking_at_a_bundle_imports_nothing_heavy(packed: Path) -> None:
    assert run("inspect", str(packed)) == set()


def test_a_short_answer_needs_no_compiler_and_leaves_the_collector_on(packed: Path, tmp_path: Path) -> None:
    """Neither the list of samplers nor a bundle loads Numba: it is worth its while for many rows only."""
    make_world(3).X.head(1).to_csv(tmp_path / "row.csv", index=False)
    code = (
        "import gc, sys\nfrom armin.cli import main\n"
        "sys.argv = ['armin', 'explain', sys.argv[1], '--bundle', sys.argv[2]]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code in (0, 1), end.code\n"
        "assert 'pandas' in sys.modules and 'numba' not in sys.modules\nassert gc.isenabled()"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "row.csv"), str(packed)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_loading_a_bundle_does_not_walk_through_all_of_scikit_learn(packed: Path) -> None:
    code = (
        "import sys\nfrom armin.bundle import load_bundle\nload_bundle(sys.argv[1])\n"
        "import sklearn.utils\nfrom skops.io._trusted_types import SKLEARN_ESTIMATOR_TYPE_NAMES as trusted\n"
        "assert 'sklearn.mixture' not in sys.modules\n"
        "found = sklearn.utils.all_estimators()\n"  # the real one is back
        "names = {f'{one.__module__}.{one.__name__}' for _, one in found}\n"
        "assert set(trusted) == {name for name in names if name.startswith('sklearn.')}"
    )
    done = subprocess.run([sys.executable, "-c", code, str(packed)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_list_of_estimators_is_what_scikit_learn_finds() -> None:
    """A version that is not listed is walked through, so that an empty list is right too."""
    found = {f"{one.__module__}.{one.__name__}" for _, one in all_estimators()}
    # others may have asked for what scikit-learn calls experimental before
    found = {name for name in found if "IterativeImputer" not in name and "Halving" not in name}
    assert estimators() in (frozenset(), {name for name in found if name.startswith("sklearn.")})


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), MLPClassifier((3,), max_iter=3)),
        make_pipeline(SplineTransformer(), LogisticRegression()),
        make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()),
        make_pipeline(FunctionTransformer(np.testing.assert_array_equal), LogisticRegression()),
        RandomForestClassifier(2),
        GradientBoostingClassifier(n_estimators=2),
        HistGradientBoostingClassifier(max_iter=2),
        KNeighborsClassifier(),
    ],
    ids=lambda model: model[0].__class__.__name__ if hasattr(model, "steps") else type(model).__name__,
)
@pytest.mark.filterwarnings("ignore")
def test_what_needs_trust_is_what_skops_says(model: Any) -> None:
    sio = pytest.importorskip("skops.io")
    from armin.bundle.model import dump_model

    X, y = np.random.default_rng(0).random((40, 2)), np.arange(40) % 2
    for step in getattr(model, "steps", [("", model)]):
        if step[1].__class__ is not FunctionTransformer:
            step[1].fit(X, y)
    data = dump_model(model)
    ours = unknown_types(data)
    assert set(ours) == set(sio.get_untrusted_types(data=data)) - known()
    assert ("KDTree" in str(ours)) == isinstance(model, KNeighborsClassifier)
