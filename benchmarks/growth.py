"""How our time grows with the width of a row and with the number of rows: the power of a fitted ``size^p``."""

from collections.abc import Callable, Iterator
from typing import Any

from ellipsoid import PassiveAggressive
from ellipsoid.estimators import LEARNERS

from .data import Data, made
from .harness import Contender, Effort, Target, exponent, figure, timed

# A straight line has exponent 1; caches and fixed costs bend it a little.
STRAIGHT = Target(1.1, False)


def run(quick: bool, effort: Effort) -> Iterator[dict[str, Any]]:
    """PA in d and in n; IELLIP in d."""
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
        yield fitted(
            "IELLIP, time a row against d",
            "dense, two classes, 300 rows, c = 0.1, b = 0.3",
            widths,
            lambda d: made(300, d),
            lambda: LEARNERS["IELLIP"](c=0.1, b=0.3, fit_intercept=False),
            effort,
        )


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
