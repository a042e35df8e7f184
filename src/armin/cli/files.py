"""From the files that a command names to an explainer and its rows."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armin.errors import ArminError, DataError, ModelError, ParameterError, SchemaError

if TYPE_CHECKING:
    import pandas as pd

    from armin.explainer.base import Explainer
    from armin.schema import Schema

__all__ = ["Sources", "match_label", "read_csv", "read_estimator", "read_schema", "without_label"]

BLANKS = ("", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A")
"""What a blank looks like in a CSV file, unless the schema knows it as a category."""

ONLY_FOR = {"confidence": ("ARMIN",), "n_samples": ("ARMIN", "RobustAR")}
"""Settings that not every method has."""


@dataclass(frozen=True)
class Sources:
    """The files of one command.

    Attributes
    ----------
    rows : the CSV file of people, or "-"
    model : the saved estimator
    trust : whether the user vouches for it
    train : the CSV file of training data
    schema : the TOML file
    label_column, id_column : columns that are no features, or None
    """

    rows: str
    model: Path
    trust: bool
    train: Path
    schema: Path
    label_column: str | None = None
    id_column: str | None = None

    def read(self, method: str, desired: list[str], settings: dict[str, Any]) -> tuple[Explainer, pd.DataFrame]:
        """The method, fitted, and the rows to explain; settings that are None keep their default."""
        import armin

        for name, methods in ONLY_FOR.items():
            if settings[name] is not None and method not in methods:
                option = name.removeprefix("n_")
                raise ParameterError(f"--{option} does not apply to {method}, only to {' and '.join(methods)}.")
        estimator = read_estimator(self.model, trust=self.trust)
        schema = read_schema(self.schema)
        people = self._people(schema)
        labels = [match_label(estimator, text) for text in desired]
        given = {name: value for name, value in settings.items() if value is not None}
        explainer: Explainer = getattr(armin, method)(estimator, schema, desired=labels, **given)
        training = without_label(read_csv(str(self.train), schema), self.label_column, str(self.train))
        _check_columns(training, schema, str(self.train), "If it holds the label, add --label-column")
        return explainer.fit(training), people

    def _people(self, schema: Schema) -> pd.DataFrame:
        """The rows to explain, named by the id column, or by their number from 1."""
        frame = read_csv(self.rows, schema, text=self.id_column)
        if self.label_column is not None and self.label_column in frame.columns:
            frame = frame.drop(columns=self.label_column)
        if self.id_column is None:
            frame.index += 1
        elif self.id_column in frame.columns:
            frame = frame.set_index(self.id_column)
        else:
            raise DataError(f"{_shown(self.rows)} has no column {self.id_column!r}, the --id-column.")
        _check_columns(frame, schema, self.rows, "If it names the person, add --id-column")
        return schema.frame(frame)


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
        blanks = {f.name: [word for word in BLANKS if word not in f.categories] for f in schema}
    if source != "-" and not Path(source).exists():
        raise DataError(f"There is no file {source!r}.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # a line with too many cells
            frame = pd.read_csv(
                getattr(sys.stdin, "buffer", sys.stdin) if source == "-" else source,
                encoding="utf-8-sig",
                index_col=False,
                skipinitialspace=True,
                keep_default_na=False,
                na_values=blanks,
                dtype=dict.fromkeys(texts, str),
            )
    except (OSError, UnicodeError, ValueError, pd.errors.ParserWarning) as error:
        reason = str(error).strip().rstrip(".")
        raise DataError(
            f"{_shown(source)} cannot be read as CSV ({reason}). It must be UTF-8 text with column names in the first "
            "line and commas in between."
        ) from None
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def without_label(frame: pd.DataFrame, label_column: str | None, source: str) -> pd.DataFrame:
    """The training data without the label."""
    if label_column is None:
        return frame
    if label_column not in frame.columns:
        raise DataError(
            f"{_shown(source)} has no column {label_column!r}, the --label-column. "
            f"Its columns are: {', '.join(frame.columns)}."
        )
    return frame.drop(columns=label_column)


def _check_columns(frame: pd.DataFrame, schema: Schema, source: str, hint: str) -> None:
    for name in frame.columns:
        if name not in schema.names:
            raise DataError(
                f"{_shown(source)} has a column {name!r} that is not in the schema ({', '.join(schema.names)}). "
                f"{hint} {name!r}; else remove it from the file."
            )


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _shown(source: str) -> str:
    return "Standard input" if source == "-" else repr(source)
