"""Classes and features that appear in mid-stream."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from ellipsoid import CELLIP, MIRA, IntervalRegressor, PassiveAggressive, Perceptron, Scaled
from ellipsoid.estimators import LEARNERS

pytestmark = pytest.mark.few_learners

CLOSED = ("CELLIP", "Winnow")
OPEN = [name for name in LEARNERS if name not in CLOSED]


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("name", OPEN)
def test_a_class_first_seen_at_row_5000(name, sparse):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 4, 6000)
    y[:5000] = np.where(y[:5000] == 3, 0, y[:5000])
    y[5000] = 3
    X = rng.normal(size=(6000, 4)) + 4.0 * np.eye(4)[y]
    rows = sp.csr_matrix(X) if sparse else X
    model = LEARNERS[name]().partial_fit(rows, y)
    before = LEARNERS[name]().partial_fit(rows[:5000], y[:5000])
    assert before.classes_.tolist() == [*dict.fromkeys(y[:5000].tolist())]
    assert model.classes_.tolist() == [*before.classes_, 3]
    assert model.coef_.shape == (4, 4)
    assert model.t_ == 6000
    assert (model.predict(rows[5500:]) == y[5500:]).mean() > 0.85
    assert (model.predict(rows[5500:])[y[5500:] == 3] == 3).mean() > 0.8


@pytest.mark.parametrize("name", CLOSED)
def test_a_learner_that_cannot_take_a_third_class_says_so_and_keeps_its_state(name, blobs, state):
    X, y = blobs
    model = LEARNERS[name]().partial_fit(X[:40], y[:40] % 2)
    before = state(model)
    with pytest.raises(ValueError, match="classes="):
        model.partial_fit(X, y)
    assert state(model) == before


@pytest.mark.parametrize("model", [Perceptron(), Perceptron(multiclass="ovr"), PassiveAggressive(), MIRA()], ids=repr)
@pytest.mark.parametrize("average", [False, True])
def test_a_third_class_leaves_the_two_known_as_they_were(model, average, blobs):
    """One vector becomes two opposite rows: the same label still leads by the same amount, the newcomer scores 0."""
    X, y = blobs
    model = clone(model).set_params(average=average).partial_fit(X[:60], y[:60] % 2)
    lead = model.decision_function(X)
    core = model._core
    core.add_label("newcomer")
    scores = model.decision_function(X)
    assert scores.shape == (120, 3)
    assert not scores[:, 2].any()
    factor = 1.0 if isinstance(model, PassiveAggressive) else 2.0
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0], factor * lead, rtol=1e-12, atol=1e-12)


def test_classes_fix_the_order_of_labels(blobs):
    X, y = blobs
    model = MIRA().partial_fit(X, y, classes=[2, 0, 1])
    assert model.classes_.tolist() == [2, 0, 1]
    plain = MIRA().partial_fit(X, y, classes=[0, 1, 2])
    np.testing.assert_allclose(model.coef_[[1, 2, 0]], plain.coef_, rtol=1e-9, atol=1e-12)
    model.partial_fit(X, y, classes=[0, 1, 2])


def test_announced_and_open_labels_are_different_runs(blobs):
    """An unseen label competes in nothing until it appears."""
    X, y = blobs
    y = np.sort(y)
    announced, surprised = MIRA().partial_fit(X, y, classes=range(3)), MIRA().partial_fit(X, y)
    alone = int((y == 0).sum())
    assert announced.mistakes_ > surprised.mistakes_
    assert MIRA().partial_fit(X[:alone], y[:alone]).updates_ == 0


WORDS = ["rain", "wind", "sun", "snow", "hail", "fog"]


def weather(n=300):
    """Examples as dicts; a new word every fifty examples; some are empty."""
    rng = np.random.default_rng(4)
    for i in range(n):
        known = WORDS[: 1 + i // 50]
        example = {word: float(value) for word, value in zip(known, rng.normal(size=len(known)), strict=True)}
        for word in known[:-1]:
            if rng.random() < 0.3:
                del example[word]
        total = sum(value if word in ("rain", "snow", "fog") else -value for word, value in example.items())
        yield example, "good" if total > 0.0 else "bad"


@pytest.mark.parametrize("name", LEARNERS)
def test_features_of_dicts_keep_appearing(name, state):
    model, right = LEARNERS[name](fit_intercept=False), 0
    for i, (example, label) in enumerate(weather()):
        if i >= 250:
            right += model.predict_one(example) == label
        model.learn_one(example, label)
        assert model.n_features_in_ == len(model._core.features) == 1 + i // 50
    assert list(model._core.features) == WORDS
    assert right > 35
    assert model.predict_one({"rain": 1.0, "never heard of": 50.0}) == model.predict_one({"rain": 1.0})
    assert model.n_features_in_ == len(WORDS)
    assert model.predict_one({}) in ("good", "bad")
    before = state(model)
    with pytest.raises(ValueError, match="'wind'"):
        model.learn_one({"rain": 1.0, "wind": ["strong"]}, "bad")
    with pytest.raises(ValueError, match="row 0"):
        model.learn_one({"rain": 1.0, "storm": np.inf}, "bad")
    assert state(model) == before
    model.learn_one({}, "bad")


def texts(n=70):
    """Examples that bring new words again and again: none at times, several at others, as names and as values."""
    rng = np.random.default_rng(7)
    for i in range(n):
        example = {f"word {j}": 1.0 for j in rng.geometric(0.04, size=5)} | {"length": float(rng.normal())}
        if i % 3 == 0:
            example |= {"author": f"person {rng.geometric(0.1)}", "absent": None}
        yield example, "good" if example["length"] + 0.2 * ("word 3" in example) > 0.0 else "bad"


@pytest.mark.few_learners
@pytest.mark.parametrize("name", LEARNERS)
def test_names_that_keep_coming_are_learned_by_themselves_as_in_a_list(name, state):
    listed, single, late = (LEARNERS[name]() for _ in range(3))
    for i, (x, y) in enumerate(texts()):
        told = single.predict_one(x) if i else None
        assert listed.learn_predict([x], [y])[0] == told or i == 0
        single.learn_one(x, y)
        late.learn_one(x, y)
        assert single.n_features_in_ == len(single._core.features) == single._core.width
        if i > 40:
            bad = x | {f"new {i}": 1.0, "length": np.nan if i % 2 else 1e200}
            with pytest.raises(ValueError, match="row 0"):
                late.learn_one(bad, y)
            late.predict_one(x | {"never met": 1.0, "author": "nobody"})
    assert state(single) == state(late) == state(listed)
    assert single._core.features == listed._core.features


def test_dicts_learn_what_the_matrix_of_all_words_would():
    """Features that appear later are zeros before."""
    examples = list(weather())
    X = np.array([[example.get(word, 0.0) for word in WORDS] for example, _ in examples])
    whole = PassiveAggressive(average=True).partial_fit(sp.csr_matrix(X), [label for _, label in examples])
    grown = PassiveAggressive(average=True)
    for example, label in examples:
        grown.learn_one(example, label)
    np.testing.assert_allclose(grown.coef_, whole.coef_, rtol=1e-12)
    assert (grown.mistakes_, grown.updates_) == (whole.mistakes_, whole.updates_)


def test_order_of_names_within_an_example_does_not_matter(state):
    one, other = (PassiveAggressive().learn_one({"a": 1.0, "b": 2.0, "c": 0.1}, 0) for _ in range(2))
    one.learn_one({"a": 3.0, "b": -1.0, "c": 0.3}, 1)
    other.learn_one({"c": 0.3, "b": -1.0, "a": 3.0}, 1)
    assert state(one) == state(other)


def test_arrays_and_dicts_do_not_mix(blobs):
    X, y = blobs
    model = MIRA().partial_fit(X, y)
    for call in (lambda: model.learn_one({"a": 1.0}, 0), lambda: model.predict_one({"a": 1.0})):
        with pytest.raises(ValueError, match="started on arrays"):
            call()


@pytest.mark.parametrize("model", [PassiveAggressive(), Scaled(PassiveAggressive())])
def test_no_column_without_a_name_comes_to_a_model_of_dicts(model, state):
    model = clone(model).learn_one({"a": 1.0}, 0).learn_one({"b": 2.0}, 1)
    before = state(model)
    for call in (lambda: model.learn_one([1.0, 2.0, 3.0], 0), lambda: model.partial_fit([[1.0, 2.0, 3.0]], [0])):
        with pytest.raises(ValueError, match="knows 2 features by name, but X has 3 columns"):
            call()
    assert state(model) == before
    assert model.learn_one({"c": 5.0}, 0).n_features_in_ == 3


def widening(seed=3):
    """Chunks of a sparse stream whose width grows from chunk to chunk, and the whole of it."""
    rng = np.random.default_rng(seed)
    X = sp.random(200, 64, density=0.2, random_state=rng, format="lil")
    widths = [5, 5, 9, 30, 64]
    for k, width in enumerate(widths):
        X[40 * k : 40 * (k + 1), width:] = 0.0
    X = X.tocsr()
    X.eliminate_zeros()
    y = np.asarray((X @ rng.normal(size=64)) > 0.0).astype(int)
    return [X[40 * k : 40 * (k + 1), :width].tocsr() for k, width in enumerate(widths)], X, y


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_sparse_stream_may_grow_wider(name, average, state):
    chunks, X, y = widening()
    model = LEARNERS[name](grow_features=True, average=average)
    for k, chunk in enumerate(chunks):
        model.partial_fit(chunk, y[40 * k : 40 * (k + 1)])
        assert model.n_features_in_ == model.coef_.shape[1] == chunk.shape[1]
    whole = LEARNERS[name](average=average).partial_fit(X, y)
    if not (name == "Winnow" and average):
        # Its weights sum to one over the features known: earlier ones were larger, and averages remember that.
        np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    assert model.mistakes_ == whole.mistakes_
    # A step of confidence-weighted learning ends on the boundary of its condition, where the next row of one feature
    # finds itself again: whether that asks for a step of no length is a matter of rounding.
    assert abs(model.updates_ - whole.updates_) <= (1 if name == "ConfidenceWeighted" else 0)
    # Narrower rows lack the newest features; wider ones have features nobody knows.
    narrow = chunks[0]
    widened = sp.csr_matrix((narrow.data, narrow.indices, narrow.indptr), (40, 64))
    assert (model.predict(narrow) == model.predict(widened)).all()
    model.partial_fit(narrow, y[:40])
    assert model.n_features_in_ == 64
    wide = sp.csr_matrix((X.data, X.indices, X.indptr), shape=(200, 1000))
    assert (model.predict(wide) == model.predict(X)).all()
    assert model.n_features_in_ == 64


@pytest.mark.parametrize("name", [name for name in LEARNERS if not LEARNERS[name]()._counts_features])
def test_where_the_width_rises_does_not_matter_to_a_learner_that_does_not_count_features(name, state):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 34))
    for i, row in enumerate(X):
        row[rng.choice(3 + i // 2, size=3, replace=False)] = rng.normal(size=3)
    y, widest = (
        (X @ rng.normal(size=34) > 0.0).astype(int),
        np.maximum.accumulate([row.nonzero()[0].max() + 1 for row in X]),
    )
    model, early = (LEARNERS[name](grow_features=True) for _ in range(2))
    for row, label, width in zip(X, y, widest, strict=True):
        model.partial_fit(sp.csr_matrix(row[None, :width]), [label], classes=[0, 1])
    early.partial_fit(sp.csr_matrix(X[:, : widest[-1]]), y, classes=[0, 1])
    assert state(model) == state(early)


@pytest.mark.parametrize("name", LEARNERS)
def test_without_leave_to_grow_the_width_is_fixed(name, state):
    chunks, _, y = widening()
    model = LEARNERS[name]().partial_fit(chunks[2], y[80:120])
    before = state(model)
    for chunk in (chunks[0], chunks[4]):
        message = rf"X has {chunk.shape[1]} features.*expecting 9.*grow_features"
        with pytest.raises(ValueError, match=message):
            model.partial_fit(chunk, y[:40])
        with pytest.raises(ValueError, match=message):
            model.predict(chunk)
    assert state(model) == before


def test_dense_rows_may_grow_wider_but_not_narrower(blobs):
    X, y = blobs
    model = MIRA(grow_features=True).partial_fit(X[:60, :7], y[:60], classes=range(3)).partial_fit(X[60:], y[60:])
    masked = X.copy()
    masked[:60, 7:] = 0.0
    whole = MIRA().partial_fit(masked, y, classes=range(3))
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(ValueError, match="X has 7 features"):
        model.partial_fit(X[:, :7], y)
    assert (model.predict(np.column_stack([X, np.full(120, 1e6)])) == model.predict(X)).all()
    wide = np.column_stack([X, np.full(120, np.nan)])
    with pytest.raises(ValueError, match="row 0"):
        model.predict(wide)


def test_growth_one_by_one_keeps_everything(state):
    """Capacity doubles behind the scenes; nothing may be lost or moved when it does."""
    rng = np.random.default_rng(6)
    model, width = Perceptron(grow_features=True, average=True, multiclass="uniform"), 0
    X, y = np.zeros((90, 90)), np.zeros(90, dtype=int)
    for i in range(90):
        width = i + 1
        X[i, :width] = rng.integers(-3, 4, width)
        y[i] = min(i // 10, 7) if rng.random() < 0.5 else rng.integers(0, 1 + min(i // 10, 7))
        model.learn_one(X[i, :width], y[i])
    whole = Perceptron(average=True, multiclass="uniform").partial_fit(X, y)
    assert model.classes_.tolist() == whole.classes_.tolist()
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)
    assert (model.mistakes_, model.updates_) == (whole.mistakes_, whole.updates_)


def test_features_that_come_late_would_change_an_automatic_gamma(blobs, state):
    """One over the number of features: the patterns learned so far would be compared by another kernel."""
    X, y = blobs
    model = MIRA(kernel="rbf", grow_features=True).partial_fit(X[:40, :4], y[:40], classes=range(3))
    before = state(model)
    with pytest.raises(ValueError, match='gamma="auto" is one over the number of features, and X has 5 instead of 4'):
        model.partial_fit(X[40:, :5], y[40:])
    assert state(model) == before
    assert model.partial_fit(X[40:, :4], y[40:]).t_ == 120


# -- version spaces: a truth has a weight for features that nobody has met yet ---------------------------------------


def planted(seed):
    """A truth of length 1, about, and rows in three parts, of which the first lack most features and the next may too.

    All are multiples of 2^-10, so that floats hold the products.
    """
    rng = np.random.default_rng(seed)
    widths = np.sort(rng.integers(1, 5, size=3))
    u = rng.normal(size=widths[2])
    u = np.trunc(1024.0 * u / np.linalg.norm(u)) / 1024.0
    return u, [rng.integers(-1024, 1025, size=(rng.integers(1, 10), width)) / 1024.0 for width in widths]


@pytest.mark.interpreted
@pytest.mark.parametrize(("cut", "drift"), [("paper", 0.0), ("minvol", 0.0), ("minvol", 2.0**-30)])
def test_a_version_space_keeps_the_truth_when_features_come(cut, drift):
    """Certain rows have its label, and nothing is refuted; the first rows may have one feature only."""
    for seed in range(25):
        u, parts = planted(seed)
        model = CELLIP(margin=2.0**-4, cut=cut, drift=drift, trigger="always", fit_intercept=False, grow_features=True)
        for part in parts:
            truth = u[: part.shape[1]]
            for x in part[np.abs(part @ truth) >= 2.0**-4]:
                label = int(x @ truth > 0.0)
                if model.__sklearn_is_fitted__() and model.certain([x]).all():
                    assert model.predict([x]) == [label], seed
                model.partial_fit([x], [label], classes=[0, 1])
                assert model.version_space_.contains([truth]).all(), seed
        assert not model.__sklearn_is_fitted__() or model.infeasible_ == 0


@pytest.mark.interpreted
def test_cuts_of_fewer_dimensions_leave_the_mistakes_so_far_without_a_bound():
    """They may have enlarged the volume that it is told by; what is still to come is told by the volume there is."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4))
    X, y = X[np.abs(X[:, 0]) > 0.2], (X[:, 0] > 0.0)[np.abs(X[:, 0]) > 0.2].astype(int)
    model = CELLIP(margin=0.1, radius=2.0, cut="minvol", fit_intercept=False, grow_features=True)
    narrow = clone(model).partial_fit(X[:9, :2], y[:9], classes=[0, 1])
    for run, bounded in ((clone(model), True), (narrow, False)):
        so_far, still = run.partial_fit(X, y, classes=[0, 1]).certificates()[:2]
        assert (so_far.bound < np.inf) == bounded
        assert so_far.observed <= so_far.bound
        assert still.bound < np.inf


@pytest.mark.interpreted
def test_an_interval_that_has_become_a_point_leaves_new_features_free():
    """u1 is known to the last digit, and nothing of u2 but that u1^2 + u2^2 <= 1."""
    for cut in ("paper", "minvol"):
        model = CELLIP(margin=1.0 - 2.0**-40, cut=cut, trigger="always", fit_intercept=False, grow_features=True)
        model.partial_fit([[1.0], [1.0]], [1, 1], classes=[0, 1])
        assert model.exhausted_
        model.partial_fit([[1.0, 0.0]], [1])
        assert model.version_space_.contains([[1.0 - 2.0**-41, 2.0**-21]]).all()
        assert model.infeasible_ == 0


@pytest.mark.interpreted
@pytest.mark.parametrize("drift", [0.0, 2.0**-20])
def test_intervals_hold_their_numbers_when_features_come(drift):
    for seed in range(40):
        u, parts = planted(seed)
        model = IntervalRegressor(noise=2.0**-7, drift=drift, fit_intercept=False, grow_features=True)
        noise = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], size=10) * 2.0**-7
        for part in parts:
            y = part @ u[: part.shape[1]] + noise[: len(part)]
            if part is not parts[0]:
                low, high = model.predict_interval(part).T
                assert ((low <= y) & (y <= high)).all(), seed
            _, low, high = model.learn_predict_interval(part, y)
            assert ((low <= y) & (y <= high)).all(), seed
            assert model.version_space_.contains([u[: part.shape[1]]]).all(), seed
        assert model.infeasible_ == 0


@pytest.mark.interpreted
def test_intervals_stay_narrow_when_features_come_one_by_one():
    """What was learned of the first is not lost to the last."""
    rng = np.random.default_rng(0)
    u, model = 0.3 * rng.choice([-1.0, 1.0], size=8), IntervalRegressor(noise=0.01, fit_intercept=False)
    for n in range(1, 9):
        for x in rng.normal(size=(6 * n, n)):
            model.learn_one({f"x{i}": float(x[i]) for i in range(n)}, float(x @ u[:n]))
    low, high = model.predict_interval_one({"x0": 1.0})
    assert low <= u[0] <= high
    assert high - low < 0.2
