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

EXPERTS = "Experts' options"
SCRATCH = "Model and data"
"""Panels of the help: the first is shown by --help-all only, the second is what an explainer is made of."""


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
        rich_help_panel=EXPERTS,
    ),
]


@dataclass(frozen=True)
class People:
    """Whom to advise."""

    rows: Annotated[str, typer.Argument(metavar="ROWS", help="The people, with blanks; - for standard input.")]
    format: Annotated[
        Kind | None,
        typer.Option(help="The format of ROWS.", show_default="its suffix; csv for '-'", rich_help_panel=EXPERTS),
    ] = None
    id_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of ROWS that names a person.")] = (
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
            rich_help_panel=EXPERTS,
        ),
    ] = None


@dataclass(frozen=True)
class Training:
    """What an explainer is made of."""

    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A fitted classifier: joblib or pickle.", rich_help_panel=SCRATCH),
    ] = None
    train: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Training data: what is usual and plausible.", rich_help_panel=SCRATCH),
    ] = None
    schema: Annotated[
        Path | None,
        typer.Option(metavar="FILE.toml", help="What may change; from 'armin schema'.", rich_help_panel=SCRATCH),
    ] = None
    desired: Annotated[
        list[str] | None,
        typer.Option(metavar="LABEL", help="The label that people want; repeatable.", rich_help_panel=SCRATCH),
    ] = None
    label_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of the label, left out.", rich_help_panel=SCRATCH)
    ] = None
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Do load the model, or a stranger's bundle, even if that runs its code.",
            rich_help_panel=SCRATCH,
        ),
    ] = False


@dataclass(frozen=True)
class Source(Training):
    """Where an explainer comes from: a bundle, or all that one is made of."""

    bundle: Annotated[
        Path | None, typer.Option(metavar="FILE.armin", help="From 'armin pack', instead of model and data.")
    ] = None
    trusted_key: TrustedKeys = None


@dataclass(frozen=True)
class Settings:
    """How to explain; None keeps the default, or what the bundle says."""

    method: Annotated[
        Method | None,
        typer.Option(
            case_sensitive=False,
            metavar="NAME",
            help=f"{', '.join(Method)}.",
            show_default="ARMIN",
            rich_help_panel=EXPERTS,
        ),
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Of the plausible ways to fill the blanks: how many must be accepted.",
            show_default="0.75",
        ),
    ] = None
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many ways to fill the blanks to try.", show_default="100", rich_help_panel=EXPERTS
        ),
    ] = None
    max_changes: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="How many columns may change.", show_default="4")
    ] = None
    cost: Annotated[str | None, typer.Option(metavar="NAME", help="How changes are priced.", show_default="tlps")] = (
        None
    )
    sampler: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="How blanks are filled.", show_default="chained", rich_help_panel=EXPERTS),
    ] = None
    decision: Annotated[
        Decided | None,
        typer.Option(
            help="What has been decided about the person.",
            show_default="auto: as the model takes blanks",
            rich_help_panel=EXPERTS,
        ),
    ] = None
    reapply: Annotated[
        Judged | None,
        typer.Option(
            help="Who judges after the plan.",
            show_default="disclosed: the values will be known",
            rich_help_panel=EXPERTS,
        ),
    ] = None
    threshold: Annotated[
        float | None,
        typer.Option(
            help="Accepted from this probability on.", show_default="what predict says", rich_help_panel=EXPERTS
        ),
    ] = None
    time_limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="For one row.", show_default="60", rich_help_panel=EXPERTS)
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(help="The same seed gives the same answers.", show_default="0", rich_help_panel=EXPERTS),
    ] = None

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
        Output | None,
        typer.Option(metavar="FORMAT", help=f"{', '.join(Output)}.", show_default="suffix of --output, else table"),
    ] = None
    json: Annotated[
        bool, typer.Option("--json", help="Short for --to json: one object per line.", rich_help_panel=EXPERTS)
    ] = False
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write.", show_default="standard output")
    ] = None
    jobs: Annotated[int, typer.Option(metavar="N", help="Rows at once; -1 for all cores.")] = 1
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Go on with a run that was stopped, from what the folder FILE.parts holds.",
            rich_help_panel=EXPERTS,
        ),
    ] = False


class Listing(TyperCommand):
    """A command whose help shows what few need, and the costs and samplers that are known, with --help-all only."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        every = ctx.meta.get(EXPERTS, False)
        if every:  # only help has the time to find them
            from armin.costs import COSTS
            from armin.learned import summaries
            from armin.sampling import SAMPLERS

            registries = {"cost": COSTS, "sampler": SAMPLERS}
        for param in self.params:
            if not isinstance(param, TyperOption):
                continue
            if every and param.name in registries:
                known = summaries(registries[param.name])
                param.help = "\n\n".join(f"{alias}: {summary}." for alias, summary in known.items())
            param.hidden = not every and param.rich_help_panel == EXPERTS
        super().format_help(ctx, formatter)


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    """The help with the experts' options."""
    if wanted:
        ctx.meta[EXPERTS] = True
        typer.echo(ctx.get_help(), nl=False)
        raise typer.Exit


HelpAll = Annotated[
    bool,
    typer.Option("--help-all", callback=_show_all, is_eager=True, help=f"Show this with {EXPERTS.lower()}, and exit."),
]


def spread(command: Callable[..., Result]) -> Callable[..., Result]:
    """A command whose parameters of the types above become the options that these list.

    >>> @spread
    ... def command(people: People, answers: Answers) -> str:
    ...     return people.rows
    >>> command(rows="people.csv")
    'people.csv'
    >>> list(inspect.signature(command).parameters)
    ['rows', 'format', 'id_column', 'locked', 'difficulty', 'to', 'json', 'output', 'jobs', 'resume', 'help_all']
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

    wide.append(inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll))

    @wraps(command)
    def wrapper(**given: Any) -> Result:
        given.pop("help_all", None)
        made: dict[str, Any] = {
            name: group(**{f.name: given.pop(f.name) for f in fields(group) if f.name in given})
            for name, group in groups.items()
        }
        return command(**given, **made)

    del wrapper.__wrapped__  # the signature is no longer the command's
    wrapper.__signature__ = inspect.Signature(wide)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {p.name: p.annotation for p in wide}
    return wrapper
