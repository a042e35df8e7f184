"""A one-page letter for the person: decision, reasons, plan, other ways, what is not known, what is not promised."""

from armin.letter.own import read_own
from armin.letter.reference import check_reference, new_reference
from armin.letter.render import try_own
from armin.letter.texts import languages
from armin.letter.write import Letter, write_letter

__all__ = ["Letter", "check_reference", "languages", "new_reference", "read_own", "try_own", "write_letter"]
