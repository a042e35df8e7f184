"""One file with all that is needed to explain: written and loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from armin.baselines import METHODS
from armin.bundle.archive import fingerprints, read_archive, read_stored, write_archive, write_stored
from armin.bundle.kept import ROLES, keeps_rows, rows_kept, what_is_kept, what_was_learned
from armin.bundle.like import describe_types, frame_of_types
from armin.bundle.manifest import NATIVE, OBJECT, describe, settings_of
from armin.bundle.model import dump_model, dump_pickle, load_model, load_pickle
from armin.bundle.plain import Reader, Writer
from armin.bundle.probe import check_same
from armin.bundle.sign import admit, make_signature, own_key
from armin.bundle.types import unknown_types
from armin.errors import ArminError, DataError, ModelError, ParameterError
from armin.explain.estimator import Explainer
from armin.explain.parameters import parameter_names
from armin.learned import slim
from armin.recourse.origin import Origin
from armin.sampling import NativeMissing
from armin.schema import Schema
from armin.words.own import OwnWords, check_words, read_words

__all__ = ["Bundle", "load_bundle", "save_bundle"]

LEARNED = (
    "cost_",
    "sampler_",
    "imputer_",
    "people_",
    "others_",
    "carried_",
    "calibrations_",
    "held_out_",
    "background_",
    "blank_columns_",
)
"""What an explainer has learned, by the names under which it is stored."""


@dataclass(frozen=True, eq=False)
class Bundle:
    """A loaded bundle.

    Attributes
    ----------
    explainer : fitted, ready to explain
    manifest : what the bundle says about itself; see ``docs/bundle.md``
    people : prepared applicants, each with "name", "story" and "row"
    letter : a company's own texts by language; to be passed to ``write_letter`` as ``words``
    signer : the fingerprint of the key that signed it; None if nobody did
    caution : what was taken on trust while loading it, in a sentence; empty if nothing was
    """

    explainer: Explainer
    manifest: dict[str, Any]
    people: tuple[dict[str, Any], ...] = ()
    letter: OwnWords = field(default_factory=dict)
    signer: str | None = None
    caution: str = ""

    @property
    def title(self) -> str:
        """What the bundle is about, for people."""
        return str(self.manifest.get("title", ""))

    @property
    def schema(self) -> Schema:
        """The schema."""
        found: Schema = self.explainer.schema
        return found


def save_bundle(
    path: str | Path,
    explainer: Explainer,
    *,
    title: str | None = None,
    people: Sequence[Mapping[str, Any]] | None = None,
    letter: str | Path | OwnWords | None = None,
    created: datetime | None = None,
    trust: bool = False,
    key: str | Path | None = None,
    background: bool | None = None,
) -> Path:
    """Write a fitted explainer into one file, signed.

    Parameters
    ----------
    path : the file; ``.armin`` is the usual ending
    explainer : fitted
    title : what it is about, shown to people
    people : prepared applicants: mappings with "name", "row" and, if wanted, "story"
    letter : a folder with the company's own texts, or these by language; see ``docs/letter.md``. Templates are code
        and stay out of a bundle
    created : the date that the bundle states; now if left out. With the same date, the same explainer gives the
        same bytes
    trust : store what cannot be stored safely all the same; such a bundle is only loaded with ``trust=True``
    key : a PEM file with the Ed25519 private key to sign with; if left out, the user's own, which is made when it is
        first needed; see ``docs/bundle.md``
    background : whether to keep the training rows that reasons compare people with; without them, reasons must be
        given some. If left out, they are kept unless nothing else in the bundle holds whole rows

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = save_bundle(Path(folder) / "loans.armin", explainer, title="Loans")
    ...     bundle = load_bundle(file)
    >>> bundle.title, bundle.explainer.explain(loans.applicant).outcome
    ('Loans', 'plan')
    """
    if METHODS.get(type(explainer).__name__) is not type(explainer):
        raise ParameterError(f"A bundle holds ARMIN, RobustAR or ImputationAR. Got {type(explainer).__name__} instead.")
    signing_key = own_key()[0] if key is None else key
    learned = _learned_by(explainer)
    if not (keeps_rows(learned) if background is None else background):
        learned.pop("background_", None)
    chosen = [_person(explainer, i, person) for i, person in enumerate(people or (), start=1)]
    parts, needs = _parts(explainer, learned, trust=trust)
    if chosen:
        parts["people.json"] = Writer(explainer.schema).json(chosen).encode()
    words = {} if letter is None else check_words(letter if isinstance(letter, Mapping) else _texts(Path(letter)))
    if words:
        parts["letter.json"] = json.dumps(words, ensure_ascii=False, sort_keys=True).encode()
    manifest = describe(explainer, title, created) | {
        "kept": what_is_kept(learned) + (["Prepared applicants, complete with their values."] if chosen else []),
        "learned": what_was_learned(learned),
        "people": len(chosen),
        "rows": dict(zip(("kept", "unique"), rows_kept(learned), strict=True)),
        "letter": sorted(words),
        "trust": needs,
    }
    write_archive(Path(path), manifest, parts, partial(make_signature, key_file=signing_key))
    return Path(path)


def load_bundle(
    path: str | Path, *, trust: bool = False, trusted_keys: Sequence[str | Path] = (), digest: str | None = None
) -> Bundle:
    """Load a bundle that was signed with the user's own key, or with one that is trusted.

    Parameters
    ----------
    path : the file
    trust : whether to load types that are not known to be harmless, and pickles, which run the code they hold; and,
        unless there are ``trusted_keys``, whoever signed it. Say so only for a file from somebody you trust
    trusted_keys : PEM files with the public keys of others whose bundles are loaded
    digest : the SHA-256 of the file, if it must be a certain one

    Returns
    -------
    Bundle
    """
    manifest, parts, (signer, doubt) = read_archive(
        Path(path), partial(admit, trusted=trusted_keys, trust=trust), digest
    )
    method = METHODS.get(str(manifest.get("method")))
    missing = [name for name in ("schema.toml", "settings.json", "like.json") if name not in parts]
    if method is None or missing or ("model.skops" in parts) == ("model.pickle" in parts):
        raise DataError(f"{str(path)!r} is incomplete. Get it again from its source.")
    try:
        schema = Schema.from_toml(parts["schema.toml"].decode() + "\n")
        reader = Reader(
            schema, read_stored(parts["learned.npz"], "learned.npz", arrays=True) if "learned.npz" in parts else {}
        )
        learned = _learned(parts, reader, trust=trust)
        model, unknown = _model(parts, trust=trust)
        like = frame_of_types(reader.read(parts["like.json"]))
        origin = Origin(**fingerprints(manifest))
        explainer = _explainer(method, model, schema, reader.read(parts["settings.json"]), learned, like, origin)
        people = reader.read(parts["people.json"]) if "people.json" in parts else []
        chosen = tuple(_person(explainer, i, person) for i, person in enumerate(people, start=1))
        letter = check_words(json.loads(parts.get("letter.json", b"{}")))
    except ArminError:
        raise
    except Exception as error:  # a part that is well-formed but makes no sense
        raise DataError(
            f"{str(path)!r} cannot be loaded ({type(error).__name__}). It is damaged, or was made with other versions "
            "of the libraries; 'armin inspect' shows which."
        ) from None
    taken = [doubt] if doubt else []
    taken += [f"holds types that are not known to be harmless: {', '.join(unknown)}"] if unknown else []
    caution = f"Loaded on trust: {str(path)!r} {' and '.join(taken)}." if taken else ""
    return Bundle(explainer, manifest, chosen, letter, signer, caution)


def _parts(explainer: Explainer, known: dict[str, Any], *, trust: bool) -> tuple[dict[str, bytes], list[str]]:
    """The parts, and what in them needs trust."""
    writer = Writer(explainer.schema)
    parts = {
        "schema.toml": explainer.schema.to_toml().encode(),
        "settings.json": writer.json(settings_of(explainer)).encode(),
        "like.json": writer.json(describe_types(explainer.fitted_.like)).encode(),
    }
    if Schema.from_toml(parts["schema.toml"].decode()) != explainer.schema:
        raise ModelError("The schema does not survive being written as TOML. Are its categories texts and numbers?")
    needs: list[str] = []
    learned = {name: slim(value) for name, value in known.items()}
    try:
        parts["learned.json"] = writer.json(learned).encode()
        parts["learned.npz"] = write_stored(writer.arrays)
    except ModelError:
        if not trust:
            raise
        parts["learned.pickle"] = dump_pickle(learned)
        needs.append("learned.pickle")
    try:
        data = dump_model(explainer.classifier)
        unknown = unknown_types(data)
        if unknown and not trust:
            raise ModelError(
                f"The classifier holds types that are not known to be harmless: {', '.join(unknown)}. Store them all "
                "the same with trust=True; the bundle then loads with trust=True only."
            )
        check_same(explainer, load_model(data, trust=trust)[0])
        parts["model.skops"] = data
        needs += unknown
    except ModelError:
        if not trust:
            raise
        parts["model.pickle"] = dump_pickle(explainer.classifier)
        needs.append("model.pickle")
    return parts, needs


def _learned_by(explainer: Explainer) -> dict[str, Any]:
    """What an explainer has learned, by name."""
    fitted = explainer.current
    found = {"cost_": fitted.cost, "sampler_": fitted.sampler, "imputer_": fitted.imputer}
    found |= {name: getattr(explainer, name) for name in LEARNED if hasattr(explainer, name)}
    return {name: value for name, value in found.items() if value is not None}


def _explainer(
    method: type[Explainer],
    model: Any,
    schema: Schema,
    settings: Any,
    learned: Any,
    like: pd.DataFrame | None,
    origin: Origin,
) -> Explainer:
    if not isinstance(settings, dict) or not isinstance(learned, dict) or {"cost_", "sampler_"} - set(learned):
        raise DataError("The bundle lacks its settings, its cost or its sampler. Get it again from its source.")
    unknown = sorted(set(settings) - set(parameter_names(method)) | {"classifier", "schema"} & set(settings))
    if unknown:
        raise DataError(f"The bundle has a setting {unknown[0]!r} that this version does not know. Update ARMIN.")
    for name in ROLES:
        if settings.get(name) == (OBJECT,):
            settings[name] = learned[f"{name}_"]
        elif settings.get(name) == (NATIVE,):
            settings[name] = NativeMissing(judge=learned[f"{name}_"])
    explainer = method.from_settings(model, schema, **settings)
    cost, sampler, imputer = (learned.pop(name, None) for name in ("cost_", "sampler_", "imputer_"))
    along, blanks = learned.pop("along_", None), learned.pop("blank_columns_", None)
    explainer.bind(like, cost=cost, sampler=sampler, imputer=imputer, origin=origin, along=along, blank_columns=blanks)
    explainer.__dict__.update(learned)
    return explainer


def _learned(parts: dict[str, bytes], reader: Reader, *, trust: bool) -> Any:
    if "learned.pickle" in parts:
        return load_pickle(parts["learned.pickle"], "What the explainer has learned", trust=trust)
    found = reader.read(parts.get("learned.json", b"null"))
    if isinstance(found, dict) and set(found) - set(LEARNED):
        raise DataError("The bundle has learned something that an explainer does not have. Get it from its source.")
    return found


def _model(parts: dict[str, bytes], *, trust: bool) -> tuple[Any, list[str]]:
    """The classifier, and what in the bundle needed trust."""
    pickles = [name for name in parts if name.endswith(".pickle")]
    if "model.pickle" in parts:
        return load_pickle(parts["model.pickle"], "The classifier", trust=trust), pickles
    model, unknown = load_model(parts["model.skops"], trust=trust)
    return model, pickles + unknown


def _texts(folder: Path) -> dict[str, dict[str, Any]]:
    """A company's texts; templates beside them are code, which a bundle does not carry."""
    layouts = sorted(path.name for path in folder.glob("letter.*"))
    if layouts:
        raise ParameterError(
            f"{layouts[0]!r} is a template, and a bundle carries texts only. Take it out of the folder, and name its "
            "folder where letters are written: armin letter --templates, armin serve --templates."
        )
    return read_words(folder)


def _person(explainer: Explainer, number: int, person: Any) -> dict[str, Any]:
    """A prepared applicant with plain values, checked against the schema."""
    if not isinstance(person, Mapping) or not isinstance(person.get("row"), Mapping) or not person.get("name"):
        raise ParameterError(f"Prepared applicant {number} needs a 'name' and a 'row' (a mapping of column to value).")
    try:
        codes = explainer.schema.encode(person["row"])[0]
    except DataError as error:
        raise DataError(f"Prepared applicant {number}: {error}") from None
    row: dict[str, Any] = {f.name: f.value(float(code)) for f, code in zip(explainer.schema, codes, strict=True)}
    for name, (value,) in explainer.schema.carried_by(person["row"]).values.items():
        row[name] = value.isoformat() if isinstance(value, date) else value  # as JSON has it
    return {"name": str(person["name"]), "story": str(person.get("story") or ""), "row": row}
