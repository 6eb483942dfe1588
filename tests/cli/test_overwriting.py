"""No command writes over a file that it reads, but a model that goes on learning."""

from pathlib import Path

from ellipsoid import load

from .conftest import run


def test_what_is_read_is_not_written_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("1,2,0\n3,1,1\n" * 10)
    run("learn", "in.csv", "--model", "MIRA", "--save", "m")
    Path("link").symlink_to("in.csv")
    before = [Path(name).read_bytes() for name in ("in.csv", "m")]
    learn, resume = ("learn", "in.csv", "--model", "MIRA"), ("learn", "in.csv", "--resume", "m")
    for words, read in (
        ((*learn, "--save", "in.csv"), "in.csv"),
        ((*learn, "--save", tmp_path / "in.csv"), "in.csv"),
        ((*learn, "--save", "link"), "in.csv"),
        ((*learn, "--plot", "./in.csv"), "in.csv"),
        ((*learn, "--save", "new", "--plot", "./new"), "what --save has written"),
        ((*learn, "--workers", 1, "--checkpoint", "in.csv"), "in.csv"),
        (("learn", "digits", "--model", "MIRA", "--validate", "in.csv", "--save", "in.csv"), "in.csv"),
        ((*resume, "--plot", "m"), "m"),
        (("predict", "m", "in.csv", "-o", "m"), "m"),
        (("predict", "m", "in.csv", "-o", "in.csv"), "in.csv"),
    ):
        message = run(*words, code=2).stderr
        assert f"would overwrite {read}" in message
        assert "name another file" in message
    assert not Path("new").exists()
    assert [Path(name).read_bytes() for name in ("in.csv", "m")] == before
    run(*resume, "--save", "m")
    assert load("m").t_ == 40


def test_the_name_of_a_data_set_may_become_a_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("learn", "digits", "--model", "MIRA", "--save", "digits")
    assert load("digits").t_
