"""Bundles that are taken apart and put together again, by whom one likes."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from armin.bundle.sign import make_signature, own_key


def unpacked(data: bytes) -> dict[str, bytes]:
    """The files in a zip file."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed_zip(parts: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def rewrite(
    file: Path,
    new: dict[str, bytes],
    drop: tuple[str, ...] = (),
    *,
    key: Path | str | None = "own",
    compression: int = zipfile.ZIP_STORED,
    **manifest: Any,
) -> None:
    """Change parts of a bundle, with digests that fit.

    ``key`` signs it anew: "own" is the user's, "kept" leaves the signature that was there, None takes it away.
    """
    parts = {name: part for name, part in unpacked(file.read_bytes()).items() if name not in drop} | new
    said, signature = json.loads(parts.pop("manifest.json")) | manifest, parts.pop("signature.json", b"")
    said["parts"] = {n: {"bytes": len(p), "sha256": hashlib.sha256(p).hexdigest()} for n, p in parts.items()}
    text = json.dumps(said).encode()
    if key != "kept" and key is not None:
        signature = make_signature(text, own_key()[0] if key == "own" else key)
    sealed = {"manifest.json": text} | ({} if key is None else {"signature.json": signature})
    file.write_bytes(packed_zip(sealed | parts, compression))


def nodes_of(root: Any) -> Iterator[dict[str, Any]]:
    """All objects inside JSON."""
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
        stack.extend(node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
