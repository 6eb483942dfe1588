"""What the tests of the commands share: rows as svmlight text, a command run, and what a model file holds."""

import sys

import pytest
from click.testing import CliRunner

from ellipsoid import datasets
from ellipsoid.cli import main
from ellipsoid.estimators.files import container

from ..nursery import Nursery

PROGRAM = "from ellipsoid.cli import main; main()"
COMMAND = [sys.executable, "-c", PROGRAM]


def run(*arguments, code=0):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


def lines_of(n, start=0):
    X, y = datasets.load("digits").train
    rows = zip(X[start : start + n].tolist(), y[start : start + n].tolist(), strict=True)
    return [
        f"{label} " + " ".join(f"{1 + j}:{value:g}" for j, value in enumerate(x) if value) + "\n" for x, label in rows
    ]


def learned(path):
    """All that a file holds, except where its stream stopped."""
    content = container.read(path)
    header = {key: value for key, value in content.header.items() if key != "stream"}
    return header, {name: (array.shape, array.tobytes()) for name, array in content.arrays.items()}


def stream_of(path):
    return container.read(path).header["stream"]


@pytest.fixture(scope="module")
def nursery(tmp_path_factory):
    """Runs commands in processes of their own, which need not import libraries."""
    ready = "from ellipsoid.cli.startup import import_libraries; import_libraries()"
    with Nursery(tmp_path_factory.mktemp("nursery"), ready) as nursery:
        yield nursery


@pytest.fixture
def svm(tmp_path):
    for name, part in (("all", lines_of(600)), ("first", lines_of(250)), ("second", lines_of(350, 250))):
        (tmp_path / f"{name}.svm").write_text("".join(part))
    return tmp_path
