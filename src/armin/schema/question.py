"""What somebody who knows the columns should look at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Literal

from armin.words import Message, Printable

__all__ = ["About", "Question", "Review", "SchemaNote"]

About = Literal[
    "carried", "protected", "constant", "identifier", "history", "past", "leak", "direction", "codes",
    "numbers as text", "rule", "sentinel",
]  # fmt: skip


TOGETHER = tuple(
    f"review.{code}" for code in ("history", "past", "identifier", "carried", "constant", "rule", "sentinel_taken")
)
"""What a table may have dozens of, such as one bill for each month: said as one list to confirm."""


class SchemaNote(UserWarning):
    """What ``Schema.infer`` decided without being told; say it yourself, and the note is gone.

    Attributes
    ----------
    questions : the same one by one
    """

    def __init__(self, text: str, questions: tuple[Question, ...] = ()) -> None:
        super().__init__(text)
        self.questions = questions


@dataclass(frozen=True, repr=False)
class Question(Printable):
    """One thing about one column that data cannot settle.

    Attributes
    ----------
    column : its name
    about : what kind of question it is
    message : the question, in any language, with the words of ``Schema.infer`` that would settle it
    toml : the same words as a line of a schema's file
    """

    column: str
    about: About
    message: Message
    toml: str = ""

    @property
    def comment(self) -> Message:
        """The question for the reader of a schema's file."""
        if self.about == "rule":
            return Message("review.rule_kept", name=self.message["name"])
        return Message(self.message.code, **{**self.message.values, "code": self.toml}) if self.toml else self.message

    def text(self, language: str = "en") -> str:
        """The question in a language."""
        return self.message.text(language)


@dataclass(frozen=True, repr=False)
class Review(Printable):
    """Questions about a schema; prints as a list.

    Attributes
    ----------
    questions : in the order of the columns

    Examples
    --------
    >>> from armin.schema import Feature, Schema
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
    >>> print(schema.review())
    1 question about the columns:
      1. 'age' looks like a protected trait, and advice may change it. Should it stay as it is? protected=['age'].
    """

    questions: tuple[Question, ...] = ()

    def __iter__(self) -> Iterator[Question]:
        return iter(self.questions)

    def __len__(self) -> int:
        return len(self.questions)

    def about(self, column: str) -> tuple[Question, ...]:
        """The questions about one column."""
        return tuple(question for question in self.questions if question.column == column)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The questions as they are printed: what is asked about several columns in the same words is asked once."""
        found: dict[object, list[Question]] = {}
        for i, question in enumerate(self.questions):
            code = question.message.code
            found.setdefault(code if code in TOGETHER else i, []).append(question)
        return tuple(some[0].message if len(some) == 1 else _together(some) for some in found.values())

    def text(self, language: str = "en") -> str:
        """All questions in a language."""
        if not self.questions:
            return Message("review.none").text(language)
        asked = self.messages
        head = Message("review.head", n=len(asked)).text(language)
        return "\n".join([head, *(f"  {i}. {one.text(language)}" for i, one in enumerate(asked, start=1))])

    def html(self, language: str = "en") -> str:
        """All questions as a list in HTML; notebooks show it in English."""
        if not self.questions:
            return f"<p>{escape(self.text(language))}</p>"
        asked = self.messages
        listed = "".join(f"<li>{escape(one.text(language))}</li>" for one in asked)
        return f"<p>{escape(Message('review.head', n=len(asked)).text(language))}</p><ol>{listed}</ol>"


def _together(questions: list[Question]) -> Message:
    """One question about several columns, with one answer for all of them."""
    first = questions[0].message
    names = [question.column for question in questions]
    said = ", ".join(str(question.message["name"]) for question in questions)
    code = str(first.values.get("code", ""))
    if first.code == "review.sentinel_taken":
        code = f"sentinels={{{', '.join(str(one.message['code'])[11:-1] for one in questions)}}}"
    elif first.code != "review.rule":  # which has one answer for all of them as it is
        code = f"{code.partition('=')[0]}={names}"
    return Message(first.code, **{**first.values, "name": said, "code": code, "n": len(names)})
