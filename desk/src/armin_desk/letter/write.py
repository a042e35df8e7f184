"""The letter itself: checked, laid out by templates, as HTML, text and PDF."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from armin.errors import DataError, MissingDependencyError, ParameterError
from armin.reasons import Reasons
from armin.recourse import Recourse
from armin.schema import Schema
from armin.words import Catalogue, catalogue
from armin.words.catalogue import clean
from armin.words.own import OwnWords, check_words, read_words
from armin_desk.letter.arrange import Section
from armin_desk.letter.content import MOST_ALTERNATIVES, Notice, sections
from armin_desk.letter.given import Given, Told, check_given, tell
from armin_desk.letter.incomplete import requested
from armin_desk.letter.pack import Pack, read_pack
from armin_desk.letter.present import check_present
from armin_desk.letter.reference import new_reference
from armin_desk.letter.render import policy_of, render

__all__ = ["Letter", "write_incomplete_notice", "write_letter"]

Paper = Literal["A4", "Letter"]
LONGEST = {"applicant": 200, "organisation": 400, "reference": 64}


@dataclass(frozen=True)
class Letter:
    """A letter, ready to send.

    Attributes
    ----------
    html : a page that needs no other file
    text : the same as plain text
    language : its language
    reference : its reference number
    draft : whether it does not say who sends it, and is marked as a draft
    pack : by which pack it was written

    Examples
    --------
    >>> Letter("<p>Dear Ada,</p>", "Dear Ada,", "en", "DJGZF-52FHD-41").text
    'Dear Ada,'
    """

    html: str
    text: str
    language: str
    reference: str
    draft: bool = False
    pack: str = "plain"

    def to_pdf(self, path: str | Path, *, paper: Paper = "A4") -> Path:
        """Write the letter as a PDF file.

        Parameters
        ----------
        path : the file to write
        paper : "A4" or "Letter"

        Returns
        -------
        Path
            The file.
        """
        if paper not in ("A4", "Letter"):
            raise ParameterError(f"The 'paper' of a letter must be 'A4' or 'Letter'. Got {paper!r} instead.")
        try:
            from weasyprint import CSS, HTML  # type: ignore[import-untyped,unused-ignore]
            from weasyprint.urls import URLFetcher  # type: ignore[import-untyped,unused-ignore]
        except (ImportError, OSError):  # OSError: the library is there, and what it draws with is not
            raise MissingDependencyError(
                "A letter as PDF needs weasyprint. Install it with: pip install 'armin-desk[pdf]'. "
                "Or open the HTML in a browser and print it."
            ) from None
        # a template may embed pictures; nothing is fetched
        page = HTML(string=self.html, url_fetcher=URLFetcher(allowed_protocols=["data"]))
        page.write_pdf(str(path), stylesheets=[CSS(string=f"@page {{ size: {paper} }}")], pdf_variant="pdf/ua-1")
        return Path(path)

    @property
    def content_security_policy(self) -> str:
        """A header for whoever serves the page: its own style is allowed, and nothing else."""
        return policy_of(self.html)


def write_letter(
    recourses: Recourse | Sequence[Recourse],
    row: Mapping[str, Any],
    *,
    schema: Schema,
    language: str = "en",
    applicant: str = "",
    organisation: str = "",
    recipient: str | Sequence[str] = (),
    reference: str | None = None,
    date: datetime.date | None = None,
    valid_until: datetime.date | None = None,
    pack: str | Path = "plain",
    fields: Given | None = None,
    templates: str | Path | None = None,
    words: OwnWords | None = None,
    locked: Collection[str] = (),
    reasons: Reasons | None = None,
    protected: bool = False,
    notice: bool = True,
) -> Letter:
    """Write the letter for one person.

    Parameters
    ----------
    recourses : the answer, then other plans to choose from (at most three are printed); the answer need not be the
        cheapest one
    row : the person's row, with its blanks; a plan that was made for another row is refused
    schema : what the columns hold
    language : "en", "de", or a language in ``templates`` or ``words``
    applicant : the person's name; may be empty
    organisation : the sender; the first line is the name, the others are the address and whom to ask. Without it a
        letter is a draft, or refused if the pack requires it
    recipient : the person's name and address, line by line, for the window of an envelope
    reference : a reference number; None for a random one, see :func:`new_reference`
    date : the day of the letter; None for today
    valid_until : until when you stand by the letter, if you want to say so; nothing that was tested supports a date
    pack : what the letter must say: one of :func:`packs`, or a TOML file of your own
    fields : what the pack needs to be told, by name; see ``docs/letter.md``
    templates : a folder with the company's own texts and Jinja2 templates, which run as your own code; what is not
        there is taken from the package
    words : the company's own texts by language, as a bundle holds them; those in ``templates`` go before them
    locked : features of which the person said that they cannot be changed
    reasons : what weighed in the decision, as ``explainer.reasons(row)`` says; without it the letter names as reasons
        what the plans change
    protected : whether the letter names protected traits as reasons too, if they weighed
    notice : whether it is a notice of a decision that was made. False for a sheet of information: it states no
        decision, is addressed to nobody and sent by nobody, so that it takes neither organisation nor fields

    Returns
    -------
    Letter

    Examples
    --------
    >>> from armin import ARMIN
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> plans = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X).alternatives(loans.applicant)
    >>> letter = write_letter(plans, loans.applicant, schema=loans.schema, applicant="Ada Lovelace")
    >>> "Ada Lovelace" in letter.html and letter.reference in letter.text
    True
    >>> letter.draft
    True
    """
    plans = (recourses,) if isinstance(recourses, Recourse) else tuple(recourses)
    if not notice and (applicant or organisation or recipient or fields or pack != "plain"):
        raise ParameterError(
            "A sheet of information (notice=False) is sent by nobody to nobody. Got an applicant, an organisation, a "
            "recipient, fields or a pack; leave them out, or write a notice of a decision that was made."
        )
    sheet = _sheet(
        language=language, applicant=applicant, organisation=organisation, recipient=recipient, reference=reference,
        date=date, pack=pack, fields=fields, templates=templates, words=words, notice=notice,
    )  # fmt: skip
    if isinstance(locked, str):
        raise ParameterError(f"'locked' must be a list of column names. Got the text {locked!r} instead.")
    _check_plans(plans, row, schema, locked)
    _check_reasons(reasons, row, schema)
    content = Notice(
        plan=plans[0],
        others=tuple([plan for plan in plans[1:] if plan.changes][:MOST_ALTERNATIVES]),
        schema=schema,
        locked=tuple(name for name in schema.names if name in set(locked)),
        date=sheet.date,
        until=_until(valid_until, sheet.date),
        words=sheet.words,
        reasons=reasons,
        insists=protected or sheet.told.get("protected_reasons") == "stated",
        pack=sheet.pack,
        told=sheet.told,
        notice=notice,
    )
    check_given(sheet.pack, sheet.told, content.kind)
    title = "letter.title_information"
    if content.stated:
        title = "letter.title" if content.planned else "letter.title_short"
    return sheet.letter(title, content.plan.outcome, sections(content), until=content.until, model=content.model)


def write_incomplete_notice(
    row: Mapping[str, Any],
    *,
    schema: Schema,
    needed: Collection[str] | None = None,
    language: str = "en",
    applicant: str = "",
    organisation: str = "",
    recipient: str | Sequence[str] = (),
    reference: str | None = None,
    date: datetime.date | None = None,
    pack: str | Path = "plain",
    fields: Given | None = None,
    templates: str | Path | None = None,
    words: OwnWords | None = None,
) -> Letter:
    """Ask a person for what is missing, instead of deciding: in the United States a notice of incompleteness.

    Parameters
    ----------
    row : the person's row, with its blanks
    schema : what the columns hold
    needed : the columns that are needed; None for all that are blank
    language, applicant, organisation, recipient, reference, date, pack, templates, words : as in :func:`write_letter`
    fields : as in :func:`write_letter`; ``respond_by`` says until when, as a date or as days after the letter's date

    Returns
    -------
    Letter

    Examples
    --------
    >>> from armin.datasets import make_loans
    >>> loans = make_loans()
    >>> letter = write_incomplete_notice(loans.applicant, schema=loans.schema, fields={"respond_by": 21})
    >>> "  - Income" in letter.text
    True
    """
    sheet = _sheet(
        language=language, applicant=applicant, organisation=organisation, recipient=recipient, reference=reference,
        date=date, pack=pack, fields=fields, templates=templates, words=words,
    )  # fmt: skip
    if isinstance(needed, str):
        raise ParameterError(f"'needed' must be a list of column names. Got the text {needed!r} instead.")
    codes = schema.encode(row)
    if codes.shape[0] != 1:
        raise DataError(f"A letter is for one row. Got {codes.shape[0]} instead.")
    blank = [f.name for f, code in zip(schema.features, codes[0], strict=True) if not f.is_carried and np.isnan(code)]
    asked = [name for name in schema.names if name in set(blank if needed is None else needed)]
    for name in needed or ():
        schema.position(name)
    told = [name for name in asked if name not in blank]
    if not asked or told:
        raise DataError(
            "A notice of incompleteness names what is missing, and "
            f"{f'{told[0]!r} is told already' if told else 'nothing is blank in this row'}. "
            "Name blank columns as 'needed'."
        )
    check_given(sheet.pack, sheet.told, "incomplete")
    names = tuple(schema[name].named for name in asked)
    return sheet.letter(
        "letter.title_incomplete", "incomplete", requested(names, schema, sheet.pack, sheet.told, sheet.words)
    )


@dataclass(frozen=True)
class _Sheet:
    """What every letter has: who writes to whom, when, in which words and by which pack."""

    pack: Pack
    told: Told
    words: Catalogue
    date: datetime.date
    applicant: str
    reference: str
    templates: str | Path | None
    notice: bool = True

    def letter(
        self,
        title: str,
        outcome: str,
        parts: tuple[Section, ...],
        *,
        until: datetime.date | None = None,
        model: str | None = None,
    ) -> Letter:
        """The letter, laid out and looked through."""
        say, words = self.words.say, self.words
        sender, applicant = self.told.get("organisation") or (), self.applicant
        draft = self.notice and not sender
        greeting = say("letter.greeting", applicant=applicant) if applicant else say("letter.greeting_unknown")
        facts = [(say("letter.date"), words.date(self.date)), (say("letter.reference"), self.reference)]
        facts += [] if until is None else [(say("letter.valid_until"), words.date(until))]
        facts += [] if model is None else [(say("letter.model"), model)]
        context = {
            "language": words.language,
            "outcome": outcome,
            "title": say(title),
            "draft": say("letter.draft") if draft else "",
            "draft_short": say("letter.draft_short") if draft else "",
            "organisation": sender[0] if sender else "",
            "contact": list(sender[1:]),
            "recipient": list(self.told.get("recipient") or ()),
            "applicant": applicant,
            "greeting": greeting if self.notice else "",
            "facts": facts,
            "sections": parts,
            "closing": say("letter.closing") if self.notice else "",
            "signatory": list(self.told.get("signatory") or ()),
            "texts": words.table,
        }
        html, text = render(context, self.templates)
        check_present(html, text, parts, sender if self.pack.sender else (), self.pack.name)
        return Letter(html, text, words.language, self.reference, draft=draft, pack=self.pack.name)


def _sheet(
    *,
    language: str,
    applicant: str,
    organisation: str,
    recipient: str | Sequence[str],
    reference: str | None,
    date: datetime.date | None,
    pack: str | Path,
    fields: Given | None,
    templates: str | Path | None,
    words: OwnWords | None,
    notice: bool = True,
) -> _Sheet:
    for name, text in (("applicant", applicant), ("organisation", organisation), ("reference", reference or "")):
        _check_text(name, text)
    if not isinstance(fields or {}, Mapping):
        raise ParameterError(f"The 'fields' of a letter must be a mapping of names to values. Got {fields!r} instead.")
    folder = {} if templates is None else check_words(read_words(templates))
    own = catalogue(language, {**(words or {}), **folder})
    chosen, day = read_pack(pack), date or datetime.date.today()
    given = {**own.table["fields"], **(fields or {})} if notice else {}
    given |= {name: value for name, value in (("organisation", organisation), ("recipient", recipient)) if value}
    told = tell(chosen, given, language, day)
    number = clean(reference or "") or new_reference()
    return _Sheet(chosen, told, own, day, clean(applicant), number, templates, notice)


def _until(day: datetime.date | None, date: datetime.date) -> datetime.date | None:
    if day is not None and (not isinstance(day, datetime.date) or day < date):
        raise ParameterError(
            f"'valid_until' must be a date, and not before that of the letter, {date}. Got {day!r} instead."
        )
    return day


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str):
        raise ParameterError(f"The '{name}' of a letter must be a text. Got {text!r} instead.")
    if len(text) > LONGEST[name]:
        raise ParameterError(
            f"The '{name}' of a letter must have at most {LONGEST[name]} characters. Got {len(text)} instead."
        )


def _check_reasons(reasons: Reasons | None, row: Mapping[str, Any], schema: Schema) -> None:
    """Refuse reasons that were found for another row."""
    if reasons is None:
        return
    if not isinstance(reasons, Reasons):
        raise ParameterError(f"'reasons' must be what explainer.reasons(row) gives. Got {reasons!r} instead.")
    if not np.array_equal(schema.encode(row)[0], reasons.row, equal_nan=True):
        raise DataError(
            "The reasons were found for another row than the letter's. Pass explainer.reasons(row) of this row."
        )


def _check_plans(plans: tuple[Recourse, ...], row: Mapping[str, Any], schema: Schema, locked: Collection[str]) -> None:
    """Refuse plans that do not belong to this person or to each other."""
    if not plans or not all(isinstance(plan, Recourse) for plan in plans):
        raise ParameterError(
            f"A letter needs at least one Recourse, as explain or alternatives give them. Got {plans!r} instead. "
            "If there are no alternatives, pass the answer of explain."
        )
    for name in locked:
        schema.position(name)
    codes = schema.encode(row)
    if codes.shape[0] != 1:
        raise DataError(f"A letter is for one row. Got {codes.shape[0]} instead.")
    told = zip(schema.features, codes[0], strict=True)
    values = {f.name: f.value(float(code)) for f, code in told if not f.is_carried}
    blank = {name for name, value in values.items() if value is None}
    for plan in plans:
        if {f.name for f in plan.blanks} != blank or plan.desired != plans[0].desired:
            raise DataError(
                "The row and the plans of a letter must belong together, with the same blanks and the same desired "
                "decision. They do not. Explain this row, and pass what comes back."
            )
        for change in plan.changes:
            name = change.feature.name
            schema.position(name)
            if change.before != values[name]:
                raise DataError(
                    f"The plan was made for another row: its {name!r} is not the row's. "
                    "Explain this row, and pass what comes back."
                )
            if name in locked:
                raise DataError(f"The plan changes {name!r}, which is locked. Explain the row with locked=[{name!r}].")
