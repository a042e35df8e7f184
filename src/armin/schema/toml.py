"""A schema as a readable TOML file, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armin.errors import SchemaError
from armin.schema.feature import Feature
from armin.schema.rules import Rule, rule_from_dict
from armin.schema.shown import Shown
from armin.toml import parse_toml

if TYPE_CHECKING:
    from armin.schema.table import Schema

__all__ = ["FORMAT", "read_toml", "schema_from_dict", "schema_to_dict", "write_toml"]

FORMAT = 1
"""Version of the file format."""

_HEADER = """\
# What ARMIN may suggest. Kinds: continuous, integer, binary, categorical, ordinal; or carried: passed on as it is.
# direction: "any", "increase", "decrease" or "fixed".  blank: "shift", "reach" or "freeze".
# bounds: between which advice stays.  limits: what a value can be at all, if that is more.
# sentinels: values that stand for a blank.
# columns: the columns of 0 and 1 that are one feature.  formula: what a derived column is made of.
# protected: true for what advice must never touch.  reason: your own code for it as a reason.
# form: group, order, short, help, example, values, weeks (that a change takes) on the desk.
"""
_KEYS = (
    "kind", "bounds", "limits", "categories", "direction", "step", "blank", "label", "unit", "format", "difficulty",
    "protected", "reason", "form", "columns", "formula", "sentinels",
)  # fmt: skip


def schema_to_dict(schema: Schema) -> dict[str, Any]:
    """A schema as plain data.

    >>> from armin.schema import Schema
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90, direction="fixed"),))
    >>> schema_to_dict(schema)["features"]["age"]
    {'kind': 'integer', 'bounds': [18, 90], 'direction': 'fixed'}
    """
    features: dict[str, Any] = {}
    for f in schema:
        entry: dict[str, Any] = {"kind": f.kind}
        if f.is_number:
            entry["bounds"] = [_tidy(f.lower), _tidy(f.upper)]
            if f.limits is not None:
                entry["limits"] = [_tidy(number) for number in f.limits]
        elif not f.is_carried:
            entry["categories"] = list(f.categories)
        if not f.is_carried:
            entry["direction"] = f.direction
        if f.step is not None:
            entry["step"] = _tidy(f.step)
        extras: tuple[tuple[str, object, object], ...] = (
            ("blank", f.blank, None),
            ("label", f.label, ""),
            ("unit", f.unit, ""),
            ("format", f.format, ""),
            ("difficulty", _tidy(f.difficulty), 1),
            ("protected", f.protected, False),
            ("reason", f.reason, ""),
            ("columns", list(f.columns), []),
            ("formula", f.formula, ""),
            ("sentinels", [_tidy(v) if isinstance(v, float) else v for v in f.sentinels], []),
        )
        entry |= {key: value for key, value, plain in extras if value != plain}
        if shown := f.shown.to_dict():
            entry["form"] = shown
        features[f.name] = entry
    data: dict[str, Any] = {"armin_schema": FORMAT, "features": features}
    if schema.decisions:
        data["decisions"] = dict(schema.decisions)
    if schema.rules:
        data["rules"] = [rule.to_dict() for rule in schema.rules]
    return data


def schema_from_dict(data: dict[str, Any]) -> tuple[tuple[Feature, ...], tuple[Rule, ...], dict[str, str]]:
    """The schema behind :func:`schema_to_dict`."""
    version = data.get("armin_schema")
    if version != FORMAT:
        raise SchemaError(f"A schema file must say armin_schema = {FORMAT}. Got {version!r} instead.")
    entries = data.get("features")
    if not isinstance(entries, dict) or not entries:
        raise SchemaError("A schema file needs a [features.NAME] table for each column. Got none.")
    rules = data.get("rules", [])
    if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
        raise SchemaError(f"The rules of a schema file must be [[rules]] tables. Got {rules!r} instead.")
    decisions = data.get("decisions", {})
    if not isinstance(decisions, dict):
        raise SchemaError(f"The decisions of a schema file must be a [decisions] table. Got {decisions!r} instead.")
    features = tuple(_feature(name, entry) for name, entry in entries.items())
    return features, tuple(rule_from_dict(rule) for rule in rules), decisions


def _feature(name: str, entry: Any) -> Feature:
    if not isinstance(entry, dict):
        raise SchemaError(f"[features.{name}] must be a table with a kind. Got {entry!r} instead.")
    unknown = [key for key in entry if key not in _KEYS]
    if unknown:
        raise SchemaError(f"[features.{name}] has an unknown key {unknown[0]!r}. Known: {', '.join(_KEYS)}.")
    if "kind" not in entry:
        raise SchemaError(f"[features.{name}] needs a kind.")
    lower, upper = _ends(name, "bounds", entry.get("bounds", [None, None]))
    least, most = _ends(name, "limits", entry.get("limits", [None, None]))
    if (least is None) != (most is None):
        raise SchemaError(f"[features.{name}] limits must be [lower, upper]. Got {entry['limits']!r}.")
    if not isinstance(entry.get("categories", []), list | tuple):
        raise SchemaError(f"[features.{name}] categories must be a list. Got {entry['categories']!r}.")
    columns, formula = entry.get("columns", []), entry.get("formula", "")
    if not isinstance(entry.get("sentinels", []), list | tuple):
        raise SchemaError(f"[features.{name}] sentinels must be a list. Got {entry['sentinels']!r}.")
    if not isinstance(columns, list | tuple) or not all(isinstance(column, str) for column in columns):
        raise SchemaError(f"[features.{name}] columns must be a list of names. Got {columns!r}.")
    if not isinstance(formula, str):
        raise SchemaError(f"[features.{name}] formula must be a text. Got {formula!r}.")
    return Feature(
        name=name,
        kind=entry["kind"],
        lower=lower,
        upper=upper,
        categories=tuple(entry.get("categories", ())),
        direction=entry.get("direction", "any"),
        step=_as_float(name, "step", entry.get("step")),
        blank=entry.get("blank"),
        label=entry.get("label", ""),
        unit=entry.get("unit", ""),
        format=entry.get("format", ""),
        difficulty=_as_float(name, "difficulty", entry.get("difficulty", 1.0)),  # type: ignore[arg-type]  # never None
        protected=entry.get("protected", False),
        reason=entry.get("reason", ""),
        shown=_shown(name, entry.get("form", {})),
        limits=None if least is None or most is None else (least, most),
        columns=tuple(columns),
        formula=formula,
        sentinels=tuple(entry.get("sentinels", ())),
    )


def _ends(name: str, what: str, pair: object) -> tuple[float | None, float | None]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise SchemaError(f"[features.{name}] {what} must be [lower, upper]. Got {pair!r}.")
    return _as_float(name, what, pair[0]), _as_float(name, what, pair[1])


def _shown(name: str, said: object) -> Shown:
    if not isinstance(said, dict):
        raise SchemaError(f"[features.{name}] form must be a table, such as {{ group = 'Money' }}. Got {said!r}.")
    return Shown.of(name, said)


def _as_float(name: str, what: str, value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise SchemaError(f"[features.{name}] {what} must be a number. Got {value!r} instead.")
    return float(value)


def write_toml(
    schema: Schema, path: str | Path | None = None, comments: Mapping[str, Sequence[str]] | None = None
) -> str:
    """A schema as TOML text, also written to ``path`` if given; ``comments`` by column stand above it.

    >>> from armin.schema import Schema
    >>> schema = Schema((Feature("age", "integer", lower=18, upper=90),))
    >>> Schema(*read_toml(write_toml(schema))) == schema
    True
    """
    lines = [_HEADER, f"armin_schema = {FORMAT}"]
    data = schema_to_dict(schema)
    tables = [(f"[features.{_key(name)}]", entry, name) for name, entry in data["features"].items()]
    if "decisions" in data:
        tables.append(("[decisions]", {_key(label): name for label, name in data["decisions"].items()}, ""))
    tables += [("[[rules]]", rule, "") for rule in data.get("rules", [])]
    for head, entry, name in tables:
        said = (comments or {}).get(name, ())
        lines.append("\n" + "".join(f"# {' '.join(text.split())}\n" for text in said) + head)
        lines.extend(f"{key} = {_toml(value)}" for key, value in entry.items())
    text = "\n".join(lines) + "\n"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def read_toml(source: str | Path) -> tuple[tuple[Feature, ...], tuple[Rule, ...], dict[str, str]]:
    """The schema in a TOML file, or in TOML text (anything with a line break)."""
    if isinstance(source, Path) or "\n" not in source:
        path = Path(source)
        if not path.is_file():
            raise SchemaError(f"There is no schema file {str(path)!r}. Write one with schema.to_toml(path).")
        source = path.read_text(encoding="utf-8")
    return schema_from_dict(parse_toml(source))


def _tidy(number: float | None) -> float | int | None:
    return int(number) if number is not None and float(number).is_integer() else number


def _key(name: str) -> str:
    plain = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if plain else _toml(name)


def _toml(value: object) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(name)} = {_toml(v)}" for name, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    if isinstance(value, str):
        # JSON's escapes are TOML's, but for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    return json.dumps(value)
