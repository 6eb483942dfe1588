"""Test-then-train runs: error arithmetic by hand, and results that no chunking can change."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ellipsoid import (
    MIRA,
    Calibrated,
    Conformal,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
    datasets,
    prequential,
)
from ellipsoid.evaluate.checkpoints import MOST, SHORTEST_STRIDE, Checkpoints
from ellipsoid.evaluate.prequential import recorder_for
from ellipsoid.evaluate.run import Prequential

CURVES = ("checkpoints", "cumulative_error", "windowed_error", "cumulative_updates")
COUNTS = ("rows", "errors", "mistakes", "updates")


def same(a, b):
    for name in CURVES:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)
    assert [getattr(a, name) for name in COUNTS] == [getattr(b, name) for name in COUNTS]


def test_errors_of_a_hand_made_stream(parrot):
    y = np.array(["a", "a", "b", "b", "b", "a", "c", "c"])
    #              x         x              x    x          the parrot errs where the label changes
    run = prequential(parrot(), (np.zeros((8, 1)), y), window=2)
    assert (run.rows, run.errors, run.mistakes, run.updates, run.error) == (8, 4, 4, 4, 0.5)
    assert run.checkpoints.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    np.testing.assert_allclose(run.cumulative_error, [1, 1 / 2, 2 / 3, 2 / 4, 2 / 5, 3 / 6, 4 / 7, 4 / 8])
    assert run.windowed_error.tolist() == [1, 0.5, 0.5, 0.5, 0, 0.5, 1, 0.5]


def test_each_row_is_predicted_by_the_model_of_the_rows_before_it():
    X, y = datasets.load("digits").train
    X, y = X[:300], y[:300]
    model = PassiveAggressive()
    errors = 0
    for x, label in zip(X, y, strict=True):
        errors += not hasattr(model, "classes_") or model.predict_one(x) != label
        model.learn_one(x, label)
    trained = PassiveAggressive()
    assert prequential(trained, (X, y)).errors == errors
    np.testing.assert_array_equal(trained.coef_, model.coef_)


@settings(max_examples=15)
@given(chunk_size=st.integers(1, 700), window=st.integers(1, 400), announce=st.booleans())
def test_chunk_size_changes_nothing(chunk_size, window, announce):
    X, y = datasets.load("digits").train
    X, y = X[:600], y[:600]
    classes = np.arange(10) if announce else None
    whole = prequential(MIRA(), (X, y), classes=classes, window=window)
    same(whole, prequential(MIRA(), (X, y), classes=classes, window=window, chunk_size=chunk_size))


@pytest.mark.interpreted
def test_chunk_size_changes_neither_labels_nor_ties_nor_the_last_digit_of_a_sum():
    X = np.array([[1.0], [-1.0], [-1.0], [1.5], [-1.2], [1.0], [0.7], [-0.3]])
    y = np.array([1, 2, 2, 0, 0, 2, 0, 2])
    more, weight = np.random.default_rng(0).random((2, 99))
    told = set()
    for size in (1, 3, 99):
        run = prequential(Perceptron(), (X, y), classes=[0, 1, 2], chunk_size=size)
        told.add((run.labels, run.confusion.tobytes(), run.majority_errors))
        recorder = recorder_for(Perceptron(), None, 10)
        for start in range(0, 99, size):
            rows = slice(start, start + size)
            recorder.add(more[rows] > 0.5, more[rows] > 0.7, 0.0, weight[rows])
        told.add((recorder.total_weight, recorder.weighted_errors))
    assert len(told) == 2
    assert run.labels == (1, 2, 0)
    # The commonest so far: none, 1, 1 or 2 (1 came first), 2, 2, 2 or 0 (2), 2, 2 or 0
    assert run.majority_errors == 1 + 1 + 1 + 1 + 1 + 0 + 1 + 0


@settings(max_examples=30)
@given(n=st.integers(1, 1500), chunk_size=st.integers(1, 600), seed=st.integers(0, 99))
def test_a_stream_without_known_end_has_the_same_checkpoints(parrot, n, chunk_size, seed):
    y = np.random.default_rng(seed).integers(3, size=n)
    known = prequential(parrot(), (np.zeros((n, 1)), y), window=50)
    chunks = [(np.zeros((len(part), 1)), part) for part in np.split(y, range(7, n, 97))]
    unknown = prequential(parrot(), chunks, window=50, chunk_size=chunk_size)
    last = known.cumulative_updates[-1]
    for name in ("checkpoints", "cumulative_error", "windowed_error"):
        np.testing.assert_array_equal(getattr(known, name), getattr(unknown, name))
    assert unknown.cumulative_updates[-1] == last


def test_windowed_error_is_the_mean_of_the_last_flags(parrot):
    y = np.random.default_rng(0).integers(2, size=5000)
    wrong = np.concatenate([[True], y[1:] != y[:-1]])
    run = prequential(parrot(), (np.zeros((5000, 1)), y), window=300, chunk_size=111)
    for row, cumulative, windowed in zip(run.checkpoints, run.cumulative_error, run.windowed_error, strict=True):
        assert cumulative == pytest.approx(wrong[:row].mean())
        assert windowed == pytest.approx(wrong[max(0, row - 300) : row].mean())


def test_updates_are_exact_where_the_learner_was_stopped(parrot):
    y = np.random.default_rng(1).integers(2, size=3000)
    changes = np.cumsum(np.concatenate([[True], y[1:] != y[:-1]]))
    run = prequential(parrot(), (np.zeros((3000, 1)), y))
    known = ~np.isnan(run.cumulative_updates)
    assert known.sum() == -(-3000 // SHORTEST_STRIDE)
    np.testing.assert_array_equal(run.cumulative_updates[known], changes[run.checkpoints[known] - 1])
    assert (np.diff(run.cumulative_seconds[known]) >= 0).all()


@given(st.integers(1, 10**9))
def test_checkpoints_are_few_and_reach_far(n):
    marks = Checkpoints(n)
    assert MOST / 2 <= n / marks.step <= MOST or marks.step == 1
    assert marks.stop_after(0) % marks.step == 0


def test_arrays_data_sets_and_iterables_give_the_same_run():
    X, y = datasets.load("digits").train
    X, y = X[:200], y[:200]
    expected = prequential(Perceptron(), (X, y), window=100)
    same(expected, prequential(Perceptron(), datasets.Dataset("mine", X=X, y=y), window=100))
    same(expected, prequential(Perceptron(), zip(X, y, strict=True), window=100))
    same(expected, prequential(Perceptron(), [(X[:9], y[:9]), (X[9:], y[9:])], window=100))
    csr = prequential(Perceptron(), (sparse.csr_matrix(X), y), window=100)
    assert csr.errors == expected.errors


def test_dict_examples_are_learned_one_by_one():
    stream = [({"wind": 1.0}, "in"), ({"sun": 1.0}, "out")] * 10
    run = prequential(Perceptron(), stream)
    assert run.rows == 20
    assert run.errors < 10
    assert run.windowed_error[-1] < 0.5


def test_a_run_goes_on_from_what_the_model_knows(parrot):
    model = parrot()
    prequential(model, (np.zeros((3, 1)), np.array([0, 1, 0])))
    again = prequential(model, (np.zeros((2, 1)), np.array([0, 1])))
    assert (again.rows, again.errors, again.mistakes, again.updates) == (2, 1, 1, 1)


@pytest.mark.interpreted
def test_what_is_compiled_beforehand_is_for_the_labels_that_the_model_knows(monkeypatch):
    """A model of three labels does not run the loop for two, so none is compiled for it."""
    given = []

    class Spy(Perceptron):
        def learn_predict(self, X, y, classes=None, **options):
            given.append(None if classes is None else list(classes))
            return super().learn_predict(X, y, classes=classes, **options)

    X, y = np.eye(8), np.arange(8) % 3
    model = Spy().partial_fit(X, y)
    for labels, known in ((y, [0, 1, 2]), (y % 2, [0, 1, 2]), (y + 1, None)):
        given.clear()
        prequential(model, (X, labels))
        assert given[0] == known
        assert given[1:] == [None] * (len(given) - 1), "the model itself is told nothing"
    model = Spy().partial_fit(X, y * 0)
    given.clear()
    prequential(model, (X, y * 0))
    assert given[0] is None


def test_progress_is_reported_after_each_chunk(parrot):
    calls = []
    prequential(parrot(), (np.zeros((5, 1)), np.zeros(5)), chunk_size=2, progress=lambda *told: calls.append(told))
    assert calls == [(2, 5), (4, 5), (5, 5)]


def test_a_bad_row_is_found_by_its_number_in_the_stream(parrot):
    X = np.zeros((2000, 1))
    X[1300] = np.nan
    with pytest.raises(ValueError, match=r"^row 1300 holds NaN"):
        prequential(parrot(), (X, np.zeros(2000)))


@pytest.mark.interpreted
@pytest.mark.parametrize("bad", [7, 61])
@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("make", [Perceptron, PassiveAggressiveRegressor, lambda: Conformal(Perceptron())])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, lambda X: [dict(enumerate(x)) for x in X.tolist()]])
def test_its_number_counts_rows_of_weight_0_that_wait_and_of_chunks_before(make, kind, delay, bad):
    X, y, weight = np.random.default_rng(0).normal(size=(64, 2)), [0, 1] * 32, np.ones(64)
    X[bad, 1], weight[[0, 2, 3, 40]] = np.nan, 0.0
    for own in (None, weight):
        with pytest.raises(ValueError, match=f"^row {bad} of X holds NaN"):
            prequential(make(), (kind(X), y), sample_weight=own, delay=delay, chunk_size=20)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_size": 0}, "chunk_size must be positive, got 0"),
        ({"window": 0}, "window must be positive, got 0"),
        ({"window": 1.5}, "window must be a whole number of rows, got 1.5"),
        ({"delay": "1"}, "delay must be a whole number of rows, got '1'"),
    ],
)
def test_bad_arguments(parrot, options, message):
    with pytest.raises(ValueError, match=message):
        prequential(parrot(), (np.zeros((2, 1)), np.zeros(2)), **options)


def test_a_model_that_cannot_learn_online_is_refused():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    with pytest.raises(TypeError, match=r"model must be an online learner.*got LogisticRegression$"):
        prequential(LogisticRegression(), "digits")
    with pytest.raises(TypeError, match=r"got Pipeline; a learner with a scaler is Scaled\(learner\)"):
        prequential(make_pipeline(StandardScaler(), Perceptron()), "digits")


def test_an_empty_stream_is_refused(parrot):
    with pytest.raises(ValueError, match="has no rows"):
        prequential(parrot(), [])


def test_a_run_survives_json(parrot):
    y = np.random.default_rng(2).integers(2, size=1000)
    run = prequential(parrot(), (np.zeros((1000, 1)), y))
    again = Prequential.from_dict(json.loads(json.dumps(run.to_dict(), allow_nan=False)))
    same(run, again)
    np.testing.assert_array_equal(run.cumulative_seconds, again.cumulative_seconds)


def test_frame_has_a_line_a_checkpoint(parrot):
    pytest.importorskip("pandas")
    frame = prequential(parrot(), (np.zeros((5, 1)), np.arange(5))).to_frame()
    assert list(frame.columns) == [
        "rows",
        "error",
        "window_error",
        "updates",
        "seconds",
        "mistakes",
        "mistake_bound",
        "hindsight",
        "dual_objective",
    ]
    assert frame["rows"].tolist() == [1, 2, 3, 4, 5]


def test_plot_draws_percent_on_the_axes_given(parrot):
    figure = pytest.importorskip("matplotlib.figure").Figure()
    run = prequential(parrot(), (np.zeros((5, 1)), np.arange(5)))
    ax = run.plot(figure.subplots())
    assert ax.lines[0].get_ydata().tolist() == [100.0] * 5
    assert ax.get_ylabel() == "error, %"


def test_the_least_loss_in_hindsight_is_below_the_loss_of_the_last_weights():
    """The floor in hindsight is below the loss of the learner's own last weights on all rows so far."""
    from ellipsoid import QuasiAdditive, datasets

    data = datasets.load("digits")
    X, y = data.X / 16.0, (data.y > 4).astype(int)
    model = QuasiAdditive(update="exact", C=0.1, fit_intercept=False)
    run = prequential(model, (X, y), bounds=True)
    known = np.isfinite(run.hindsight)
    assert (run.hindsight[known] >= 0.0).all()
    assert run.hindsight[known][-1] > 0.0
    loss = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * (X @ model.coef_[0])).sum()
    assert run.hindsight[-1] <= loss
    assert run.cumulative_mistakes[-1] == run.mistakes <= run.mistake_bound[-1]


@pytest.mark.interpreted
@pytest.mark.parametrize("wrap", [lambda model: model, Scaled, Calibrated, lambda model: Calibrated(Scaled(model))])
def test_columns_of_a_frame_are_those_that_the_model_knows(wrap):
    pd = pytest.importorskip("pandas")
    frame, y = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "b": [1.0, 0.0, 1.0, 0.5]}), np.array([0, 1, 0, 1])
    turned, words = frame[["b", "a"]], frame.assign(b=["u", "v", "u", "v"])
    by_column, by_name = wrap(MIRA()).partial_fit(frame, y), wrap(MIRA()).partial_fit(frame.to_dict("records"), y)
    for model, rows, sentence in (
        (by_column, turned, "feature names should match"),
        (by_name, frame, r"started on dicts and knows its features by name.*to_dict"),
        (wrap(MIRA()), words, "row 0 of X holds 'u' in the column 'b' of numbers"),
        (wrap(MIRA()), frame.assign(b=pd.date_range("2020", periods=4)), "column 'b' of X must hold numbers"),
    ):
        learned = getattr(model, "t_", 0)
        with pytest.raises(ValueError, match=sentence):
            prequential(model, (rows, y))
        assert getattr(model, "t_", 0) == learned
    assert prequential(wrap(MIRA()), (turned, y)).rows == 4
