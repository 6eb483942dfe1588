"""What a run over shards refuses, each by a sentence, before anybody is started."""

import numpy as np
import pytest

from ellipsoid import (
    AROW,
    CELLIP,
    IELLIP,
    MIRA,
    Calibrated,
    Committee,
    Conformal,
    IntervalRegressor,
    Scaled,
    distributed,
)
from ellipsoid.distributed import comparing, fitting
from ellipsoid.distributed.engines import choice
from ellipsoid.distributed.engines.in_process import InProcess

from .conftest import write_table

pytestmark = pytest.mark.interpreted

cut = {"client": "here", "block_bytes": 400}


@pytest.fixture
def small(stream, tmp_path):
    """A table of few rows, cut into some twenty blocks by ``cut``."""
    return write_table(tmp_path / "small.csv", *stream)


REFUSED = {
    "kernel": (MIRA(kernel="rbf"), {}, "a kernel model would grow with every shard"),
    "restart": (CELLIP(on_infeasible="restart"), {}, "restarts no longer covers"),
    "endless shape": (IELLIP(b=1.0), {}, "shrinks its shape for ever"),
    "kernel metric": (IELLIP(kernel="rbf"), {}, "a kernel model would grow with every shard"),
    "calibrated": (Calibrated(MIRA()), {}, "calibrate the result"),
    "committee": (Committee(), {}, "Committee cannot be learned in shards: .* from one stream, without workers"),
    "conformal": (Conformal(MIRA()), {}, "Conformal cannot be learned in shards: .* from one stream, without workers"),
    "scaled committee": (Scaled(Committee()), {}, "Committee cannot be learned in shards"),
    "names": (MIRA(), {"dicts": "keep"}, "leave dicts='keep' out, to hash them"),
    "sketch": (AROW(shape="sketch"), {}, "shape='dense' or 'diagonal'"),
    "shards": (MIRA(), {"shards": 0}, "shards must be a positive integer"),
    "rounds": (MIRA(), {"rounds": 1.5}, "rounds must be a positive integer"),
    "weights": (MIRA(), {"weights": "rows"}, "weights must be uniform"),
    "merge": (MIRA(), {"merge": "fuse"}, "merge must be auto"),
    "other merge": (AROW(), {"merge": "mix"}, "by merge='information'"),
    "dual": (MIRA(), {"merge": "dual"}, "merge='dual' is for OnlineSVM"),
    "resume": (MIRA(), {"resume": True}, "resume needs checkpoint"),
    "scale": (MIRA(), {"scale": "log"}, "scale must be standard"),
    "two scales": (Scaled(MIRA()), {"scale": "unit"}, "already has a scaler"),
    "client": (MIRA(), {"client": "nowhere"}, "client must be"),
    "classes": (MIRA(), {"classes": [0, 1], "n_features": 4, "scale": "standard"}, "not in classes"),
    "one class": (MIRA(), {"classes": [0]}, "at least two classes"),
    "drift": (AROW(drift=0.1), {}, "with a drift cannot be learned in shards: .* from one stream"),
    "moving target": (CELLIP(margin=0.1, cut="minvol", drift=0.1), {}, "with a drift cannot be learned in shards"),
    "interval": (IntervalRegressor(), {}, "IntervalRegressor cannot be learned in shards"),
    "weights of models": (MIRA(), {"weights": [1, 2]}, "weights must be uniform"),
    "two engines": (MIRA(), {"workers": 2}, "client and workers exclude each other"),
    "no client": (MIRA(), {"client": 5}, "client must be"),
    "part of a byte": (MIRA(), {"block_bytes": 0.5}, "block_bytes must be positive and whole"),
    "block": (MIRA(), {"block_bytes": 0}, "block_bytes must be positive"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_impossible_runs_are_refused_with_a_sentence(case, small):
    learner, options, sentence = REFUSED[case]
    with pytest.raises(ValueError, match=sentence):
        distributed.fit(learner, small, **{**cut, **options})


@pytest.mark.parametrize("learner", [Committee(), Conformal(MIRA()), Calibrated(MIRA()), Scaled(MIRA())], ids=repr)
def test_wrappers_are_refused_by_compare(learner, small):
    with pytest.raises(ValueError, match=f"single learners, not a {type(learner).__name__}: give the learners"):
        distributed.compare({"plain": MIRA(), "wrapped": learner}, small, client="here")
    with pytest.raises(ValueError, match="leave dicts='keep' out"):
        distributed.compare({"plain": MIRA()}, small, client="here", dicts="keep")
    with pytest.raises(ValueError, match="passes must be a positive integer"):
        distributed.compare({"plain": MIRA()}, small, client="here", passes=0)


def test_a_refused_run_starts_no_engine(small, monkeypatch):
    """Processes take seconds to start, and would wait for a run that never comes."""
    for module in (fitting, comparing):
        monkeypatch.setattr(module, "engine_of", lambda *_: pytest.fail("an engine was started"))
    with pytest.raises(ValueError, match="cannot be learned in shards"):
        distributed.fit(Committee(), small)
    with pytest.raises(ValueError, match="leave dicts='keep' out"):
        distributed.fit(MIRA(), small, dicts="keep")
    with pytest.raises(ValueError, match="takes single learners, not a Scaled"):
        distributed.compare({"scaled": Scaled(MIRA())}, small)
    with pytest.raises(ValueError, match="IntervalRegressor cannot be learned in shards"):
        distributed.fit(IntervalRegressor(), small)


def test_numbers_of_numpy_are_numbers(small):
    assert distributed.fit(MIRA(), small, shards=np.int64(2), rounds=np.int64(1), **cut).t_ == 90


@pytest.mark.parametrize("call", ["fit", "compare", "predict"])
def test_an_engine_is_let_go_where_the_data_are_refused(monkeypatch, call):
    closed = []

    class Watched(InProcess):
        def close(self):
            closed.append(True)

    monkeypatch.setattr(choice, "InProcess", Watched)
    model = {"one": MIRA()} if call == "compare" else MIRA()
    with pytest.raises(FileNotFoundError):
        getattr(distributed, call)(model, "nowhere.svm", client="here")
    assert closed
