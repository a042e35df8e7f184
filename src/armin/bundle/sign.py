"""Who packed a bundle: an Ed25519 signature over its manifest, which lists the SHA-256 digests of all parts.

The shape is that of OpenSSF's model signing with bare keys: one manifest of digests, signed as a whole, by the
encoding of DSSE (https://github.com/secure-systems-lab/dsse). What is signed with the user's own key or with one that
the caller trusts is loaded; everything else is refused before it is unpacked.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armin.errors import DataError, MissingDependencyError, ParameterError

__all__ = [
    "CONFIG",
    "Signature",
    "admit",
    "key_name",
    "make_key",
    "make_signature",
    "own_key",
    "own_public",
    "read_signature",
    "verified_signer",
]

CONFIG = "ARMIN_CONFIG"
"""The environment variable that names another folder for the user's key."""

PRIVATE, PUBLIC = "signing-key.pem", "signing-key.pub.pem"
_TYPE = "application/vnd.armin.bundle+json"
_NEEDED = 'Signatures of bundles need the library cryptography. Install it with: pip install "armin[bundle]"'


@dataclass(frozen=True)
class Signature:
    """A signature as it stands in a bundle; whether it is valid is another question.

    Attributes
    ----------
    key : the public key, 32 bytes
    value : the signature, 64 bytes

    Examples
    --------
    >>> Signature(bytes(32), bytes(64)).name
    'ed25519:66687aadf862bd77'
    """

    key: bytes
    value: bytes

    @property
    def name(self) -> str:
        """The key's fingerprint."""
        return key_name(self.key)


def key_name(key: bytes) -> str:
    """A public key's fingerprint: the first 16 digits of its SHA-256.

    >>> key_name(bytes(32))
    'ed25519:66687aadf862bd77'
    """
    return f"ed25519:{hashlib.sha256(key).hexdigest()[:16]}"


def config_folder() -> Path:
    """Where the user's key is kept: ARMIN_CONFIG, or ``armin`` in the system's folder for settings."""
    if named := os.environ.get(CONFIG):
        return Path(named)
    base = os.environ.get("APPDATA" if sys.platform == "win32" else "XDG_CONFIG_HOME")
    try:
        return (Path(base) if base else Path.home() / ".config") / "armin"
    except RuntimeError:  # no home
        raise ParameterError(
            f"There is no folder for the key that signs bundles. Name one in the environment variable {CONFIG}."
        ) from None


def own_key() -> tuple[Path, str | None]:
    """The file of the user's private key; made if there is none, and then with the fingerprint of its public half."""
    _library()
    file = config_folder() / PRIVATE
    return file, None if file.is_file() else make_key(file.parent)


def make_key(folder: Path) -> str:
    """Make a pair of keys in a folder, unless somebody else just did; the fingerprint of its public half."""
    form, kind = _library()
    made = kind.Ed25519PrivateKey.generate().private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    file, beside = folder / PRIVATE, folder / f".{secrets.token_hex(8)}.part"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(made)
        try:
            with suppress(FileExistsError):  # of two that start at once, the first wins
                os.link(beside, file)
        finally:
            beside.unlink()
        public = _load(file, private=True).public_key()
        (folder / PUBLIC).write_bytes(public.public_bytes(form.Encoding.PEM, form.PublicFormat.SubjectPublicKeyInfo))
    except OSError as error:
        raise ParameterError(
            f"The key that signs bundles cannot be kept in {str(folder)!r}: {error.strerror}. Name another folder in "
            f"the environment variable {CONFIG}, or a key of your own: key=... (--key KEY.pem)."
        ) from None
    return key_name(public.public_bytes_raw())


def make_signature(manifest: bytes, key_file: str | Path) -> bytes:
    """The part ``signature.json`` for a manifest, made with the private key in a PEM file."""
    signer = _load(key_file, private=True)
    shown = {
        "payloadType": _TYPE,
        "key": _text(signer.public_key().public_bytes_raw()),
        "signature": _text(signer.sign(_encoded(manifest))),
    }
    return json.dumps(shown, indent=2).encode()


def read_signature(part: bytes) -> Signature:
    """What the part ``signature.json`` says."""
    try:
        data = json.loads(part)
        found = Signature(*(base64.b64decode(data[name], validate=True) for name in ("key", "signature")))
        if data["payloadType"] != _TYPE or len(found.key) != 32 or len(found.value) != 64:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("The bundle's signature cannot be read. Get the bundle again from its source.") from None
    return found


def verified_signer(manifest: bytes, signature: Signature) -> str:
    """The fingerprint of the key that signed this manifest.

    Raises
    ------
    DataError
        If the signature is not one of this manifest.
    """
    _, kind = _library()
    from cryptography.exceptions import InvalidSignature

    try:
        kind.Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.value, _encoded(manifest))
    except (InvalidSignature, ValueError):
        raise DataError(
            f"The bundle was altered after it was signed with {signature.name}. Get it again from its source."
        ) from None
    return signature.name


def admit(
    shown: str, manifest: bytes, signature: Signature | None, *, trusted: Sequence[str | Path] = (), trust: bool = False
) -> tuple[str | None, str]:
    """The fingerprint of the key that signed a manifest, and what speaks against loading the bundle; or a refusal.

    With ``trust`` and no trusted keys, a bundle signed by nobody or by a stranger passes; an altered one never does.
    """
    known = [_load(file, private=False).public_bytes_raw() for file in trusted]
    signer, doubt = None, "is not signed"
    if signature is not None:
        try:
            signer = verified_signer(manifest, signature)
            known.append(own_public())
            stranger = signature.key not in known  # whole keys, not their fingerprints
            doubt = f"is signed with {signer}, which is neither your key nor a trusted one" if stranger else ""
        except MissingDependencyError:
            if trusted or not trust:
                raise
            doubt = f"has a signature that was not verified: {_NEEDED}"
    if doubt and (trusted or not trust):
        raise DataError(
            f"{shown} {doubt}, so it is not loaded: name the public key of whoever packed it with trusted_keys=[...] "
            "(--trusted-key PUB.pem), or, if you know where it comes from, load it with trust=True (--trust)."
        )
    return signer, doubt


def own_public() -> bytes | None:
    """The user's own public key, if there is one."""
    try:
        file = config_folder() / PRIVATE
        key: bytes | None = _load(file, private=True).public_key().public_bytes_raw() if file.is_file() else None
    except (ParameterError, OSError):  # somebody else's, as on a server: it is not needed to load
        return None
    return key


def _encoded(manifest: bytes) -> bytes:
    """DSSE's encoding of what is signed: it names the kind of document, so that no other one passes for a manifest."""
    return b"DSSEv1 %d %s %d %s" % (len(_TYPE), _TYPE.encode(), len(manifest), manifest)


def _library() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingDependencyError(_NEEDED) from None
    return serialization, ed25519


def _load(file: str | Path, *, private: bool) -> Any:
    """An Ed25519 key from a PEM file."""
    form, kinds = _library()
    from cryptography.exceptions import UnsupportedAlgorithm

    kind, how = ("private", "genpkey -algorithm ed25519") if private else ("public", "pkey -in KEY.pem -pubout")
    try:
        content = Path(file).read_bytes()
        key = form.load_pem_private_key(content, None) if private else form.load_pem_public_key(content)
    except OSError as error:
        raise ParameterError(f"The key file {str(file)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, kinds.Ed25519PrivateKey if private else kinds.Ed25519PublicKey):
        raise ParameterError(
            f"The key file {str(file)!r} must hold an Ed25519 {kind} key as PEM, without a password. It does not. "
            f"Make one with: openssl {how}"
        )
    return key


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
