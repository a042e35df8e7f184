"""A letter's templates filled in."""

from __future__ import annotations

import base64
import hashlib
import re
import textwrap
from collections.abc import Mapping
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined, select_autoescape

from armin.errors import ParameterError

__all__ = ["policy_of", "render", "sealed"]

_START = re.compile(r"\s*(?:<!doctype[^>]*>\s*)?(?:<html[^>]*>\s*)?(?:<head[^>]*>)?", re.IGNORECASE)
_STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)


def render(context: Mapping[str, Any], templates: str | Path | None) -> tuple[str, str]:
    """The letter as HTML and as text.

    Parameters
    ----------
    context : what a template may print
    templates : a company's folder; its templates run as code of whoever names the folder
    """
    environment = _environment(templates)
    from jinja2 import TemplateError

    try:
        html = environment.get_template("letter.html.j2").render(context)
        text = environment.get_template("letter.txt.j2").render(context)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        where = f" in {getattr(error, 'name', None)}" if getattr(error, "name", None) else ""
        raise ParameterError(
            f"The letter's template{where} cannot be used: {error}. Correct it in 'templates'."
        ) from error
    return sealed(html), text.replace("\u00a0", " ")  # its lines are broken already


def sealed(html: str) -> str:
    """A page that loads nothing from elsewhere wherever it is opened: its policy stands before all else in it.

    >>> sealed("<!doctype html><html><head><title>Plan</title></head></html>")[:77]
    '<!doctype html><html><head><meta http-equiv="Content-Security-Policy" content'
    """
    _Links().feed(html)
    start = _START.match(html)
    at = start.end() if start is not None else 0
    meta = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy_of(html))}">'
    return f"{html[:at]}{meta}{html[at:]}"


class _Links(HTMLParser):
    """Refuses what leads elsewhere by itself, whatever the policy: a page that goes on, a host that is looked up."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: (value or "").strip().lower() for name, value in attrs}
        if tag == "meta" and said.get("http-equiv") == "refresh":
            raise _leads("meta http-equiv='refresh'")
        hosts = {"dns-prefetch", "preconnect"} & set(said.get("rel", "").split())
        if tag == "link" and hosts:
            raise _leads(f"link rel='{min(hosts)}'")


def _leads(what: str) -> ParameterError:
    return ParameterError(
        f"The letter's template holds <{what}>, and a letter must load nothing from elsewhere. Take it out of "
        "'templates'."
    )


def policy_of(html: str) -> str:
    """A content security policy under which a page may use its own style, and nothing else."""
    hashes = [hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(html)]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes) or "'none'"
    return f"default-src 'none'; style-src {allowed}; img-src data:; base-uri 'none'; form-action 'none'"


def _environment(templates: str | Path | None) -> Environment:
    own = [] if templates is None else [FileSystemLoader(str(templates))]
    environment = Environment(
        loader=ChoiceLoader([*own, PackageLoader("armin_desk.letter", "templates")]),
        autoescape=select_autoescape((), disabled_extensions=("txt.j2", "css"), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fill"] = _fill
    return environment


def _fill(text: str, first: str = "", width: int = 78) -> str:
    """A paragraph in lines; ``first`` stands before the first, and the others are indented as far."""
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
