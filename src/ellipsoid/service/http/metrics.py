"""Metrics for Prometheus, at `/metrics`: counts and durations of requests and commits, and the state of models."""

from collections.abc import Callable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

_SECONDS = (0.00025, 0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 4, 8)
# Of each gauge of a model: what it says, and how it is read off the model's stream and what its champion published.
_MODELS: dict[str, tuple[str, Callable[[Any, Any], float | None]]] = {
    "journal_examples": ("Examples in the stream of a model.", lambda stream, _: stream.tail.end),
    "learned_examples": ("Examples that the champion has learned.", lambda _, now: now.t),
    "lag_examples": ("Examples that the champion has not learned yet.", lambda stream, now: stream.tail.end - now.t),
    "errors": ("Examples that were predicted wrongly before they were learned.", lambda _, now: now.counts["errors"]),
    "windowed_error": (
        "Share of errors among the last 1000 examples.",
        lambda _, now: now.learner.record.windowed_error,
    ),
    "mistakes": ("Mistakes that the champion counts, ties included.", lambda _, now: now.counts["mistakes"]),
    "updates": ("Examples that changed the champion.", lambda _, now: now.counts["updates"]),
    "snapshot_examples": ("Examples in the newest snapshot.", lambda stream, _: stream.champion.snapshot or 0),
    "kept_examples": ("Examples that wait for a label.", lambda stream, _: stream.kept),
}


class Metrics:
    """``requests`` by call and status, ``seconds`` by call, and gauges of the models of a store."""

    def __init__(self, store: Any) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter("ellipsoid_requests", "Answered requests.", ["call", "status"], registry=self.registry)
        self.seconds = Histogram(
            "ellipsoid_request_seconds",
            "Seconds from the head of a request to its answer.",
            ["call"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.commit_seconds = Histogram(
            "ellipsoid_commit_seconds",
            "Seconds that commits of the journal take.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.committed_writes = Counter(
            "ellipsoid_committed_writes", "Requests that were committed to the journal.", registry=self.registry
        )
        self._children: dict[Any, Any] = {}
        self.store = store
        self.registry.register(self)
        store.journal.observe = self._committed

    def _committed(self, seconds: float, writes: int) -> None:
        self.commit_seconds.observe(seconds)
        self.committed_writes.inc(writes)

    def answered(self, call: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        key = (call, status)
        if key not in self._children:
            self._children[key] = self.requests.labels(call, str(status)), self.seconds.labels(call)
        counter, histogram = self._children[key]
        counter.inc()
        histogram.observe(seconds)

    def collect(self) -> Iterator[Metric]:
        """The gauges, as they are now."""
        journal = self.store.journal
        yield GaugeMetricFamily("ellipsoid_waiting_writes", "Requests that wait to be written.", journal.waiting)
        yield GaugeMetricFamily("ellipsoid_writable", "1 if the last write succeeded.", int(journal.fault is None))
        families = [
            (GaugeMetricFamily(f"ellipsoid_{name}", text, labels=["model"]), read)
            for name, (text, read) in _MODELS.items()
        ]
        for stream in list(self.store.models.values()):
            published = stream.champion.published
            for family, read in families:
                if (value := read(stream, published)) is not None:
                    family.add_metric([stream.name], value)
        yield from (family for family, _ in families)

    def text(self) -> tuple[bytes, str]:
        """The text that Prometheus reads, and its content type."""
        return generate_latest(self.registry), CONTENT_TYPE_LATEST
