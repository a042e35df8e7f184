"""From the files that a command names to an explainer and its rows."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armin.cli.answers import opened
from armin.cli.files import check_columns, match_label, read_estimator, read_schema, read_table, shown, without_label
from armin.cli.hygiene import tell
from armin.cli.options import Method, People, Settings, Source, Training
from armin.errors import DataError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from armin.bundle import Bundle
    from armin.explain.estimator import Explainer
    from armin.schema import Schema

__all__ = ["build_explainer", "felt", "open_bundle", "open_explainer", "open_source", "read_people", "signing_key"]

NAMES = {"samples": "options__n_samples", "seed": "random_state", "time_limit": "options__time_limit"}
"""Options whose parameter is called otherwise."""

ONLY_FOR = {"confidence": ("ARMIN",), "samples": ("ARMIN", "RobustAR")}
"""Settings that not every method has."""

FREE = ("confidence", "decision", "reapply", "samples", "max_changes", "time_limit", "seed")
"""Settings that a bundle leaves open; the others are part of what was learned."""

NEEDED = ("model", "train", "schema", "desired")


def open_explainer(source: Source, settings: Settings) -> Explainer:
    """The explainer, from a bundle or from scratch."""
    return open_source(source, settings)[0]


def open_source(source: Source, settings: Settings) -> tuple[Explainer, Mapping[str, Any] | None]:
    """The explainer, from a bundle or from scratch, and the bundle's own texts if it has any."""
    if source.bundle is None:
        if source.trusted_key:
            raise ParameterError("--trusted-key is about a bundle. Name one with --bundle, or leave it out.")
        return build_explainer(source, settings), None
    twice = [name for name in NEEDED if getattr(source, name)]
    if twice:
        raise ParameterError(f"--bundle holds what --{twice[0]} says. Give one of the two.")
    with _uncollected():
        import scipy.special  # noqa: F401  before pandas: skops looks through all modules for its functions, oldest first

        bundle = open_bundle(source.bundle, trust=source.trust, trusted_key=source.trusted_key)
    return _changed(bundle.explainer, settings.given()), bundle.letter or None


def open_bundle(file: Path, *, trust: bool, trusted_key: Sequence[Path] | None) -> Bundle:
    """A loaded bundle; what was taken on trust is said on standard error."""
    from armin.bundle import load_bundle

    bundle = load_bundle(file, trust=trust, trusted_keys=trusted_key or ())
    if bundle.caution:
        tell(bundle.caution, err=True)
    return bundle


def signing_key(key: Path | None) -> Path:
    """The file of the key to sign with: the one that was named, or the user's own, which may have to be made."""
    from armin.bundle.sign import PUBLIC, own_key

    if key is not None:
        return key
    file, made = own_key()
    if made is not None:
        tell(
            f"Made the key that signs your bundles: {file}; keep it to yourself. Its public half is "
            f"{file.with_name(PUBLIC)}, with the fingerprint {made}: who loads your bundles elsewhere names it with "
            "--trusted-key.",
            err=True,
        )
    return file


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without a look for garbage: libraries leave none as they are loaded, and looking takes a tenth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was:
            gc.enable()


def build_explainer(training: Training, settings: Settings) -> Explainer:
    """The explainer, made and fitted."""
    from armin.baselines import METHODS

    given = settings.given()
    method = str(given.pop("method", Method.ARMIN))
    _check_settings(method, given)
    missing = [name for name in NEEDED if not getattr(training, name)]
    if training.model is None or training.train is None or training.schema is None or not training.desired:
        either = "Name a bundle with --bundle, or all of" if isinstance(training, Source) else "Name all of"
        raise ParameterError(f"{either} --model, --train, --schema and --desired. Missing: --{', --'.join(missing)}.")
    estimator = read_estimator(training.model, trust=training.trust)
    schema = read_schema(training.schema)
    labels = [match_label(estimator, text) for text in training.desired]
    named = {NAMES.get(name, name): value for name, value in given.items()}
    explainer: Explainer = METHODS[method](estimator, schema, desired=labels).set_params(**named)
    where = str(training.train)
    frame = without_label(read_table(where, schema), training.label_column, where)
    check_columns(frame, schema, where, "If it holds the label, add --label-column")
    return explainer.fit(frame)


def _changed(explainer: Explainer, given: dict[str, Any]) -> Explainer:
    """A loaded explainer with what may be said anew."""
    method = type(explainer).__name__
    if given.pop("method", method) != method:
        raise ParameterError(f"--method is fixed in the bundle: {method}. Pack another one for another method.")
    _check_settings(method, given)
    for name, value in given.items():
        if name not in FREE:
            raise ParameterError(f"--{name} is fixed in the bundle, as it was learned with it. Pack another one.")
        explainer.set_params(**{NAMES.get(name, name): value})
        if name == "confidence" and getattr(explainer, "promise", None) is not None:
            explainer.promise = None  # who asks for a confidence does not ask for the promise
    explainer.check()
    return explainer


def _check_settings(method: str, given: dict[str, Any]) -> None:
    for name, methods in ONLY_FOR.items():
        if name in given and method not in methods:
            raise ParameterError(f"--{name} does not apply to {method}, only to {' and '.join(methods)}.")


def felt(explainer: Explainer, difficulty: Sequence[str] | None) -> Explainer:
    """The explainer for people who find some changes harder, or easier, than usual: NAME=HOW for each."""
    said: dict[str, float | str] = {}
    for one in difficulty or ():
        name, equals, how = one.rpartition("=")
        if not equals:
            raise ParameterError(f"--difficulty must be written NAME=HOW, such as Income=hard. Got {one!r} instead.")
        try:
            said[name] = float(how)
        except ValueError:
            said[name] = how
    return explainer.with_difficulty(said) if said else explainer


def read_people(people: People, schema: Schema, label_column: str | None = None) -> pd.DataFrame:
    """The rows to explain, named by the id column, or by their number from 1."""
    for name in people.locked or ():
        schema.position(name)
    frame = read_table(people.rows, schema, text=people.id_column, kind=people.format)
    if label_column is not None and label_column in frame.columns:
        frame = frame.drop(columns=label_column)
    if people.id_column is None:
        frame.index += 1
    elif people.id_column in frame.columns:
        # what the model gets to see is not taken away from it
        frame = frame.set_index(people.id_column, drop=people.id_column not in schema.columns)
    else:
        raise DataError(f"{shown(people.rows)} has no column {people.id_column!r}, the --id-column.")
    check_columns(frame, schema, people.rows, "If it names the person, add --id-column")
    return schema.frame(frame)


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all, or say plainly why not."""
    with opened(path) as stream:
        stream.write(text)
