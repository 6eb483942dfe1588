"""What is a label and what is none, at every door alike: what can be learned can be saved, the rest is refused."""

from collections import deque
from decimal import Decimal
from enum import Enum
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from ellipsoid import (
    MIRA,
    BayesPointMachine,
    Calibrated,
    Committee,
    Conformal,
    EllipsoidalSVC,
    OnlineEllipsoidalSVC,
    PassiveAggressiveRegressor,
    Perceptron,
    Scaled,
    load,
    open_stream,
    prequential,
)
from ellipsoid.estimators.inputs.labels import Labels
from ellipsoid.streams.label_kinds import label_array

X = np.array([[0.5, 1.0], [-1.0, 0.25], [0.75, -0.5], [-0.5, -1.0]])
Y = np.array([0, 1, 0, 1])

NO_LABELS = {
    "NaN": np.nan,
    "inf": np.inf,
    "None": None,
    "NaT": np.datetime64("NaT", "ns"),
    "a date": np.datetime64("2020-01-01", "ns"),
    "a duration": np.timedelta64(5, "ns"),
    "bytes": b"a",
    "complex": 1 + 0j,
    "a fraction": 0.5,
    "a Fraction": Fraction(1),
    "a Decimal": Decimal(1),
    "a tuple in an array": (0, 2),  # (0, 1) is a label set
    "a long integer": 10**30,
    "an integer of 65 bits": 2**63,
    "a float beyond whole numbers": 2.0**60,
}


def column(label):
    """Labels of four rows, the last of which is none; in an array of objects where nothing else holds it."""
    if isinstance(label, np.datetime64 | np.timedelta64):
        return np.array([label] * 4)
    if isinstance(label, bytes):
        return np.array([label] * 4)
    array = np.empty(4, dtype=object)
    array[:3] = Y[:3]
    array[3] = label
    return array


@pytest.fixture
def models():
    return {
        "linear": MIRA,
        "kernel": lambda: Perceptron(kernel="rbf", gamma=0.5),
        "scaled": lambda: Scaled(MIRA()),
        "online ellipsoidal": OnlineEllipsoidalSVC,
    }


@pytest.mark.interpreted
@pytest.mark.parametrize("name", NO_LABELS)
@pytest.mark.parametrize("kind", ["linear", "kernel", "scaled", "online ellipsoidal"])
def test_no_door_takes_what_is_no_label(kind, name, models, tmp_path):
    label, y = NO_LABELS[name], column(NO_LABELS[name])
    known, fresh = models[kind]().partial_fit(X, Y), models[kind]()
    before, plain = known.decision_function(X), dict(vars(fresh))
    for model in (known, fresh):
        doors = [
            lambda m: m.fit(X, y),
            lambda m: m.partial_fit(X, y),
            lambda m: m.partial_fit(X[:1], y[3:]),
            lambda m: m.learn_predict(X, y),
            lambda m: m.learn_one(X[0], label),
            lambda m: m.partial_fit(X, Y, classes=y),
            lambda m: prequential(m, (X, y)),
        ]
        for door in doors:
            with pytest.raises(ValueError, match="label"):
                door(model)
    assert known.decision_function(X).tobytes() == before.tobytes()
    assert known.t_ == 4
    assert vars(fresh) == plain


@pytest.mark.parametrize("name", NO_LABELS)
@pytest.mark.parametrize("kind", [EllipsoidalSVC, BayesPointMachine])
def test_batch_learners_share_the_definition(kind, name):
    with pytest.raises(ValueError, match="label"):
        kind().fit(X, column(NO_LABELS[name]))


class Colour(str, Enum):  # noqa: UP042 (what ``str`` says of a member is not the text that it is)
    RED = "red"
    BLUE = "blue"


@pytest.mark.interpreted
@pytest.mark.parametrize("container", [list, tuple, deque, lambda y: np.array(y, dtype=object)])
def test_members_of_an_enumeration_are_the_text_that_they_are(container):
    colours = [Colour.RED, Colour.BLUE] * 2
    model = MIRA().partial_fit(X, container(colours))
    assert model.classes_.tolist() == ["red", "blue"]
    assert MIRA().fit(X, container(colours)).classes_.tolist() == ["blue", "red"]
    assert model.learn_one(X[0], Colour.BLUE).classes_.tolist() == ["red", "blue"]
    assert open_stream((X, colours)).arrays()[1].tolist() == colours
    assert Conformal(MIRA()).fit(X, container(colours)).classes_.tolist() == ["blue", "red"]
    assert Conformal(MIRA()).partial_fit(X, container(colours)).classes_.tolist() == ["red", "blue"]


@pytest.mark.interpreted
@pytest.mark.parametrize("kind", ["Int64", "boolean", "string", "category", "int64[pyarrow]", "string[pyarrow]"])
def test_missing_labels_of_a_series_are_named_by_their_row(kind):
    pd = pytest.importorskip("pandas")
    y = pd.Series([*(Y.astype(bool) if kind == "boolean" else Y)[:3].tolist(), None], dtype=object)
    y = (y.map(str, na_action="ignore") if "string" in kind else y).astype(kind)
    model = MIRA().partial_fit(X[:3], y[:3])
    for call in (lambda: MIRA().fit(X, y), lambda: model.partial_fit(X, y), lambda: EllipsoidalSVC().fit(X, y)):
        with pytest.raises(ValueError, match=r"row 3 .*labels must be known"):
            call()
    with pytest.raises(ValueError, match="labels must be known"):
        model.learn_one(X[0], pd.NA)
    assert model.t_ == 3


@pytest.mark.interpreted
def test_labels_of_few_bits_are_taken_without_a_warning():
    assert MIRA().partial_fit(X, Y.astype(np.float16)).classes_.tolist() == [0.0, 1.0]
    with pytest.raises(ValueError, match="row 1 of y is NaN or inf"):
        MIRA().partial_fit(X, np.array([0, np.inf, 1, 1], dtype=np.float16))


@pytest.mark.interpreted
def test_a_sparse_y_is_refused_with_advice():
    for y in (sp.csr_array(np.stack([Y, 1 - Y], axis=1)), sp.coo_array(Y)):
        for model in (MIRA(), EllipsoidalSVC(), PassiveAggressiveRegressor(), Conformal(MIRA())):
            with pytest.raises(ValueError, match=r"y is sparse.*y\.toarray\(\)"):
                model.fit(X, y)


@pytest.mark.interpreted
@pytest.mark.parametrize("container", [list, tuple, deque, lambda y: np.array(y, dtype=object)])
def test_labels_that_numpy_would_make_one_are_refused(container):
    model = MIRA().partial_fit(X, ["a", "b", "a", "b"])
    for door in (model.partial_fit, MIRA().partial_fit, MIRA().fit, lambda X, y: prequential(MIRA(), (X, list(y)))):
        with pytest.raises(ValueError, match=r"the label 'a\\x00' ends with a NUL"):
            door(X, container(["a", "a\0", "b", "b"]))
    with pytest.raises(ValueError, match="ends with a NUL"):
        model.learn_one(X[0], "a\0")
    assert model.t_ == 4
    # Both are the same float64.
    assert MIRA().partial_fit(X, container([2**53, 2**53 + 1] * 2)).classes_.tolist() == [2**53, 2**53 + 1]
    assert MIRA().partial_fit(X, container([2**53, 2**53 + 1, 0.0, 1])).classes_.tolist() == [2**53, 2**53 + 1, 0, 1]
    with pytest.raises(ValueError, match="cannot tell whole numbers apart"):
        MIRA().partial_fit(X, np.array([0.0, 2.0**53, 1.0, 2.0]))


@pytest.mark.interpreted
@pytest.mark.parametrize("first", [1, 1.0, True])
def test_the_largest_integer_that_a_float_can_tell_is_learned_in_any_cut(first):
    y = [first, 2**53, first, 2**53]
    assert label_array(label_array(y)).tolist() == label_array(y).tolist()
    for learner in (MIRA(), Scaled(MIRA()), Calibrated(MIRA()), Conformal(MIRA()), Committee([MIRA()])):
        model, other = clone(learner).partial_fit(X, y), clone(learner)
        for x, label in zip(X, y, strict=True):
            other.learn_one(x, label)
        weighed = clone(learner).partial_fit(X, y, sample_weight=[1, 1, 0, 1])
        assert model.classes_.tolist() == other.classes_.tolist() == weighed.classes_.tolist() == [first, 2**53]


@pytest.mark.parametrize("name", ["y.csv", "y.jsonl", "y.parquet"])
def test_files_with_labels_that_numpy_would_make_one_are_refused_by_name(name, tmp_path):
    path = tmp_path / name
    if name == "y.csv":
        path.write_bytes(b"a,y\n1,u\n2,u\0\n")
    elif name == "y.jsonl":
        path.write_bytes(b'{"a": 1, "label": "u"}\n{"a": 2, "label": "u\\u0000"}\n')
    else:
        pa = pytest.importorskip("pyarrow")
        import pyarrow.parquet

        pyarrow.parquet.write_table(pa.table({"a": [1.0, 2.0], "y": ["u", "u\0"]}), path)
    with pytest.raises(ValueError, match=name + ".*the label 'u.x00' ends with a NUL"):
        open_stream(path).arrays()


def test_text_and_numbers_together_are_named_as_such():
    with pytest.raises(ValueError, match=r"all text or all whole numbers: row 1 holds 1, row 0 'spam'$"):
        MIRA().partial_fit(X, ["spam", 1, "spam", 1])


def test_numbers_among_text_are_not_written_out():
    """numpy would make them text, and ``predict`` would answer "0" where y held 0."""
    for y in ([0, "a", 0, "a"], (True, "a", True, "b"), ["a", 0.0, "b", "a"]):
        with pytest.raises(ValueError, match="label"):
            MIRA().partial_fit(X, y)
        with pytest.raises(ValueError, match="label"):
            MIRA().partial_fit(X[:2], ["a", "b"], classes=list(y[:2]))
    with pytest.raises(ValueError, match="all text or all whole numbers"):
        MIRA().partial_fit(X, np.array([0, "a", 0, "a"], dtype=object))


@pytest.mark.parametrize(
    ("first", "later", "classes"),
    [
        ([0, 1], [2.0], [0, 1, 2]),
        ([0.0, 1.0], [2], [0.0, 1.0, 2.0]),
        ([False, True], [2], [0, 1, 2]),
        ([0, 1], [True], [0, 1]),
        ([3, 4], [np.uint64(7)], [3, 4, 7]),
        ([np.uint64(3), np.uint64(4)], [-1], [3, 4, -1]),
        (["a", "b"], [np.str_("c")], ["a", "b", "c"]),
    ],
)
def test_later_labels_take_the_form_of_the_first(first, later, classes, tmp_path):
    whole = MIRA().partial_fit(X[:2], first).partial_fit(X[2:3], later)
    one = MIRA()
    for x, label in zip(X[:3], [*first, *later], strict=True):
        one.learn_one(x, label)
    for model in (whole, one):
        assert model.classes_.tolist() == classes
        assert model.classes_.dtype == np.array(classes).dtype
        model.save(tmp_path / "m")
        other = load(tmp_path / "m")
        assert other.classes_.dtype == model.classes_.dtype
        assert other.classes_.tolist() == classes
        assert other.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.interpreted
@pytest.mark.parametrize(
    ("labels", "known"),
    [
        ([True, 0, 2, 0], [True, 0, 2]),
        ([1, 2.0, 1, 2.0], [1, 2]),
        ([1.0, 2, 1, 2], [1.0, 2.0]),
        ([np.uint64(5), -1, 5, -1], [5, -1]),
        ([2**60 + 1, 1.0, 1.0, 2**60 + 1], [2**60 + 1, 1]),
    ],
)
def test_numbers_of_several_kinds_take_the_form_of_the_first_in_any_cut(labels, known):
    """numpy makes one kind of all numbers of a list, which depends on the others in it."""
    models = [MIRA().partial_fit(X, labels), MIRA().partial_fit(X, np.array(labels, dtype=object)), MIRA(), MIRA()]
    models[2].learn_predict(X, labels)
    for x, label in zip(X, labels, strict=True):
        models[3].learn_one(x, label)
    run = MIRA()
    prequential(run, (X, labels))
    for model in (*models, run):
        assert list(map(repr, model._core.labels.values)) == list(map(repr, known))
        assert model.score(X, labels) == np.mean([a == b for a, b in zip(model.predict(X), labels, strict=True)])
    assert EllipsoidalSVC().fit(X, labels).classes_.dtype.kind in "if"
    prequential(PassiveAggressiveRegressor(), (X, labels))


class Animal(str, Enum):  # noqa: UP042 - what str() says of it is not its text
    CAT = "cat"
    DOG = "dog"


@pytest.mark.interpreted
@pytest.mark.parametrize(
    "kind", [MIRA, lambda: Scaled(MIRA()), lambda: Conformal(MIRA()), Committee, EllipsoidalSVC],
    ids=["learner", "scaled", "sets", "committee", "batch"],
)  # fmt: skip
@pytest.mark.parametrize(
    "labels", [list(Animal) * 2, np.array(["cat", "dog"] * 2, dtype=np.dtypes.StringDType())], ids=["enum", "strings"]
)
def test_what_can_be_learned_is_scored_as_its_text(kind, labels):
    model = kind().fit(X, labels)
    assert model.score(X, labels) == model.score(X, ["cat", "dog"] * 2) > 0.0


def test_a_label_without_a_form_among_floats_changes_nothing():
    model = MIRA().partial_fit(X, [0.0, 1.0, 0.0, 1.0])
    with pytest.raises(ValueError, match="is too large to be exact as a float"):
        model.partial_fit(X, [0, 1, 2**53 + 1, 0])
    assert model.classes_.tolist() == [0.0, 1.0]
    assert model.t_ == 4


@pytest.mark.parametrize("y", [["a", "b", "a", "b"], [True, False, True, False], [0, 5, 0, 5], [1.0, 2.0, 1.0, 2.0]])
def test_the_same_labels_in_every_container(y):
    expected = MIRA().partial_fit(X, y).classes_.tolist()
    for form in (tuple(y), np.array(y), np.array(y, dtype=object), np.ma.array(y)):
        model = MIRA().partial_fit(X, form)
        assert model.classes_.tolist() == expected
        assert all(type(label) in (str, int, bool, float) for label in model._core.labels.values)


def test_masked_entries_are_refused_and_a_mask_without_any_is_fine():
    masked = np.ma.array(X, mask=[[False, False], [False, True], [False, False], [False, False]])
    labels = np.ma.array(Y, mask=[False, False, True, False])
    for kind in (MIRA, lambda: Scaled(MIRA()), OnlineEllipsoidalSVC):
        model = kind().partial_fit(np.ma.array(X), np.ma.array(Y))
        before = model.decision_function(X)
        for call in (
            lambda m: m.partial_fit(masked, Y), lambda m: m.fit(masked, Y), lambda m: m.learn_predict(masked, Y),
            lambda m: m.predict(masked), lambda m: m.learn_one(masked[1], 1), lambda m: m.predict_one(masked[1]),
            lambda m: m.partial_fit(X, labels), lambda m: m.fit(X, labels), lambda m: m.partial_fit(list(masked), Y),
            lambda m: m.partial_fit(X[:1], labels[2:3]), lambda m: prequential(m, (masked, Y)),
            lambda m: prequential(m, (X, labels)),
        ):  # fmt: skip
            with pytest.raises(ValueError, match="masked"):
                call(model)
        assert model.decision_function(X).tobytes() == before.tobytes()
    for kind in (EllipsoidalSVC, BayesPointMachine):
        with pytest.raises(ValueError, match="masked"):
            kind().fit(masked, Y)
        with pytest.raises(ValueError, match="masked"):
            kind().fit(X, labels)


def test_votes_of_one_known_class(tmp_path):
    model = Perceptron(kernel="rbf", gamma=0.5, average="vote").partial_fit(X, [7, 7, 7, 7])
    assert model.predict(X).tolist() == [7, 7, 7, 7]
    assert model.predict_one(X[0]) == 7
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").predict(X).tolist() == [7, 7, 7, 7]
    assert model.learn_predict(X, [7, 8, 7, 8]).tolist()[:2] == [7, 7]


def test_features_that_no_file_could_name_are_refused(tmp_path):
    model = MIRA().learn_one({"a": 1.0, 3: 2.0, np.int64(4): 1.0}, "x")
    for name in ((1, 2), None, 1.5, b"a"):
        with pytest.raises(ValueError, match="feature names must be strings or integers"):
            model.learn_one({name: 1.0}, "y")
    assert model.t_ == 1
    model.save(tmp_path / "m")
    assert load(tmp_path / "m")._core.features == {"a": 0, 3: 1, 4: 2}


def test_an_array_of_several_axes_is_left_to_others():
    assert label_array(np.zeros((2, 2))).shape == (2, 2)


@given(
    st.lists(st.integers(-5, 5), unique=True, max_size=6),
    st.lists(st.lists(st.integers(-9, 9), max_size=12), max_size=4),
    st.sampled_from([np.int8, np.int64, np.uint8, bool]),
)
def test_whole_numbers_are_encoded_as_any_other_labels(known, parts, kind):
    labels, words = Labels(known), Labels(map(str, known))
    for part in parts:
        y = np.array(part).astype(kind).astype(int).astype(kind)
        found, fresh = labels.encode(y)
        told, new = words.encode(np.array([str(int(label)) for label in y.tolist()], dtype=object))
        assert (found == told).all()
        assert [(row, str(int(label))) for row, label in fresh] == new
        assert {type(label) for _, label in fresh} <= {bool if kind is bool else int}
        for (_, label), (_, word) in zip(fresh, new, strict=True):
            labels.add(label)
            words.add(word)
