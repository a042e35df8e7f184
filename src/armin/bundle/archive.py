"""A zip file whose size and shape are checked before anything in it is unpacked, and its signature before it is read.

The order: the list of contents, the manifest and its signature (:mod:`armin.bundle.sign`), then each part against the
size and the digest that the manifest states.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import secrets
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from armin.bundle.sign import Signature, read_signature
from armin.errors import ArminError, BundleChangedError, DataError

__all__ = [
    "FORMAT",
    "MOST_BYTES",
    "PARTS",
    "check_directory",
    "file_digest",
    "fingerprints",
    "read_archive",
    "read_entry",
    "read_stored",
    "write_archive",
    "write_stored",
]

T = TypeVar("T")
FORMAT = 1
"""Version of the bundle's format that this release writes, and the newest that it reads."""

MOST_BYTES = 2**31
"""A bundle may not have more bytes than this, packed or unpacked."""

MANIFEST = "manifest.json"
SIGNATURE = "signature.json"
MEGABYTE = 2**20
PARTS = {
    "schema.toml": 4 * MEGABYTE,
    "settings.json": MEGABYTE,
    "like.json": 4 * MEGABYTE,
    "model.skops": 1024 * MEGABYTE,
    "model.pickle": MOST_BYTES,
    "learned.json": 8 * MEGABYTE,
    "learned.npz": 1024 * MEGABYTE,
    "learned.pickle": MOST_BYTES,
    "people.json": 4 * MEGABYTE,
    "letter.json": 4 * MEGABYTE,
    SIGNATURE: MEGABYTE // 16,
}
"""The parts that a bundle may have, and how many bytes each may unpack to. Text that is parsed takes up to fifty
times its bytes in memory, so that its limits are narrow; arrays take their bytes."""

_MOST_MANIFEST = 4 * MEGABYTE
_MOST_OUTLINE = 32 * MEGABYTE
"""What lists the parts of a model, inside a model's file; a tree of a forest takes about 7 kB of it, and
LightGBM's text stands in it as a whole."""

MOST_RATIO = 100
"""How many times its packed size a part may unpack to, beyond one megabyte; what packs better is stored as it is."""

_SHAPES: dict[str, Any] = {
    "format": str, "armin": str, "created": str, "title": str, "method": str, "desired": [object], "model": [str],
    "features": [str], "settings": {"": object}, "libraries": {"": str}, "kept": [str], "people": int,
    "learned": [str], "rows": {"": int}, "letter": [str], "trust": [str], "parts": {"": {"": object}},
}  # fmt: skip
"""What stands in a manifest: ``{"": type}`` for a mapping of any names, ``object`` for any text, number or flag."""

_MOST_LIST = MEGABYTE // 16
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_END_SIZE, _END_64_SIZE = 22, 20
_LONGEST_EMPTY = 1_000_000
_DAWN = (1980, 1, 1, 0, 0, 0)


def write_stored(entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """A zip file in memory; the same entries give the same bytes.

    >>> write_stored({"a.txt": b"hello"}) == write_stored({"a.txt": b"hello"})
    True
    """
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in entries.items():
            info = zipfile.ZipInfo(name, _DAWN)
            info.compress_type = compression
            if compression == zipfile.ZIP_DEFLATED and len(content) > MEGABYTE:
                packed = len(zlib.compress(content, wbits=-zlib.MAX_WBITS))
                if len(content) > MEGABYTE + MOST_RATIO * packed:
                    info.compress_type = zipfile.ZIP_STORED
            info.create_system = 3  # the same bytes on every system
            info.external_attr = 0o600 << 16
            archive.writestr(info, content)
    return buffer.getvalue()


def read_stored(data: bytes, what: str, *, arrays: bool = False) -> dict[str, bytes]:
    """The entries of a zip file inside the bundle, which must not be compressed once more.

    Arrays, whatever their names, are only let through if they hold as many bytes as they claim; with ``arrays``,
    nothing else is.

    >>> read_stored(write_stored({"a.txt": b"hello"}), "x")
    {'a.txt': b'hello'}
    """
    try:
        check_directory(io.BytesIO(data), 64 * MEGABYTE, what)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if any(i.compress_type != zipfile.ZIP_STORED for i in infos) or sum(i.file_size for i in infos) > len(data):
                raise DataError(f"{what} claims to be larger than it is. Get the bundle again from its source.")
            if len({i.filename for i in infos}) != len(infos):
                raise DataError(f"{what} names an entry twice. Get the bundle again from its source.")
            limits = {i: _MOST_OUTLINE if i.filename.endswith(".json") else len(data) for i in infos}
            entries = {i.filename: read_entry(archive, i, limits[i], what) for i in infos}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"{what} cannot be read ({error}). Get the bundle again from its source.") from None
    for name, content in entries.items():
        if arrays or name.endswith(".npy") or content.startswith(np.lib.format.MAGIC_PREFIX):
            _check_array(content, what)
    return entries


def check_directory(stream: IO[bytes], most: int, shown: str) -> None:
    """Refuse a zip file whose list of contents is longer than ``most`` bytes: all of it would be read at once.

    >>> check_directory(io.BytesIO(write_stored({"a.txt": b"hello"})), 100, "x")
    """
    size = stream.seek(0, io.SEEK_END)
    stream.seek(max(size - _END_SIZE - _END_64_SIZE, 0))
    tail = stream.read()
    end = tail[-_END_SIZE:]
    # a bundle has no comment at its end, and is too small to need the longer form
    if not end.startswith(_END) or end[-2:] != bytes(2) or tail[:-_END_SIZE].startswith(_END_64):
        raise DataError(f"{shown} is no ARMIN bundle, or is damaged (no zip file). Get it again from its source.")
    listed = int.from_bytes(end[12:16], "little")
    if listed > most:
        raise DataError(f"{shown} lists its contents in {listed:,} bytes. At most {most:,} are read.")
    stream.seek(0)


def read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int, shown: str) -> bytes:
    """One entry of a zip file, of the size that it claims, which is looked at first."""
    if info.file_size > most:
        raise DataError(
            f"{info.filename!r} of {shown} would unpack to {info.file_size:,} bytes. It may have at most {most:,}."
        )
    with archive.open(info) as stream:
        return stream.read(info.file_size)  # without a number, it would unpack all there is before it looks at the size


def _check_array(content: bytes, what: str) -> None:
    """Refuse an array whose header asks for other memory than there is data."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = reader(stream)
    except Exception as error:  # the header is a literal that somebody else wrote
        raise DataError(f"{what} holds an array that cannot be read ({type(error).__name__}).") from None
    found = tuple(shape)
    whole = all(type(n) is int and n >= 0 for n in found)  # NumPy takes True for a length, and fails later
    size = math.prod((dtype.itemsize, *found)) if whole else -1
    # an array of nothing can be as long as it likes, and takes memory once it is compared
    if size == 0 and (dtype.itemsize == 0 or max(found, default=0) > _LONGEST_EMPTY):
        raise DataError(f"{what} holds a strange array of nothing. Get the bundle again from its source.")
    if not whole or dtype.hasobject or size != len(content) - stream.tell():
        raise DataError(f"{what} holds an array that is not what it claims. Get the bundle again from its source.")


def write_archive(
    path: Path, manifest: dict[str, Any], parts: dict[str, bytes], sign: Callable[[bytes], bytes]
) -> None:
    """Write a bundle: all of it or nothing; ``sign`` gives the part that signs a manifest."""
    manifest = manifest | {
        "parts": {name: {"bytes": len(part), "sha256": _digest(part)} for name, part in parts.items()}
    }
    for name, part in parts.items():
        if len(part) > PARTS[name]:
            raise DataError(
                f"The part {name!r} would have {len(part):,} bytes. At most {PARTS[name]:,} are loaded again."
            )
    text = json.dumps(manifest, indent=2, ensure_ascii=False, allow_nan=False).encode()
    data = write_stored({MANIFEST: text, SIGNATURE: sign(text)} | parts, zipfile.ZIP_DEFLATED)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        # it may hold people's data: nobody but its owner reads it, from the first byte on, and nobody can have put a
        # file or a link of that name there before
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(data)
        beside.replace(path)
    except OSError as error:
        with suppress(OSError):
            beside.unlink()
        raise DataError(f"The bundle {str(path)!r} cannot be written: {error.strerror}.") from None


def read_archive(
    path: Path, admit: Callable[[str, bytes, Signature | None], T], digest: str | None = None
) -> tuple[dict[str, Any], dict[str, bytes], T]:
    """The manifest and the parts of a bundle, as bytes that are what the manifest says; nothing is interpreted.

    Parameters
    ----------
    path : the file
    admit : is called with the file's name, the manifest and its signature, and raises if the bundle is not to be
        read; no part is unpacked before
    digest : the SHA-256 of the whole file, if it must be a certain one

    Returns
    -------
    manifest, parts, and what ``admit`` returned
    """
    shown = repr(str(path))
    if not path.is_file():
        raise DataError(f"There is no bundle {shown}. Make one with 'armin pack' or armin.bundle.save_bundle.")
    try:
        with path.open("rb") as stream:
            if digest is not None and (found := hashlib.file_digest(stream, "sha256").hexdigest()) != digest:
                raise BundleChangedError(
                    f"{shown} is not the file that is wanted: its SHA-256 begins with {found[:12]}, not with "
                    f"{digest[:12]}."
                )
            with _opened(stream, shown) as archive:
                infos = _listed(archive, shown)
                raw = read_entry(archive, infos[MANIFEST], _MOST_MANIFEST, shown)
                sealed = read_entry(archive, infos[SIGNATURE], PARTS[SIGNATURE], shown) if SIGNATURE in infos else None
                admitted = admit(shown, raw, None if sealed is None else read_signature(sealed))
                manifest = _manifest(raw, shown)
                _check_parts(infos, manifest, shown)
                parts = {name: read_entry(archive, infos[name], PARTS[name], shown) for name in manifest["parts"]}
    except ArminError:
        raise
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, OSError) as error:
        raise DataError(f"{shown} is no ARMIN bundle, or is damaged ({error}). Get it again from its source.") from None
    for name, part in parts.items():
        if _digest(part) != manifest["parts"][name]["sha256"]:
            raise DataError(
                f"The part {name!r} of {shown} is not the one that was packed: its checksum differs. "
                "Get the bundle again from its source."
            )
    return manifest, parts, admitted


def file_digest(path: str | Path) -> str:
    """The SHA-256 of a file."""
    try:
        with Path(path).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"The bundle {str(path)!r} cannot be read: {error.strerror}.") from None


def _opened(stream: IO[bytes], shown: str) -> zipfile.ZipFile:
    size = stream.seek(0, io.SEEK_END)
    if size > MOST_BYTES:
        raise DataError(f"{shown} has {size:,} bytes. A bundle may have at most {MOST_BYTES:,}.")
    check_directory(stream, _MOST_LIST, shown)
    return zipfile.ZipFile(stream)


def fingerprints(manifest: dict[str, Any]) -> dict[str, str]:
    """Of the model, the schema and the whole bundle; the date and the title do not count.

    >>> fingerprints({"parts": {"model.skops": {"sha256": "cd"}, "schema.toml": {"sha256": "ab"}}})["schema"]
    'ab'
    """
    parts = {name: str(part["sha256"]) for name, part in manifest["parts"].items()}
    whole = "".join(f"{name} {parts[name]}\n" for name in sorted(parts))
    model = parts.get("model.skops", parts.get("model.pickle", ""))
    return {"model": model, "schema": parts.get("schema.toml", ""), "bundle": _digest(whole.encode())}


def _listed(archive: zipfile.ZipFile, shown: str) -> dict[str, zipfile.ZipInfo]:
    """The list of contents, by name: which parts, how large, and how packed."""
    infos = archive.infolist()
    if len(infos) > len(PARTS) + 1:
        raise DataError(f"{shown} is no ARMIN bundle: it holds {len(infos)} files. At most {len(PARTS) + 1} are known.")
    total = sum(info.file_size for info in infos)
    if total > MOST_BYTES:
        raise DataError(f"{shown} would unpack to {total:,} bytes. A bundle may have at most {MOST_BYTES:,}.")
    for info in infos:
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & 1:
            raise DataError(
                f"{shown} is no ARMIN bundle: {info.filename!r} is encrypted or compressed in a strange way."
            )
        if info.file_size > MEGABYTE + MOST_RATIO * info.compress_size:
            raise DataError(
                f"{info.filename!r} of {shown} would unpack from {info.compress_size:,} to {info.file_size:,} bytes. "
                f"It may have at most {MOST_RATIO} times as many."
            )
    if len({info.filename for info in infos}) != len(infos):
        raise DataError(f"{shown} names a part twice. Get it again from its source.")
    found = {info.filename: info for info in infos}
    if MANIFEST not in found:
        raise DataError(f"{shown} is a zip file, but no ARMIN bundle: it has no {MANIFEST}.")
    return found


def _manifest(data: bytes, shown: str) -> dict[str, Any]:
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError):
        manifest = None
    version = re.fullmatch(
        r"armin\.bundle/([0-9]{1,6})", str(manifest.get("format")) if isinstance(manifest, dict) else ""
    )
    if not isinstance(manifest, dict) or version is None:
        raise DataError(f"{shown} is no ARMIN bundle: its {MANIFEST} does not say so.")
    if int(version[1]) > FORMAT:
        raise DataError(
            f"{shown} was packed by a newer ARMIN ({str(manifest.get('armin', 'unknown'))[:20]}, format {version[1]}). "
            f"This one reads up to format {FORMAT}: update ARMIN, or pack it again with this version."
        )
    for name, shape in _SHAPES.items():
        if name not in manifest or not _fits(manifest[name], shape):
            raise DataError(f"{shown} is no ARMIN bundle: the entry {name!r} of its {MANIFEST} is absent or strange.")
    return {name: manifest[name] for name in _SHAPES}


def _fits(value: Any, shape: Any) -> bool:
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(one, shape[0]) for one in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(_fits(one, shape[""]) for one in value.values())
    return value is None or type(value) in (bool, int, float, str) if shape is object else type(value) is shape


def _check_parts(infos: dict[str, zipfile.ZipInfo], manifest: dict[str, Any], shown: str) -> None:
    """The parts that are there are those that were signed, and unpack to as many bytes."""
    listed = manifest["parts"]
    for name in infos:
        if name not in PARTS and name != MANIFEST:
            raise DataError(f"{shown} holds {name[:80]!r}, which does not belong into a bundle.")
    for name in (set(infos) ^ set(listed)) - {MANIFEST, SIGNATURE}:
        what = "lacks" if name in listed else "does not list"
        raise DataError(f"{shown} {what} its part {name[:80]!r}. Get it again from its source.")
    for name, said in listed.items():
        if said.get("bytes") != infos[name].file_size or type(said.get("sha256")) is not str:
            raise DataError(
                f"The part {name!r} of {shown} would unpack to {infos[name].file_size:,} bytes, and not to as many as "
                f"its {MANIFEST} says. Get the bundle again from its source."
            )


def _digest(part: bytes) -> str:
    return hashlib.sha256(part).hexdigest()
