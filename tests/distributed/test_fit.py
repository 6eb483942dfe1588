"""Rounds over shards in this process: what they make, and what they refuse."""

import gc
import os
import weakref
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

from ellipsoid import (
    AROW,
    CELLIP,
    IELLIP,
    MIRA,
    EllipsoidClassifier,
    OnlineSVM,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    QuasiAdditive,
    Scaled,
    StandardStream,
    Winnow,
    distributed,
    load,
    merge,
)
from ellipsoid.distributed import rounds
from ellipsoid.distributed.engines.engine import LostWorkers
from ellipsoid.distributed.engines.in_process import InProcess
from ellipsoid.distributed.engines.processes import Loky
from ellipsoid.distributed.fitting import ShardedRun
from ellipsoid.distributed.prepare import survey
from ellipsoid.distributed.progress import RunProgress

from .conftest import digest, write_table

pytestmark = pytest.mark.interpreted


@pytest.fixture
def small(stream, tmp_path):
    """A table of few rows, cut into some twenty blocks by ``cut``."""
    return write_table(tmp_path / "small.csv", *stream)


cut = {"client": "here", "block_bytes": 400}


@pytest.mark.parametrize("learner", [MIRA(average=True), PassiveAggressive(C=0.1), AROW(), OnlineSVM(window=3),
                                     QuasiAdditive(link="balanced"), EllipsoidClassifier(),
                                     IELLIP()], ids=repr)  # fmt: skip
def test_one_shard_in_one_round_is_partial_fit(learner, small, stream):
    X, y = stream
    model = distributed.fit(learner, small, shards=1, rounds=1, **cut)
    assert digest(model) == digest(deepcopy(learner).partial_fit(X, y, classes=[0, 1, 2]))


def test_rounds_over_one_shard_are_passes(small, stream):
    X, y = stream
    model = distributed.fit(MIRA(), small, shards=1, rounds=3, **cut)
    passes = MIRA()
    for _ in range(3):
        passes.partial_fit(X, y, classes=[0, 1, 2])
    assert digest(model) == digest(passes)


@pytest.mark.parametrize(
    "learner",
    [MIRA(average=True), PassiveAggressive(C=0.1), Winnow(), AROW(average=True), IELLIP(average=True)],
    ids=repr,
)
def test_a_round_is_what_merge_makes_of_the_shards(learner, small):
    """Also with more shards than blocks, and with a number that is no power of two."""
    run = ShardedRun(learner, small, None, block_bytes=400)
    blocks = run.plan.blocks
    for shards in (7, 1000):
        model = distributed.fit(learner, small, shards=shards, rounds=1, **cut)
        models = []
        for own in run.plan.deal(shards):
            pieces = [chunk for block in own for chunk in block.chunks(run.plan.reading)]
            X, y = np.concatenate([c.X for c in pieces]), np.concatenate([c.y for c in pieces])
            count = min(shards, len(blocks))
            own_learner = deepcopy(learner).set_params(C=count * learner.C) if hasattr(learner, "C") else learner
            models.append(deepcopy(own_learner).partial_fit(X, y, classes=[0, 1, 2]))
        np.testing.assert_allclose(model.coef_, merge(models).coef_, rtol=1e-9, atol=1e-12)
        assert model.t_ == 90
        assert model.shards_ == min(shards, len(blocks))


def test_the_cap_of_a_step_is_the_user_s_in_the_mixture(small):
    model = distributed.fit(QuasiAdditive(C=0.05), small, shards=4, rounds=2, **cut)
    assert model.C == 0.05
    assert model._core.mixed.cap == 4.0
    assert model._core.solution().largest <= 0.05 * (1.0 + 1e-12)
    assert all(each.observed <= each.bound for each in model.certificates())


@pytest.mark.parametrize("learner", [IELLIP(average=True), IELLIP(shape="gram", b=0.9, c=0.5)], ids=repr)
def test_shards_of_iellip_have_one_metric_from_the_second_round_on(learner, small, stream, tmp_path):
    kept = tmp_path / "kept.model"
    models = [distributed.fit(learner, small, shards=3, rounds=rounds, checkpoint=kept, **cut) for rounds in (1, 2, 4)]
    assert digest(load(kept)) == digest(models[-1])
    if learner.b < 0.5:
        # The shape has come to its end with the updates of all shards: nothing is put apart any more.
        second, last = (model._core.table.offset for model in models[1:])
        np.testing.assert_allclose(second, last, rtol=1e-12)
    assert models[-1].shards_ == 3
    assert all(each.observed <= each.bound for model in models for each in model.certificates())
    assert models[-1].score(*stream) > 0.7


def test_a_driver_that_stopped_goes_on_after_its_last_round(small, tmp_path, monkeypatch):
    kept = tmp_path / "run.ckpt"
    whole = distributed.fit(MIRA(average=True), small, shards=3, rounds=4, **cut)

    class Stop(Exception):
        pass

    def stop(self, counts):
        if self.round == 2:
            raise Stop

    with monkeypatch.context() as patch:
        patch.setattr(RunProgress, "shard", stop)
        for resume in (False, True):
            with pytest.raises(Stop) as told:
                distributed.fit(MIRA(average=True), small, shards=3, rounds=4, checkpoint=kept, resume=resume, **cut)
            assert "holds the model after the rounds before it" in told.value.__notes__[0]
    assert load(kept).rounds_ == 2
    resumed = distributed.fit(MIRA(average=True), small, shards=3, rounds=4, checkpoint=kept, resume=True, **cut)
    assert digest(resumed) == digest(whole) == digest(load(kept))
    with pytest.raises(ValueError, match="the model after 4 rounds, but rounds is 3: give 4 or more"):
        distributed.fit(MIRA(average=True), small, shards=3, rounds=3, checkpoint=kept, resume=True, **cut)
    for change in ({"shards": 4}, {"block_bytes": 401}):
        with pytest.raises(ValueError, match="belongs to another run"):
            distributed.fit(MIRA(average=True), small, **{**cut, "shards": 3, **change}, checkpoint=kept, resume=True)
    with pytest.raises(ValueError, match="belongs to another run"):
        distributed.fit(MIRA(average=True, margin=0.5), small, shards=3, checkpoint=kept, resume=True, **cut)
    whole.save(tmp_path / "plain.model")
    with pytest.raises(ValueError, match="not a checkpoint of a run over shards"):
        distributed.fit(MIRA(), small, checkpoint=tmp_path / "plain.model", resume=True, **cut)
    with pytest.raises(FileNotFoundError, match="to resume"):
        distributed.fit(MIRA(), small, checkpoint=tmp_path / "none.ckpt", resume=True, **cut)


@pytest.mark.parametrize("touched", [True, False], ids=["time", "bytes"])
def test_a_file_that_has_changed_behind_its_beginning_is_not_resumed(touched, stream, tmp_path):
    """Either alone tells: a new time of modification, or other bytes under the old one."""
    path, told = Path(write_table(tmp_path / "rows.csv", *stream)), {"shards": 2, "rounds": 1, "client": "here"}
    told["checkpoint"] = tmp_path / "kept"
    text, about = path.read_text(), path.stat()
    distributed.fit(MIRA(), path, **told)
    distributed.fit(MIRA(), path, **told, resume=True)
    if touched:
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns + 1))
    else:
        where = text.index("1", 5000)
        path.write_text(f"{text[:where]}2{text[where + 1 :]}")
        os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    with pytest.raises(ValueError, match=r"the data, .* have changed since; .* time of modification"):
        distributed.fit(MIRA(), path, **told, resume=True)


def test_what_a_file_holds_of_a_scaled_run_predicts(stream, tmp_path):
    X, y = stream
    shifted = write_table(tmp_path / "shifted.csv", 1000.0 * X + 5.0, y)
    model = distributed.fit(Scaled(MIRA()), shifted, shards=4, rounds=3, checkpoint=tmp_path / "kept", **cut)
    scaler = StandardStream().fit(1000.0 * X + 5.0)
    np.testing.assert_allclose(model.scaler_.mean_, scaler.mean_)
    np.testing.assert_allclose(model.scaler_.scale_, scaler.scale_)
    assert model.score(1000.0 * X + 5.0, y) > 0.8
    assert digest(load(tmp_path / "kept")) == digest(model)
    same = distributed.fit(MIRA(), shifted, shards=4, rounds=3, scale="standard", **cut)
    assert digest(same) == digest(model)


@pytest.mark.parametrize("zero_based", [True, False])
def test_all_blocks_together_say_what_features_count_from(stream, tmp_path, zero_based):
    X, y = stream
    X = np.where(X > 0.0, X, 0.0)
    X[:60, 0] = 0.0
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=zero_based)
    model = distributed.fit(Perceptron(), str(tmp_path / "rows.svm"), shards=1, rounds=1, **cut)
    alone = Perceptron().partial_fit(csr_matrix(X), y, classes=[0, 1, 2])
    # A file that counts from 0 and one that counts from 1 have the same features.
    assert model.n_features_in_ == 4
    np.testing.assert_allclose(model.coef_, alone.coef_)


def test_given_labels_and_width_make_the_survey_unnecessary(small, stream, monkeypatch):
    def surveyed(*args):
        raise AssertionError("nobody asked for a survey")

    monkeypatch.setattr("ellipsoid.distributed.prepare.survey_blocks", surveyed)
    model = distributed.fit(MIRA(), small, shards=2, rounds=1, classes=[2, 1, 0], **cut)
    assert model.classes_.tolist() == [2, 1, 0]


def test_replay_is_one_run_over_the_rows_that_cut(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X = X[abs(X[:, 0]) > 0.2]
    y = (X[:, 0] > 0).astype(int)
    learner = CELLIP(margin=0.1, cut="minvol", trigger="always", fit_intercept=False)
    path, kept = write_table(tmp_path / "rows.csv", X, y), tmp_path / "run.ckpt"
    told = {"shards": 3, "client": "here", "block_bytes": 2000, "checkpoint": kept, "validate": path}
    with pytest.raises(FileNotFoundError, match="to resume"):
        distributed.fit(learner, path, resume=True, **told)
    model = distributed.fit(learner, path, **told)
    assert model.history_[0]["error"] == np.mean(model.predict(X) != y)
    assert digest(distributed.fit(learner, path, resume=True, **told)) == digest(load(kept)) == digest(model)
    plan = ShardedRun(learner, str(tmp_path / "rows.csv"), None, block_bytes=2000).plan
    rows, labels = [], []
    for own in plan.deal(3):
        pieces = [chunk for block in own for chunk in block.chunks(plan.reading)]
        X_own, y_own = np.concatenate([c.X for c in pieces]), np.concatenate([c.y for c in pieces])
        used = deepcopy(learner).partial_fit(X_own, y_own, classes=[0, 1]).update_rounds_ - 1
        rows.append(X_own[used])
        labels.append(y_own[used])
    once = deepcopy(learner).partial_fit(np.concatenate(rows), np.concatenate(labels), classes=[0, 1])
    assert np.array_equal(once.coef_, model.coef_)
    assert once.log_volume_ == model.log_volume_
    assert model.t_ < len(y)


def test_progress_tells_rows_and_the_error_of_every_round(small):
    lines = []
    model = distributed.fit(MIRA(), small, shards=3, rounds=2, validate=small, progress=lines.append, **cut)
    assert any("90 rows, 3 classes, 4 features" in line for line in lines)
    ends = [line for line in lines if "validation error" in line]
    assert [line.split(",")[0] for line in ends] == ["round 1 of 2", "round 2 of 2"]
    assert [each["rows"] for each in model.history_] == [90, 90]
    assert model.history_[-1]["error"] == pytest.approx(1.0 - model.score(*_read(small)))


def _read(path):
    table = np.loadtxt(path, delimiter=",")
    return table[:, :-1], table[:, -1].astype(int)


def test_predictions_of_blocks_are_predictions_of_rows(small, stream):
    X, y = stream
    model = MIRA().partial_fit(X, y)
    assert np.array_equal(distributed.predict(model, small, **cut), model.predict(X))


def test_learners_side_by_side_are_those_alone(small, stream):
    X, y = stream
    found = distributed.compare(
        {"loose": MIRA(margin=1.0), "narrow": MIRA(average=True)}, small, client="here", passes=2
    )
    for name, learner in (("loose", MIRA(margin=1.0)), ("narrow", MIRA(average=True))):
        alone = learner.partial_fit(X, y, classes=[0, 1, 2]).partial_fit(X, y)
        assert digest(found[name]) == digest(alone)


def test_a_shard_of_one_class_and_a_block_of_comments(tmp_path):
    """Rows sorted by label, and a block that holds no row at all."""
    lines = ["1 1:1 2:0.5", "# nothing here, for longer than a block is", "", "0 1:-1 2:0.5", "0 2:-1 1:-2"]
    (tmp_path / "few.svm").write_text("\n".join(lines[:4]) + "\n")
    model = distributed.fit(MIRA(), str(tmp_path / "few.svm"), client="here", shards=10, rounds=2, block_bytes=14)
    assert model.t_ == 4
    assert model.classes_.tolist() == [0, 1]
    assert all(each.observed <= each.bound for each in model.certificates())


def test_a_bad_line_ends_the_run_and_names_its_shard(tmp_path):
    (tmp_path / "bad.csv").write_text("1,2,0\n" * 30 + "1,word,1\n" + "2,1,1\n" * 30)
    with pytest.raises(ValueError, match="line 31") as told:
        distributed.fit(MIRA(), str(tmp_path / "bad.csv"), client="here", shards=3, block_bytes=40, classes=[0, 1])
    assert any("in shard" in note for note in told.value.__notes__)


def test_joblib_goes_on_working_beside_the_processes():
    engine = Loky(2)
    assert engine.result(engine.submit(pow, 2, 10, key="power")) == 1024
    assert Parallel(2)(delayed(pow)(3, k) for k in range(3)) == [1, 3, 9]
    with pytest.raises(LostWorkers):
        engine.result(engine.submit(os._exit, 1, key="death"))
    assert engine.result(engine.submit(pow, 2, 3, key="others")) == 8


def test_rows_of_weight_0_were_never_there(tmp_path):
    """Neither for the labels that a survey finds, nor for a scale, a learner, or an error; and nobody looks away."""
    draws = np.random.default_rng(0).normal(size=40).tolist()
    rows = [f"{label} {{}} | a:{0.5 * label + x:.3f} b:{x:.3f}" for label, x in zip([-1, 1] * 20, draws, strict=True)]
    there = tmp_path / "there.vw"
    there.write_text("".join(row.format(1) + "\n" for row in rows))
    ghosts = tmp_path / "ghosts.vw"
    with open(ghosts, "w") as file:
        for i, row in enumerate(rows):
            file.write(row.format(1) + "\n" + ("7" if i % 3 else "1") + " 0 | a:900 b:-3\n")
    told = {"client": "here", "shards": 1, "rounds": 2, "bits": 4}
    cases = [(MIRA(), {}), (MIRA(), {"scale": "standard"}), (CELLIP(margin=0.01, on_infeasible="skip"), {}),
             (OnlineSVM(fit_intercept=False), {"merge": "dual"})]  # fmt: skip
    for learner, more in cases:
        model, same = (
            distributed.fit(learner, str(path), validate=str(path), **told, **more) for path in (ghosts, there)
        )
        assert model.classes_.tolist() == [-1, 1]
        assert digest(model) == digest(same)
        assert [each["error"] for each in model.history_] == [each["error"] for each in same.history_]
    there.write_text("1 2 | a:1\n-1 1 | b:1\n")
    with pytest.raises(ValueError, match="weight"):
        distributed.fit(CELLIP(margin=0.01), str(there), **told)


def test_drivers_of_one_cluster_do_not_share_the_names_of_their_tasks(small, monkeypatch):
    """A scheduler takes tasks of one name for one task, and two processes may have objects at one address."""
    keys, submit = [], InProcess.submit
    monkeypatch.setattr(InProcess, "submit", lambda *args, key, **more: keys.append(key) or submit(*args, key=key))
    run = ShardedRun(MIRA(), small, InProcess(), block_bytes=400)
    for _ in range(2):
        survey(run, None, None)
    assert len(set(keys)) == len(keys) > 2


def test_a_worker_of_another_version_that_comes_late_is_refused(small, monkeypatch):
    told = iter([*([("1",) * 6] * 3), *([("2",) * 6] * 90)])
    monkeypatch.setattr(rounds, "machine", lambda: next(told))
    with pytest.raises(ValueError, match="came later runs other versions"):
        distributed.fit(MIRA(), small, shards=3, **cut)


def test_numbers_are_no_classes(tmp_path):
    """One shard of a regressor is ``partial_fit``, to the bit, though every row has a number of its own."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = X @ [1.0, 2.0, 3.0, 0.5] + 0.1 * rng.normal(size=300)
    path = tmp_path / "numbers.csv"
    np.savetxt(path, np.c_[X, y], fmt="%.17g", delimiter=",", header="a,b,c,d,y", comments="")
    alone = PassiveAggressiveRegressor().partial_fit(X, y)
    model = distributed.fit(PassiveAggressiveRegressor(), path, client="here", shards=1, rounds=1)
    assert (model.coef_.tolist(), model.intercept_.tolist()) == (alone.coef_.tolist(), alone.intercept_.tolist())
    with pytest.raises(ValueError, match="a regressor has no labels"):
        distributed.fit(PassiveAggressiveRegressor(), path, client="here", validate=str(path))


def test_what_a_round_has_made_is_released_at_once_though_a_worker_was_lost():
    made, losses = [], [LostWorkers("gone")]

    class LosesOne(InProcess):
        def submit(self, function, *args, key, turn=None):
            task = super().submit(function, *args, key=key)
            made.append(weakref.ref(task))
            return task

        def result(self, future):
            if losses:
                raise losses.pop()
            return super().result(future)

    def work(model, job):
        return SimpleNamespace(counts=job.number, part=None)

    gc.disable()
    try:
        jobs = [SimpleNamespace(number=number) for number in range(3)]
        futures, counts = rounds.run_jobs(LosesOne(), jobs, None, work, "round", lambda count: None)
        assert (len(futures), len(made)) == (3, 8)
        del futures, counts
        assert [task for task in made if task() is not None] == []
    finally:
        gc.enable()
