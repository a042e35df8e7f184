"""What a column's name says about it, in English and German: words that people use for columns, not a theory of them.

>>> words_of("personal_statusSex"), words_of("Jahre im Beruf")
(['personal', 'status', 'sex'], ['jahre', 'im', 'beruf'])
"""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = [
    "is_answer",
    "is_code",
    "is_history",
    "is_identifier",
    "is_past",
    "is_postal",
    "is_protected",
    "one_way",
    "words_of",
]  # fmt: skip

_FOLDED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})

_PROTECTED = {
    "sex", "gender", "geschlecht", "race", "racial", "rasse", "ethnicity", "ethnic", "ethnie", "ethnisch", "hautfarbe",
    "nationality", "nationalitaet", "staatsangehoerigkeit", "staatsbuergerschaft", "citizenship", "citizen", "religion",
    "religious", "konfession", "religionszugehoerigkeit", "marital", "marriage", "married", "familienstand",
    "verheiratet", "zivilstand", "foreigner", "auslaender", "gastarbeiter", "migrationshintergrund", "immigrant",
    "immigration", "disability", "disabled", "behinderung", "schwerbehindert", "schwerbehinderung", "pregnant",
    "pregnancy", "schwanger", "schwangerschaft", "sexuality", "birth", "birthday", "birthdate", "born", "geburt",
    "geburtsdatum", "geburtstag", "geburtsjahr", "geburtsort", "geboren", "dob", "herkunft", "genetic", "gewerkschaft",
    "male", "female", "maennlich", "weiblich", "transgender", "divorced", "widowed", "spouse", "ledig", "geschieden",
    "verwitwet", "ehestand", "personenstand", "familienstatus", "geburtsland", "herkunftsland", "nation", "faith",
    "creed", "caste", "glaube", "kirchenzugehoerigkeit", "kirchensteuer", "hispanic", "latino", "minority",
    "minderheit", "foreign", "caucasian", "african", "asian",
    "volkszugehoerigkeit", "auslaendisch", "auslaendischer", "auslaendische", "mutterschaft",
}  # fmt: skip
_PROTECTED_PAIRS = (
    {"foreign", "worker"}, {"foreign", "national"}, {"foreign", "born"}, {"family", "status"}, {"native", "country"},
    {"native", "language"}, {"skin", "color"},
    {"skin", "colour"}, {"civil", "status"}, {"sexual", "orientation"}, {"sexuelle", "orientierung"},
    {"national", "origin"}, {"country", "origin"}, {"over", "18"}, {"foreignworker"}, {"maritalstatus"},
)  # fmt: skip
_TRAITS = {
    "male", "female", "woman", "women", "husband", "wife", "widow", "widowed", "widower", "divorced", "married",
    "unmarried", "maennlich", "weiblich", "frau", "ehefrau", "ehemann", "verheiratet", "ledig", "geschieden",
    "verwitwet", "hispanic", "caucasian", "muslim", "catholic", "protestant", "jewish", "katholisch", "evangelisch",
}  # fmt: skip
"""Words that values of a protected trait are made of."""
_MAYBE_TRAITS = {"single", "man", "men", "mann", "separated", "divers", "other", "none", "asian", "christian"}
"""Words that are one beside another."""
_LETTERS = ({"m", "f"}, {"m", "w"}, {"m", "w", "d"}, {"f", "m", "x"})
_AGES = {"age", "alter", "lebensalter", "lebensjahre", "altersgruppe", "altersklasse"}
_THINGS = {
    "account", "konto", "vehicle", "car", "auto", "fahrzeug", "house", "haus", "building", "gebaeude", "credit", "loan",
    "kredit", "property", "history", "file", "company", "firma", "business", "device", "card", "policy", "vertrag",
    "contract", "oldest", "average", "trade",
}  # fmt: skip
_IDENTIFIERS = {
    "id", "ids", "uuid", "guid", "iban", "ssn", "email", "mail", "phone", "telefon", "telephone", "mobile", "kennung",
    "kundennummer", "kontonummer", "vertragsnummer", "antragsnummer", "aktenzeichen", "personalnummer", "nr", "rowid",
    "userid", "customerid", "accountnumber", "employeenumber", "passport", "ausweis", "steuernummer",
}  # fmt: skip
_NUMBERED = {
    "customer", "client", "account", "loan", "case", "application", "applicant", "employee", "policy", "contract",
    "record", "row", "serial", "member", "user", "kunde", "konto", "vertrag", "antrag", "fall",
}  # fmt: skip
_HISTORY = {
    "last", "previous", "previously", "prev", "past", "prior", "ever", "historical", "history", "overdue", "late",
    "delinquent", "delinquency", "delinquencies", "delinq", "since", "pastdue", "letzte", "letzter", "letztes",
    "letzten", "vorher", "vorige", "voriger", "voriges", "vorjahr", "bisher", "bisherige", "vergangen", "vergangene",
    "frueher", "fruehere", "jemals", "historie", "verlauf", "seit", "verzug", "mahnung", "mahnungen", "inkasso",
}  # fmt: skip
_PAST = {
    "priors", "juv", "juvenile", "felon", "felony", "felonies", "fel", "misdemeanor", "misdemeanors", "misd",
    "arrest", "arrests", "arrested", "conviction", "convictions", "convicted", "crime", "crimes", "criminal",
    "offense", "offenses", "offence", "offences", "recid", "recidivism", "recidivist", "rearrest", "prison", "jail",
    "parole", "probation", "incarcerated", "vorstrafe", "vorstrafen", "vorbestraft", "bankruptcy", "bankruptcies",
    "insolvenz", "event",
}  # fmt: skip
_COLOURS = {"white", "black"}
_MONEY = {"bill", "pay", "paid", "payment", "amt", "amount", "balance", "rechnung", "zahlung", "saldo", "umsatz"}
_CODES = {
    "type", "status", "code", "category", "class", "group", "region", "state", "department", "job", "purpose", "reason",
    "typ", "art", "klasse", "kategorie", "gruppe", "stand", "zweck", "grund", "abteilung", "education", "bildung",
}  # fmt: skip
_COUNTS = {"number", "num", "count", "anzahl", "zahl", "no", "total", "years", "months", "jahre", "monate"}
_ANSWERS = {
    "target", "label", "outcome", "decision", "approved", "rejected", "granted", "accepted", "ziel", "entscheidung",
    "ergebnis", "bewilligt", "abgelehnt", "zielvariable", "recid", "recidivism", "recidivist", "rearrest", "event",
}  # fmt: skip
_UP_ONLY = {
    "tenure", "seniority", "experience", "education", "degree", "schooling", "qualification", "betriebszugehoerigkeit",
    "berufserfahrung", "erfahrung", "bildung", "abschluss", "schulabschluss", "qualifikation",
}  # fmt: skip


def words_of(name: str) -> list[str]:
    """The words in a column's name, in small letters; umlauts as two letters."""
    apart = re.sub(r"(?<=[a-zäöüß])(?=[A-ZÄÖÜ])|(?<=[A-ZÄÖÜ])(?=[A-ZÄÖÜ][a-zäöüß])", " ", name)
    folded = apart.lower().translate(_FOLDED)
    return re.findall(r"[a-z]+|\d+", folded)


def is_protected(name: str, values: Sequence[object] = ()) -> bool:
    """Whether a column looks like a trait that the law protects, or that nobody chooses: by its name, or its values.

    >>> [is_protected(n) for n in ("foreign_worker", "Familienstand", "AGE", "account_age", "percentage")]
    [True, True, True, False, False]
    >>> is_protected("status", ["male single", "female div/sep"]), is_protected("house", ["single family", "flat"])
    (True, False)
    """
    return _named_protected(name) or _tells_trait(values)


def _tells_trait(values: Sequence[object]) -> bool:
    """Whether categories are those of a protected trait: at least two of them say so."""
    said = [set(words_of(value)) for value in values if isinstance(value, str)]
    if len(said) != len(values) or len(said) < 2:
        return False
    if all(len(words) == 1 for words in said) and set().union(*said) in _LETTERS:
        return True
    sure = sum(bool(words & _TRAITS) for words in said)
    return sure >= 1 and sum(bool(words & (_TRAITS | _MAYBE_TRAITS)) for words in said) >= 2


def _named_protected(name: str) -> bool:
    found = set(words_of(name))
    if (len(found) == 1 and found & _COLOURS) or found & _PROTECTED or any(pair <= found for pair in _PROTECTED_PAIRS):
        return True
    return bool(found & _AGES) and not found & _THINGS


def is_identifier(name: str) -> bool:
    """Whether a name sounds like one that tells people apart.

    >>> [is_identifier(n) for n in ("customer_id", "Loan Number", "Kundennummer", "number_of_loans")]
    [True, True, True, False]

    So does what pandas calls a column without a name, which is most often the number of the row:

    >>> is_identifier("Unnamed: 0"), is_identifier("rownames"), is_identifier("price_index")
    (True, True, False)
    """
    words = words_of(name)
    if words in (["index"], ["rownames"]) or (len(words) == 2 and words[0] == "unnamed" and words[1].isdigit()):
        return True
    if words and (words[-1] in _IDENTIFIERS or words[0] in ("id", "uuid", "guid")):
        return True
    return len(words) == 2 and words[0] in _NUMBERED and words[1] in ("number", "no", "num", "nummer", "key")


def is_postal(name: str) -> bool:
    """Whether a name sounds like a zip code, which is no amount even where it is a number.

    >>> is_postal("ZipCode"), is_postal("PLZ"), is_postal("zipper")
    (True, True, False)
    """
    return bool(set(words_of(name)) & {"zip", "zipcode", "postcode", "postal", "plz", "postleitzahl"})


def is_history(name: str, others: Sequence[str] = ()) -> bool:
    """Whether a name sounds like something that has already happened; ``others`` are the names of all columns.

    >>> months = [f"BILL_AMT{i}" for i in range(1, 7)]
    >>> is_history("BILL_AMT3", months), is_history("delinq_2yrs"), is_history("amount", ["amount"])
    (True, True, False)
    """
    words = words_of(name)
    if set(words) & _HISTORY:
        return True
    if not words or not words[-1].isdigit() or not set(words) & _MONEY:
        return False
    # one of a series, such as one bill a month
    series = [other for other in others if words_of(other)[:-1] == words[:-1] and words_of(other)[-1].isdigit()]
    return len(series) >= 3


def is_past(name: str) -> bool:
    """Whether a name is that of a past that no advice can change: a criminal record, a bankruptcy, an event.

    >>> [is_past(name) for name in ("PRIORS", "juv_fel_count", "FELON", "is_recid", "event", "prior_loans")]
    [True, True, True, True, True, False]
    """
    return bool(set(words_of(name)) & _PAST)


def is_code(name: str) -> bool:
    """Whether a name sounds like a choice from a list rather than an amount.

    >>> is_code("EDUCATION"), is_code("number_of_jobs"), is_code("income")
    (True, False, False)
    """
    words = set(words_of(name))
    return bool(words & _CODES or (_named_protected(name) and not words & _AGES)) and not words & _COUNTS


def is_answer(name: str) -> bool:
    """Whether a name sounds like the decision itself.

    >>> is_answer("loan_approved"), is_answer("income")
    (True, False)
    """
    return bool(set(words_of(name)) & _ANSWERS)


def one_way(name: str) -> bool:
    """Whether a name sounds like something that only grows with time or effort.

    >>> one_way("YearsOfExperience"), one_way("loan_duration")
    (True, False)
    """
    return bool(set(words_of(name)) & _UP_ONLY)
