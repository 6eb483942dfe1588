"""A client of the service, ``Client(url, token)``, which repeats requests where that is safe.

Examples are sent with keys, so that one that was sent twice, because an answer was lost, is learned once.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from math import isfinite
from os import PathLike, fspath
from typing import Any, Self
from urllib.parse import quote
from uuid import uuid4

import msgspec

try:
    import httpx
except ImportError as error:
    raise ImportError("the client of a service needs httpx; install it with: pip install 'ellipsoid[serve]'") from error

# Statuses after which the same request may succeed.
RETRIED = (429, 503, 507)
LONGEST_PAUSE = 5.0
SENT_ROWS = 1000


class ServiceError(ValueError):
    """The service has refused a request; ``status`` is the HTTP status, ``line`` the line of a batch, or None."""

    def __init__(self, detail: str, status: int, line: int | None = None) -> None:
        super().__init__(detail if line is None else f"line {line}: {detail}")
        self.status, self.line = status, line


class Client:
    """A client of the service at ``url``. A request is repeated for up to ``patience`` seconds while the service is
    busy or full, or cannot be reached. ``cafile`` is a PEM file with certificates to check the service with, instead
    of the public ones. Use the client in a ``with``, or ``close`` it.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        patience: float = 30.0,
        cafile: str | PathLike[str] | None = None,
    ) -> None:
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.patience = patience
        verify = True if cafile is None else _ssl_context(cafile)
        # Proxies that environment variables name are not used.
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=False, verify=verify)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # -- models ------------------------------------------------------------------------------------------------

    def models(self) -> list[str]:
        """The names of all models."""
        return self._json("GET", "/v1/models")["models"]

    def make(self, name: str, learner: str = "EllipsoidClassifier", **body: Any) -> dict[str, Any]:
        """Make a model; ``body`` may hold params, scale, classes and bits. The same request again changes nothing."""
        return self._json("PUT", _model(name), {"learner": learner, **body})

    def challenge(self, name: str, challenger: str, learner: str, **body: Any) -> dict[str, Any]:
        """Have another learner learn the stream of a model."""
        return self._json("PUT", f"{_model(name)}/challengers/{_quoted(challenger)}", {"learner": learner, **body})

    def promote(self, name: str, learner: str) -> dict[str, Any]:
        """Make a challenger the champion, which answers predictions."""
        return self._json("POST", f"{_model(name)}/promote", {"learner": learner})

    def show(self, name: str) -> dict[str, Any]:
        """The counts, certificates and learners of a model."""
        return self._json("GET", _model(name))

    def file(self, name: str, t: int | None = None) -> bytes:
        """The model file, as it is now or was after ``t`` examples."""
        query = "" if t is None else f"?t={t}"
        return self._request("GET", f"{_model(name)}/file{query}").content

    def model(self, name: str) -> RemoteModel:
        """A model of the service, with the methods of a local one."""
        return RemoteModel(self, name)

    # -- examples ----------------------------------------------------------------------------------------------

    def learn(self, name: str, x: Any, y: Any, key: str | None = None) -> dict[str, Any]:
        """Learn one example; it is on disk when this returns."""
        example = {"x": _features(x), "y": _plain(y), "key": key or uuid4().hex}
        return self._json("POST", f"{_model(name)}/learn", example)

    def learn_many(self, name: str, examples: Iterable[dict[str, Any]], rows: int = SENT_ROWS) -> dict[str, int]:
        """Learn ``{"x": ..., "y": ..., "key": ...}`` in batches of ``rows``, each as a whole or not at all."""
        total = {"t": 0, "learned": 0, "duplicates": 0}
        for batch in batches(examples, rows):
            run = uuid4().hex
            lines = [
                {"x": _features(each["x"]), "y": _plain(each["y"]), "key": each.get("key") or f"{run}{i:06d}"}
                for i, each in enumerate(batch)
            ]
            answer = msgspec.json.decode(self._lines(f"{_model(name)}/learn", lines).content)
            total["t"] = answer["t"]
            for count in ("learned", "duplicates"):
                total[count] += answer[count]
        return total

    def predict(
        self, name: str, x: Any, *, scores: bool = False, keep: bool = False, id: str | None = None
    ) -> dict[str, Any]:
        """The predicted label of an example and what else is known; ``keep`` keeps it until it gets its true label."""
        # With an id, an example that is sent twice, because an answer was lost, is kept once.
        id = uuid4().hex if keep and id is None else id
        asked = {"x": _features(x), "scores": scores, "keep": keep, **({} if id is None else {"id": id})}
        return self._json("POST", f"{_model(name)}/predict", asked)

    def predict_many(self, name: str, xs: Iterable[Any], **options: Any) -> list[dict[str, Any]]:
        """The same for many examples."""
        found: list[dict[str, Any]] = []
        for batch in batches(xs):
            lines = [
                {"x": _features(x), **({"id": uuid4().hex} if options.get("keep") else {}), **options} for x in batch
            ]
            answer = self._lines(f"{_model(name)}/predict", lines)
            found += [msgspec.json.decode(line) for line in answer.content.splitlines()]
        return found

    def label(self, name: str, id: str, y: Any) -> dict[str, Any]:
        """Give a kept example its true label."""
        return self._json("POST", f"{_model(name)}/labels", {"id": id, "y": _plain(y)})

    def questions(
        self, name: str, limit: int = 1, *, who: str | None = None, claim: bool = True
    ) -> list[dict[str, Any]]:
        """Kept examples whose label the model asks for, most doubtful first, reserved for the caller for minutes."""
        query: dict[str, Any] = {"limit": limit, "claim": "true" if claim else "false"}
        if who is not None:
            query["who"] = who
        answer = self._json("GET", f"{_model(name)}/questions?{httpx.QueryParams(query)}")
        return answer["questions"]

    def has_key(self, name: str, key: str) -> bool:
        """Is there an example with this key in the journal?"""
        try:
            self._json("GET", f"{_model(name)}/keys/{_quoted(key)}")
        except ServiceError as error:
            if error.status == 404 and str(error).startswith("no example of"):
                return False
            raise
        return True

    # -- requests ----------------------------------------------------------------------------------------------

    def _json(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        content = None if body is None else msgspec.json.encode(body)
        return msgspec.json.decode(self._request(method, path, content).content)

    def _lines(self, path: str, lines: list[Any]) -> httpx.Response:
        content = b"".join(msgspec.json.encode(line) + b"\n" for line in lines)
        return self._request("POST", path, content, "application/x-ndjson")

    def _request(
        self, method: str, path: str, content: bytes | None = None, kind: str = "application/json"
    ) -> httpx.Response:
        headers = {} if content is None else {"content-type": kind}
        deadline, pause = time.monotonic() + self.patience, 0.05
        while True:
            try:
                answer = self._http.request(method, path, content=content, headers=headers)
            except httpx.UnsupportedProtocol as error:
                raise ValueError(f"the address of a service must begin with http:// or https://: {error}") from error
            except httpx.TransportError as error:
                if "CERTIFICATE_VERIFY_FAILED" in str(error):
                    advice = "give the file of its certificate, or of the authority that signed it, as cafile"
                    raise ConnectionError(f"{self._http.base_url} is not trusted: {error}; {advice}") from error
                if time.monotonic() > deadline:
                    raise ConnectionError(f"{self._http.base_url} cannot be reached: {error}") from error
            else:
                if answer.status_code < 300:
                    return answer
                if answer.status_code not in RETRIED or time.monotonic() > deadline:
                    raise _error(answer)
            time.sleep(pause)
            pause = min(2.0 * pause, LONGEST_PAUSE)


class RemoteModel:
    """A model of a service, with the methods of a local model."""

    def __init__(self, client: Client, name: str) -> None:
        self.client, self.name = client, name

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learn one example."""
        self.client.learn(self.name, x, y)
        return self

    def partial_fit(self, X: Any, y: Any) -> Self:
        """Learn examples in the given order."""
        rows, labels = _plain(X), _plain(y)
        if len(rows) != len(labels):
            raise ValueError(f"y has {len(labels)} labels for the {len(rows)} rows of X")
        self.client.learn_many(self.name, ({"x": x, "y": label} for x, label in zip(rows, labels, strict=True)))
        return self

    def predict_one(self, x: Any) -> Any:
        """The label predicted for one example."""
        return self.client.predict(self.name, x)["y"]

    def predict(self, X: Any) -> list[Any]:
        """Predicted labels."""
        return [each["y"] for each in self.client.predict_many(self.name, _plain(X))]

    def label(self, id: str, y: Any) -> Self:
        """Give a kept example its true label."""
        self.client.label(self.name, id, y)
        return self

    def questions(self, limit: int = 1) -> list[dict[str, Any]]:
        """Kept examples whose label is asked for."""
        return self.client.questions(self.name, limit)

    @property
    def t_(self) -> int:
        """Examples learned so far."""
        return int(self.client.show(self.name)["t"])


def batches(items: Iterable[Any], most: int = SENT_ROWS) -> Iterator[list[Any]]:
    """Cut a stream of items into lists of at most this many.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    iterator = iter(items)
    while batch := list(islice(iterator, most)):
        yield batch


def _ssl_context(cafile: str | PathLike[str]) -> ssl.SSLContext:
    """TLS that trusts the certificates of a file, and no others."""
    try:
        return ssl.create_default_context(cafile=cafile)
    except ssl.SSLError as error:
        raise ValueError(f"cafile {fspath(cafile)} holds no certificate in PEM form: {error}") from error
    except OSError as error:
        raise ValueError(f"cafile {fspath(cafile)} cannot be read: {error.strerror}") from error


def _quoted(text: str) -> str:
    """A text as one part of a path. Dots are quoted too: ".." would lead to another path."""
    return quote(text, safe="").replace(".", "%2E")


def _model(name: str) -> str:
    return f"/v1/models/{_quoted(name)}"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _features(x: Any) -> Any:
    """An example of plain numbers. NaN and inf are refused: JSON would make them null, which is a missing feature."""
    x = _plain(x)
    if isinstance(x, dict):
        x = {name: _plain(value) for name, value in x.items()}
    elif isinstance(x, list | tuple):
        x = [_plain(value) for value in x]
    else:
        return x
    if any(isinstance(value, float) and not isfinite(value) for value in (x.values() if isinstance(x, dict) else x)):
        raise ValueError("x holds NaN or inf; impute or drop it before sending")
    return x


def _error(answer: httpx.Response) -> ServiceError:
    if answer.is_redirect:
        where = answer.headers["location"]
        return ServiceError(
            f"the service answered {answer.status_code}: it has moved to {where}; give that address", answer.status_code
        )
    try:
        problem = msgspec.json.decode(answer.content)
        return ServiceError(problem["detail"], answer.status_code, problem.get("line"))
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
        return ServiceError(f"the service answered {answer.status_code}", answer.status_code)
