"""What a company tells for its letters: read, checked against what the pack asks for, and written in a language."""

from __future__ import annotations

import datetime
import difflib
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from armin.errors import ParameterError
from armin.words.catalogue import clean
from armin_desk.letter.pack import Field, Kind, Pack, Part

__all__ = ["Given", "Told", "check_given", "is_due", "read_given", "tell", "values_in", "written"]

NONE = "none"
LONGEST = 600
Given = Mapping[str, Any]
"""Fields by name: a text, a list of lines, a date, a number of days; or such a value for each language."""
Told = Mapping[str, Any]
"""Fields as a letter uses them: a text, a tuple of lines, a date; None for "none"."""


def read_given(file: str | Path) -> dict[str, Any]:
    r"""The fields in a TOML file.

    Parameters
    ----------
    file : the file; a table ``[people.NAME]`` in it holds what is told of one person only

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "company.toml")
    ...     _ = file.write_text('organisation = ["Example Bank", "Main Street 1"]\ndecided = "automated"')
    ...     read_given(file)
    {'organisation': ['Example Bank', 'Main Street 1'], 'decided': 'automated'}
    """
    try:
        return tomllib.loads(Path(file).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ParameterError(f"The fields in {str(file)!r} cannot be read: {reason}. It must be a TOML file.") from None


def tell(pack: Pack, given: Given, language: str, date: datetime.date) -> dict[str, Any]:
    """The fields in a language, checked one by one; whether all are there is another question.

    Parameters
    ----------
    pack : whose fields these are
    given : the fields
    language : for those that are given in several
    date : from which days are counted
    """
    told = {}
    for name, value in given.items():
        one = pack.known.get(name)
        if one is None:
            near = difflib.get_close_matches(str(name), pack.known, 1)
            raise ParameterError(
                f"The letter has no field {name!r}. "
                + (f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(pack.known)}.")
            )
        told[name] = _told(one, value, language, date)
    return told


def check_given(pack: Pack, told: Told, kind: Kind, *, company: bool = False) -> None:
    """Refuse a letter that lacks a field which its pack needs.

    Parameters
    ----------
    pack : what is needed
    told : the fields
    kind : the kind of letter
    company : whether to look at the company's own fields only, and not at those of a person
    """
    if pack.sender:
        lines = told.get("organisation")
        least = pack.known["organisation"].least
        if not lines or len(lines) < least:
            raise _missing(pack, "sender", pack.sender, pack.known["organisation"], lines)
    for part in pack.of(kind):
        unsaid = part.required and part.when not in told  # it may be "none", but that must be said
        if not (unsaid or is_due(part, told)) or (company and part.when and pack.known[part.when].person):
            continue
        for name in part.needs:
            if name not in told and not (company and pack.known[name].person):
                raise _missing(pack, part.name, part.source, pack.known[name], None)


def is_due(part: Part, told: Told) -> bool:
    """Whether a letter with these fields has the section."""
    return not part.when or told.get(part.when) is not None


def written(told: Told) -> dict[str, Any]:
    """The fields as sentences use them: lines in one line."""
    return {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in told.items()}


def _missing(pack: Pack, section: str, source: str, one: Field, got: Any) -> ParameterError:
    short = f" Got only {list(got)!r}: the address is missing." if got else ""
    none = " Say 'none' if there is none." if one.none else ""
    why = f" ({source})" if source else ""
    return ParameterError(
        f"A letter of the pack {pack.name!r} needs the field {one.name!r} for its section {section!r}{why}: "
        f"{one.asks}.{short} Give it as fields={{{one.name!r}: ...}}, or in the file of --fields, "
        f"for example {_example(one)}.{none}"
    )


def _example(one: Field) -> str:
    value = list(one.example) if isinstance(one.example, tuple) else one.example
    return f"{one.name} = {value!r}"


def _told(one: Field, value: Any, language: str, date: datetime.date) -> Any:
    if isinstance(value, Mapping):
        if language not in value:
            known = ", ".join(map(str, value)) or "none"
            raise ParameterError(
                f"The field {one.name!r} of the letter is told in: {known}. Tell it in {language!r} too, "
                "or as one value for all languages."
            )
        value = value[language]
    if value is False or (isinstance(value, str) and value.strip().lower() == NONE):
        if not one.none:
            raise _wrong(one, "be told; it cannot be 'none'", value)
        return None
    return {"text": _text, "lines": _lines, "date": _date, "deadline": _deadline, "choice": _choice}[one.kind](
        one, value, date
    )


def _wrong(one: Field, rule: str, value: Any) -> ParameterError:
    return ParameterError(
        f"The field {one.name!r} of the letter must {rule}. Got {value!r} instead. It says {one.asks}; "
        f"for example {_example(one)}."
    )


def _text(one: Field, value: Any, _: datetime.date) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    line = clean(value) if isinstance(value, str) else ""
    if not line or len(line) > LONGEST:
        raise _wrong(one, f"be a text of 1 to {LONGEST} characters", value)
    return line


def _lines(one: Field, value: Any, _: datetime.date) -> tuple[str, ...]:
    parts = value.splitlines() if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise _wrong(one, "be a list of texts, or a text with line breaks", value)
    lines = tuple(line for line in map(clean, parts) if line)
    if not 1 <= len(lines) <= one.most or sum(map(len, lines)) > LONGEST:
        raise _wrong(one, f"have 1 to {one.most} lines, and at most {LONGEST} characters", value)
    return lines


def _date(one: Field, value: Any, _: datetime.date) -> datetime.date:
    if isinstance(value, str):
        try:
            value = datetime.date.fromisoformat(value.strip())
        except ValueError:
            raise _wrong(one, "be a date such as 2026-11-15", value) from None
    if isinstance(value, datetime.datetime):
        return value.date()
    if not isinstance(value, datetime.date):
        raise _wrong(one, "be a date such as 2026-11-15", value)
    return value


def _deadline(one: Field, value: Any, date: datetime.date) -> datetime.date:
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= 3660:
            raise _wrong(one, "be from 1 to 3660 days, or a date", value)
        return date + datetime.timedelta(days=value)
    day = _date(one, value, date)
    if day <= date:
        raise _wrong(one, f"be later than the letter's date, {date}", value)
    return day


def _choice(one: Field, value: Any, _: datetime.date) -> str:
    if value not in one.choices:
        raise _wrong(one, f"be one of: {', '.join(one.choices)}{', none' if one.none else ''}", value)
    return str(value)


def values_in(part: Part, pack: Pack, told: Told) -> Iterator[Any]:
    """The told values that a section must show."""
    for name in part.needs:
        value = told.get(name)
        if value is not None and pack.known[name].kind != "choice":
            yield from value if isinstance(value, tuple) else (value,)
