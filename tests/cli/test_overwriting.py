"""No command writes over a file that it reads, but a model that goes on learning."""

from pathlib import Path

from click.testing import CliRunner

from ellipsoid import load
from ellipsoid.cli import main

from .conftest import run


def test_what_is_read_is_not_written_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("1,2,0\n3,1,1\n" * 10)
    run("learn", "in.csv", "--model", "MIRA", "--save", "m")
    run("learn", "in.csv", "--model", "MIRA", "--save", "other")
    Path("link").symlink_to("in.csv")
    Path("link to other").symlink_to("other")
    before = [Path(name).read_bytes() for name in ("in.csv", "m", "other")]
    learn, resume = ("learn", "in.csv", "--model", "MIRA"), ("learn", "in.csv", "--resume", "m")
    for words, read in (
        ((*learn, "--save", "in.csv"), "in.csv"),
        ((*learn, "--save", tmp_path / "in.csv"), "in.csv"),
        ((*learn, "--save", "link"), "in.csv"),
        ((*learn, "--plot", "./in.csv"), "in.csv"),
        ((*learn, "--save", "new", "--plot", "./new"), "what --save has written"),
        ((*learn, "--workers", 1, "--checkpoint", "in.csv"), "in.csv"),
        ((*learn, "--workers", 1, "--save", "new", "--checkpoint", "./new"), "the last --checkpoint"),
        (("learn", "digits", "--model", "MIRA", "--validate", "in.csv", "--save", "in.csv"), "in.csv"),
        ((*resume, "--plot", "m"), "m"),
        (("predict", "m", "in.csv", "-o", "m"), "m"),
        (("predict", "m", "in.csv", "-o", "in.csv"), "in.csv"),
        (("merge", "m", "other", "--save", "m"), "m"),
        (("merge", "m", "other", "--save", "link to other"), "other"),
        (("merge", "m", "other", "--save", "in.csv", "--validate", "in.csv"), "in.csv"),
    ):
        message = run(*words, code=2).stderr
        assert f"would overwrite {read}" in message
        assert "name another file" in message
    assert not Path("new").exists()
    assert [Path(name).read_bytes() for name in ("in.csv", "m", "other")] == before
    run(*resume, "--save", "m")
    assert load("m").t_ == 40


def test_nor_is_a_file_that_standard_input_comes_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("1,2,0\n3,1,1\n" * 10)
    Path("link").symlink_to("in.csv")
    before = Path("in.csv").read_bytes()
    learn = ["learn", "-", "--format", "csv", "--model", "MIRA", "--save"]
    with open("in.csv") as file:
        assert CliRunner().invoke(main, [*learn, "m"], input=file).exit_code == 0
    for words in ([*learn, "in.csv"], [*learn, "link"], ["predict", "m", "-", "--format", "csv", "-o", "in.csv"]):
        with open("in.csv") as file:
            found = CliRunner().invoke(main, words, input=file)
        assert found.exit_code == 2, found.output
        assert "would overwrite standard input" in found.stderr
    assert Path("in.csv").read_bytes() == before
    # A pipe is no file.
    assert CliRunner().invoke(main, [*learn, "in.csv"], input=before).exit_code == 0


def test_the_name_of_a_data_set_may_become_a_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("learn", "digits", "--model", "MIRA", "--save", "digits")
    assert load("digits").t_
