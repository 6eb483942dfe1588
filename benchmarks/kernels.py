"""Kernel learners: an epoch beside the bare matrix products and beside learning one by one; growth, memory, budgets.

The bare products are those that make the inner products of the same kernel values by BLAS, block by block, in the best
of several sizes, and nothing else: no kernel, no scores, no learning. An inner product is not yet a kernel value: a
second figure adds what numpy's vectorised exp or products of powers take, each core on rows of its own. All cores are
used, by us and by them. Learning one by one (``one_by_one`` says how) is measured on short stretches of the stream,
each from the very state that the run had there, and extrapolated to the whole: an epoch of MNIST would take minutes.
"""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from ellipsoid import MIRA
from ellipsoid.estimators.state.expansion import SCORED_AHEAD
from ellipsoid.representation.kernel.threads import in_parts
from ellipsoid.rules import mira

from . import one_by_one
from .data import Data, load
from .harness import Effort, Target, exponent, figure
from .processes import memory_counted, memory_of

CORES = os.cpu_count() or 1
MNIST = {"kernel": "poly", "degree": 9, "gamma": 1.0, "coef0": 0.0}
LETTER = {"kernel": "rbf", "gamma": 1.0 / (2.0 * 3.06**2)}
BUDGETS = (250, 500, 1000, 2000)

# Seconds of our epochs for which what is short is tried again and again, all sides in turn.
ENOUGH = 2.0

# Patterns that are multiplied at once: the best of these is what we are compared with.
TILES = (256, 1024, 1 << 20)

PROGRAM = """
import time
import numpy as np
from benchmarks.kernels import MNIST, learner, unit_rows
data = unit_rows({rows})
learner(MNIST).partial_fit(data.X[:600], data.y[:600], classes=np.arange(10))
print("ready", flush=True)
input()
began = time.perf_counter()
learner(MNIST).partial_fit(data.X, data.y, classes=np.arange(10))
print(time.perf_counter() - began, flush=True)
"""


def learner(settings: dict[str, Any], **more: Any) -> MIRA:
    """MIRA as in the published tables."""
    return MIRA(margin=0.01, fit_intercept=False, **settings, **more)


def unit_rows(rows: int | None = None) -> Data:
    """MNIST, each image of norm one."""
    data = load("mnist", rows)
    for X in (data.X, data.X_test):
        for row in X:
            row /= np.linalg.norm(row)
    return data._replace(name="MNIST, rows of norm 1")


class Run(NamedTuple):
    """One epoch that was learned: the data, its support patterns in their order, and the rounds of its updates."""

    data: Data
    settings: dict[str, Any]
    patterns: Any
    coef: Any
    when: Any
    model: Any

    @property
    def blocks(self) -> list[tuple[int, int, int]]:
        """First and last row of each block, and the number of patterns before it."""
        n = len(self.data.y)
        return [
            (s, min(n, s + SCORED_AHEAD), int(np.searchsorted(self.when, s, side="right")))
            for s in range(0, n, SCORED_AHEAD)
        ]

    @property
    def values(self) -> int:
        """Kernel values between rows and the patterns before their block."""
        return sum((stop - start) * used for start, stop, used in self.blocks)


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """MNIST with a polynomial, Letter with a Gaussian, then growth, memory and budgets on MNIST."""
    few = min(effort.repeats, 3)
    try:
        digits, letter = unit_rows(2000 if quick else None), load("letter", 2000 if quick else None)
    except (ValueError, OSError) as error:
        yield {"figure": "kernel learners", "skipped": " ".join(str(error).split())}
        return
    with threadpool_limits(CORES, user_api="blas"):
        for name, data, settings in (("mnist", digits, MNIST), ("letter", letter, LETTER)):
            yield from beside(name, learned(data, settings), None if quick else 2.0, few)
        yield growth(digits, quick)
    yield from memory(quick)
    yield from budgets(digits, quick)


def learned(data: Data, settings: dict[str, Any]) -> Run:
    """An epoch, with the rounds of its updates, which the votes of all hypotheses need."""
    voting = learner(settings, average="vote").partial_fit(data.X, data.y, classes=data.classes)
    history = voting._core.table.history
    # A row met twice has one pattern; one by one keeps two.
    return Run(data, settings, voting.support_vectors_[history.slots[: history.count]],
               history.moved[: history.count].copy(), history.when[: history.count].copy(), voting)  # fmt: skip


def beside(name: str, found: Run, bound: float | None, repeats: int) -> Iterator[dict[str, Any]]:
    """Our epoch over the bare products, and one by one over our epoch: all in turn, and ratios of medians."""
    data, buffer = found.data, np.empty(SCORED_AHEAD * max(SCORED_AHEAD, len(found.patterns)))
    kinds = {"one by one": one_by_one.Direct, "one by one with regrouped sums": one_by_one.Regrouped}
    times: dict[str, list[float]] = {key: [] for key in ("ours", "products", "kernel", *kinds)}
    share, differ = 0.0, dict.fromkeys(kinds, 0.0)
    while len(times["ours"]) < repeats or sum(times["ours"]) < ENOUGH:
        times["ours"].append(seconds(lambda: epoch(data, found.settings)))
        times["products"].append(min(seconds(lambda s=s: products(found, buffer, s)) for s in TILES))
        times["kernel"].append(min(seconds(lambda s=s: kernel_values(found, s)) for s in TILES[:2]))
        for title, kind in kinds.items():
            took, share, wrong = stretches(found, kind)
            times[title].append(took / share)
            differ[title] += wrong
    ours, bare, kernel = (median(times[key]) for key in ("ours", "products", "kernel"))
    setting = f"MIRA, {found.settings['kernel']}, {data.describe()}, {len(found.when)} updates, {CORES} threads"
    seconds_of = {"ours": ours, "products": bare, "products and kernel": kernel, "our fastest": min(times["ours"])}
    yield figure(f"kernel-{name}: our epoch over the bare products", setting, ours / bare, "x",
                 Target(bound, False) if bound else None, million_values=found.values / 1e6,
                 seconds=seconds_of)  # fmt: skip
    yield figure(f"kernel-{name}: our epoch over products and kernel", setting, ours / kernel, "x",
                 Target(bound, False) if bound else None)  # fmt: skip
    for title, target in zip(kinds, (20.0, None), strict=True):
        whole = median(times[title])
        yield figure(
            f"kernel-{name}: {title} over our epoch", f"{share:.3%} of the stream, one thread, extrapolated",
            whole / ours, "x", Target(target) if bound and target else None,
            updates_that_differ=differ[title], ratio_of_the_fastest=min(times[title]) / min(times["ours"]),
            seconds={"one by one, all": whole, "the fastest": min(times[title])},
        )  # fmt: skip


def epoch(data: Data, settings: dict[str, Any]) -> MIRA:
    """One pass from nothing."""
    return learner(settings).partial_fit(data.X, data.y, classes=data.classes)


def products(found: Run, buffer: Any, tile: int) -> None:
    """The products of every block with the patterns before it."""
    X, P = found.data.X, found.patterns
    for start, stop, used in found.blocks:
        for begin in range(0, used, tile):
            end = min(used, begin + tile)
            out = buffer[: (stop - start) * (end - begin)].reshape(stop - start, end - begin)
            np.dot(X[start:stop], P[begin:end].T, out=out)


def kernel_values(found: Run, tile: int) -> None:
    """The same products and their kernel values by numpy, each core with rows of its own, in tiles that stay near."""
    X, P, gamma = found.data.X, found.patterns, found.settings["gamma"]
    left, right = -gamma * (X**2).sum(axis=1), -gamma * (P**2).sum(axis=1)
    scaled = 2.0 * gamma * P if found.settings["kernel"] == "rbf" else P

    def job(start: int, stop: int) -> None:
        buffer, other = np.empty((stop - start) * tile), np.empty((stop - start) * tile)
        for begin in range(0, used, tile):
            end = min(used, begin + tile)
            out, base = (a[: (stop - start) * (end - begin)].reshape(stop - start, -1) for a in (buffer, other))
            np.dot(X[first + start : first + stop], scaled[begin:end].T, out=out)
            if found.settings["kernel"] == "rbf":
                out += left[first + start : first + stop, None]
                out += right[begin:end]
                np.exp(out, out=out)
            else:
                np.multiply(out, out, out=base)
                np.multiply(base, base, out=base)
                np.multiply(base, base, out=base)
                out *= base

    for first, last, used in found.blocks:
        in_parts(job, last - first, float(last - first) * used * X.shape[1])


def stretches(found: Run, kind: Any = one_by_one.Direct, count: int = 10) -> tuple[float, float, float]:
    """Seconds of one by one on short stretches of the stream, their share of all values, updates that differ."""
    data, total, made, differ = found.data, 0.0, 0, 0
    kernel = found.model._core.table.make_kernel()
    length = max(1, min(60, len(data.y) // (3 * count)))
    for start in np.linspace(0, len(data.y) - length, count).astype(int):
        rows = slice(start, start + length)
        used, after = np.searchsorted(found.when, [start, start + length], side="right")
        call = one_by_one.prepared(mira.MIRARule(0.01), kernel, data.X[rows], data.y[rows],
                                   (found.patterns, found.coef, int(used)), kind)  # fmt: skip
        began = time.perf_counter()
        updates = call()
        total += time.perf_counter() - began
        differ += abs(updates - int(after - used))
        made += length * int(used) + sum(range(updates))
    return total, made / max(1, found.values), differ


def growth(data: Data, quick: bool) -> dict[str, Any]:
    """The power of (examples x support patterns) in the time of an epoch."""
    sizes = [1000, 1500, 2000] if quick else [7500, 15_000, 30_000, 60_000]
    points = []
    for n in sizes:
        part = data.first(n)
        took = min(seconds(lambda part=part: epoch(part, MNIST)) for _ in range(2 if n < sizes[-1] else 1))
        points.append((learned(part, MNIST).values, took))
    counts, times = zip(*points, strict=True)
    details = {f"{count / 1e6:.3g} million values": took for count, took in points}
    return figure("kernel-growth", "power of the kernel values in the time of an epoch, MNIST prefixes",
                  exponent(counts, times), "", None if quick else Target(1.1, False), seconds=details)  # fmt: skip


def memory(quick: bool) -> Iterator[dict[str, Any]]:
    """All that the process holds at its peak, the input included, and what the epoch adds."""
    if not memory_counted():
        yield {"figure": "kernel-memory", "skipped": "only Linux tells a process's own memory from mapped files"}
        return
    found = memory_of(PROGRAM.format(rows=2000 if quick else None))
    yield figure("kernel-memory", "peak of the MNIST epoch, 376 MB of input included", found["before"] + found["added"],
                 "MB", None if quick else Target(1000.0, False), added=found["added"])  # fmt: skip


def budgets(data: Data, quick: bool) -> Iterator[dict[str, Any]]:
    """Test error after an epoch by budget, and memory over ten epochs with a budget of a thousand."""
    sizes = (50, 100) if quick else BUDGETS
    for budget in (*sizes, None):
        model = learner(MNIST, budget=budget)
        took = seconds(lambda model=model: model.partial_fit(data.X, data.y, classes=data.classes))
        error = float(np.mean(model.predict(data.X_test) != data.y_test))
        yield figure(f"kernel-budget {budget or 'none'}", "test error, MIRA on MNIST, one epoch", 100 * error, "%",
                     seconds={"epoch": took}, updates=model.updates_)  # fmt: skip
    budget, epochs = (100, 3) if quick else (1000, 10)
    model, held, errors = learner(MNIST, budget=budget), [], []
    for _ in range(epochs):
        model.partial_fit(data.X, data.y, classes=data.classes)
        errors.append(float(np.mean(model.predict(data.X_test) != data.y_test)))
        held.append(resident())
    yield figure(f"kernel-budget {budget}, {epochs} epochs", "test error, MIRA on MNIST", 100 * errors[-1], "%",
                 after_the_first=100 * errors[0])  # fmt: skip
    yield figure(f"kernel-budget {budget}, memory", f"what the process holds more after epoch {epochs} than after 1",
                 held[-1] - held[0], "MB", None if quick else Target(10.0, False), held=held[-1])  # fmt: skip


def resident() -> float:
    """Megabytes of memory of this process, 0 where the system does not say."""
    status = Path("/proc/self/status")
    if not status.is_file():
        return 0.0
    return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmRSS")) / 1024


def seconds(job: Callable[[], Any]) -> float:
    """Wall time of a job."""
    began = time.perf_counter()
    job()
    return time.perf_counter() - began
