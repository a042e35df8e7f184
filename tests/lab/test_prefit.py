"""What the experiments learn once and give to every method."""

from __future__ import annotations

import pickle

from lab.experiments.methods.prefit import Prefit
from sklearn.base import clone

from armin import ARMIN

from worlds import make_world


def test_a_prefit_cost_and_sampler_are_shared_and_not_fitted_again() -> None:
    world = make_world(4, "linear")
    settings = {"desired": "yes", "sampler": "donors", "n_samples": 10, "n_fresh": 20}
    explainer = ARMIN.from_settings(world.classifier, world.schema, **settings).fit(world.X)
    shared = {"cost": Prefit(explainer.fitted_.cost), "sampler": Prefit(explainer.fitted_.sampler)}
    other = ARMIN.from_settings(world.classifier, world.schema, **(settings | shared))
    other.fit(world.X.head(30))  # would learn something else
    assert other.fitted_.sampler.fitted is explainer.fitted_.sampler
    assert other.explain(world.row).changes == explainer.explain(world.row).changes
    assert clone(other).sampler is shared["sampler"]
    assert pickle.loads(pickle.dumps(other)).explain(world.row) == other.explain(world.row)
