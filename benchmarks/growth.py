"""How our time grows with the width of a row and with the number of rows: the power of a fitted ``size^p``."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ellipsoid import PassiveAggressive
from ellipsoid.estimators import LEARNERS

from .data import Data, made
from .harness import Contender, Effort, Target, exponent, figure, timed

# A straight line has exponent 1; caches and fixed costs bend it a little.
STRAIGHT = Target(1.1, False)


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """PA in d and in n; IELLIP in d, by itself and in units of what the machine needs to read its columns."""
    values = 1 << (19 if quick else 22)
    widths = [16, 64, 256, 1024] if quick else [16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    yield fitted(
        "PassiveAggressive, time a row against d",
        f"dense, 10 classes, n d = {values}",
        widths,
        lambda d: made(values // d, d, classes=10),
        PassiveAggressive,
        effort,
    )
    counts = [1 << k for k in (range(10, 15) if quick else range(12, 19))]
    whole = made(counts[-1], 64, classes=10)
    yield fitted(
        "PassiveAggressive, time of a pass against n", "dense, 10 classes, d = 64", counts, whole.first,
        PassiveAggressive, effort, by_row=False,
    )  # fmt: skip
    if "IELLIP" in LEARNERS:
        widths = [1000, 4000, 16000] if quick else [1000, 2000, 4000, 8000, 16000, 32000, 64000]
        setting = "dense, two classes, 300 rows, c = 0.1, b = 0.3"
        ours = fitted(
            "IELLIP, time a row against d",
            setting,
            widths,
            lambda d: made(300, d),
            lambda: LEARNERS["IELLIP"](c=0.1, b=0.3, fit_intercept=False),
            effort,
        )
        yield ours
        yield beside_bare_passes(ours, setting, widths, effort)


def beside_bare_passes(ours: dict[str, Any], setting: str, widths: list[int], effort: Effort) -> dict[str, Any]:
    """Against reading the 30 columns twice by BLAS, as an update by itself would: the caches bend that line too."""
    bare = []
    for d in widths:
        H, x, b = np.ones((30, d)), np.ones(d), np.ones(30)
        job = Contender("", lambda: None, lambda _, H=H, x=x, b=b: [(H @ x, b @ H) for _ in range(50)], "")
        bare.append(min(timed(job, effort.repeats).cpu) / 50)
    ratios = [ours["details"]["seconds"][str(d)] / seconds for d, seconds in zip(widths, bare, strict=True)]
    points = {str(d): seconds for d, seconds in zip(widths, bare, strict=True)}
    return figure(
        "IELLIP, time a row against d, in bare passes over its columns", setting, 1.0 + exponent(widths, ratios),
        "exponent", None, bare_exponent=exponent(widths, bare), bare_seconds=points,
    )  # fmt: skip


def fitted(
    name: str,
    setting: str,
    sizes: list[int],
    data_of: Callable[[int], Data],
    make: Callable[[], Any],
    effort: Effort,
    *,
    by_row: bool = True,
) -> dict[str, Any]:
    """Minimum times at each size, and the fitted exponent."""
    times = []
    for size in sizes:
        data = data_of(size)
        job = Contender(
            "", make, lambda model, d=data, known=data.classes: model.partial_fit(d.X, d.y, classes=known), ""
        )
        clock = timed(job, effort.repeats)
        times.append(min(clock.cpu) / (len(data.y) if by_row else 1))
    points = {str(size): seconds for size, seconds in zip(sizes, times, strict=True)}
    upper = exponent(sizes[len(sizes) // 2 :], times[len(sizes) // 2 :])
    return figure(name, setting, exponent(sizes, times), "exponent", STRAIGHT, upper_half=upper, seconds=points)
