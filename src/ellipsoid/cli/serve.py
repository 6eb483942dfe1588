"""``ellipsoid serve``: serve models over HTTP, to learn and predict."""

import errno
import signal
import socket
import ssl
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from .startup import import_libraries

_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@click.command(name="serve", short_help="Serve the models of a folder over HTTP.")
@click.argument("store", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--demo", is_flag=True, help="Try it out: a temporary store that learns an embedded stream.")
@click.option("--host", default="127.0.0.1", help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, help="Port to listen on; 0 takes a free one.")
@click.option(
    "--tokens",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="File of tokens, made by `ellipsoid tokens`.",
)
@click.option("--insecure", is_flag=True, help="Allow any --host without tokens.")
@click.option("--max-body", type=click.IntRange(1024), default=1 << 26, help="Most bytes in the body of a request.")
@click.option(
    "--slow-seconds", "chunk_seconds", type=click.FloatRange(0.1), default=10.0,
    help="Longest pause, in seconds, in the middle of a request.",
)  # fmt: skip
@click.option("--queue", type=click.IntRange(1), default=1024, help="Most requests that may wait to be written.")
@click.option(
    "--group-ms",
    type=click.FloatRange(0, 1000),
    default=0.0,
    help="Milliseconds that a commit waits for more requests.",
)
@click.option(
    "--workers-for-predict", "workers", type=click.IntRange(1, 64), default=2,
    help="Number of threads that decode and predict batches.",
)  # fmt: skip
@click.option(
    "--snapshot-rows", type=click.IntRange(1), default=200_000, help="Take a snapshot after this many examples."
)
@click.option(
    "--snapshot-seconds", type=click.FloatRange(1), default=60.0,
    help="Take a snapshot after this many seconds, if there are new examples.",
)  # fmt: skip
@click.option("--keep-rows", type=click.IntRange(0), help="Number of examples that the journal keeps [default: all].")
@click.option(
    "--keep-days", type=click.FloatRange(0), help="Number of days that the journal keeps examples [default: for ever]."
)
@click.option(
    "--keep-unlabelled",
    "keep_unlabelled_days",
    type=click.FloatRange(0),
    default=30.0,
    help="Number of days to keep an example that waits for its label.",
)
@click.option("--accept-loss", is_flag=True, help="Start even if the disk has lost the end of the journal.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="Private key of the certificate.")
@click.option("--tls-certificate", type=click.Path(exists=True, dir_okay=False), help="Certificate for HTTPS.")
def command(store: Path | None, demo: bool, host: str, tokens: Path | None, insecure: bool, **options: Any) -> None:
    """Serve every model of the folder STORE, which is created if it does not exist.

    Whatever the service acknowledges is on disk. After a crash it rebuilds the models from the journal, to the last
    bit. Without --tokens it listens on this machine only, unless --insecure allows everybody to do everything.
    """
    if (store is None) != demo:
        raise click.UsageError("give either the folder STORE, or --demo, which makes its own.")
    if host not in _LOOPBACK and tokens is None and not insecure:
        raise click.UsageError(
            f"--host {host} can be reached by others: give --tokens FILE (`ellipsoid tokens FILE add NAME` makes one), "
            "or --insecure to let everybody do everything."
        )
    if (options["tls_key"] is None) != (options["tls_certificate"] is None):
        raise click.UsageError("--tls-key and --tls-certificate belong together: give both.")
    if options["tls_key"] is not None:
        _check_tls(options["tls_key"], options["tls_certificate"])
    _end_without_error()
    given = click.get_current_context().get_parameter_source("port") is not click.core.ParameterSource.DEFAULT
    port = free_port(host, options["port"], another=demo and not given)
    import_libraries()
    from dataclasses import fields

    _need_libraries()
    from ellipsoid.service.calls.web import WebOptions
    from ellipsoid.service.demo import demo_store
    from ellipsoid.service.server import run_service
    from ellipsoid.service.store import Store, StoreOptions

    options |= {"group_seconds": options["group_ms"] / 1000.0, "loopback_only": host in _LOOPBACK and not insecure}

    def chosen(kind: Any) -> Any:
        """Those options of the command that are fields of the kind."""
        return kind(**{each.name: options[each.name] for each in fields(kind) if each.name in options})

    if demo:
        click.echo("getting the demo ready; the first time, compiling a learner takes some ten seconds", err=True)
    opened = demo_store(chosen(StoreOptions)) if store is None else Store(store, chosen(StoreOptions))
    network = {
        "host": host, "port": port, "ssl_keyfile": options["tls_key"], "ssl_certfile": options["tls_certificate"],
    }  # fmt: skip

    def listening(address: str) -> None:
        click.echo(f"serving {opened.folder} on {address}")

    sys.exit(run_service(opened, tokens, chosen(WebOptions), listening, **network))


def _check_tls(key: str, certificate: str) -> None:
    """Refuse, before anything is made, a key and certificate that cannot be used; a key with a pass phrase is one."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError) as error:
        raise click.UsageError(
            f"--tls-key {key} and --tls-certificate {certificate} cannot be used together ({error}): give a "
            "certificate in PEM form and its own key, without a pass phrase."
        ) from error


def _end_without_error() -> None:
    """Let SIGTERM end the process in order, with exit code 0, before the server installs its own handler."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))


def free_port(host: str, port: int, another: bool) -> int:
    """The port, if it is free; else 0, which means any free one, where ``another`` will do, and an error where not."""
    try:
        kind, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with socket.socket(kind, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind(place)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        if taken and another:
            click.echo(f"port {port} is taken; a free one is used instead", err=True)
            return 0
        hint = ": give another --port, or 0 for a free one" if taken else ""
        raise click.ClickException(f"cannot listen on {host}, port {port} ({error.strerror}){hint}") from error
    return port


def _need_libraries() -> None:
    try:
        for name in ("msgspec", "prometheus_client", "starlette", "uvicorn"):
            import_module(name)
    except ImportError as error:
        raise ImportError(f"{error.name} is missing; install it with pip install 'ellipsoid[serve]'") from error
