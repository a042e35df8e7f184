"""What a bundle says about itself, for whoever has not decided to load it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from armin.bundle.archive import fingerprints, read_archive
from armin.bundle.types import unknown_types
from armin.errors import ArminError, DataError
from armin.letter.own import check_words

__all__ = ["inspect_bundle", "own_texts"]


def inspect_bundle(path: str | Path) -> dict[str, Any]:
    """What a bundle says about itself, with checksums verified; no model is loaded and no code is run.

    Parameters
    ----------
    path : the file

    Returns
    -------
    dict
        The manifest, with "bytes" (size of the file), "fingerprint" (SHA-256 of the model, the schema and the whole),
        and "trust" and "letter" as found in the file rather than as claimed.
    """
    manifest, parts = read_archive(Path(path))
    needs = [name for name in parts if name.endswith(".pickle")]
    if "model.skops" in parts:
        needs += unknown_types(parts["model.skops"])
    found = {"trust": needs, "letter": sorted(own_texts(parts)), "bytes": Path(path).stat().st_size}
    return manifest | found | {"fingerprint": fingerprints(manifest)}


def own_texts(parts: dict[str, bytes]) -> dict[str, dict[str, Any]]:
    """A company's texts by language, whatever the part claims."""
    try:
        return check_words(json.loads(parts.get("letter.json", b"{}")))
    except ArminError as error:
        raise DataError(f"The bundle's texts cannot be used: {error}") from None
    except (ValueError, RecursionError):
        raise DataError("The bundle's texts cannot be read. Get it again from its source.") from None
