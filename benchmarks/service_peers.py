"""Services that people write, to be measured beside ours: ``python -m benchmarks.service_peers KIND FOLDER``.

``commit``, ``commit-wal``: a plain Starlette route that writes a row with a COMMIT of its own, and learns nothing.
``river``: FastAPI around a learner of river, which writes nothing.
"""

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any


def committing(folder: Path, wal: bool) -> Any:
    """One INSERT and one COMMIT a request."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    connection = sqlite3.connect(folder / "rows.sqlite", check_same_thread=False)
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS rows (x TEXT, y TEXT)")

    async def learn(request: Request) -> JSONResponse:
        example = json.loads(await request.body())
        connection.execute("INSERT INTO rows VALUES (?, ?)", (json.dumps(example["x"]), str(example["y"])))
        connection.commit()
        return JSONResponse({"learned": 1})

    return Starlette(routes=[Route("/learn", learn, methods=["POST"])])


def river_service() -> Any:
    """What a tutorial shows: a learner in a variable."""
    from fastapi import FastAPI
    from pydantic import create_model
    from river import linear_model

    model = linear_model.PAClassifier()
    example_type: Any = create_model("Example", x=(list[float], ...), y=(bool | None, None))
    app = FastAPI()

    async def learn(example: Any) -> dict[str, int]:
        model.learn_one(dict(enumerate(example.x)), example.y)
        return {"learned": 1}

    async def predict(example: Any) -> dict[str, bool]:
        return {"y": bool(model.predict_one(dict(enumerate(example.x))))}

    for route in (learn, predict):
        route.__annotations__["example"] = example_type
        app.post(f"/{route.__name__}")(route)
    return app


def main() -> None:
    """Serve on a free port, which is printed."""
    import socket

    import uvicorn

    kind, folder = sys.argv[1], Path(sys.argv[2])
    app = river_service() if kind == "river" else committing(folder, kind == "commit-wal")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        print(f"serving on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(app, log_level="warning", access_log=False, ws="none")
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
