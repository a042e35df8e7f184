"""Who packed a bundle: a signature with Ed25519 over its manifest, which lists the checksums of all parts."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armin.errors import DataError, MissingDependencyError, ParameterError

__all__ = ["Signature", "key_name", "make_signature", "read_signature", "require_signature", "signer_of"]

_PURPOSE = b"armin.bundle.signature/1\n"
"""Stands before what is signed, so that no other document can pass for a bundle."""

_NEEDED = 'Signatures need the library cryptography. Install it with: pip install "armin[sign]"'


@dataclass(frozen=True)
class Signature:
    """A signature as it stands in a bundle; whether it is right is another question.

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


def make_signature(manifest: bytes, key_file: str | Path) -> bytes:
    """The part ``signature.json`` for a manifest, made with the private key in a PEM file."""
    signer = _load(key_file, private=True)
    public = signer.public_key().public_bytes_raw()
    value = signer.sign(_PURPOSE + manifest)
    shown = {"algorithm": "ed25519", "key": _text(public), "signature": _text(value)}
    return json.dumps(shown, indent=2).encode()


def read_signature(part: bytes) -> Signature:
    """What the part ``signature.json`` says."""
    try:
        data = json.loads(part)
        found = Signature(*(base64.b64decode(data[name], validate=True) for name in ("key", "signature")))
        if data["algorithm"] != "ed25519" or len(found.key) != 32 or len(found.value) != 64:
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise DataError("The bundle's signature cannot be read. Get the bundle again from its source.") from None
    return found


def signer_of(manifest: bytes, signature: Signature | None) -> str | None:
    """The fingerprint of the key that signed this manifest; None if nobody did.

    Raises
    ------
    DataError
        If the signature is not one of this manifest.
    """
    if signature is None:
        return None
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise MissingDependencyError(_NEEDED) from None
    try:
        Ed25519PublicKey.from_public_bytes(signature.key).verify(signature.value, _PURPOSE + manifest)
    except (InvalidSignature, ValueError):
        raise DataError(
            f"The bundle's signature, said to be made with {signature.name}, is not one of this bundle: it was changed "
            "after it was signed. Get it again from its source."
        ) from None
    return signature.name


def require_signature(manifest: bytes, signature: Signature | None, trusted: Sequence[str | Path]) -> str:
    """The fingerprint of the trusted key that signed a manifest; refused if none did."""
    known = [_load(file, private=False).public_bytes_raw() for file in trusted]
    signer = signer_of(manifest, signature)
    if signer is None or signature is None or signature.key not in known:  # the key, not its short name
        who = "by nobody" if signer is None else f"with {signer}"
        names = ", ".join(sorted(map(key_name, known)))
        raise DataError(
            f"The bundle must be signed with a key that is trusted here ({names}). It is signed "
            f"{who}. Get it from who holds the key, or name the public key of whoever signed it, if you trust them."
        )
    return signer


def _load(file: str | Path, *, private: bool) -> Any:
    """An Ed25519 key from a PEM file."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    except ImportError:
        raise MissingDependencyError(_NEEDED) from None
    kind, how = ("private", "genpkey -algorithm ed25519") if private else ("public", "pkey -in KEY.pem -pubout")
    try:
        content = Path(file).read_bytes()
        key = (
            serialization.load_pem_private_key(content, None) if private else serialization.load_pem_public_key(content)
        )
    except OSError as error:
        raise ParameterError(f"The key file {str(file)!r} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PrivateKey if private else Ed25519PublicKey):
        raise ParameterError(
            f"The key file {str(file)!r} must hold an Ed25519 {kind} key as PEM, without a password. It does not. "
            f"Make one with: openssl {how}"
        )
    return key


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
