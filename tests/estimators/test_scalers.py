"""Scalers that stream: the moments of all rows, however the stream was cut, and the same bits from dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import config_context
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ellipsoid import MIRA, Conformal, EllipsoidalSVC, Perceptron, Scaled, StandardStream, UnitNorm, load

from .expected_failures import SHUFFLED


@parametrize_with_checks(
    [StandardStream(), UnitNorm(), Scaled(Perceptron(n_epochs=2, random_state=0))],
    expected_failed_checks=lambda estimator: SHUFFLED if isinstance(estimator, Scaled) else {},
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


values = st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda v: float(np.float32(v)))
matrices = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=values | st.just(0.0)).map(
    lambda X: X + 0.0  # sparse rows know no -0.0
)


@given(X=matrices)
def test_moments_are_those_of_all_rows(X):
    scaler = StandardStream().partial_fit(X)
    size = np.abs(X).max(axis=0)
    assert (np.abs(scaler.mean_ - X.mean(axis=0)) <= 1e-14 * size).all()
    assert (np.abs(scaler.var_ - X.var(axis=0)) <= 1e-13 * size**2).all()
    scaled = scaler.transform(X)
    moving = scaler.scale_ != 1.0
    assert np.allclose(scaled[:, moving].mean(axis=0), 0.0, atol=1e-6)


@given(X=matrices, cuts=st.sets(st.integers(1, 11)), data=st.data())
def test_no_cut_and_no_format_changes_a_bit(X, cuts, data):
    one = StandardStream(with_mean=False)
    whole = one.learn_transform(X)
    other = StandardStream(with_mean=False)
    for part in np.split(X, sorted(cuts)):
        if len(part):
            rows = sp.csr_matrix(part) if data.draw(st.booleans()) else part.astype(np.float32)
            scaled = other.learn_transform(rows)
            scaled = scaled.toarray() if sp.issparse(scaled) else scaled
            assert scaled.tobytes() == whole[: len(part)].tobytes()
            whole = whole[len(part) :]
    assert other._moments.tobytes() == one._moments.tobytes()


def test_far_from_zero_nothing_cancels():
    X = 1e9 + np.random.default_rng(0).normal(size=(1000, 1))
    assert StandardStream().fit(X).var_[0] == pytest.approx(X.var(), rel=1e-7)
    assert (StandardStream().fit_transform(np.full((9, 1), 0.1)) == 0.0).all()


def test_a_row_is_scaled_by_those_up_to_it():
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(20, 3))
    scaled = StandardStream().learn_transform(X)
    for t in range(len(X)):
        assert scaled[t].tobytes() == StandardStream().fit(X[: t + 1]).transform(X[t : t + 1])[0].tobytes()
    assert (scaled[0] == 0.0).all()


def test_sparse_rows_stay_sparse_and_are_never_mixed_with_shifted_ones():
    X = sp.random(30, 5, density=0.3, format="csr", random_state=0)
    scaler = StandardStream().fit(X)
    assert scaler.transform(X).nnz == X.nnz
    assert np.allclose(scaler.transform(X).toarray(), X.toarray() / X.toarray().std(axis=0))
    assert np.allclose(scaler.transform(X.toarray()), scaler.transform(X).toarray())
    with pytest.raises(ValueError, match="would fill sparse rows"):
        StandardStream().fit(X.toarray()).transform(X)


@given(X=matrices)
def test_unit_rows_have_length_one(X):
    lengths = np.linalg.norm(UnitNorm().fit_transform(X), axis=1)
    assert np.allclose(lengths, np.where(X.any(axis=1), 1.0, 0.0))
    assert (
        UnitNorm().fit_transform(sp.csr_matrix(X)).toarray().tobytes() == (UnitNorm().fit_transform(X) + 0.0).tobytes()
    )


def test_unit_rows_of_tiny_numbers():
    tiny = np.array([[3e-200, 4e-200]])
    assert np.allclose(UnitNorm().fit_transform(tiny), [[0.6, 0.8]])


def test_columns_may_be_added_where_asked():
    with pytest.raises(ValueError, match="grow_features"):
        StandardStream().partial_fit([[1.0]]).partial_fit([[1.0, 2.0]])
    grown = StandardStream(grow_features=True, with_mean=False)
    for row in ([1.0], [2.0, 4.0], [0.0, 2.0, 6.0]):
        grown.partial_fit(sp.csr_matrix([row]))
    wide = StandardStream(with_mean=False).fit([[1.0, 0.0, 0.0], [2.0, 4.0, 0.0], [0.0, 2.0, 6.0]])
    assert grown.var_.tobytes() == wide.var_.tobytes()


# -- in front of a learner -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("scaler", [None, UnitNorm()], ids=["standard", "unit"])
@pytest.mark.parametrize("sparse", [False, True])
def test_scaled_learner_does_not_depend_on_cuts_or_on_a_file(scaler, sparse, blobs, tmp_path):
    X, y = blobs
    rows = sp.csr_matrix(X) if sparse else X
    whole = Scaled(MIRA(average=True), scaler=scaler).partial_fit(rows, y, classes=range(3))
    parts = Scaled(MIRA(average=True), scaler=scaler).partial_fit(rows[:7], y[:7], classes=range(3))
    for t in range(7, 60):
        parts.learn_one(rows[t], y[t])
    parts.save(tmp_path / "m")
    parts = load(tmp_path / "m")
    assert repr(parts) == repr(Scaled(MIRA(average=True), scaler=scaler or StandardStream()))
    parts.partial_fit(rows[60:], y[60:])
    assert parts.coef_.tobytes() == whole.coef_.tobytes()
    assert (parts.t_, parts.mistakes_) == (whole.t_, whole.mistakes_) == (120, whole.mistakes_)
    assert parts.decision_function(rows).tobytes() == whole.decision_function(rows).tobytes()
    assert [parts.predict_one(rows[t]) for t in range(5)] == whole.predict(rows[:5]).tolist()
    assert parts.certificates() == whole.certificates()


def test_what_the_learner_refuses_the_scaler_has_not_seen(blobs):
    X, y = blobs
    model = Scaled(MIRA(grow_features=True)).partial_fit(X, y, classes=range(3))
    for rows, labels, message in (
        (X[:3], [0, 1, 9], "not in classes"),
        (np.full((1, 19), np.nan), [0], "row 0"),
        (np.ones((1, 30)), [9], "not in classes"),
    ):
        before = model.scaler_.state()[0], model.scaler_._used().tobytes()
        with pytest.raises(ValueError, match=message):
            model.partial_fit(rows, labels)
        assert (model.scaler_.state()[0], model.scaler_._used().tobytes()) == before
    # Nor do columns that come later know of it.
    never = Scaled(MIRA(grow_features=True)).partial_fit(X, y, classes=range(3))
    for grown in (model, never):
        grown.partial_fit(2.0 * np.ones((1, 30)), [0])
    assert model.scaler_._used().tobytes() == never.scaler_._used().tobytes()


@pytest.mark.interpreted
@pytest.mark.parametrize(("model", "sentence"), [
    (Scaled(Scaled(MIRA())), "is already in Scaled"),
    (Scaled(Conformal(MIRA())), r"Conformal\(Scaled\(learner\)\)"),
    (Scaled(SGDClassifier()), "make_pipeline"),
    (Scaled(EllipsoidalSVC()), "make_pipeline"),
    (Scaled(MIRA(), scaler=StandardScaler()), r"StandardStream\(\) or UnitNorm\(\), got StandardScaler\(\)"),
    (Scaled(MIRA(), scaler="standard"), r"StandardStream\(\) or UnitNorm\(\), got 'standard'"),
    (Conformal(Scaled(Scaled(MIRA()))), "is already in Scaled"),
])  # fmt: skip
def test_what_cannot_be_scaled_or_scale_is_refused_before_anything_is_learned(model, sentence, blobs):
    X, y = blobs
    for learn in (
        lambda: model.fit(X, y), lambda: model.partial_fit(X, y, classes=[0, 1, 2]), lambda: model.learn_predict(X, y),
        lambda: model.learn_one(X[0], 1), lambda: model.learn_one({"a": 1.0}, 1),
        lambda: model.partial_fit([{"a": 1.0}, {"b": 1.0}], [0, 1]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            learn()
        assert not hasattr(model, "n_features_in_")


def test_what_differs_by_rounding_alone_is_constant():
    X = np.array([[1.0], [1.0 + 2.0**-52], [1.0]])
    scaler = StandardStream()
    assert np.abs(scaler.learn_transform(X)).max() < 1e-15
    assert scaler.scale_.tolist() == [1.0]


def test_named_features_are_scaled_as_columns_are(tmp_path):
    rng = np.random.default_rng(0)
    model = Scaled(MIRA(), scaler=StandardStream())
    plain = Scaled(MIRA(grow_features=True))
    for t in range(60):
        names = ["rain", "wind", "sun"][: 1 + t // 20]
        values = rng.normal(size=len(names)) * [1.0, 100.0, 0.01][: len(names)]
        label = bool(values.sum() > 0.0)
        if t == 30:
            model.save(tmp_path / "m")
            model = load(tmp_path / "m")
        model.learn_one(dict(zip(names, values, strict=True)), label)
        plain.learn_one(sp.csr_matrix(values), label)
    assert model.coef_.tobytes() == plain.coef_.tobytes()
    example = {"sun": 0.01, "snow": 3.0, "wind": -50.0}
    assert model.predict_one(example) == plain.predict_one(sp.csr_matrix([[0.0, -50.0, 0.01]]))


@pytest.mark.interpreted
@pytest.mark.parametrize("where", ["set_config", "set_output"])
@pytest.mark.parametrize("kind", [StandardStream, UnitNorm])
def test_frames_that_scikit_learn_is_asked_to_make_do_not_reach_the_learner(kind, where, blobs):
    pd = pytest.importorskip("pandas")
    X, y = blobs
    known, scaler = Scaled(MIRA(random_state=0), scaler=kind()).fit(X[:20], y[:20]), kind()
    if where == "set_output":
        scaler.set_output(transform="pandas")
    with config_context(transform_output="pandas" if where == "set_config" else "default"):
        model = Scaled(MIRA(random_state=0), scaler=scaler).fit(X[:20], y[:20])
        assert model.coef_.tobytes() == known.coef_.tobytes()
        assert model.predict(X).tolist() == known.predict(X).tolist()
        assert [model.predict_one(x) for x in X[:3]] == known.predict(X[:3]).tolist()
        named = Scaled(MIRA(), scaler=scaler).learn_one({"a": 1.0}, 0).learn_one({"a": 2.0, "b": -1.0}, 1)
        assert named.predict_one({"b": -1.0}) == 1
        assert isinstance(scaler.fit(X).transform(X), pd.DataFrame)


def test_columns_that_are_refused_change_no_scaler():
    pd = pytest.importorskip("pandas")
    odd = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", 1])
    for scaler in (StandardStream(), UnitNorm()):
        for learn in (scaler.fit, scaler.partial_fit, scaler.learn_transform, scaler.learn_transform_both):
            with pytest.raises(TypeError, match="string names"):
                learn(odd)
            assert not hasattr(scaler, "n_features_in_")
    scaler = StandardStream().fit([[1.0], [3.0]])
    with pytest.raises(TypeError, match="string names"):
        scaler.fit(odd)
    assert scaler.mean_.tolist() == [2.0]


def test_what_is_no_number_is_refused_in_features_that_were_never_met_too():
    model = Scaled(Perceptron(grow_features=True)).partial_fit([[1.0], [2.0]], ["a", "b"])
    assert model.predict(np.array([[1.0, 5.0]])).tolist() == model.predict([[1.0]]).tolist()
    for call in (model.predict, model.decision_function):
        with pytest.raises(ValueError, match="row 1 of X holds NaN"):
            call(np.array([[1.0, 0.0], [1.0, np.nan]]))


@pytest.mark.interpreted
def test_rows_with_features_that_were_never_met_are_predicted_whatever_they_come_in():
    X, y, wide = np.array([[1.0], [3.0], [2.0]]), ["a", "b", "a"], np.array([[1.0, 5.0], [4.0, 6.0]])
    dense = Scaled(Perceptron(grow_features=True)).partial_fit(X, y)
    for rows in (wide, wide.astype(np.float32), wide.tolist(), [*wide], tuple(map(tuple, wide))):
        assert dense.decision_function(rows).tolist() == dense.decision_function(wide[:, :1]).tolist()
    sparse = Scaled(Perceptron(grow_features=True)).partial_fit(sp.csr_matrix(X), y)
    for kind in (sp.csr_matrix, sp.coo_array, sp.dia_matrix):
        told = sparse.decision_function(kind(wide))
        assert told.tolist() == sparse.decision_function(sp.csr_matrix(wide[:, :1])).tolist()
    with pytest.raises(ValueError, match=r"X has 2 features.*; grow_features=True"):
        Scaled(Perceptron()).partial_fit(X, y).predict(wide.tolist())
