"""A letter's templates filled in, in a sandbox."""

from __future__ import annotations

import base64
import hashlib
import re
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from armin.errors import ArminError, MissingDependencyError, ParameterError
from armin.letter.guarded import check_page, check_template, guard, joined, trial, visible
from armin.letter.own import LAYOUTS, Templates, check_own
from armin.letter.texts import check_texts, languages, load_texts

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

__all__ = ["policy_of", "render", "try_own"]

_STYLE = re.compile(r"<style[^>]*>(.*?)</style>", re.DOTALL)


def render(context: Mapping[str, Any], templates: Templates | None) -> tuple[str, str]:
    """The letter as HTML and as text.

    Parameters
    ----------
    context : what a template may print
    templates : a company's folder, or its files by name; the latter may come from anybody, so they may do less
    """
    given = templates if isinstance(templates, Mapping) else None
    environment = _environment(templates)
    from jinja2 import TemplateError

    try:
        if given is not None:
            for name in LAYOUTS:
                if name in given:
                    check_template(environment, name, given[name])
        html = joined(environment.get_template("letter.html.j2").generate(context))
        text = joined(environment.get_template("letter.txt.j2").generate(context))
    except (TemplateError, TypeError, ValueError, ArithmeticError, RecursionError, LookupError) as error:
        if isinstance(error, ArminError):
            raise
        where = f" in {getattr(error, 'name', None)}" if getattr(error, "name", None) else ""
        raise ParameterError(
            f"The letter's template{where} cannot be used: {error}. Correct it in 'templates'."
        ) from error
    text = text.replace("\u00a0", " ")  # its lines are broken already
    if given is None:
        return html, text
    html = visible(html)
    return check_page(html, policy_of(html)), visible(text)


def policy_of(html: str) -> str:
    """A content security policy under which a page may use its own style, and nothing else."""
    hashes = [hashlib.sha256(style.encode()).digest() for style in _STYLE.findall(html)]
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes) or "'none'"
    return f"default-src 'none'; style-src {allowed}; img-src data:; base-uri 'none'; form-action 'none'"


def try_own(files: Mapping[str, str]) -> dict[str, str]:
    """Letter files that a letter can be written with, in every language: refused here rather than when one is due.

    Parameters
    ----------
    files : name to text, as :func:`armin.letter.own.read_own` gives them

    Returns
    -------
    dict
        The same.

    Examples
    --------
    >>> try_own({"letter.txt.j2": "{{ title.upper() }}"})
    Traceback (most recent call last):
        ...
    armin.errors.ParameterError: The template letter.txt.j2, line 1, cannot be used from a bundle: Call is not ...
    """
    checked = check_own(files)
    for language in languages(checked):
        texts = load_texts(language, checked)
        check_texts(texts)
        render({**trial(), "language": language, "texts": texts.table}, checked)
    return checked


def _environment(templates: Templates | None) -> SandboxedEnvironment:
    try:
        from jinja2 import BaseLoader, ChoiceLoader, DictLoader, FileSystemLoader, PackageLoader, StrictUndefined
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError:
        raise MissingDependencyError("A letter needs jinja2. Install it with: pip install 'armin[web]'.") from None
    given = templates if isinstance(templates, Mapping) else None
    own: list[BaseLoader] = []
    if given is not None:
        own = [DictLoader({name: given[name] for name in LAYOUTS if name in given})]
    elif templates is not None:
        own = [FileSystemLoader(str(templates))]

    class Guarded(ImmutableSandboxedEnvironment):
        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            return not callable(value) and super().is_safe_attribute(obj, attr, value)

    plain = (".txt.j2",) if given is not None else (".txt.j2", ".css")
    environment = (ImmutableSandboxedEnvironment if given is None else Guarded)(
        loader=ChoiceLoader([*own, PackageLoader("armin.letter", "templates")]),
        autoescape=lambda name: name is None or not name.endswith(plain),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["fill"] = _fill
    if given is not None:
        guard(environment, _fill)
    return environment


def _fill(text: str, first: str = "", width: int = 78) -> str:
    """A paragraph in lines; ``first`` stands before the first, and the others are indented as far."""
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
