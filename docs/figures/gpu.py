"""Draw gpu.png, error and time of kernel MIRA over deformed digits, and digits.png, some of them.

The numbers are those of ``python -m benchmarks.gpu``; the digits need the data set MNIST.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from style import BLUE, ORANGE, save, use

from ellipsoid import datasets
from ellipsoid.streams.sets.deformed import SIDE

RESULTS = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "gpu.json"


def curves():
    parts = json.loads(RESULTS.read_text())["parts"]
    gpu = parts["millions"][0]["curve"]
    cpu = next(run["curve"] for run in parts["cores"] if run.get("cores") == 2)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.0, 3.4))
    rows = [point["rows"] for point in gpu]
    left.plot(rows, [100 * point["test_error"] for point in gpu], "o-", color=BLUE)
    left.set(xscale="log", xlabel="rows", ylabel="test error, %", ylim=(0, 1.5))
    right.plot(rows, [point["seconds"] for point in gpu], "o-", color=BLUE, label="one H200")
    slow = [(point["rows"], point["seconds"]) for point in cpu]
    right.plot(*zip(*slow, strict=True), "s-", color=ORANGE, label="two cores")
    right.set(xscale="log", yscale="log", xlabel="rows", ylabel="seconds")
    right.legend()
    figure.tight_layout()
    save(figure, "gpu.png")


def digits():
    rows, _ = datasets.stream("mnist-deformed", rows=60_100).rows(60_000, 60_100)
    sheet = rows.reshape(5, 20, SIDE, SIDE).transpose(0, 2, 1, 3).reshape(5 * SIDE, 20 * SIDE)
    figure = plt.figure(figsize=(20 * SIDE / 100, 5 * SIDE / 100))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.imshow(255.0 - np.clip(sheet, 0, 255), cmap="gray", interpolation="nearest")
    axes.set_axis_off()
    save(figure, "digits.png")


if __name__ == "__main__":
    use()
    curves()
    digits()
