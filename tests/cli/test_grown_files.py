"""After a file has grown, --resume learns each row once a pass; a run with --shuffle is refused then."""

import pytest

from ellipsoid import load

from .conftest import lines_of, run, stream_of

pytestmark = pytest.mark.interpreted


def test_rows_that_were_added_between_passes_are_learned_once(tmp_path):
    """The passes of such a run differ, so that the last one's length does not follow from the rows of all."""
    command = ("learn", tmp_path / "d.svm", "--model", "Perceptron", "--epochs", 2, "--save-every", 3, "--save")
    command = (*command, tmp_path / "m")
    rows = 0
    for have in (4, 7, 7):
        (tmp_path / "d.svm").write_text("".join(lines_of(have)))
        shown = run(*command, *(("--resume", tmp_path / "m") if rows else ()))
        rows = have + 4
        assert load(tmp_path / "m").t_ == stream_of(tmp_path / "m")["rows"] == rows
        assert f"{have} rows" in shown.stdout


@pytest.mark.parametrize("stop", [10, 20])
def test_a_shuffled_run_does_not_go_on_over_files_that_have_grown(stop, tmp_path, monkeypatch):
    """The order of more rows is another one: some would be learned twice and others never."""
    from ellipsoid.estimators.files import saving

    real = saving.save

    def save(model, path, stream=None):
        real(model, path, stream)
        if stream["rows"] == stop:
            raise KeyboardInterrupt

    learn = ("learn", tmp_path / "d.svm", "--model", "Perceptron", "--shuffle", "--save", tmp_path / "m")
    (tmp_path / "d.svm").write_text("".join(lines_of(20)))
    with monkeypatch.context() as patch:
        patch.setattr(saving, "save", save)
        run(*learn, "--save-every", 10, code=130)
    if stop == 20:
        run(*learn)
    before = (tmp_path / "m").read_bytes()
    (tmp_path / "d.svm").write_text("".join(lines_of(25)))
    assert "has grown" in run(*learn, "--save-every", 10, "--resume", tmp_path / "m", code=1).stderr
    assert (tmp_path / "m").read_bytes() == before
    (tmp_path / "d.svm").write_text("".join(lines_of(20)))
    run(*learn, "--save-every", 10, "--resume", tmp_path / "m")
    assert load(tmp_path / "m").t_ == 20
    if stop == 20:
        (tmp_path / "d.svm").write_text("".join(lines_of(25)))
        assert "learns it once more" in run(*learn, "--resume", tmp_path / "m").stderr
