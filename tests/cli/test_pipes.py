"""A pipe can be read only once: no command reads one twice, or loses rows by looking into it first."""

import os
from threading import Thread

import pytest

from .conftest import run

pytestmark = [
    pytest.mark.interpreted,
    pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes"),
]


@pytest.fixture
def piped(tmp_path):
    """Gives some text through a named pipe, once."""
    begun = []

    def pipe(text, name="pipe"):
        os.mkfifo(tmp_path / name)
        begun.append(Thread(target=(tmp_path / name).write_text, args=[text], daemon=True))
        begun[-1].start()
        return tmp_path / name

    return pipe


def test_every_row_of_a_pipe_is_labelled(tmp_path, piped):
    """What was read of it to see whether it has labels could not be read again."""
    rows = "p,q,y\n" + "1,2,u\n0,3,v\n" * 5
    (tmp_path / "in.csv").write_text(rows)
    run("learn", tmp_path / "in.csv", "--model", "MIRA", "--save", tmp_path / "m")
    expected = run("predict", tmp_path / "m", tmp_path / "in.csv").stdout
    assert run("predict", tmp_path / "m", piped(rows), "--format", "csv").stdout == expected
    assert len(expected.split()) == 10


def test_what_can_be_read_only_once_is_not_read_again(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    (tmp_path / "in.csv").write_text("1,2,0\n0,3,1\n")
    run("learn", tmp_path / "in.csv", "--model", "MIRA", "--save", tmp_path / "m")
    learn = ("learn", "--format", "csv", "--model", "MIRA", "--save", tmp_path / "new")
    predict = ("predict", "--format", "csv", tmp_path / "m")
    for words, spoken in (
        ((*learn, "-", "-"), "standard input"),
        ((*learn, "-", "--validate", "-"), "standard input"),
        ((*learn, "-", "--epochs", 2), "standard input"),
        ((*learn, pipe, pipe), pipe),
        ((*learn, pipe, tmp_path / "in.csv", link), link),
        ((*learn, pipe, "--validate", link), link),
        ((*learn, pipe, "--epochs", 2), pipe),
        ((*predict, "-", "-"), "standard input"),
        ((*predict, pipe, link), link),
    ):
        assert f"{spoken} can be read only once: save it to a file" in run(*words, code=1).stderr
    assert not (tmp_path / "new").exists()
    run(*learn[:-2], tmp_path / "in.csv", tmp_path / "in.csv", "--epochs", 2, "--validate", tmp_path / "in.csv")


def test_a_pipe_is_not_sent(tmp_path):
    """Its digest would take all rows, and none be left to send."""
    os.mkfifo(tmp_path / "pipe")
    result = run("send", "http://127.0.0.1:1", "m", tmp_path / "pipe", code=2).stderr
    assert f"{tmp_path / 'pipe'} can be read only once" in result
