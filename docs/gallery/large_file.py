"""A file larger than memory: what a pass of ``ellipsoid learn`` holds, for files of growing size, on Linux."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FEATURES = 20
ROW_BYTES = 2 * FEATURES + 2  # a digit and a comma for each feature, the label, the end of the line

# The command, then what Linux says of the process: its high-water mark of memory.
MEASURED = """
import sys
from ellipsoid.cli import main
main(sys.argv[1:], standalone_mode=False)
print(open("/proc/self/status").read())
"""


def write(path, megabytes, seed=0):
    """CSV text of about that size: features are digits, the label tells the sign of a hidden weighted sum."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal(FEATURES)
    with open(path, "wb") as file:
        for _ in range(megabytes):
            digits = rng.integers(0, 10, size=(1_000_000 // ROW_BYTES, FEATURES), dtype=np.uint8)
            text = np.full((len(digits), ROW_BYTES), ord(","), dtype=np.uint8)
            text[:, 0:-2:2] = ord("0") + digits
            text[:, -2] = ord("0") + ((digits - 4.5) @ weights > 0.0)
            text[:, -1] = ord("\n")
            file.write(text.tobytes())


def learn(path):
    """The most memory, in megabytes, that a process needs to learn the file and save the model."""
    words = ["learn", str(path), "--model", "PassiveAggressive", "--save", str(Path(path).with_suffix(".model"))]
    child = subprocess.run([sys.executable, "-c", MEASURED, *words], capture_output=True, text=True, check=True)
    peak = next(line for line in child.stdout.splitlines() if line.startswith("VmHWM"))
    return int(peak.split()[1]) * 1024 / 1e6


def run(sizes=(1, 100, 200, 400, 800)):
    """For each file, in megabytes: its size and the memory it took. The first file is there to compile."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            path = Path(folder) / "rows.csv"
            write(path, size)
            found.append((path.stat().st_size / 1e6, learn(path)))
    return found[1:]


if __name__ == "__main__":
    for size, peak in run():
        print(f"{size:8.1f} MB of text, {peak:6.1f} MB of memory")
