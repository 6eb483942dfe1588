"""A wheel for one platform, with machine code in it: ``python tools/machine_code.py WHEEL [LEARNER...]``.

The wheel is installed into a new environment, where ``ellipsoid warm`` compiles for a level of processors. What it
compiled goes into a copy of the wheel, named after this Python and platform, which is then tried out in another new
environment: the first run of each learner must find everything there, and compile nothing.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LEVEL = "x86-64-v3"
PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
# The code calls what numba and the C library have had for long.
TAGS = ["--python-tag", PYTHON, "--abi-tag", PYTHON, "--platform-tag", "manylinux_2_17_x86_64", "--remove"]

CSV = "width,height,label\n" + "1.5,2,a\n2,1,b\n0.5,0.25,c\n" * 400
SVMLIGHT = "1 1:1.5 9:2\n2 3:1\n3 2:0.25 11:1\n" * 400


def environment(folder, wheel):
    """A runner of commands in a new environment with the wheel in it, and with nothing compiled."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ELLIPSOID", "NUMBA"))}

    def run(command, *words, **variables):
        program = folder / "venv" / "bin" / command
        variables = {**kept, "NUMBA_CACHE_DIR": str(folder / "cache"), **variables}
        subprocess.run([program, *words], cwd=folder, env=variables, check=True, stdout=sys.stderr)

    run("python", "-m", "pip", "install", "--quiet", wheel.resolve())
    return run


def with_machine_code(wheel, learners):
    """The wheel for this platform, beside the one for all."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = environment(folder, wheel)
        run("ellipsoid", "warm", *(learners or ["--all"]), NUMBA_CPU_NAME=LEVEL, NUMBA_CPU_FEATURES="")
        subprocess.run([sys.executable, "-m", "wheel", "unpack", wheel, "--dest", folder / "unpacked"], check=True)
        (root,) = (folder / "unpacked").iterdir()
        home = root / "ellipsoid" / "machine_code" / LEVEL
        home.mkdir(parents=True)
        for path in (folder / "cache").rglob("*.nbc"):
            shutil.copy(path, home)
        packed = folder / "packed"
        packed.mkdir()
        subprocess.run([sys.executable, "-m", "wheel", "pack", root, "--dest-dir", packed], check=True)
        (made,) = packed.iterdir()
        subprocess.run([sys.executable, "-m", "wheel", "tags", *TAGS, made], check=True)
        (made,) = packed.iterdir()
        return Path(shutil.copy(made, wheel.parent))


def try_out(wheel, learners):
    """Time the first run of each learner on each format, and insist that nothing is compiled."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run = environment(folder, wheel)
        (folder / "a.csv").write_text(CSV)
        (folder / "a.svm").write_text(SVMLIGHT)
        run("ellipsoid", "--version")
        for learner in learners:
            for data in ("a.csv", "a.svm"):
                begun = time.perf_counter()
                run(
                    "ellipsoid", "learn", data, "--model", learner, "--classes", "a,b,c" if data == "a.csv" else "1,2,3"
                )
                print(f"{learner} {data}: {time.perf_counter() - begun:.1f} s")
        compiled = sorted(path.name for path in (folder / "cache").rglob("*.nbc"))
        if compiled:
            sys.exit("compiled nevertheless: " + ", ".join(compiled))


def main(wheel, learners):
    """Compile, pack, try."""
    if platform.machine() not in ("x86_64", "AMD64") or os.name == "nt":
        sys.exit("machine code is packed on Linux with x86-64 only; the wheel for all compiles at its first run")
    made = with_machine_code(wheel, learners)
    print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")
    try_out(made, learners or ["Perceptron", "PassiveAggressive", "MIRA", "AROW", "EllipsoidClassifier", "CELLIP"])


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
