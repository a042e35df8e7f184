"""What is inside a bundle, for whoever has not decided to load it: as found, and what its packer says of it."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from armin.bundle.archive import Signed, fingerprints, read_archive, read_stored
from armin.bundle.sign import signer_of
from armin.bundle.types import unknown_types
from armin.errors import ArminError, DataError, MissingDependencyError
from armin.letter.own import check_words
from armin.toml import parse_toml

__all__ = ["CLAIMED", "inspect_bundle", "own_texts"]

CLAIMED = ("title", "created", "armin", "libraries", "kept")
"""What only the packer can know, and the file cannot show."""


def inspect_bundle(path: str | Path) -> dict[str, Any]:
    """What is inside a bundle, with checksums verified; no model is loaded and no code is run.

    Parameters
    ----------
    path : the file

    Returns
    -------
    dict
        As found in the file: "features", "settings", "desired", "model" (the classes of its steps), "trust" (what is
        not loaded without trust), "learned" (the classes of what was learned, how many arrays it has, and how many
        whole rows stand in the longest of them), "people", "letter", "bytes", "fingerprint" (SHA-256 of the model, the
        schema and the whole) and "signed" (the key's fingerprint, and whether the signature is right). As its packer
        says: the entries of ``CLAIMED``, and what else the manifest holds.
    """
    manifest, parts, signed = read_archive(Path(path))
    needs = [name for name in parts if name.endswith(".pickle")]
    model = parts.get("model.skops")
    if model is not None:
        needs += unknown_types(model)
    settings, columns = _settings(parts), _columns(parts)
    found = {
        "features": columns,
        "desired": _several(settings.pop("desired", [])),
        "settings": settings,
        "model": ["model.pickle"] if model is None else _steps(model),
        "learned": _learned(parts, len(columns)),
        "people": _count(parts),
        "trust": needs,
        "letter": sorted(own_texts(parts)),
        "kept": _sentences(manifest.get("kept")),
        "bytes": Path(path).stat().st_size,
        "signed": _signer(signed),
    }
    return manifest | found | {"fingerprint": fingerprints(manifest)}


def own_texts(parts: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    """A company's texts by language, whatever the part claims."""
    try:
        return check_words(json.loads(parts.get("letter.json", b"{}")))
    except ArminError as error:
        raise DataError(f"The bundle's texts cannot be used: {error}") from None
    except (ValueError, RecursionError):
        raise DataError("The bundle's texts cannot be read. Get it again from its source.") from None


def _sentences(said: Any) -> list[str]:
    """What a packer says, if it is said in sentences."""
    return [str(one) for one in said] if isinstance(said, list) else []


def _signer(signed: Signed) -> dict[str, Any] | None:
    """Who signed; ``valid`` is None where nobody here can tell."""
    if signed.signature is None:
        return None
    try:
        return {"key": signer_of(*signed), "valid": True}
    except MissingDependencyError:
        return {"key": signed.signature.name, "valid": None}
    except DataError:
        return {"key": signed.signature.name, "valid": False}


def _columns(parts: dict[str, bytes]) -> list[str]:
    try:
        return list(parse_toml(parts["schema.toml"].decode())["features"])
    except (KeyError, TypeError, ValueError):
        raise DataError("The bundle's schema cannot be read. Get it again from its source.") from None


def _settings(parts: dict[str, bytes]) -> dict[str, Any]:
    try:
        return {str(key): _shown(value) for key, value in json.loads(parts["settings.json"])["v"]}
    except (KeyError, TypeError, ValueError, RecursionError):
        raise DataError("The bundle's settings cannot be read. Get it again from its source.") from None


def _shown(value: Any) -> Any:
    """A stored value for people: one in a tuple stands for itself, of an object its class."""
    if isinstance(value, dict) and "$" in value:
        inner = value.get("v")
        if value["$"] == "tuple" and isinstance(inner, list) and len(inner) == 1:
            return _shown(inner[0])
        return inner if isinstance(inner, str | int | float) else str(value["$"])
    return [_shown(one) for one in value] if isinstance(value, list) else value


def _several(labels: Any) -> list[Any]:
    return labels if isinstance(labels, list) else [labels]


def _count(parts: dict[str, bytes]) -> int:
    try:
        return len(json.loads(parts.get("people.json", b"[]")))
    except (TypeError, ValueError, RecursionError):
        raise DataError("The bundle's prepared applicants cannot be read. Get it again from its source.") from None


def _outline(model: bytes) -> Any:
    return json.loads(read_stored(model, "The bundle's model")["schema.json"])


def _steps(model: bytes) -> list[str]:
    """The classes of a pipeline's steps, or of the classifier alone."""
    outline = _outline(model)
    try:
        steps = [step["content"][1] for step in outline["content"]["content"]["steps"]["content"]]
    except (KeyError, IndexError, TypeError):
        steps = [outline]
    return [str(step.get("__class__")) if isinstance(step, dict) else "?" for step in steps]


def _nodes(root: Any) -> Iterator[dict[str, Any]]:
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
        if isinstance(node, dict | list):
            stack.extend(node.values() if isinstance(node, dict) else node)


def _learned(parts: dict[str, bytes], width: int) -> dict[str, Any]:
    """What was learned, by the names of its classes, and how many rows of ``width`` columns stand beside it at most."""
    try:
        outline = json.loads(parts.get("learned.json", b"null"))
    except (ValueError, RecursionError):
        raise DataError("What the bundle has learned cannot be read. Get it again from its source.") from None
    kinds = {str(node["$"]) for node in _nodes(outline) if "$" in node}
    arrays = read_stored(parts["learned.npz"], "learned.npz", arrays=True) if "learned.npz" in parts else {}
    shapes = [np.load(io.BytesIO(array), allow_pickle=False).shape for array in arrays.values()]
    # as many rows as columns may be a table of correlations
    tables = [shape[0] for shape in shapes if len(shape) == 2 and shape[1] == width < shape[0]]
    return {
        "classes": sorted(kind for kind in kinds if kind[:1].isupper()),
        "arrays": len(shapes),
        "rows": max(tables, default=0),
    }
