"""Linear models as ONNX graphs: the same labels in another runtime, ties included."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

from ellipsoid import (
    IELLIP,
    MIRA,
    BayesPointMachine,
    Calibrated,
    Conformal,
    EllipsoidClassifier,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
    UnitNorm,
    export_onnx,
)

pytestmark = pytest.mark.few_learners

pytest.importorskip("onnx", reason="onnx is not installed: models cannot be exported")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: exported models cannot be run")


def run(model, X, folder, dtype=np.float64):
    export_onnx(model, folder / "m.onnx", dtype=dtype)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    session = runtime.InferenceSession(folder / "m.onnx", options, providers=["CPUExecutionProvider"])
    return session.run(["label", "scores"], {"X": X.astype(dtype)})


LABELS = {
    "integers": [-3, 10, 4], "strings": ["één", "two", "drei"], "floats": [1.0, -2.0, 7.0], "two": [5, 2, 5],
    "two strings": ["no", "yes", "no"], "booleans": [False, True, True],
}  # fmt: skip
MODELS = {
    "plain": MIRA,
    "learned ellipsoid": EllipsoidClassifier,
    "averaged": lambda: Perceptron(average=True, fit_intercept=False),
    "ovr": lambda: Perceptron(multiclass="ovr"),
    "standard": lambda: Scaled(MIRA()),
    "unit": lambda: Scaled(MIRA(), scaler=UnitNorm()),
}


def test_rows_whose_squares_underflow_have_length_one_too(blobs, tmp_path):
    X, y = blobs
    model = MODELS["unit"]().partial_fit(X, y)
    X = np.vstack([X[:9] * size for size in (1e-300, 1e-160, 1e-146, 1e-145, 1e-144, 1e100)] + [0.0 * X[:1]])
    labels, scores = run(model, X, tmp_path)
    assert labels.tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", MODELS)
def test_labels_are_the_same(name, kind, blobs, tmp_path):
    X, y = blobs
    model = MODELS[name]().partial_fit(X, np.array(LABELS[kind])[y])
    X = np.vstack([X, np.zeros((1, X.shape[1])), -X])
    for dtype in (np.float64, np.float32):
        labels, scores = run(model, X, tmp_path, dtype)
        assert labels.tolist() == model.predict(X).tolist()
        np.testing.assert_allclose(scores, model.decision_function(X), rtol=1e-12, atol=1e-12)


@pytest.mark.interpreted
def test_sparse_scaler_and_label_sets(blobs, tmp_path):
    X, y = blobs
    model = Scaled(MIRA()).partial_fit(sp.csr_matrix(X), y)
    assert run(model, X, tmp_path)[0].tolist() == model.predict(X).tolist()
    within = Conformal(Scaled(MIRA())).partial_fit(X, y)
    assert run(within, X, tmp_path)[0].tolist() == within.predict(X).tolist()
    sets = IELLIP().partial_fit(X, np.eye(3, dtype=int)[y])
    assert run(sets, X, tmp_path)[0].tolist() == sets.predict(X).tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize("classes", [3, 7, 13, 64])
def test_equal_rows_of_weights_tie_and_the_smallest_index_wins(classes, tmp_path):
    """All wrong labels get the same share of blame, so that their rows are equal and not zero."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(40, 37))
    model = Perceptron(multiclass="uniform").partial_fit(X[:3], [0, 1, 0], classes=range(classes))
    labels, scores = run(model, X, tmp_path)
    assert labels.tolist() == model.predict(X).tolist()
    assert (scores[:, 2:] == scores[:, 2:3]).all()


def test_one_label_and_no_scores_but_zero(tmp_path):
    model = MIRA().partial_fit([[1.0, 2.0]], ["only"])
    assert run(model, np.ones((3, 2)), tmp_path)[0].tolist() == ["only"] * 3
    model = MIRA().partial_fit([[0.0, 0.0]], [4], classes=[9, 4, 1])
    assert run(model, np.ones((2, 2)), tmp_path)[0].tolist() == model.predict(np.ones((2, 2))).tolist()


def test_models_that_cannot_be_exported_are_refused(blobs, tmp_path, monkeypatch):
    X, y = blobs
    with pytest.raises(ValueError, match="only linear models"):
        export_onnx(IELLIP(kernel="rbf").partial_fit(X, y % 2), tmp_path / "m.onnx")
    for model in (Calibrated(MIRA()), Calibrated(Scaled(MIRA()))):
        # The likeliest label is not always that of the largest score.
        with pytest.raises(ValueError, match="Calibrated predicts by probabilities"):
            export_onnx(model.partial_fit(X, y), tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="only classifiers can be written as ONNX, got PassiveAggressiveRegressor"):
        export_onnx(PassiveAggressiveRegressor().partial_fit(X, y), tmp_path / "m.onnx")
    for model in (BayesPointMachine(kernel="linear", max_iter=9).fit(X[:9], y[:9] > 0), SGDClassifier().fit(X, y)):
        with pytest.raises(ValueError, match="only online learners of this library"):
            export_onnx(model, tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="float64 or float32"):
        export_onnx(MIRA().partial_fit(X, y), tmp_path / "m.onnx", dtype=np.int64)
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match="pip install"):
        export_onnx(MIRA().partial_fit(X, y), tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
