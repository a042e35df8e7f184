"""Reference numbers that can be read aloud, checked for slips, and not traced back to a person."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from armin.errors import ParameterError

__all__ = ["check_reference", "new_reference"]

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""No I, L, O, U: they are taken for 1, 1, 0, V."""
LENGTH = 10
_SLIPS = str.maketrans({"I": "1", "L": "1", "O": "0", "U": "V", "-": "", " ": ""})


def new_reference(content: str | None = None, *, secret: bytes | None = None) -> str:
    """A reference number: ten characters and two check digits.

    Parameters
    ----------
    content : what the reference stands for, such as ``recourse.to_json()``; None for a random reference
    secret : at least 16 bytes that only the organisation knows. With it, the same content gets the same reference, so
        that the organisation can show which answer a letter belongs to. Nobody else can: without the secret, the
        reference says nothing about the content.

    Returns
    -------
    str

    Examples
    --------
    >>> new_reference("the plan", secret=b"sixteen bytes or more")
    'DJGZF-52FHD-41'
    >>> check_reference(new_reference())
    True
    """
    if (content is None) != (secret is None):
        raise ParameterError(
            "new_reference takes 'content' and 'secret' together, or neither. Got only one of them. A digest without a "
            "secret could be guessed from the content, so there is none."
        )
    if content is None or secret is None:
        digest = secrets.token_bytes(8)
    else:
        if len(secret) < 16:
            raise ParameterError(
                f"The 'secret' of new_reference must have at least 16 bytes. Got {len(secret)} instead. "
                "Make one with secrets.token_bytes(32), and keep it."
            )
        digest = hmac.new(secret, content.encode(), hashlib.sha256).digest()[:8]
    number = int.from_bytes(digest, "big")
    body = "".join(ALPHABET[number >> 5 * i & 31] for i in range(LENGTH))
    return f"{body[:5]}-{body[5:]}-{_check_digits(body)}"


def check_reference(reference: str) -> bool:
    """Whether a reference made by :func:`new_reference` was copied without a slip.

    Finds every single wrong character and every swap of two neighbours; small letters, missing dashes, and I, L, O
    and U for the characters that they are taken for are forgiven.

    Parameters
    ----------
    reference : the reference as somebody typed it

    Returns
    -------
    bool

    Examples
    --------
    >>> check_reference("djgzf 52fhd 41"), check_reference("DJGZF-52HFD-41")
    (True, False)
    """
    plain = reference.upper().translate(_SLIPS)
    body, digits = plain[:LENGTH], plain[LENGTH:]
    return len(plain) == LENGTH + 2 and set(body) <= set(ALPHABET) and digits == _check_digits(body)


def _check_digits(body: str) -> str:
    """Two digits that make the whole divisible by 97, a prime, as in an IBAN; a character counts by its place."""
    value = 0
    for character in body:
        value = (value * 32 + ALPHABET.index(character)) % 97
    return f"{(-value * 100) % 97:02d}"
