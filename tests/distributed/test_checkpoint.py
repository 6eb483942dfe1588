"""The file of a run: written where it does no harm, whatever becomes of the rows that only judge."""

from pathlib import Path

import numpy as np
import pytest

from ellipsoid import MIRA, distributed, load

from .conftest import digest, write_table

pytestmark = pytest.mark.interpreted

cut = {"client": "here", "block_bytes": 400, "shards": 3}


@pytest.fixture
def small(stream, tmp_path):
    return write_table(tmp_path / "small.csv", *stream)


def test_a_checkpoint_that_cannot_be_written_is_refused_before_anything_is_read(small, tmp_path):
    lines = []
    for place, error, sentence in (
        (tmp_path / "none" / "run.ckpt", FileNotFoundError, "create it first"),
        (tmp_path, IsADirectoryError, "is a folder"),
        (small, ValueError, "would overwrite .*small.csv, which this run reads"),
        (tmp_path / "other.csv", ValueError, "would overwrite .*other.csv, which this run reads"),
    ):
        before = Path(small).read_bytes()
        (tmp_path / "other.csv").write_bytes(before)
        told = {"validate": tmp_path / "other.csv", "progress": lines.append}
        with pytest.raises(error, match=sentence):
            distributed.fit(MIRA(), small, checkpoint=place, rounds=1, **told, **cut)
        assert Path(small).read_bytes() == (tmp_path / "other.csv").read_bytes() == before
    assert lines == []


def test_rows_that_cannot_be_judged_cost_no_round(small, tmp_path):
    held, kept = tmp_path / "held.csv", tmp_path / "run.ckpt"
    held.write_text("1,2,3,4,0\n" * 3 + "1,word,3,4,1\n")
    told = {"rounds": 2, "checkpoint": kept, "validate": held, **cut}
    with pytest.raises(ValueError, match="line 4"):
        distributed.fit(MIRA(), small, **told)
    assert load(kept).rounds_ == 1
    held.write_bytes(Path(small).read_bytes())
    model = distributed.fit(MIRA(), small, resume=True, **told)
    whole = distributed.fit(MIRA(), small, rounds=2, validate=held, **cut)
    assert digest(model) == digest(whole)
    assert model.history_ == whole.history_


def test_labels_of_words_are_words_where_they_look_like_numbers(stream, tmp_path):
    X, y = stream
    words = np.array(["a", "2", "1"])[np.r_[0, y[1:]]]
    path, held = tmp_path / "words.csv", tmp_path / "held.csv"
    for name, some in ((path, slice(None)), (held, words != "a")):
        rows = zip(X[some].tolist(), words[some], strict=True)
        name.write_text("".join(",".join(map(repr, row)) + f",{label}\n" for row, label in rows))
    model = distributed.fit(MIRA(), path, rounds=1, validate=held, **cut)
    assert model.history_[0]["error"] == np.mean(model.predict(X) != words, where=words != "a")


def test_an_error_on_no_rows_is_none(stream, tmp_path):
    path, held = tmp_path / "rows.svm", tmp_path / "held.svm"
    path.write_text("1 1:1\n0 2:1\n" * 9)
    held.write_text("# nothing\n")
    with pytest.raises(ValueError, match="the data of validate have no rows"):
        distributed.fit(MIRA(), path, rounds=1, validate=held, **cut)
