"""40 letters: each pack in both languages, with a plan, without, to somebody accepted, and asking for more."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from armin import ARMIN
from armin.datasets import make_loans
from armin_desk.letter import packs, write_incomplete_notice, write_letter

LANGUAGES = ("en", "de")
STUCK = ("ExistingLoans", "Purpose", "Education")
FIELDS: dict[str, Any] = {
    "organisation": ["Example Bank", "Main Street 1, 12345 Town"],
    "signatory": ["Bo Smith", "Head of lending"],
    "decided": "automated",
    "ai_system": "high_risk",
    "human_contact": "Bo Smith, review@bank.example",
    "contest_by": 30,
    "data_protection_contact": "privacy@bank.example",
    "supervisory_authority": "Data Protection Authority, Castle Square 1",
    "federal_agency": "Federal Trade Commission, Equal Credit Opportunity, Washington, DC 20580",
    "reporting_agency": "Example Bureau",
    "reporting_agency_address": "PO Box 1, Town, NJ 08000",
    "reporting_agency_phone": "1-800-555-0100",
    "credit_score": "590",
    "credit_score_date": "2026-11-02",
    "credit_score_range": {"en": "300 to 850", "de": "300 bis 850"},
    "credit_score_provider": "Example Scores",
    "credit_score_factors": ["Too many recent inquiries", "Balances are high"],
    "third_party_contact": "Example Bank, Main Street 1",
    "database": "Example Credit Register",
    "database_contact": "PO Box 2, 12345 Town",
    "database_result": "two payments in default",
    "database_categories": "payment history",
    "debt_advice": "Town Debt Advice, 555 0111",
    "workplace_notice": "notice of 1 September 2026",
    "legal_remedy": "You may object within one month.",
    "respond_by": 21,
}
"""What a company has to say, for all packs."""


def answers(progress: Callable[[str], None] = lambda _: None) -> Iterator[tuple[str, Any]]:
    """The letters by name, as HTML and as text."""
    warnings.simplefilter("ignore")
    loans = make_loans(600)
    explainer = ARMIN.from_settings(loans.classifier, loans.schema, desired="approved", n_fresh=200, grid="human")
    explainer.fit(loans.X)
    row, accepted = loans.applicant, loans.person | {"Income": 200_000, "ExistingLoans": 0}
    why, plans = explainer.reasons(row), explainer.alternatives(row, 3)
    cases: dict[str, Callable[..., Any]] = {
        "plan": lambda **more: write_letter(plans, row, reasons=why, **more),
        "none": lambda **more: write_letter(none, row, reasons=why, locked=STUCK, **more),
        "accepted": lambda **more: write_letter(fine, accepted, **more),
        "incomplete": lambda **more: write_incomplete_notice(row, **more),
    }
    none, fine = explainer.explain(row, locked=STUCK), explainer.explain(accepted)
    for pack in packs():
        progress(pack)
        for language in LANGUAGES:
            for name, write in cases.items():
                yield f"{pack} {language} {name}", _letter(write, loans.schema, pack, language)


def _letter(write: Callable[..., Any], schema: Any, pack: str, language: str) -> Any:
    try:
        letter = write(
            schema=schema, pack=pack, language=language, fields=FIELDS, date=datetime.date(2026, 11, 15),
            reference="DJGZF-52FHD-41", applicant="Ada Lovelace", recipient=("Ada Lovelace", "1 Park Lane"),
        )  # fmt: skip
    except Exception as error:  # a refusal is an answer too
        return {"error": f"{type(error).__name__}: {error}"}
    return {"html": letter.html, "text": letter.text, "draft": letter.draft}
