"""What a bundle says about itself: settings, versions, the date."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

import numpy as np

from armin.bundle.archive import FORMAT
from armin.bundle.kept import ROLES
from armin.errors import ModelError
from armin.explain.estimator import Explainer
from armin.explain.parameters import all_parameters
from armin.sampling import NativeMissing

__all__ = ["NATIVE", "OBJECT", "describe", "settings_of"]

LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn", "skops", "xgboost", "lightgbm", "catboost", "torch")
NATIVE = "native missing"
OBJECT = "as fitted"


def describe(explainer: Explainer, title: str | None, created: datetime | None) -> dict[str, Any]:
    """The manifest, but for what is known once the parts are there."""
    return {
        "format": f"armin.bundle/{FORMAT}",
        "armin": _version("armin"),
        "created": _moment(created),
        "title": " ".join((title or "").split()) or "Recourse",
        "method": type(explainer).__name__,
        "desired": [_shown(label) for label in explainer.fitted_.labels],
        "model": _names(explainer.classifier),
        "features": explainer.schema.names,
        "settings": {name: _shown(value) for name, value in settings_of(explainer).items() if name != "desired"},
        "libraries": {"python": python_version()} | {name: v for name in LIBRARIES if (v := _version(name))},
    }


def settings_of(explainer: Explainer) -> dict[str, Any]:
    """The parameters, the experts' options among them; objects that are fitted are stored with what was learned."""
    settings = {k: v for k, v in all_parameters(explainer).items() if k not in ("classifier", "schema")}
    wanted = settings["desired"]
    labels = wanted.tolist() if isinstance(wanted, np.ndarray) else wanted
    settings["desired"] = [_label(one) for one in labels] if _several(labels) else _label(labels)
    for name in ROLES:
        if isinstance(settings.get(name), NativeMissing):
            settings[name] = (NATIVE,)
        elif name in settings and not isinstance(settings[name], str):
            settings[name] = (OBJECT,)
    return settings


def _names(classifier: Any) -> list[str]:
    """The classes of a pipeline's steps, or of the classifier alone."""
    steps = getattr(classifier, "steps", None)
    return [type(step).__name__ for _, step in steps] if steps else [type(classifier).__name__]


def _several(labels: Any) -> bool:
    return isinstance(labels, list | tuple | set | frozenset)


def _label(label: Any) -> Any:
    plain = label.item() if isinstance(label, np.generic) else label
    if not isinstance(plain, bool | int | float | str):
        raise ModelError(f"The desired label {label!r} cannot be stored. Labels must be texts, numbers or booleans.")
    return plain


def _shown(value: Any) -> Any:
    if value == (NATIVE,) or value == (OBJECT,):
        return value[0]
    plain = value.item() if isinstance(value, np.generic) else value
    return plain if plain is None or isinstance(plain, bool | int | float | str) else str(plain)


def _moment(created: datetime | None) -> str:
    if created is None:
        # https://reproducible-builds.org: the date to state where the build is to be repeatable
        epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
        created = datetime.fromtimestamp(int(epoch), UTC) if epoch.isdigit() else datetime.now(UTC)
    return created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
