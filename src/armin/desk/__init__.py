"""The recourse desk: a small web server over one packed explainer, with a page for people and an API for programs.

Needs the extra ``web``. ``armin.desk.app.create_app`` builds the server, ``armin.desk.serve.serve`` runs it.
"""

from __future__ import annotations

from armin.errors import MissingDependencyError

try:
    import fastapi as _fastapi  # noqa: F401  only asked whether they are there
    import prometheus_client as _prometheus_client  # noqa: F401
except ImportError as _error:
    raise MissingDependencyError(
        "The desk needs FastAPI, prometheus-client and uvicorn, which are not all installed. "
        "Install them with: pip install 'armin[web]'."
    ) from _error

__all__: list[str] = []
