"""Machine code that comes with the package is used where it fits, and only there."""

import platform
import shutil

import pytest
from numba.core import config

from ..nursery import Nursery

pytestmark = [
    pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="machine code is packed for x86-64"),
    pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled with NUMBA_DISABLE_JIT"),
]

LOOK = """
import sys
from pathlib import Path
import numpy as np
from numba.core import event
from ellipsoid.engine import Dense, call, inspect
from ellipsoid.engine.native import cache, shipped

cache.FOLDER = shipped.FOLDER = Path(sys.argv[1])
if sys.argv[2:] == ["lesser"]:
    shipped.LEVELS["x86-64-v3"] |= {"a feature that no processor has"}
rows = Dense(np.array([[1.0, 2.0], [np.nan, 0.0]]), 1.0)
with event.install_recorder("numba:compile") as compiling:
    found = call(inspect, rows)
print(*found, len(compiling.buffer) > 0)
"""


@pytest.fixture
def look(tmp_path):
    """What `inspect` finds in two rows, and whether it was compiled for that."""
    with Nursery(tmp_path, "import numba") as nursery:

        def run(cache, *words, **environment):
            done = nursery.run(LOOK, *words, NUMBA_CACHE_DIR=cache, **environment)
            assert done.returncode == 0, done.stderr
            *found, compiled = done.stdout.split()
            assert found == ["1", "1"]
            return compiled == "True"

        yield run


def test_code_for_a_level_of_processors_is_loaded_where_it_fits(look, tmp_path):
    made, folder = tmp_path / "made", tmp_path / "machine_code"
    assert look(made, folder, NUMBA_CPU_NAME="x86-64-v3", NUMBA_CPU_FEATURES="")
    (folder / "x86-64-v3").mkdir(parents=True)
    for path in made.rglob("*.nbc"):
        shutil.copy(path, folder / "x86-64-v3")
    assert not look(tmp_path / "empty", folder), "what came with the package must be loaded"
    assert not list((tmp_path / "empty").rglob("*.nbc"))
    assert look(tmp_path / "lesser", folder, "lesser"), "another processor must not be given it"
    assert look(tmp_path / "checked", folder, NUMBA_BOUNDSCHECK="1"), "code without checks is no code with them"
