"""What every answer shares: printed as text, shown as HTML in a notebook, and called by its first line elsewhere."""

from __future__ import annotations

from html import escape

__all__ = ["Printable"]


class Printable:
    """An answer that is read by people; ``text`` is all that it must have.

    Examples
    --------
    >>> class Greeting(Printable):
    ...     def text(self, language="en"):
    ...         return "Guten Tag!" if language == "de" else "Good day!"
    >>> Greeting()
    <Greeting: Good day!>
    >>> print(Greeting())
    Good day!
    >>> Greeting().html("de")
    '<p>Guten Tag!</p>'
    """

    __slots__ = ()

    def text(self, language: str = "en") -> str:
        """The answer as text in a language, such as "de"; ``print`` shows it in English."""
        raise NotImplementedError

    def html(self, language: str = "en") -> str:
        """The answer as HTML in a language; notebooks show it in English."""
        text = escape(self.text(language))
        return f'<pre style="white-space:pre-wrap">{text}</pre>' if "\n" in text else f"<p>{text}</p>"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {str(self).lstrip().partition(chr(10))[0].rstrip()}>"

    def _repr_html_(self) -> str:
        return self.html()
