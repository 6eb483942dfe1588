"""The service as an application of Starlette: all calls, their description, and the page."""

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ellipsoid import __version__

from .calls.openapi import description
from .calls.page_files import front_page, page_file
from .calls.routes import CALLS
from .calls.web import Service, endpoint, json_response, problem_response
from .http.tokens import Holder
from .problem import CallProblem


def application(service: Service) -> Starlette:
    document = msgspec.json.encode(description())

    async def openapi(service: Service, request: Request, holder: Holder) -> Response:
        return Response(document, media_type="application/json")

    routes = [
        Route(row.path, endpoint(service, row.call.__name__, row.role, row.call), methods=[row.method]) for row in CALLS
    ]
    routes += [
        Route("/openapi.json", endpoint(service, "openapi", None, openapi), methods=["GET"]),
        Route("/", endpoint(service, "front_door", None, front_door), methods=["GET"]),
        Route("/page/{file:path}", endpoint(service, "page_file", None, page_file), methods=["GET"]),
    ]
    return Starlette(
        routes=routes,
        middleware=[Middleware(RefuseTwoLengths)],
        exception_handlers={HTTPException: _http_error},  # type: ignore[dict-item]
    )


class RefuseTwoLengths:
    """Refuses a request whose headers give the length of its body in two ways, and hangs up (RFC 9112, 6.1).

    A proxy in front of the service may go by the other one, and take for a body what would be a request here.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if {b"content-length", b"transfer-encoding"} <= {name for name, _ in scope.get("headers", ())}:
            detail = "send the body with Content-Length or with Transfer-Encoding, not with both"
            app = problem_response(CallProblem(400, detail))
            app.headers["connection"] = "close"
        await app(scope, receive, send)


async def front_door(service: Service, request: Request, holder: Holder) -> Response:
    """The page for a browser; for a program the version, and the paths to begin with."""
    if "text/html" in request.headers.get("accept", ""):
        return front_page()
    links = {"openapi": "/openapi.json", "models": "/v1/models", "health": "/healthz", "metrics": "/metrics"}
    return json_response({"service": "ellipsoid", "version": __version__, "links": links})


async def _http_error(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        detail = f"there is nothing at {request.url.path[:200]}; /openapi.json lists every call"
    elif error.status_code == 405:
        detail = f"{request.method[:20]} is not a method of {request.url.path[:200]}"
    else:
        detail = str(error.detail)
    response = problem_response(CallProblem(error.status_code, detail))
    for name, value in (error.headers or {}).items():
        response.headers[name] = value
    return response
