"""Tables, schemas and models from files."""

from __future__ import annotations

import io
import json
import re
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armin.errors import ArminError, DataError, MissingDependencyError, ModelError, ParameterError, SchemaError

if TYPE_CHECKING:
    import pandas as pd

    from armin.schema import Schema

__all__ = [
    "check_columns",
    "match_label",
    "read_csv",
    "read_estimator",
    "read_schema",
    "read_table",
    "shown",
    "without_label",
]

BLANKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")
"""What a blank looks like in a CSV file, unless the schema knows it as a category."""


_THOUSANDS = r"[-+]?\d{1,3}(\.\d{3})+(,\d+)?"


def read_schema(path: Path) -> Schema:
    """The schema in a TOML file."""
    from armin import Schema

    try:
        return Schema.from_toml(path)
    except ArminError:
        raise
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SchemaError(f"{str(path)!r} cannot be read as a schema ({error}). See 'armin schema --help'.") from None


def read_estimator(path: Path, *, trust: bool) -> Any:
    """The estimator in a joblib or pickle file, if the user trusts it."""
    if not trust:
        raise ParameterError(
            f"The model file {str(path)!r} was not opened: loading a joblib or pickle file runs the code it holds. "
            "If it comes from somebody you trust, add --trust."
        )
    if not path.is_file():
        raise DataError(f"There is no model file {str(path)!r}. Save one with joblib.dump(classifier, path).")
    import joblib

    try:
        return joblib.load(path)
    except Exception as error:  # a pickle can raise anything
        raise ModelError(
            f"The model file {str(path)!r} cannot be loaded ({type(error).__name__}: {error}). It must be a classifier "
            "saved with joblib or pickle, and the libraries that made it must be installed."
        ) from None


def match_label(estimator: Any, text: str) -> Any:
    """The label of a classifier that a text stands for; the text itself if there is none.

    >>> from sklearn.dummy import DummyClassifier
    >>> dummy = DummyClassifier().fit([[0], [0]], [0, 1])
    >>> match_label(dummy, "1"), match_label(dummy, "yes")
    (1, 'yes')
    """
    for label in getattr(estimator, "classes_", ()):
        plain = label.item() if getattr(label, "ndim", None) == 0 else label
        if str(plain) == text or (isinstance(plain, bool) and str(plain).lower() == text.lower()):
            return plain
        if isinstance(plain, int | float) and _number(text) == plain:
            return plain
    return text


def read_table(
    source: str, schema: Schema | None = None, text: str | None = None, kind: str | None = None
) -> pd.DataFrame:
    """A table from a file, or from standard input for "-".

    Parameters
    ----------
    source : the file
    schema, text : as in :func:`read_csv`
    kind : "csv", "parquet", "json" or "jsonl"; None for what the file's suffix says, else CSV
    """
    suffix = Path(source).suffix.lower().lstrip(".")
    suffix = {"ndjson": "jsonl", "pq": "parquet"}.get(suffix, suffix)
    kind = str(kind or (suffix if suffix in ("parquet", "json", "jsonl") else "csv"))
    if kind == "csv":
        return read_csv(source, schema, text)
    if source != "-" and not Path(source).is_file():
        raise DataError(f"There is no file {source!r}.")
    frame = _read_parquet(source) if kind == "parquet" else _read_json(source, lines=kind == "jsonl")
    if text is not None and text in frame.columns:
        frame[text] = frame[text].astype(str)
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _bytes(source: str) -> bytes:
    return sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()


def _read_parquet(source: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(io.BytesIO(_bytes(source))).reset_index(drop=True)
    except ImportError:
        raise MissingDependencyError(
            'Parquet files need the library pyarrow. Install it with: pip install "armin[parquet]"'
        ) from None
    except Exception as error:  # pyarrow has errors of its own
        reason = " ".join(str(error).split())[:200]
        raise DataError(f"{shown(source)} cannot be read as Parquet ({reason}).") from None


def _read_json(source: str, *, lines: bool) -> pd.DataFrame:
    """JSON: a list of objects, or one object; JSON lines: one object per line."""
    import pandas as pd

    what = "JSON lines: one object per line" if lines else "JSON: a list of objects, or one object"
    try:
        text = _bytes(source).decode("utf-8-sig")
        data = [json.loads(line) for line in text.splitlines() if line.strip()] if lines else json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        place = (
            f"line {error.lineno}, column {error.colno}"
            if isinstance(error, json.JSONDecodeError)
            else type(error).__name__
        )
        raise DataError(f"{shown(source)} cannot be read ({place}). It must be {what}.") from None
    rows = [data] if isinstance(data, dict) else data
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise DataError(f"{shown(source)} cannot be read. It must be {what}.")
    return pd.DataFrame(rows, dtype=object)


def read_csv(source: str, schema: Schema | None = None, text: str | None = None) -> pd.DataFrame:
    """A CSV file, or standard input for "-", as a frame.

    Parameters
    ----------
    source : the file
    schema : says which columns hold texts and which words are categories rather than blanks
    text : one more column that holds texts
    """
    import pandas as pd

    texts = [] if text is None else [text]
    blanks: Any = list(BLANKS)
    if schema is not None:
        texts += [f.name for f in schema if f.categories and all(isinstance(c, str) for c in f.categories)]
        blanks = {
            name: [word for word in BLANKS if word not in f.categories] for f in schema for name in (f.name, *f.columns)
        }
    if source != "-" and not Path(source).exists():
        raise DataError(f"There is no file {source!r}.")
    try:
        content = _bytes(source).decode("utf-8-sig")
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a line with too many cells
            frame = pd.read_csv(
                io.StringIO(content),
                **_dialect(content),
                index_col=False,
                skipinitialspace=True,
                keep_default_na=False,
                na_values=blanks,
                dtype=dict.fromkeys(texts, str),
            )
    except (OSError, UnicodeError, ValueError, pd.errors.ParserWarning) as error:
        reason = str(error).strip().rstrip(".")
        raise DataError(
            f"{shown(source)} cannot be read as CSV ({reason}). It must be UTF-8 text with column names in the first "
            "line and commas, semicolons, tabs, bars or spaces in between."
        ) from None
    if schema is None:
        _check_header(frame, source)
    known = [] if schema is None else [*schema.names, *schema.columns]
    names = [str(name) for name in frame.columns]
    names = [name.strip() if name not in known and name.strip() in known else name for name in names]
    return frame.set_axis(names, axis=1)


def _dialect(content: str) -> dict[str, str]:
    r"""How a CSV file is written: what stands between the cells, and the decimal comma of whoever needs semicolons.

    >>> _dialect("a;b\n1,5;1.200,75\n")
    {'sep': ';', 'decimal': ',', 'thousands': '.'}
    >>> _dialect("a,b\n1.5,2\n"), _dialect("a;b\n1.5;x\n"), _dialect("a  b\n1.5 x\n")
    ({'sep': ','}, {'sep': ';'}, {'sep': '\\s+'})
    """
    lines = [line for line in content.splitlines() if line.strip()]
    head = re.sub(r'"[^"]*"', "", lines[0]) if lines else ""
    sep = max(",;\t|", key=head.count)  # the comma, if there is none
    if sep not in head:
        widths = {len(re.sub(r'"[^"]*"', "_", line).split()) for line in lines}
        return {"sep": r"\s+" if len(widths) == 1 and widths != {1} else ","}
    if sep == ",":
        return {"sep": ","}
    cells = {cell.strip().strip('"') for line in lines[1:] for cell in line.split(sep)}
    comma = any(re.fullmatch(r"[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+", cell) for cell in cells)
    point = any(re.fullmatch(r"[-+]?\d*\.\d+", cell) and not re.fullmatch(_THOUSANDS, cell) for cell in cells)
    if not comma or point:
        return {"sep": sep}
    grouped = any(re.fullmatch(_THOUSANDS, cell) for cell in cells)
    return {"sep": sep, "decimal": ","} | ({"thousands": "."} if grouped else {})


def _check_header(frame: pd.DataFrame, source: str) -> None:
    """Refuse a table whose column names look like one more of its rows.

    A number above numbers is no name, unless the columns are counted; and names do not all occur below themselves.
    """
    import pandas as pd

    names = [str(name) for name in frame.columns]
    # pandas calls a second "a" "a.1"
    names = [bare if (bare := re.sub(r"\.\d+$", "", name)) in names else name for name in names]
    counted = [str(i) for i in range(len(names))], [str(i) for i in range(1, len(names) + 1)]
    numbers = [
        name
        for name, (_, column) in zip(names, frame.items(), strict=True)
        if _number(name) is not None and pd.api.types.is_numeric_dtype(column)
    ]
    below = ((column.astype(str) == name).any() for name, (_, column) in zip(names, frame.items(), strict=True))
    repeated = len(frame) > 1 and all(below)
    if (numbers and names not in counted) or repeated:
        first = ", ".join(names[:6]) + (", …" if len(names) > 6 else "")
        raise DataError(
            f"Is the first line of {shown(source)} a row rather than the names of the columns? It reads: {first}. "
            "Put the names of the columns into the first line; a name that is a number needs a letter, such as y2019."
        )


def without_label(frame: pd.DataFrame, label_column: str | None, source: str) -> pd.DataFrame:
    """The training data without the label."""
    if label_column is None:
        return frame
    if label_column not in frame.columns:
        raise DataError(
            f"{shown(source)} has no column {label_column!r}, the --label-column. "
            f"Its columns are: {', '.join(frame.columns)}."
        )
    return frame.drop(columns=label_column)


def check_columns(frame: pd.DataFrame, schema: Schema, source: str, hint: str) -> None:
    """Refuse a column that the schema does not have, with a hint what it may be."""
    for name in frame.columns:
        if name not in schema.names and name not in schema.columns:
            raise DataError(
                f"{shown(source)} has a column {name!r} that is not in the schema ({', '.join(schema.columns)}). "
                f"{hint} {name!r}; else remove it from the file."
            )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def shown(source: str) -> str:
    """A file's name for a message."""
    return "Standard input" if source == "-" else repr(source)
