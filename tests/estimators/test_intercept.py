"""The constant feature has a size, as a column of its own would have, and the command line advises one."""

import numpy as np
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import clone

from ellipsoid import (
    ALMA,
    AROW,
    MIRA,
    NHERD,
    ROMMA,
    OnlineSVM,
    PassiveAggressive,
    Perceptron,
    QuasiAdditive,
    load,
)  # fmt: skip
from ellipsoid.cli import main
from ellipsoid.estimators.inputs import rows as inputs
from ellipsoid.estimators.state import expansion, learner, one_row
from ellipsoid.estimators.state import scaled as scaled_learners

SIZE = 0.3
MODELS = [
    PassiveAggressive(),
    PassiveAggressive(average=True),
    PassiveAggressive(kernel="poly", degree=1, gamma=1.0),
    Perceptron(),
    MIRA(),
    ROMMA(),
    ALMA(p=3.0),
    OnlineSVM(window=3),
    QuasiAdditive(link="p-norm"),
    QuasiAdditive(link="balanced"),
    AROW(),
    AROW(shape="diagonal"),
    AROW(kernel="poly", degree=1, gamma=1.0),
    NHERD(),
]


@pytest.fixture
def plain(interpret):
    """Run as the Python that it is written in."""
    interpret(expansion, inputs, learner, one_row, scaled_learners)


@pytest.mark.parametrize("rows", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_constant_is_a_feature_of_that_size(model, rows, blobs, plain, tmp_path):
    if rows is sp.csr_matrix and isinstance(model, AROW) and model.kernel != "linear":
        pytest.skip("an ellipsoid of a kernel keeps dense rows")
    X, y = blobs[0][:24] / 8.0, blobs[1][:24]
    options = {"classes": [0, 1, 2]}
    scaled = clone(model).set_params(intercept_scaling=SIZE).partial_fit(rows(X), y, **options)
    wider = np.column_stack([np.full(24, SIZE), X])
    by_hand = clone(model).set_params(fit_intercept=False).partial_fit(rows(wider), y, **options)
    scores = scaled.decision_function(rows(X))
    np.testing.assert_allclose(scores, by_hand.decision_function(rows(wider)), rtol=1e-9, atol=1e-11)
    assert all(each.observed <= each.bound for each in scaled.certificates())
    if getattr(model, "kernel", "linear") == "linear":
        np.testing.assert_allclose(X @ scaled.coef_.T + scaled.intercept_, scores, rtol=1e-9, atol=1e-11)
    scaled.save(tmp_path / "scaled.model")
    assert load(tmp_path / "scaled.model").decision_function(rows(X)).tolist() == scores.tolist()


def test_intercept_scaling_must_be_positive():
    with pytest.raises(ValueError, match="intercept_scaling must be positive"):
        PassiveAggressive(intercept_scaling=0.0).partial_fit([[1.0]], [1])


@pytest.mark.parametrize(
    ("options", "hint"),
    [([], True), (["--param", "intercept_scaling=0.1"], False), (["--param", "fit_intercept=false"], False)],
)
def test_small_sparse_entries_bring_a_hint(options, hint, tmp_path):
    lines = "".join(f"{i % 2} {1 + i % 5}:0.1 {6 + i % 3}:0.2\n" for i in range(20))
    (tmp_path / "rows.svm").write_text(lines, encoding="utf-8")
    command = ["learn", str(tmp_path / "rows.svm"), "--model", "PassiveAggressive", *options]
    done = CliRunner().invoke(main, command, catch_exceptions=False)
    assert ("times an entry: try --param intercept_scaling=0.1" in done.output) == hint


def test_large_entries_bring_none(tmp_path):
    (tmp_path / "rows.svm").write_text("1 1:2 3:1\n0 2:1\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["learn", str(tmp_path / "rows.svm"), "--model", "MIRA"], catch_exceptions=False)
    assert "hint" not in done.output
