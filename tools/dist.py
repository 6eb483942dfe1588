"""Build what is published, look into it, and try it out as a stranger would: ``python tools/dist.py FOLDER``.

The wheel must hold the package and nothing else. It is installed into a new environment, where the README's examples
and ``ellipsoid compare digits`` are run from an empty folder, so that nothing of the sources can help.
"""

import doctest
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
TRY_README = f"""
import doctest, sys
from pathlib import Path
import ellipsoid
assert Path(sys.prefix) in Path(ellipsoid.__file__).parents, f"not the installed package: {{ellipsoid.__file__}}"
found = doctest.testfile(sys.argv[1], module_relative=False, optionflags={FLAGS})
print(found)
sys.exit(found.failed or not found.attempted)
"""


def sources():
    """The files of the package, as they are named in the wheel."""
    package = ROOT / "src" / "ellipsoid"
    files = (path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(package.parent)) for path in files}


def wheel_problems(names):
    """What is wrong with the names of the files in a wheel."""
    package = {name for name in names if ".dist-info/" not in name}
    info = {name.split("/", 1)[1] for name in names - package}
    problems = [f"the wheel holds {name}, which is not of the package" for name in sorted(package - sources())]
    problems += [f"the wheel lacks {name}" for name in sorted(sources() - package)]
    needed = {"METADATA", "entry_points.txt", "licenses/LICENSE"}
    return problems + [f"the wheel lacks {name} in its dist-info" for name in sorted(needed - info)]


def sdist_problems(names):
    """What is wrong with the names of the files in an archive of the sources, its own folder left out."""
    needed = {f"src/{name}" for name in sources()}
    needed |= {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "Makefile",
        "pyproject.toml",
        "tests/test_house.py",
    }
    return [f"the sdist lacks {name}" for name in sorted(needed - names)]


def look_into(folder):
    """The wheel, after a look into both archives."""
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        problems = wheel_problems({name for name in archive.namelist() if not name.endswith("/")})
    with tarfile.open(sdist) as archive:
        problems += sdist_problems({member.name.split("/", 1)[1] for member in archive if member.isfile()})
    if problems:
        sys.exit("\n".join(problems))
    for path in (wheel, sdist):
        print(f"{path}: {path.stat().st_size / 1000:,.0f} kB")
    return wheel


def try_out(wheel):
    """Install the wheel into a new environment and use it from an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        environment, empty = Path(folder) / "venv", Path(folder) / "empty"
        empty.mkdir()
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        commands = environment / ("Scripts" if os.name == "nt" else "bin")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ELLIPSOID"))}

        def run(*words):
            subprocess.run(words, cwd=empty, env=clean, check=True)

        run(commands / "python", "-m", "pip", "install", "--quiet", f"{wheel.resolve()}[plots]")
        run(commands / "python", "-c", TRY_README, ROOT / "README.md")
        run(commands / "ellipsoid", "compare", "digits", "--output", "report")
        written = {path.name for path in (empty / "report").iterdir()}
        if not {"curves.png", "report.html", "results.json"} <= written:
            sys.exit(f"ellipsoid compare wrote only {sorted(written)}")


def main(folder):
    """Build, look, try."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True)
    try_out(look_into(folder))
    print("the wheel works")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
