"""Draw the letters of docs/letter.md: ``python docs/letters.py``; needs the extra pdf, and pdftoppm of poppler."""

from __future__ import annotations

import datetime
import subprocess
import tempfile
from pathlib import Path

from armin import ARMIN
from armin.datasets import make_loans
from armin_desk.demo import ENGLISH, GERMAN
from armin_desk.letter import write_letter

HERE = Path(__file__).resolve().parent
COMMON = {"decided": "automated", "human_contact": "Bo Smith, 555 0100, review@bank.example"}
LETTERS = {
    "en": ("us-credit", "Letter", {
        "organisation": ["Example Bank", "Main Street 1, Town, NJ 08000"],
        "recipient": ["Ada Lovelace", "1 Park Lane", "Town, NJ 08000"],
        "federal_agency": "Federal Trade Commission, Equal Credit Opportunity, Washington, DC 20580",
        "reporting_agency": "none", "credit_score": "none", "third_party_contact": "none",
    }),
    "de": ("eu-credit", "A4", {
        "organisation": ["Beispielbank", "Hauptstraße 1, 12345 Stadt"],
        "recipient": ["Ada Lovelace", "Parkweg 1", "12345 Stadt"], "ai_system": "high_risk", "contest_by": 30,
        "data_protection_contact": "datenschutz@bank.example", "supervisory_authority": "Landesamt, Schlossplatz 1",
        "database": "none", "debt_advice": "none",
    }),
}  # fmt: skip


def main() -> None:
    """Write both pictures."""
    loans = make_loans()
    explainer = ARMIN(loans.classifier, loans.schema, desired="approved").fit(loans.X)
    plans, why = explainer.alternatives(loans.applicant, 3), explainer.reasons(loans.applicant)
    for language, (pack, paper, fields) in LETTERS.items():
        letter = write_letter(
            plans, loans.applicant, schema=loans.schema, reasons=why, language=language, applicant="Ada Lovelace",
            pack=pack, fields={**COMMON, **fields}, date=datetime.date(2026, 11, 15), reference="DJGZF-52FHD-41",
            words={"en": ENGLISH, "de": GERMAN},
        )  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            file = letter.to_pdf(Path(folder) / "letter.pdf", paper=paper)
            drawn = HERE / "img" / f"letter-{language}"
            command = ["pdftoppm", "-r", "110", "-f", "1", "-l", "1", "-singlefile", "-png", str(file), str(drawn)]
            subprocess.run(command, check=True)  # noqa: S603  our own command


if __name__ == "__main__":
    main()
