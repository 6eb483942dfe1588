"""Run a service in its own process: sockets, signals, start and stop."""

import asyncio
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import uvicorn

from .app import application
from .calls.dense_lines import warm_up
from .calls.web import Service, WebOptions
from .http.protocol import timed_protocol
from .http.short_requests import short_calls
from .http.tokens import Tokens
from .store import Store

# Sent with every answer: a page loads nothing from other sites, cannot be framed, and its types are not guessed.
ANSWER_HEADERS = [
    ("x-content-type-options", "nosniff"),
    ("content-security-policy", "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"),
    ("referrer-policy", "no-referrer"),
    ("cache-control", "no-store"),
]
# How long answers that have begun may take after the service was told to stop.
GRACE_SECONDS = 3


class ServiceServer(uvicorn.Server):
    """A server of uvicorn that ends with exit code 0 after SIGTERM, and reports the address it listens on."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[str], None], ending: Callable[[], None]) -> None:
        super().__init__(config)
        self.listening, self.ending = listening, ending

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        scheme = "https" if self.config.ssl else "http"
        self.listening(f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: Any = None) -> None:
        self.ending()
        await super().shutdown(sockets)


def run_service(
    store: Store, tokens: Path | None, options: WebOptions, listening: Callable[[str], None], **network: Any
) -> int:
    """Serve until a signal comes; returns the exit code. ``network`` are options of uvicorn: host, port, TLS."""
    _raise_file_limit()
    # Threads take turns in running Python; with this interval a prediction does not wait long for a learner.
    sys.setswitchinterval(0.0005)
    service = Service(store, None if tokens is None else Tokens(tokens), options)
    app = application(service)
    config = uvicorn.Config(
        app,
        http=timed_protocol(options.chunk_seconds, short_calls(app.routes)),
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        headers=ANSWER_HEADERS,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=GRACE_SECONDS,
        backlog=2048,
        **network,
    )
    server = ServiceServer(config, listening, service.events.end)
    damage: list[str] = []

    def damaged(what: str) -> None:
        damage.append(what)
        server.should_exit = True

    store.damaged = damaged
    store.start()
    readers = threading.Timer(store.seconds_until_warm_up, warm_up)
    readers.daemon = True
    readers.start()
    try:
        with suppress(KeyboardInterrupt):
            asyncio.run(server.serve())
    finally:
        readers.cancel()
        service.threads.shutdown(wait=False, cancel_futures=True)
        store.close()
    if damage:
        print(f"Error: {damage[0]}", file=sys.stderr)
        return 1
    return 0


def _raise_file_limit() -> None:
    """Raise the limit of open files, and so of connections, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65536 if hard == resource.RLIM_INFINITY else min(hard, 65536)
    if soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
