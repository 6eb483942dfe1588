"""Draw what a round over shards costs by the number of workers, after the model of docs/distributed.md.

python docs/figures/distributed_cost.py
"""

import matplotlib.pyplot as plt
import numpy as np
import style

# Seconds a row and core, and of scheduler a task; bytes/s of a link, bytes of model and of a row, bytes/s of storage.
ROW, TASK, LINK, MODEL, BYTES, STORAGE, LATENCY = 1.2e-6, 1.2e-3, 1.25e9, 2e6, 100.0, 100e9, 5e-4


def round_time(rows: float, workers: np.ndarray) -> np.ndarray:
    """Seconds of a round."""
    learning = np.maximum(rows * ROW / workers, rows * BYTES / STORAGE)
    tree = 2.0 * np.ceil(np.log2(np.maximum(workers, 2.0))) * (MODEL / LINK + LATENCY)
    return learning + 2.0 * workers * TASK + tree


def main() -> None:
    """Write the picture."""
    style.use()
    figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
    workers = np.logspace(0, 5, 300)
    for rows, colour in ((1e9, style.BLUE), (1e10, style.ORANGE), (1e11, style.GREEN), (1e12, style.PURPLE)):
        axes.loglog(workers, round_time(rows, workers), color=colour, label=f"$10^{{{int(np.log10(rows))}}}$ rows")
        best = np.sqrt(rows * ROW / (2.0 * TASK))
        axes.plot(best, round_time(rows, np.array([best])), "o", color=colour)
    axes.loglog(workers, 2.0 * workers * TASK, ":", color=style.GREY, label="scheduler alone")
    axes.set_xlabel("workers")
    axes.set_ylabel("seconds a round")
    axes.legend()
    style.save(figure, "distributed_cost.png")


if __name__ == "__main__":
    main()
