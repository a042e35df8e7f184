"""The options that commands share, each said once; :func:`spread` puts them into a command's signature."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption

__all__ = [
    "Answers",
    "BundleFile",
    "Key",
    "Kind",
    "Listing",
    "Method",
    "Output",
    "People",
    "Settings",
    "Source",
    "Training",
    "Trust",
    "TrustedKeys",
    "spread",
]

Result = TypeVar("Result")


class Method(StrEnum):
    """The methods, by the paper's names."""

    ARMIN = "ARMIN"
    ROBUST = "RobustAR"
    IMPUTATION = "ImputationAR"


class Decided(StrEnum):
    """What has been decided."""

    AUTO = "auto"
    COMPLETE = "complete"
    BLANK = "blank"
    NONE = "none"


class Judged(StrEnum):
    """Who judges after the plan."""

    DISCLOSED = "disclosed"
    BLANK = "blank"
    EITHER = "either"


class Kind(StrEnum):
    """How a table is written down."""

    CSV = "csv"
    PARQUET = "parquet"
    JSON = "json"
    JSONL = "jsonl"


class Output(StrEnum):
    """How answers are written down."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"
    HTML = "html"
    PARQUET = "parquet"


BundleFile = Annotated[Path, typer.Argument(metavar="BUNDLE.armin", help="A bundle from 'armin pack'.")]
Key = Annotated[
    Path | None,
    typer.Option(
        metavar="KEY.pem",
        help="The Ed25519 private key to sign with.",
        show_default="your own, which is made when it is first needed",
    ),
]
Trust = Annotated[
    bool,
    typer.Option("--trust", help="Do load it, whoever signed it, even if that runs the code it holds."),
]
TrustedKeys = Annotated[
    list[Path] | None,
    typer.Option(
        "--trusted-key",
        metavar="PUB.pem",
        help="Load bundles that are signed with this public key too; your own are loaded. May be repeated.",
    ),
]


@dataclass(frozen=True)
class People:
    """Whom to advise."""

    rows: Annotated[str, typer.Argument(metavar="ROWS", help="The people, with blanks; '-' reads standard input.")]
    format: Annotated[Kind | None, typer.Option(help="The format of ROWS.", show_default="its suffix; csv for '-'")] = (
        None
    )
    id_column: Annotated[str | None, typer.Option(metavar="NAME", help="A column of ROWS that names the person.")] = (
        None
    )
    locked: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="A column that nobody can change; may be repeated.")
    ] = None
    difficulty: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=HOW",
            help="How hard changing a column is for these people: easy, hard, very hard, or a factor on its cost; may "
            "be repeated.",
        ),
    ] = None


@dataclass(frozen=True)
class Training:
    """What an explainer is made of."""

    model: Annotated[Path | None, typer.Option(metavar="FILE", help="A fitted classifier: joblib or pickle.")] = None
    train: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Training data: what is usual, and what is plausible.")
    ] = None
    schema: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="What may change; 'armin schema' makes a first one.")
    ] = None
    desired: Annotated[
        list[str] | None, typer.Option(metavar="LABEL", help="The label the person wants; may be repeated.")
    ] = None
    label_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of the label, left out.")] = None
    trust: Annotated[
        bool, typer.Option("--trust", help="Do load the model, or a stranger's bundle, even if that runs its code.")
    ] = False


@dataclass(frozen=True)
class Source(Training):
    """Where an explainer comes from: a bundle, or all that one is made of."""

    bundle: Annotated[
        Path | None, typer.Option(metavar="FILE.armin", help="A bundle from 'armin pack', instead of the next four.")
    ] = None
    trusted_key: TrustedKeys = None


@dataclass(frozen=True)
class Settings:
    """How to explain; None keeps the default, or what the bundle says."""

    method: Annotated[
        Method | None,
        typer.Option(case_sensitive=False, metavar="NAME", help=f"{', '.join(Method)}.", show_default="ARMIN"),
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Share of the plausible ways to fill the blanks that must be accepted.",
            show_default="0.75",
        ),
    ] = None
    samples: Annotated[
        int | None, typer.Option(min=1, help="How many ways to fill the blanks to try.", show_default="100")
    ] = None
    max_changes: Annotated[int | None, typer.Option(min=1, help="How many columns may change.", show_default="4")] = (
        None
    )
    cost: Annotated[str | None, typer.Option(metavar="NAME", help="How changes are priced.", show_default="tlps")] = (
        None
    )
    sampler: Annotated[
        str | None, typer.Option(metavar="NAME", help="How blanks are filled.", show_default="chained")
    ] = None
    decision: Annotated[
        Decided | None,
        typer.Option(help="What has been decided about the person.", show_default="auto: as the model takes blanks"),
    ] = None
    reapply: Annotated[
        Judged | None,
        typer.Option(help="Who judges after the plan.", show_default="disclosed: the values will be known"),
    ] = None
    threshold: Annotated[
        float | None, typer.Option(help="Accepted from this probability on.", show_default="what predict says")
    ] = None
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="For one row.", show_default="60")] = None
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same answers.", show_default="0")] = None

    def given(self) -> dict[str, Any]:
        """What was said, by the option's name."""
        found = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        if "decision" in found:
            found["decision"] = None if found["decision"] is Decided.NONE else str(found["decision"])
        if "reapply" in found:
            found["reapply"] = str(found["reapply"])
        return found


@dataclass(frozen=True)
class Answers:
    """Where answers go."""

    to: Annotated[
        Output | None, typer.Option(help="The format of the answers.", show_default="suffix of --output, else table")
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Short for --to json: one object per line.")] = False
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write.", show_default="standard output")
    ] = None
    jobs: Annotated[int, typer.Option(help="Rows at once; -1 for all cores.")] = 1
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a run that was stopped, from what the folder FILE.parts holds.")
    ] = False


class Listing(TyperCommand):
    """A command whose help lists the costs and samplers that are known; only help has the time to find them."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        from armin.costs import COSTS
        from armin.learned import summaries
        from armin.sampling import SAMPLERS

        registries = {"cost": COSTS, "sampler": SAMPLERS}
        for param in self.params:
            if isinstance(param, TyperOption) and param.name in registries:
                known = summaries(registries[param.name])
                param.help = "\n\n".join(f"{alias}: {summary}." for alias, summary in known.items())
        super().format_help(ctx, formatter)


def spread(command: Callable[..., Result]) -> Callable[..., Result]:
    """A command whose parameters of the types above become the options that these list.

    >>> @spread
    ... def command(people: People, answers: Answers) -> str:
    ...     return people.rows
    >>> command(rows="people.csv")
    'people.csv'
    >>> list(inspect.signature(command).parameters)
    ['rows', 'format', 'id_column', 'locked', 'difficulty', 'to', 'json', 'output', 'jobs', 'resume']
    """
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and is_dataclass(hint)}
    plain = [p for name, p in inspect.signature(command).parameters.items() if name not in groups]
    wide = [p.replace(annotation=hints[p.name], kind=inspect.Parameter.KEYWORD_ONLY) for p in plain]
    for group in groups.values():
        said = get_type_hints(group, include_extras=True)
        own = [field for field in fields(group) if field.name in group.__annotations__]
        for field in [*own, *(field for field in fields(group) if field not in own)]:
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            wide.append(
                inspect.Parameter(
                    field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=said[field.name]
                )
            )

    @wraps(command)
    def wrapper(**given: Any) -> Result:
        made: dict[str, Any] = {
            name: group(**{f.name: given.pop(f.name) for f in fields(group) if f.name in given})
            for name, group in groups.items()
        }
        return command(**given, **made)

    del wrapper.__wrapped__  # the signature is no longer the command's
    wrapper.__signature__ = inspect.Signature(wide)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in wide}
    return wrapper
