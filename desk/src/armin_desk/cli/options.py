"""The options of the desk's commands, each said once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["Limits", "Sender"]


@dataclass(frozen=True)
class Limits:
    """What a desk may spend; the names are those of :class:`armin_desk.settings.DeskSettings`."""

    time_limit: Annotated[float, typer.Option(metavar="SECONDS", help="Of search for one request.")] = 10.0
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Beyond --time-limit, for what cannot be stopped half-way.")
    ] = 20.0
    patience: Annotated[
        float, typer.Option(metavar="SECONDS", help="To wait for a turn, for a body, and for an answer to be taken.")
    ] = 20.0
    concurrency: Annotated[int, typer.Option(min=1, help="Requests worked on at once, in each worker.")] = 2
    queue: Annotated[int, typer.Option(min=0, help="Further requests that wait, in each worker.")] = 64
    max_bytes: Annotated[int, typer.Option(min=256, help="Of a request's body.")] = 65_536
    most_plans: Annotated[int, typer.Option(min=1, help="Alternatives that one request may ask for.")] = 5
    header_time: Annotated[
        float, typer.Option(metavar="SECONDS", help="That the head of a request may take to arrive.")
    ] = 10.0
    connections: Annotated[int, typer.Option(min=2, help="Open connections, in each worker.")] = 1000
    proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="A proxy that may say who asks (X-Forwarded-For); may be repeated."),
    ] = None
    per_minute: Annotated[int, typer.Option(min=0, help="Questions of one client in a minute; 0 for no limit.")] = 0
    per_day: Annotated[int, typer.Option(min=0, help="Questions of one client in a day; 0 for no limit.")] = 0
    notice: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Of /readyz saying no before a desk stops listening.")
    ] = 0.0
    drain: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="For requests under way when the desk is stopped.")
    ] = 10.0
    starting: Annotated[
        float, typer.Option(metavar="SECONDS", help="To load the bundle and answer one question with it.")
    ] = 120.0
    silence: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="Without a sign of life before a worker is replaced.")
    ] = 10.0
    host_name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name by which the desk may be called; may be repeated."),
    ] = None

    def settings(self) -> dict[str, Any]:
        """What was said, by the name of the setting."""
        said = {field.name: getattr(self, field.name) for field in fields(self)}
        said["proxies"] = tuple(said.pop("proxy") or ())
        names = said.pop("host_name")
        return said | ({"hosts": tuple(name.lower() for name in names)} if names else {})


@dataclass(frozen=True)
class Sender:
    """Who writes, and by which rules."""

    organisation: Annotated[
        str, typer.Option(metavar="NAME", help="Who sends it; a pack other than plain needs the address too.")
    ] = ""
    pack: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE.toml", help="What it must say: plain, us-credit, eu-credit, eu-employment, education."
        ),
    ] = "plain"
    fields: Annotated[
        Path | None, typer.Option(metavar="FILE.toml", help="What the pack needs to be told; see docs/letter.md.")
    ] = None
    templates: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Your own texts and templates; the templates run as your code."),
    ] = None
