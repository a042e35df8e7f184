"""The desk on the built-in loan book, with three people who might walk in."""

from __future__ import annotations

import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from armin.datasets import Loans, make_loans
from armin.explain import ARMIN

__all__ = ["demo_people", "run_demo", "save_demo_bundle"]

TITLE = "Loan applications (made up)"
ENGLISH: dict[str, Any] = {
    "values": {
        "Purpose": {
            "NewCar": "a new car",
            "UsedCar": "a used car",
            "Furniture": "furniture",
            "Business": "a business",
            "Repairs": "repairs",
        },
        "Education": {
            "HighSchool": "high school",
            "Bachelor": "bachelor's degree",
            "Masters": "master's degree",
            "Doctorate": "doctorate",
        },
    },
    "fields": {"organisation": ["Example Bank (made up)", "Main Street 1, 12345 Town"]},
}
"""The loan book's own words in English, as a company would put them into its ``en.toml``."""
GERMAN: dict[str, Any] = {
    "labels": {
        "Age": "Alter",
        "Income": "Einkommen",
        "Purpose": "Verwendungszweck",
        "Education": "Abschluss",
        "ExistingLoans": "Zahl der laufenden Kredite",
    },
    "values": {
        "Purpose": {
            "NewCar": "Neuwagen",
            "UsedCar": "Gebrauchtwagen",
            "Furniture": "Möbel",
            "Business": "Geschäftsgründung",
            "Repairs": "Reparaturen",
        },
        "Education": {
            "HighSchool": "Schulabschluss",
            "Bachelor": "Bachelor",
            "Masters": "Master",
            "Doctorate": "Promotion",
        },
    },
    "short_labels": {"ExistingLoans": "Kredite"},
    "helps": {
        "ExistingLoans": "Kredite, die Sie gerade zurückzahlen.",
        "Income": "Im Jahr, vor Steuern.",
    },
    "examples": {"Income": "34.000"},
    "decisions": {"approved": "bewilligt", "rejected": "abgelehnt"},
    "fields": {"organisation": ["Beispielbank (erfunden)", "Hauptstraße 1, 12345 Stadt"]},
    "titles": {TITLE: "Kreditanträge (erfunden)"},
    "stories": {
        "Alex": "Wünscht sich einen Neuwagen und hat schon zwei Kredite. Nennt das Einkommen nicht: "
        "Das geht niemanden etwas an.",
        "Bo": "Möchte ein Geschäft gründen und hat zwei Kredite. Nennt weder Einkommen noch Abschluss.",
        "Charlie": "Möchte das Haus reparieren, verdient gut und hat keinen Kredit. Sagt alles.",
    },
}
"""The loan book's own words in German, as a company would put them into its ``de.toml``."""


FORM: dict[str, dict[str, Any]] = {
    "ExistingLoans": {"weeks": 26, "short": "Loans", "help": "Loans that you are paying back now."},
    "Education": {"weeks": 104},
    "Purpose": {"weeks": 0},
    "Income": {"help": "In a year, before tax.", "example": "34,000"},
}
"""What the form says about the loan book's columns; like the rest of it, made up."""


def demo_people(loans: Loans) -> tuple[dict[str, Any], ...]:
    """Three prepared applicants: one blank, two blanks, and somebody who is accepted already.

    >>> [person["name"] for person in demo_people(make_loans())]
    ['Alex', 'Bo', 'Charlie']
    """
    return (
        {
            "name": "Alex",
            "story": "Wants a new car and has two loans already. Does not tell the income: that is nobody's business.",
            "row": loans.applicant,
        },
        {
            "name": "Bo",
            "story": "Wants to start a business and has two loans. Tells neither the income nor the education.",
            "row": {"Age": 27, "Income": None, "Purpose": "Business", "Education": None, "ExistingLoans": 2},
        },
        {
            "name": "Charlie",
            "story": "Wants to repair the house, earns well and has no loan. Tells everything.",
            "row": {"Age": 51, "Income": 84_000, "Purpose": "Repairs", "Education": "Masters", "ExistingLoans": 0},
        },
    )


def save_demo_bundle(folder: str | Path, *, forest: bool = False, key: Path | None = None) -> Path:
    """Write the demo's bundle.

    Parameters
    ----------
    folder : where to
    forest : whether the model is a forest of 100 trees instead of a logistic regression
    key : the private key to sign it with, if not the user's own

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_demo_bundle(folder).name
    'loans.armin'
    """
    from armin.bundle import save_bundle

    loans = make_loans()
    classifier = _forest(loans) if forest else loans.classifier
    schema = loans.schema.with_form(**FORM)
    explainer = ARMIN(classifier, schema, desired="approved").fit(loans.X)
    path = Path(folder) / ("forest.armin" if forest else "loans.armin")
    letter = {"en": ENGLISH, "de": GERMAN}
    save_bundle(path, explainer, title=TITLE, people=demo_people(loans), letter=letter, key=key)
    return path


def _forest(loans: Loans) -> Any:
    from sklearn.base import clone
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline

    encoder = clone(loans.classifier[0])
    return make_pipeline(encoder, RandomForestClassifier(100, max_depth=6, random_state=0)).fit(loans.X, loans.y)


def run_demo(port: int = 8000, open_browser: bool = True) -> None:
    """Make the demo's bundle and serve it on this machine until interrupted.

    Parameters
    ----------
    port : where to listen
    open_browser : whether to open the page
    """
    from armin.bundle.sign import PRIVATE, PUBLIC, make_key
    from armin_desk.serve import serve

    address = f"http://127.0.0.1:{port}/"

    def ready() -> None:
        sys.stderr.write(f"The desk is at {address} - stop it with Ctrl+C.\n")
        if open_browser:
            webbrowser.open(address)

    with tempfile.TemporaryDirectory(prefix="armin-demo-") as folder:
        make_key(Path(folder))  # for this bundle alone
        bundle = save_demo_bundle(folder, key=Path(folder) / PRIVATE)
        serve(bundle, port=port, ready=ready, trusted_keys=(Path(folder) / PUBLIC,))
