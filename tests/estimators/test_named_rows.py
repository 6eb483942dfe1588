"""Single examples given as dicts: the quick way must be the long way, to the last bit and the last error."""

import sys
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from ellipsoid import (
    AROW,
    MIRA,
    Calibrated,
    PassiveAggressive,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
    UnitNorm,
    load,
)
from ellipsoid.estimators.state import one_row
from ellipsoid.estimators.state.one_row import sort_by_column

pytestmark = pytest.mark.few_learners

MAKERS = {
    "PA": PassiveAggressive,
    "PA, averaged": lambda: PassiveAggressive(average=True),
    "MIRA": MIRA,
    "AROW": lambda: AROW(shape="diagonal"),
    "scaled": lambda: Scaled(Perceptron()),
    "unit": lambda: Scaled(PassiveAggressive(), scaler=UnitNorm()),
}


def stream(kind, classes, rows=400, seed=0):
    """Examples with the same names in each, in one of a few sets, or with others each time."""
    rng = np.random.default_rng(seed)
    names = [f"name {i}" for i in range(30)] if kind != "numbers" else list(range(30))
    sets = [list(rng.permutation(30)[:12]) for _ in range(3)]
    examples = []
    for t in range(rows):
        chosen = {"same": range(30), "numbers": range(30), "few": sets[t % 3]}.get(kind, rng.permutation(30)[:9])
        x = {names[i]: float(v) for i, v in zip(chosen, rng.normal(size=len(chosen)), strict=True)}
        if t < 3:  # every name is met early, so that rows of a matrix can have the same columns
            x = {name: x.get(name, 0.5) for name in names}
        examples.append((x, int(sum(list(x.values())[:4]) * 2) % classes))
    return names, examples


@pytest.mark.interpreted("AROW")
@pytest.mark.gate("MIRA", "PA", "AROW", "scaled")
@pytest.mark.parametrize("kind", ["same", "numbers", "few", "varied"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", MAKERS)
def test_dicts_are_learned_as_rows_of_a_matrix(name, classes, kind, monkeypatch):
    monkeypatch.setattr(one_row, "MOST_LAYOUTS", 16)  # so that few rows are enough to try what comes after
    names, examples = stream(kind, classes, rows=60)
    columns = {each: j for j, each in enumerate(examples[0][0])}
    model, rows = MAKERS[name](), MAKERS[name]()
    for t, (x, y) in enumerate(examples):
        told = model.predict_one(x) if t else None
        row = sp.csr_matrix((list(x.values()), [columns[n] for n in x], [0, len(x)]), shape=(1, len(names)))
        row.sort_indices()
        if t:
            assert told == rows.predict(row)[0]
        model.learn_one(x, y)
        rows.partial_fit(row, [y])
    np.testing.assert_array_equal(model.coef_, rows.coef_)
    assert (model.t_, model.mistakes_, model.updates_) == (rows.t_, rows.mistakes_, rows.updates_)
    assert getattr(model, "learner_", model)._core.named is not None  # it was the quick way


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "bad",
    [
        *({"name 1": value} for value in (["grey"], b"grey", np.nan, np.inf, 1e200, 1j)),
        {1.0: 2.0},
        {"new": 1.0, "name 1": 1e200},
    ],
    ids=str,
)
def test_bad_examples_are_refused_and_change_nothing(name, bad):
    _, examples = stream("same", 2, rows=60)
    model, twin = MAKERS[name](), MAKERS[name]()
    for x, y in examples[:40]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    for x in (bad, {**examples[0][0], **bad}):
        with pytest.raises(ValueError, match=r"name 1|row 0|names"):
            model.learn_one(x, 1)
    for x, y in examples[40:]:
        model.learn_one(x, y)
        twin.learn_one(x, y)
    np.testing.assert_array_equal(model.coef_, twin.coef_)
    assert model.t_ == twin.t_


def test_a_refused_example_does_not_pass_for_the_one_before_it(state):
    """It has the same names, and a value that can be compared with none."""
    model, twin = PassiveAggressive(), PassiveAggressive()
    for each in (model, twin):
        for x, y in [({"a": 1.0, "s": "x"}, 0), ({"a": -1.0, "s": "y"}, 1), ({"a": 0.5, "s": "x"}, 1)]:
            each.learn_one(x, y)
    with pytest.raises(ValueError, match="'a' holds"):
        model.learn_one({"a": np.array([1.0, 2.0]), "s": "y"}, 0)
    for each in (model, twin):
        each.learn_one({"a": 0.5, "s": "x"}, 0)
    assert state(model) == state(twin)


@pytest.mark.parametrize("value", [np.nan, -np.inf, 1e200, b"grey", [1.0], 1j], ids=str)
@pytest.mark.parametrize("calibrated", [False, True])
def test_features_that_are_not_known_are_looked_at_before_they_are_left_out(calibrated, value):
    model = Calibrated(PassiveAggressive()) if calibrated else PassiveAggressive()
    for t in range(8):
        model.learn_one({"a": 1.0 - 2 * (t % 2), "b": 0.1}, t % 2)
    with pytest.raises(ValueError, match=r"row 0|never met"):
        model.predict_one({"a": 1.0, "never met": value})
    assert model.predict_one({"a": 1.0, "never met": 1e99, "nor": -5}) == model.predict_one({"a": 1.0}) == 0


def test_names_that_are_whole_numbers_are_not_those_that_equal_them():
    model = PassiveAggressive()
    for t in range(30):
        model.learn_one({1: float(t % 2), 2: 1.0}, t % 2)
    with pytest.raises(ValueError, match="feature names"):
        model.learn_one({1.0: 1.0}, 1)
    assert model.t_ == 30


def test_new_names_labels_and_empty_examples_in_between():
    model = PassiveAggressive()
    for t in range(20):
        model.learn_one({"a": 1.0 - 2 * (t % 2), "b": 0.1}, t % 2)
    model.learn_one({"a": 1.0, "c": 2.0}, 0).learn_one({}, 1).learn_one({"c": 1.0}, 2).learn_one({"b": True}, 2)
    assert (model.t_, model.n_features_in_, model.classes_.tolist()) == (24, 3, [0, 1, 2])
    assert model.predict_one({"a": 1.0, "never met": 5.0}) == model.predict_one({"a": 1.0})
    assert model.predict_one({"a": np.float32(1.0)}) == model.predict_one({"a": 1})
    assert not any(model._core.named.fill({}) for _ in range(2)), "a row without features takes the long way each time"


@pytest.mark.interpreted
@pytest.mark.parametrize("name", MAKERS)
def test_the_first_examples_may_have_no_name(name, tmp_path):
    examples = [{}, {}, {"a": 1.0}, {"b": 2.0}, {}, {"a": 1.0, "c": -1.0}]
    labels = ["x", "y", "x", "y", "x", "y"]
    at_once = MAKERS[name]().partial_fit(examples, labels)
    one_by_one = MAKERS[name]()
    for t, (x, label) in enumerate(zip(examples, labels, strict=True)):
        one_by_one.learn_one(x, label)
        if t == 1:
            one_by_one.save(tmp_path / "model")
            one_by_one = load(tmp_path / "model")
            assert one_by_one.n_features_in_ == 0
    assert one_by_one.decision_function(examples).tobytes() == at_once.decision_function(examples).tobytes()


def test_what_follows_a_file_is_the_same(tmp_path):
    from ellipsoid import load

    _, examples = stream("few", 3, rows=80)
    whole = Scaled(Perceptron())
    for x, y in examples[:50]:
        whole.learn_one(x, y)
    whole.save(tmp_path / "half")
    again = load(tmp_path / "half")
    for x, y in examples[50:]:
        whole.learn_one(x, y)
        again.learn_one(x, y)
    np.testing.assert_array_equal(whole.coef_, again.coef_)
    np.testing.assert_array_equal(whole.scaler_.var_, again.scaler_.var_)


def test_an_example_that_was_changed_after_its_prediction_is_learned_as_it_is():
    _, examples = stream("varied", 2)
    model, other = PassiveAggressive(), PassiveAggressive()
    number = np.array(0.25)
    for t, (x, y) in enumerate(examples):
        shown, x["name 5"] = x | {"name 5": number} if t % 2 else dict(x), 7.0
        number[...] = 0.25
        if t:
            model.predict_one(shown)
        number[...] = 7.0
        shown["name 5"] = number if t % 2 else 7.0
        model.learn_one(shown, y)
        other.learn_one(x, y)
    np.testing.assert_array_equal(model.coef_, other.coef_)
    assert (model.mistakes_, model.updates_) == (other.mistakes_, other.updates_)


@pytest.mark.parametrize("values", [(0.1, np.float32(0.1)), (np.float32(0.1), 0.1)])
def test_a_float32_is_not_the_number_that_it_equals(values):
    model, other = PassiveAggressive(), PassiveAggressive()
    names = [f"word {i}" for i in range(150)]
    for t in range(150):  # other words each time, so that no set of them is known
        seen, learned = ({names[t]: value, names[(7 * t + 1) % 150]: 1.0} for value in values)
        if t > 75:
            model.predict_one(seen)
        model.learn_one(learned, t % 2)
        other.learn_one(learned, t % 2)
    np.testing.assert_array_equal(model.coef_, other.coef_)


@given(st.integers(0, 200).flatmap(lambda count: st.permutations(range(count))))
def test_columns_are_put_in_order_with_their_values(columns):
    places, values = np.array(columns, dtype=np.int32), np.array(columns, dtype=np.float64)
    sort_by_column(places, values, len(columns))
    assert places.tolist() == values.tolist() == sorted(columns)


@pytest.mark.parametrize("kind", ["same", "varied", "arrays"])
@pytest.mark.parametrize("name", ["PA", "scaled", "calibrated", "regressor"])
def test_threads_predict_what_one_would(name, kind):
    makers = MAKERS | {"calibrated": lambda: Calibrated(PassiveAggressive()), "regressor": PassiveAggressiveRegressor}
    told = stream("same" if kind == "arrays" else kind, 2, rows=300)[1]
    model, (examples, labels) = makers[name](), zip(*told, strict=True)
    if kind == "arrays":
        examples = [np.array(list(x.values())) for x in examples]
    for x, y in zip(examples, labels, strict=True):
        model.learn_one(x, y)
    tell = getattr(model, "predict_proba_one", model.predict_one)
    expected, wrong = [tell(x) for x in examples], []

    def predict(order):
        wrong.extend(i for i in order if tell(examples[i]) != expected[i])

    turns = [np.random.default_rng(seed).integers(0, len(examples), 2000) for seed in range(3)]
    threads = [threading.Thread(target=predict, args=(turn,)) for turn in turns]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_a_sparse_matrix_that_is_also_a_dict_is_a_row():
    row = sp.dok_matrix((1, 4))
    row[0, 1], row[0, 3] = 2.0, -1.0
    for model in (Perceptron(), Scaled(Perceptron(), scaler=UnitNorm())):
        twin = type(model)(**model.get_params(deep=False))
        for label in (0, 1):
            model.learn_one(row, label)
            twin.partial_fit(row.tocsr(), [label])
        assert model.predict_one(row) == twin.predict(row.tocsr())[0]
        scores = [each.decision_function(row.tocsr()).tolist() for each in (model, twin)]
        assert scores[0] == scores[1]
