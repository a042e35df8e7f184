"""Requests made up from the API's own description: legal ones are answered as described, others are refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, settings
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from armin import ARMIN, Schema

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")
schemathesis = pytest.importorskip("schemathesis", minversion="4")
pytestmark = pytest.mark.filterwarnings("ignore")

from schemathesis import GenerationMode  # noqa: E402
from schemathesis.checks import load_all_checks  # noqa: E402
from schemathesis.config import (  # noqa: E402
    GenerationConfig,
    ProjectConfig,
    ProjectsConfig,
    SchemathesisConfig,
)

from armin_desk.app import create_app  # noqa: E402
from armin_desk.settings import DeskSettings  # noqa: E402

load_all_checks()
LEGAL_BUT_REFUSED = (
    "The row is all blanks", "'choice' must be one of the", "decision='blank' needs", "reapply=", "'point' ",
    "'why' must name",
    "The field '",  # of a letter: a text that is no date, or holds nothing to be seen
)  # fmt: skip
"""What JSON Schema cannot say: somebody must be there, a plan that is chosen must exist, a point must be of this row's
path, the model must be able to answer the question about blanks, and what is told has no reason to be blank."""


def made_up(mode):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"income": rng.integers(10, 60, 200), "debt": rng.uniform(0, 9, 200).round(1)})
    X["kind of home"] = rng.choice(["rented", "own/shared", "~"], 200)
    y = np.where(X["income"] - 3 * X["debt"] + 4 * (X["kind of home"] == "~") > 20, "approved", "rejected")
    encode = make_column_transformer((OneHotEncoder(), ["kind of home"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=500)).fit(X, y)
    schema = Schema.infer(X, immutable=["income"])
    explainer = ARMIN.from_settings(model, schema, desired="approved", sampler="marginal", n_samples=5, n_fresh=0).fit(
        X
    )
    bundle = SimpleNamespace(explainer=explainer, title="Loans", people=(), manifest={})
    app = create_app(bundle, DeskSettings(hosts=("*",), time_limit=2.0, grace=60.0))
    generation = GenerationConfig(modes=[mode], deterministic=True)
    config = SchemathesisConfig(
        projects=ProjectsConfig(default=ProjectConfig(generation=generation, request_timeout=120))
    )
    return schemathesis.openapi.from_asgi("/api/v1/openapi.json", app, config=config)


legal, illegal = made_up(GenerationMode.POSITIVE), made_up(GenerationMode.NEGATIVE)
FEW = settings(
    max_examples=8, deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
MORE = settings(FEW, max_examples=25)


@legal.parametrize()
@FEW
def test_what_fits_the_description_is_answered_as_described(case):
    response = case.call()
    case.validate_response(response, excluded_checks=[schemathesis.checks.positive_data_acceptance])
    if response.status_code != 200:
        assert response.status_code == 422, response.text
        assert response.json()["detail"].startswith(LEGAL_BUT_REFUSED)


@illegal.include(method="POST").parametrize()
@MORE
def test_what_does_not_fit_is_refused_in_plain_words(case):
    response = case.call_and_validate()
    assert 400 <= response.status_code < 500
    assert response.headers["content-type"] == ["application/problem+json"]
    assert "Traceback" not in response.text
