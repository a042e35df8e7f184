"""The letter itself: checked, laid out by templates, as HTML, text and PDF."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from armin.errors import DataError, MissingDependencyError, ParameterError
from armin.letter.content import MOST_ALTERNATIVES, Notice, sections
from armin.letter.own import OwnWords, check_words, read_words
from armin.letter.reference import new_reference
from armin.letter.render import policy_of, render
from armin.reasons import Reasons
from armin.recourse import Recourse
from armin.schema import Schema
from armin.words import catalogue
from armin.words.catalogue import clean

__all__ = ["Letter", "write_letter"]

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

    Examples
    --------
    >>> Letter("<p>Dear Ada,</p>", "Dear Ada,", "en", "DJGZF-52FHD-41").text
    'Dear Ada,'
    """

    html: str
    text: str
    language: str
    reference: str

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
                "A letter as PDF needs weasyprint. Install it with: pip install 'armin[pdf]'. "
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
    reference: str | None = None,
    date: datetime.date | None = None,
    valid_days: int = 30,
    templates: str | Path | None = None,
    words: OwnWords | None = None,
    locked: Collection[str] = (),
    reasons: Reasons | None = None,
    protected: bool = False,
) -> Letter:
    """Write a one-page letter for one person.

    Parameters
    ----------
    recourses : the answer, then other plans to choose from (at most three are printed); the answer need not be the
        cheapest one
    row : the person's row, with its blanks; a plan that was made for another row is refused
    schema : what the columns hold
    language : "en", "de", or a language in ``templates`` or ``words``
    applicant : the person's name; may be empty
    organisation : the sender; the first line is the name, the others are the address and whom to ask
    reference : a reference number; None for a random one, see :func:`new_reference`
    date : the day of the letter; None for today
    valid_days : for how many days the letter may be used
    templates : a folder with the company's own texts and Jinja2 templates, which run as your own code; what is not
        there is taken from the package
    words : the company's own texts by language, as a bundle holds them; those in ``templates`` go before them
    locked : features of which the person said that they cannot be changed
    reasons : what weighed in the decision, as ``explainer.reasons(row)`` says; without it the letter names as reasons
        what the plans change
    protected : whether the letter names protected traits as reasons too, if they weighed

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
    """
    plans = (recourses,) if isinstance(recourses, Recourse) else tuple(recourses)
    for name, text in (("applicant", applicant), ("organisation", organisation), ("reference", reference or "")):
        _check_text(name, text)
    if isinstance(valid_days, bool) or not isinstance(valid_days, int | np.integer) or not 1 <= valid_days <= 3660:
        raise ParameterError(f"'valid_days' must be a whole number from 1 to 3660. Got {valid_days!r} instead.")
    if isinstance(locked, str):
        raise ParameterError(f"'locked' must be a list of column names. Got the text {locked!r} instead.")
    _check_plans(plans, row, schema, locked)
    _check_reasons(reasons, row, schema)
    day = date or datetime.date.today()
    notice = Notice(
        plan=plans[0],
        others=tuple([plan for plan in plans[1:] if plan.changes][:MOST_ALTERNATIVES]),
        schema=schema,
        locked=tuple(name for name in schema.names if name in set(locked)),
        date=day,
        until=day + datetime.timedelta(days=int(valid_days)),
        words=catalogue(
            language, {**(words or {}), **({} if templates is None else check_words(read_words(templates)))}
        ),
        reasons=reasons,
        insists=protected,
    )
    number = clean(reference or "") or new_reference()
    context = _context(notice, clean(applicant), organisation, number)
    html, text = render(context, templates)
    return Letter(html, text, language, number)


def _context(notice: Notice, applicant: str, organisation: str, reference: str) -> dict[str, Any]:
    """All that a template may use."""
    say, words = notice.say, notice.words
    sender = [line for line in map(clean, organisation.splitlines()) if line] or [say("letter.organisation")]
    return {
        "language": words.language,
        "outcome": notice.plan.outcome,
        "title": say("letter.title" if notice.planned else "letter.title_short"),
        "organisation": sender[0],
        "contact": sender[1:] or [say("letter.contact")],
        "applicant": applicant,
        "greeting": say("letter.greeting", applicant=applicant) if applicant else say("letter.greeting_unknown"),
        "facts": [
            (say("letter.date"), words.date(notice.date)),
            (say("letter.reference"), reference),
            (say("letter.valid_until"), words.date(notice.until)),
            *([] if notice.model is None else [(say("letter.model"), notice.model)]),
        ],
        "sections": sections(notice),
        "closing": say("letter.closing"),
        "texts": words.table,
    }


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
