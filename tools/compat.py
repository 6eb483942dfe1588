"""Run the tests of what depends on other libraries with the oldest and the newest versions that pyproject.toml allows.

    python tools/compat.py [lowest] [newest]

Each has a virtual environment of its own in ``build/compat``. The oldest versions are pinned to the lower bounds of the
dependencies, the newest are what the package index has today within the upper bounds.
"""

import os
import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What touches numba's insides, scikit-learn's contract, SciPy's matrices and the files.
TESTS = (
    "tests/engine",
    "tests/streams/test_svmlight.py",
    "tests/estimators/test_chunking.py",
    "tests/estimators/test_contract.py",
    "tests/estimators/test_files.py",
)
# What these tests need beside the library. Peers such as river have bounds of their own, above the lowest of ours.
NEEDED = ("pytest>=9.0", "pytest-xdist>=3.6", "hypothesis>=6.100", "pandas>=2.2")


def lowest(project: dict[str, list[str]]) -> list[str]:
    """The lower bound of every dependency, as a pin.

    >>> lowest({"dependencies": ["numpy>=2.0", "numba>=0.61,<0.69"]})
    ['numpy==2.0.*', 'numba==0.61.*']
    """
    bounds = (re.match(r"([\w-]+)>=([\d.]+)", line) for line in project["dependencies"])
    return [f"{bound[1]}=={bound[2]}.*" for bound in bounds if bound]


def run(name: str, pins: list[str]) -> int:
    """Make the environment, show what is in it, and run the tests; returns their exit status."""
    home = ROOT / "build" / "compat" / name
    python = str(home / "bin" / "python")
    if not Path(python).exists():
        venv.create(home, with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", "--upgrade", "--editable", f"{ROOT}[arrow]", *NEEDED, *pins]
    subprocess.run(install, check=True)
    names = [re.match(r"[\w-]+", line)[0] for line in project()["dependencies"]]  # type: ignore[index]
    shown = subprocess.run([python, "-m", "pip", "list", "--format=freeze"], capture_output=True, text=True, check=True)
    print(f"{name}:", *(line for line in shown.stdout.split() if line.split("==")[0].lower() in names), flush=True)
    # Code compiled by another numba is never loaded, but there is no need to keep it beside ours.
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(home / "cache"), "OMP_NUM_THREADS": "1"}
    command = [python, "-m", "pytest", "-q", "-n", "2", "--dist", "loadscope", "-m", "not slow", *TESTS]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def project() -> dict[str, list[str]]:
    """The table ``project`` of pyproject.toml."""
    table: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["lowest", "newest"]
    sys.exit(max(run(name, lowest(project()) if name == "lowest" else []) for name in chosen))
