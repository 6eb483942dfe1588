"""``ellipsoid warm`` compiles what a first run would compile."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from ellipsoid.cli import main
from ellipsoid.cli.warm import warm

CSV = "width,height,label\n" + "1.5,2,a\n2,1,b\n0.5,0.25,c\n" * 30
TEXT = "1 1:1.5 9:2\n2 3:1\n1 2:0.25 11:1\n" * 30


@pytest.mark.slow
@pytest.mark.parametrize("name", ["MIRA", "EllipsoidClassifier"])
def test_after_it_nothing_is_compiled(name, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}

    def run(*words):
        done = subprocess.run(
            [sys.executable, "-m", "ellipsoid", *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        return done.stdout

    result = run("warm", name, "--jobs", "2")
    assert f"{name}: " in result
    assert "Ready after" in result
    ready = sorted(path.name for path in (tmp_path / "cache").rglob("*.nbc"))
    assert len(ready) > 5
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "a.svm").write_text(TEXT)
    for data in ("a.csv", "a.svm"):
        run("learn", data, "--model", name, "--save", "model")
        run("predict", "model", data)
    assert sorted(path.name for path in (tmp_path / "cache").rglob("*.nbc")) == ready


@pytest.mark.parametrize(
    ("words", "sentence"),
    [(["Adaline"], "no learner 'Adaline'"), (["MIRA", "--all"], "contradict each other")],
)
def test_what_makes_no_sense_is_refused(words, sentence):
    done = CliRunner().invoke(main, ["warm", *words])
    assert done.exit_code
    assert sentence in done.output


@pytest.mark.interpreted
def test_learners_of_numbers_are_made_ready_too():
    assert warm("PassiveAggressiveRegressor") > 0.0
