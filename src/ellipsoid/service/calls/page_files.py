"""The page: a few static files of the package, read once, handed out under `/page/`."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..http.tokens import Holder
from ..problem import CallProblem
from .web import Service

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "txt": "text/plain; charset=utf-8",
}


def page_files() -> dict[str, Response]:
    """Answers by the name of the file."""
    found: dict[str, Response] = {}

    def gather(folder: Any, before: str) -> None:
        for path in folder.iterdir():
            if path.is_dir():
                gather(path, f"{before}{path.name}/")
            elif (kind := _TYPES.get(path.name.rpartition(".")[2])) is not None:
                found[before + path.name] = Response(path.read_bytes(), media_type=kind)

    gather(files("ellipsoid.service") / "page", "")
    return found


_FILES = page_files()


async def page_file(service: Service, request: Request, holder: Holder) -> Response:
    """A file of the page."""
    name = request.path_params["file"]
    if name not in _FILES:
        raise CallProblem(404, f"the page has no file {name[:100]!r}")
    return _FILES[name]


def front_page() -> Response:
    """The page itself."""
    return _FILES["index.html"]
