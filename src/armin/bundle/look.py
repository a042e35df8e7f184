"""What a bundle says about itself, and who says so; nothing in it is interpreted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from armin.bundle.archive import fingerprints, read_archive
from armin.bundle.sign import Signature, own_public, verified_signer
from armin.bundle.types import unknown_types
from armin.errors import DataError, MissingDependencyError

__all__ = ["inspect_bundle"]


def inspect_bundle(path: str | Path) -> dict[str, Any]:
    """What a bundle says about itself, whoever signed it, with checksums verified; nothing is loaded.

    Parameters
    ----------
    path : the file

    Returns
    -------
    dict
        The manifest, which is what its signer says: "title", "created", "features", "desired", "settings", "model" (the
        classes of its steps), "learned" (the classes of what was learned), "kept", "rows", "people", "letter",
        "libraries". As found: "bytes", "fingerprint" (SHA-256 of the model, the schema and the whole), "trust" (what
        is not loaded without trust) and "signed" (the key's fingerprint, whether the signature is valid, and whether
        the key is the user's own; None if nobody signed).
    """
    manifest, parts, signed = read_archive(Path(path), _signer)
    found: dict[str, Any] = {
        "bytes": Path(path).stat().st_size,
        "signed": signed,
        "fingerprint": fingerprints(manifest),
    }
    if not (signed and signed["own"]):  # who signed it here looked at the types while packing; skops takes seconds
        found["trust"] = [name for name in parts if name.endswith(".pickle")]
        found["trust"] += unknown_types(parts["model.skops"]) if "model.skops" in parts else []
    return manifest | found


def _signer(shown: str, manifest: bytes, signature: Signature | None) -> dict[str, Any] | None:
    """Who signed; ``valid`` is None where nobody here can tell."""
    if signature is None:
        return None
    valid: bool | None = True
    try:
        verified_signer(manifest, signature)
    except MissingDependencyError:
        valid = None
    except DataError:
        valid = False
    return {"key": signature.name, "valid": valid, "own": bool(valid) and signature.key == own_public()}
