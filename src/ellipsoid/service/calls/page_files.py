"""The static files of the page, which are read once and served under `/page/`."""

from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from ..http.tokens import Holder
from ..problem import CallProblem
from .web import Service

_FOLDER = Path(__file__).parent.parent / "page"
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
_FILES = {
    path.relative_to(_FOLDER).as_posix(): Response(path.read_bytes(), media_type=_TYPES[path.suffix])
    for path in _FOLDER.rglob("*")
    if path.suffix in _TYPES
}


async def page_file(service: Service, request: Request, holder: Holder) -> Response:
    """A file of the page."""
    name = request.path_params["file"]
    if name not in _FILES:
        raise CallProblem(404, f"the page has no file {name[:100]!r}")
    return _FILES[name]


def front_page() -> Response:
    """The page itself."""
    return _FILES["index.html"]
