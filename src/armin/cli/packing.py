"""The commands about bundles: pack and inspect."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from armin.cli.app import PREPARE, app, told_plainly
from armin.cli.hygiene import escaped, tell
from armin.cli.options import BundleFile, Key, Listing, Settings, Training, spread
from armin.cli.source import build_explainer, signing_key
from armin.errors import DataError

if TYPE_CHECKING:
    from armin.explain.estimator import Explainer
    from armin.schema import Schema

__all__ = ["inspect", "pack"]


@app.command(cls=Listing, rich_help_panel=PREPARE)
@spread
def pack(
    training: Training,
    settings: Settings,
    output: Annotated[Path, typer.Option(metavar="FILE.armin", help="The bundle to write.")],
    title: Annotated[str | None, typer.Option(help="What it is about, shown to people.")] = None,
    people: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help='Prepared applicants: [{"name", "story", "row"}, ...].')
    ] = None,
    letter: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Your own texts, such as de.toml, to be packed too.")
    ] = None,
    allow_pickle: Annotated[
        bool, typer.Option("--allow-pickle", help="Store what only loads with --trust, rather than refuse.")
    ] = False,
    background: Annotated[
        bool | None,
        typer.Option(
            help="Keep 200 training rows to compare people with, which reasons need.",
            show_default="kept, unless the sampler keeps no row",
        ),
    ] = None,
    key: Key = None,
) -> None:
    """Put a model, its schema and all that explaining needs into one file, signed.

    Example: armin pack --model model.joblib --trust --train train.csv --label-column decision --schema schema.toml
    --desired approved --title "Car loans" --output loans.armin
    """
    with told_plainly():
        from armin.bundle import inspect_bundle, save_bundle
        from armin.bundle.kept import say_unique

        key = signing_key(key)
        explainer = build_explainer(training, settings)
        file = save_bundle(
            output, explainer, title=title, people=_prepared(people), letter=letter, trust=allow_pickle, key=key,
            background=background,
        )  # fmt: skip
        said = getattr(explainer.sampler_, "message", None)
        if said is not None:
            tell(str(said), err=True)
        found = inspect_bundle(file)
        if sys.stdout.isatty():
            _tell(found, str(file))
        elif found["rows"]["kept"]:
            tell(say_unique(found["rows"]["kept"], found["rows"]["unique"]), err=True)
        for line in (*touched(explainer.schema), *traits(explainer)):
            tell(line, err=True)


def touched(schema: Schema) -> list[str]:
    """What advice may touch and what it will never touch, in plain words."""
    from armin.words import Message

    free = tuple(feature.named for feature in schema if feature.actionable)
    lines = [Message("review.may_change", labels=free) if free else Message("review.nothing")]
    groups = {
        "never": [f for f in schema if not (f.actionable or f.protected or f.is_carried)],
        "protected_list": [f for f in schema if f.protected],
        "carried_list": [f for f in schema if f.is_carried and not f.protected],
    }
    lines += [Message(f"review.{code}", labels=tuple(f.named for f in some)) for code, some in groups.items() if some]
    return [str(line) for line in lines]


def traits(explainer: Explainer) -> list[str]:
    """A warning where the model uses protected traits, or what sounds like one and may be stated as a reason."""
    from armin.models.joint import JOINT
    from armin.schema.guess import is_protected
    from armin.words import Message

    read, schema = explainer.current.read, explainer.schema
    used = {int(p) for p in read.owners if p >= 0} | {p for one in read.joint for p in one.positions}
    if (read.owners == JOINT).any() and not read.joint:
        used = set(range(len(schema)))
    seen = [feature for i, feature in enumerate(schema) if i in used]
    groups = {
        "used": [f for f in seen if f.protected],
        "unmarked": [f for f in seen if not f.protected and is_protected(f.name, f.categories)],
    }
    return [
        str(Message(f"review.traits_{code}", labels=tuple(f.named for f in some)))
        for code, some in groups.items()
        if some
    ]


def _prepared(file: Path | None) -> list[dict[str, Any]] | None:
    if file is None:
        return None
    try:
        people = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"--people {str(file)!r} cannot be read as JSON ({type(error).__name__}).") from None
    if not isinstance(people, list):
        raise DataError(f'--people {str(file)!r} must hold a list of objects with "name", "story" and "row".')
    return people


@app.command(rich_help_panel=PREPARE)
def inspect(
    bundle: BundleFile,
    json_: Annotated[bool, typer.Option("--json", help="JSON on standard output.")] = False,
) -> None:
    """Show who signed a bundle, what it holds, and what it keeps about the training data. No model is loaded.

    Example: armin inspect loans.armin
    """
    with told_plainly():
        from armin.bundle import inspect_bundle

        found = inspect_bundle(bundle)
        if json_:
            typer.echo(escaped(json.dumps(found, indent=2, ensure_ascii=False)))
        else:
            _tell(found, str(bundle))


def _tell(found: dict[str, Any], name: str) -> None:
    """What was found, then what the signer says."""
    lines = {
        "File": f"{name}, {found['bytes'] / 1e6:.2f} MB, {found['format']}",
        "Signed": _signed(found["signed"]),
        "Fingerprint": ", ".join(f"{what} {value[:12]}" for what, value in found["fingerprint"].items() if value),
        "Loads": f"with --trust only: {', '.join(found['trust'])}" if found["trust"] else "known types only",
    }
    said = {
        "Title": found["title"],
        "Packed": found["created"],
        "Made with": ", ".join(f"{key} {value}" for key, value in found["libraries"].items()),
        "Model": " → ".join(found["model"]),
        "Method": f"{found['method']}; wanted: {' or '.join(map(str, found['desired']))}",
        "Columns": ", ".join(found["features"]),
        "Settings": ", ".join(f"{key}={value}" for key, value in found["settings"].items()),
        "Learned": ", ".join(found["learned"]),
        "People": f"prepared applicants: {found['people']}",
        "Letter": ", ".join(found["letter"]) or "as packaged with ARMIN",
    }
    for key, value in lines.items():
        tell(_line(f"{key + ':':<13}{value}"))
    tell("As its signer says:" if found["signed"] else "As somebody says who did not sign it:")
    for key, value in said.items():
        tell(_line(f"{key + ':':<13}{value}"))
    tell("What it keeps about the training data:")
    for sentence in found["kept"]:
        tell(_line(f"  - {sentence}"))


def _line(text: str) -> str:
    """One line, whatever the file would like to put on the next."""
    return " ".join(text.splitlines())


def _signed(signed: dict[str, Any] | None) -> str:
    if signed is None:
        return "by nobody"
    if signed["own"]:
        return f"with your own key {signed['key']}"
    valid = {
        True: "the signature is valid; the key is not yours",
        False: "THE SIGNATURE IS NOT VALID",
        None: "not checked: pip install 'armin[bundle]'",
    }
    return f"with the key {signed['key']}; {valid[signed['valid']]}"
