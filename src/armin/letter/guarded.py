"""Templates from a file that somebody else made: they may lay out a letter, and do nothing else.

Jinja2's sandbox keeps a template from Python's insides. It does not keep it from eating time and memory, so a template
from a bundle may only loop, choose and print: no calls, no arithmetic, no variables of its own, few filters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from armin.errors import ParameterError

if TYPE_CHECKING:
    from jinja2.sandbox import SandboxedEnvironment

__all__ = ["check_page", "check_template", "guard", "joined", "trial", "visible"]

NODES = frozenset(
    [
        "Template",
        "Output",
        "TemplateData",
        "Name",
        "Const",
        "Getattr",
        "Getitem",
        "For",
        "If",
        "CondExpr",
        "Filter",
        "Test",
        "Compare",
        "Operand",
        "And",
        "Or",
        "Not",
        "Tuple",
        "Include",
        "Keyword",
    ]
)
FILTERS = frozenset(
    [
        "fill",
        "format",
        "upper",
        "lower",
        "title",
        "capitalize",
        "trim",
        "escape",
        "e",
        "length",
        "first",
        "last",
        "default",
    ]
)
MOST_LOOPS = 40
DEEPEST_LOOP = 2
LONGEST_PAGE = 2**20
_LONG_PARAGRAPH, _LONG_WORD = 20_000, 200
_FORBIDDEN = re.compile(
    r"<\s*/?\s*(script|link|base|iframe|frame|frameset|object|embed|form|portal|template|svg|math)\b", re.I
)
_META = re.compile(r"<meta\b", re.I)
_GOOD_META = re.compile(r'<meta (?:charset="[\w-]+"|name="[\w-]+" content="[^"<>]*") ?/?>', re.I)
_HEAD = re.compile(r'\s*<!doctype html>\s*(?:<html(?: lang="[\w-]*")?>\s*(?:<head>)?)?', re.I)


def guard(environment: SandboxedEnvironment, fill: Callable[..., str]) -> None:
    """Take all but the few harmless filters out of an environment; nothing global is left to call."""
    kept = {name: made for name, made in environment.filters.items() if name in FILTERS}

    def short_fill(text: str, first: str = "", width: int = 78) -> str:
        if len(text) > _LONG_PARAGRAPH or len(first) > 20 or not 20 <= width <= 200:
            raise ParameterError("The filter 'fill' takes short texts, and lines of 20 to 200 characters.")
        return fill(text, first, width)

    def short_format(pattern: str, *values: Any) -> str:
        whole = all(isinstance(v, int | float) or (isinstance(v, str) and len(v) <= _LONG_WORD) for v in values)
        if len(pattern) > 20 or re.search(r"\d{3}|\*", pattern) or not whole:
            raise ParameterError("The filter 'format' takes a pattern of at most 20 characters and short values.")
        return str(pattern) % values

    environment.filters = kept | {"fill": short_fill, "format": short_format}
    environment.globals = {}


def check_template(environment: SandboxedEnvironment, name: str, source: str) -> None:
    """Refuse a template that does more than lay out."""
    from jinja2 import nodes

    tree = environment.parse(source, name)
    found = [tree, *tree.find_all(nodes.Node)]
    for node in found:
        kind = type(node).__name__
        if kind not in NODES:
            raise _refused(name, node, f"{kind} is not allowed")
        if isinstance(node, nodes.Filter) and node.name not in FILTERS:
            raise _refused(
                name, node, f"the filter {node.name!r} is not allowed; use one of {', '.join(sorted(FILTERS))}"
            )
        if isinstance(node, nodes.For) and node.recursive:
            raise _refused(name, node, "a recursive loop is not allowed")
        if isinstance(node, nodes.Include) and (
            name != "letter.html.j2" or getattr(node.template, "value", None) != "letter.css"
        ):
            raise _refused(name, node, "only letter.html.j2 may include, and only letter.css")
    loops = sum(isinstance(node, nodes.For) for node in found)
    if loops > MOST_LOOPS or _depth(tree) > DEEPEST_LOOP:
        raise _refused(name, tree, f"there may be at most {MOST_LOOPS} loops, nested at most {DEEPEST_LOOP} deep")


def _depth(node: Any) -> int:
    own = type(node).__name__ == "For"
    return own + max((_depth(child) for child in node.iter_child_nodes()), default=0)


def _refused(name: str, node: Any, why: str) -> ParameterError:
    return ParameterError(
        f"The template {name}, line {node.lineno}, cannot be used from a bundle: {why}. "
        "Such a template may only loop, choose and print."
    )


def check_page(html: str, policy: str) -> str:
    """A page with its policy inside; one that would load, send or run something is refused."""
    found = _FORBIDDEN.search(html)
    if found or len(_META.findall(html)) != len(_GOOD_META.findall(html)):
        what = f"<{found[1].lower()}>" if found else "a <meta> other than charset and name"
        raise ParameterError(
            f"The letter's template holds {what}. A letter from a bundle is text, tables and style only."
        )
    head = _HEAD.match(html)
    if head is None:
        raise ParameterError("The template letter.html.j2 must begin with <!doctype html>.")
    meta = f'\n<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return html[: head.end()] + meta + html[head.end() :]


def visible(text: str) -> str:
    r"""A text without control characters that a terminal would obey.

    >>> visible("Plan\x1b[2J\n")
    'Plan[2J\n'
    """
    return "".join(
        c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") or c in "\u200c\u200d"
    )


def joined(pieces: Any) -> str:
    """The pieces of a page in one, unless there is no end to them."""
    made, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > LONGEST_PAGE:
            raise ParameterError(f"The letter would be longer than {LONGEST_PAGE:,} characters. Correct its templates.")
        made.append(piece)
    return "".join(made)


def trial() -> Mapping[str, Any]:
    """A context like that of a letter, to try templates on."""
    from armin.letter.content import Section

    listed = Section("plan", "Title", ("Before",), ("First", "Second"), True, ("After",))
    return {
        "language": "en", "outcome": "plan", "title": "Title", "organisation": "Sender", "contact": ["Address"],
        "applicant": "Name", "greeting": "Hello Name,", "facts": [("Date", "Today"), ("Reference", "1")],
        "sections": (listed, Section("blanks", "Title", ("Before",))), "closing": "Closing",
    }  # fmt: skip
