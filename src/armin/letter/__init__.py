"""A one-page letter for the person: decision, reasons, plan, other ways, what is not known, what is not promised."""

from armin.letter.own import check_words, read_words
from armin.letter.reference import check_reference, new_reference
from armin.letter.write import Letter, write_letter

__all__ = ["Letter", "check_reference", "check_words", "new_reference", "read_words", "write_letter"]
