"""The command that serves the desk."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from armin.cli.app import told_plainly
from armin.cli.options import BundleFile, Trust, TrustedKeys, spread
from armin.errors import DataError
from armin_desk.cli.letter import read_fields
from armin_desk.cli.options import Limits, Sender

__all__ = ["serve"]


@spread
def serve(
    bundle: BundleFile,
    limits: Limits,
    sender: Sender,
    host: Annotated[str, typer.Option(help="Where to listen; others than this machine need a key.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="How many processes; one for each core is a good choice.")] = 1,
    api_key_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A file with the key that callers must send.")
    ] = None,
    trusted_key: TrustedKeys = None,
    trust: Trust = False,
) -> None:
    """Serve the desk: a page for people and an HTTP API for programs.

    Example: armin serve loans.armin

    Example: armin serve loans.armin --host 0.0.0.0 --api-key-file key.txt --workers 4 --organisation "Example Bank"
    """
    with told_plainly():
        from armin_desk.serve import serve as serve_desk
        from armin_desk.settings import DeskSettings

        settings = DeskSettings(
            api_key=_key(api_key_file), organisation=sender.organisation, pack=sender.pack,
            fields=read_fields(sender.fields)[0], templates=sender.templates, **limits.settings(),
        )  # fmt: skip
        name = f"[{host}]" if ":" in host and not host.startswith("[") else host
        serve_desk(
            bundle, host=host, port=port, workers=workers, trust=trust, settings=settings,
            trusted_keys=tuple(trusted_key or ()),
            ready=lambda: typer.echo(f"The desk is at http://{name}:{port}/ - stop it with Ctrl+C.", err=True),
        )  # fmt: skip


def _key(file: Path | None) -> str:
    if file is None:
        return ""
    try:
        key = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise DataError(f"--api-key-file {str(file)!r} cannot be read ({type(error).__name__}).") from None
    if not key:
        raise DataError(f"--api-key-file {str(file)!r} is empty. Put the key into its first line.")
    return key
