"""Machine code that comes with the package, so that a first run compiles nothing.

A wheel for one platform holds the most common loops, compiled for a level of processors instead of for one processor.
It is used where Python, numba, LLVM and the source are those it was compiled with, and the processor has the features
of the level; elsewhere the loops are compiled as usual.
"""

from functools import cache
from pathlib import Path

from llvmlite import binding

FOLDER = Path(__file__).parents[2] / "machine_code"

# Levels as processors are named by, with what LLVM calls their features; the code of a level is named after it.
_LEVEL_2 = {"cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"}
LEVELS = {"x86-64-v3": _LEVEL_2 | {"avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}}


@cache
def shipped_level() -> str | None:
    """The level whose machine code is in the package and runs on this processor; None if there is none."""
    features = binding.get_host_cpu_features()
    able = {name for name, present in features.items() if present}
    return next((level for level, needed in LEVELS.items() if (FOLDER / level).is_dir() and needed <= able), None)
