"""The command that judges kept plans again: recheck."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armin.cli.answers import chosen, opened, write_parquet
from armin.cli.app import ADVISE, app, told_plainly
from armin.cli.files import read_table, shown
from armin.cli.hygiene import cell, escaped, tell, visible
from armin.cli.options import Answers, Kind, Output, Settings, Source
from armin.cli.source import open_explainer
from armin.errors import ArminError, DataError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from armin.explain.estimator import Explainer
    from armin.recourse import Recheck
    from armin.schema import Schema

__all__ = ["recheck"]

COLUMNS = ("row", "verdict", "before", "now", "asked", "as_is", "same_model", "sentence")


@app.command(rich_help_panel=ADVISE)
def recheck(
    plans: Annotated[
        str, typer.Argument(metavar="PLANS", help="What 'armin explain --json' wrote; '-' reads standard input.")
    ],
    rows: Annotated[
        str, typer.Option(metavar="FILE", help="The people as they were submitted; PLANS do not hold them.")
    ],
    bundle: Annotated[Path, typer.Option(metavar="FILE.armin", help="The bundle to judge by.")],
    format: Annotated[  # noqa: A002  the option's name
        Kind | None, typer.Option(help="The format of --rows.", show_default="its suffix; csv for '-'")
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="A column of --rows that names the person.")
    ] = None,
    locked: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that nobody can change; may be repeated.")
    ] = None,
    to: Annotated[
        Output | None, typer.Option(help="table, json, csv or parquet.", show_default="suffix of --output, else table")
    ] = None,
    json_: Annotated[bool, typer.Option("--json", help="Short for --to json: one object per line.")] = False,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write.", show_default="standard output")
    ] = None,
    trust: Annotated[bool, typer.Option("--trust", help="Do load it, even if that runs the code it holds.")] = False,
) -> None:
    """Say which kept plans still hold under a bundle, and what changed.

    Exit codes: 0 every plan holds, or its person is accepted as things stand; 1 some plan does not, or could not be
    checked; 2 bad usage or bad input.

    Example: armin recheck plans.jsonl --rows people.csv --id-column name --bundle new.armin
    """
    with told_plainly():
        how = chosen(Answers(to=to, json=json_, output=output))
        if how is Output.HTML:
            raise ParameterError("--to html is not known to recheck. Use table, json, csv or parquet.")
        kept = _read_plans(plans)
        explainer = open_explainer(Source(bundle=bundle, trust=trust), Settings())
        people = _people(rows, explainer.schema, format, id_column)
        fine, lines = True, []
        with opened(None if how is Output.PARQUET else output) as stream:
            table = csv.writer(stream, lineterminator="\n")
            if how is Output.CSV:
                table.writerow(COLUMNS)
            for plan in kept:
                found = _checked(explainer, plan, people, tuple(locked or ()))
                fine &= not isinstance(found, ArminError) and found.fine
                data = _data(plan["row"], found)
                if how is Output.JSON:
                    stream.write(escaped(json.dumps(data, ensure_ascii=False)) + "\n")
                elif how in (Output.CSV, Output.PARQUET):
                    now, as_is = data.get("now"), data.get("as_is")
                    cells = data | {"now": now and now["share"], "as_is": as_is and as_is["share"]}
                    line = [cells.get(name) for name in COLUMNS]
                    if how is Output.CSV:
                        table.writerow(map(cell, line))
                    lines.append(line)
                else:
                    stream.write(visible(f"Row {plan['row']}: {data['sentence']}\n"))
                stream.flush()
        if how is Output.PARQUET and output is not None:
            write_parquet(output, COLUMNS, lines)
        raise typer.Exit(0 if fine else 1)


def _checked(
    explainer: Explainer, plan: dict[str, Any], people: pd.DataFrame, locked: tuple[str, ...]
) -> Recheck | ArminError:
    from armin.recourse import Recheck, Recourse

    if plan.get("outcome") == "failed":
        return Recheck("no_plan", None, None)
    where = [str(label) for label in people.index]
    if where.count(str(plan["row"])) != 1:
        count = where.count(str(plan["row"]))
        return DataError(f"--rows holds {count} rows named {plan['row']!r}, and one is needed. See --id-column.")
    row = people.iloc[[where.index(str(plan["row"]))]]
    named = [str(one.get("feature")) for key in ("changes", "blanks") for one in plan.get(key, [])]
    gone = [name for name in named if name not in explainer.schema.names]
    if gone:
        asked, why = plan.get("confidence", {}).get("asked"), f"The schema has no column {gone[0]!r}."
        return Recheck("does_not_fit", asked, plan.get("share"), why=why)
    try:
        return explainer.recheck(Recourse.from_dict(plan, explainer.schema), row, locked=locked)
    except ArminError as error:
        return error


def _data(label: Any, found: Recheck | ArminError) -> dict[str, Any]:
    if isinstance(found, ArminError):
        return {"row": label, "verdict": "failed", "sentence": f"not checked. {found}"}
    return {"row": label} | found.to_dict()


def _read_plans(source: str) -> list[dict[str, Any]]:
    """Kept plans: JSON lines, or a list, or one object."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise DataError(f"{shown(source)} cannot be read ({type(error).__name__}).") from None
    try:
        plans = list(_objects(text))
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{shown(source)} cannot be read as JSON ({error}). It must be what 'armin explain --json' wrote."
        ) from None
    for number, plan in enumerate(plans, start=1):
        if not isinstance(plan, dict) or not ("format" in plan or plan.get("outcome") == "failed"):
            raise DataError(f"Plan {number} of {shown(source)} is none. It must be what 'armin explain --json' wrote.")
        plan.setdefault("row", number)
    return plans


def _objects(text: str) -> Iterator[Any]:
    if text.lstrip().startswith("["):
        yield from json.loads(text)
        return
    try:
        yield json.loads(text)
    except ValueError:
        for line in text.splitlines():
            if line.strip():
                yield json.loads(line)


def _people(source: str, schema: Schema, kind: Kind | None, id_column: str | None) -> pd.DataFrame:
    """The rows as they were submitted; columns that the bundle does not know are left out, and said."""
    frame = read_table(source, schema, text=id_column, kind=kind)
    if id_column is None:
        frame.index += 1
    elif id_column in frame.columns:
        frame = frame.set_index(id_column)
    else:
        raise DataError(f"{shown(source)} has no column {id_column!r}, the --id-column.")
    unknown = [name for name in frame.columns if name not in schema.names and name not in schema.columns]
    if unknown:
        tell(f"The bundle does not know these columns, which are left out: {', '.join(unknown)}.", err=True)
    return schema.frame(frame.drop(columns=unknown))
