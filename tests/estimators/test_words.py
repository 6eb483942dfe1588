"""Words, None and truth values in dicts and frames: the features that a file of the same values has."""

import numpy as np
import pytest
from sklearn.base import clone

from ellipsoid import (
    CELLIP,
    Calibrated,
    Committee,
    Conformal,
    IntervalRegressor,
    PassiveAggressive,
    Perceptron,
    Scaled,
    load,
    open_stream,
)
from ellipsoid.estimators.inputs.examples import rows_of

EXAMPLES = [
    ({"rain": 1.5, "sky": "grey", "warm": False}, "wet"),
    ({"sun": 2, "sky": "blue", "warm": True, "wind": None}, "dry"),
    ({"sky": "red", "sun": 1.0, 7: "seven"}, "dry"),
    ({"rain": 0.25, "sky": "grey", "wind": 1.0}, "wet"),
    ({"sky": 3.0, "rain": True}, "wet"),
] * 4
XS, YS = [x for x, _ in EXAMPLES], [y for _, y in EXAMPLES]
MODELS = [PassiveAggressive(), Scaled(PassiveAggressive()), Calibrated(PassiveAggressive()),
          Calibrated(Scaled(PassiveAggressive()))]  # fmt: skip


def scores(model, xs=XS):
    return np.array([model.decision_function([x])[0] for x in xs])


def test_the_same_features_as_hashed_rows_have():
    X, y = open_stream(EXAMPLES, missing="zero").arrays()
    hashing, own = PassiveAggressive().partial_fit(X, y), PassiveAggressive()
    for x, label in EXAMPLES:
        own.learn_one(x, label)
    assert np.allclose(scores(own), hashing.decision_function(X), atol=1e-12)
    assert own.mistakes_ == hashing.mistakes_
    assert own.n_features_in_ == len(np.unique(X.indices))


@pytest.mark.parametrize(
    "model",
    [*MODELS, Conformal(PassiveAggressive()), Scaled(Committee([PassiveAggressive(), Perceptron()]))],
    ids=repr,
)
def test_fit_takes_them_as_columns(model):
    """Of a matrix with the same columns the same model is made, and it goes on with names."""
    rows, _ = rows_of(XS, {})
    named, plain = (clone(model).set_params(random_state=0).fit(given, YS) for given in (XS, rows))
    assert named.predict(XS).tolist() == plain.predict(rows).tolist()
    assert named.t_ == plain.t_
    assert named.predict_one(XS[0]) == named.predict(XS[:1])[0]
    assert named.learn_one({"rain": 1.0, "new": 2.0}, "wet").n_features_in_ == rows.shape[1] + 1


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_one_by_one_many_at_a_time_and_through_a_file(model, tmp_path):
    one, many, cut = clone(model), clone(model).partial_fit(XS, YS), clone(model).partial_fit(XS[:3], YS[:3])
    for x, label in EXAMPLES:
        one.learn_one(x, label)
    cut.save(tmp_path / "cut")
    cut = load(tmp_path / "cut")
    for x, label in EXAMPLES[3:]:
        cut.learn_one(x, label)
    assert scores(one).tobytes() == scores(many).tobytes() == scores(cut).tobytes()
    assert [one.predict_one(x) for x in XS] == many.predict(XS).tolist() == cut.predict(XS).tolist()
    # What was never met has no weight.
    assert one.predict_one({"sky": "grey", "moon": "full"}) == one.predict_one({"sky": "grey"})
    foretold = clone(model).learn_predict(XS, YS)
    assert foretold[0] is None
    assert foretold[-1] == "wet"


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_column_of_a_word_is_no_name_at_any_door(model):
    model = clone(model).partial_fit(XS, YS)
    before = scores(model).tobytes()
    for x in ({("sky", "grey"): 1.0}, {("sky", "grey"): 1.0, "rain": 2.0}, {("sky", "mauve"): 1.0}):
        for door in (lambda x: model.learn_one(x, "wet"), lambda x: model.partial_fit([x], ["wet"]), model.predict_one,
                     lambda x: model.predict([x])):  # fmt: skip
            with pytest.raises(ValueError, match="feature names must be strings or integers"):
                door(x)
    assert scores(model).tobytes() == before


def test_fit_takes_dicts_too():
    model = Perceptron(random_state=0).fit(XS, YS)
    assert model.predict([{"sky": "grey"}, {"sky": "blue"}]).tolist() == ["wet", "dry"]
    assert model.learn_one(*EXAMPLES[0]).n_features_in_ == model.n_features_in_


@pytest.mark.parametrize(
    ("x", "sentence"),
    [({"a": [1]}, r"feature 'a' holds \[1\], which is neither a number nor a word"),
     ({1.5: "red"}, "feature names must be strings or integers"),
     ({("sky", "grey"): 1.0, "b": "c"}, "feature names must be strings or integers"),
     ({10**5000: 1.0}, "give it a shorter name"),
     ({"a": float("nan"), "b": "c"}, "NaN")],
)  # fmt: skip
def test_bad_examples_change_nothing(x, sentence):
    model = PassiveAggressive().partial_fit(XS, YS)
    features, before = dict(model._core.features), scores(model).tobytes()
    for learn in (lambda: model.learn_one(x, "wet"), lambda: model.partial_fit([XS[0], x], ["wet", "dry"])):
        with pytest.raises(ValueError, match=sentence):
            learn()
    assert model._core.features == features
    assert scores(model).tobytes() == before
    with pytest.raises(ValueError, match="row 1 of X must be a dict"):
        model.partial_fit([XS[0], [1.0]], ["wet", "dry"])


class TestFrames:
    @pytest.fixture
    def frame(self):
        pd = pytest.importorskip("pandas")
        return pd.DataFrame({
            "rain": [1.5, 0.0, 0.0, 0.25] * 3, "sky": ["grey", "blue", None, "grey"] * 3,
            "warm": [False, True, True, False] * 3, "kind": pd.Categorical(["a", "b", "b", "a"] * 3),
        })  # fmt: skip

    def test_rows_are_those_of_a_table_of_the_same_columns(self, frame, tmp_path):
        pytest.importorskip("pyarrow")
        y = ["wet", "dry", "dry", "wet"] * 3
        frame.assign(label=y).to_parquet(tmp_path / "table.parquet")
        X, labels = open_stream(tmp_path / "table.parquet", missing="zero").arrays()
        read, given = PassiveAggressive().partial_fit(X, labels), PassiveAggressive().partial_fit(frame, y)
        assert given.n_features_in_ == X.shape[1] == 2 + 2**18
        assert given.coef_.tobytes() == read.coef_.tobytes()
        assert given.predict(frame).tolist() == read.predict(X).tolist()
        assert given.word_columns_ == ["sky", "kind"]

    def test_later_calls_and_files_know_the_columns_of_words(self, frame, tmp_path):
        y = ["wet", "dry", "dry", "wet"] * 3
        whole = PassiveAggressive().partial_fit(frame, y)
        cut = PassiveAggressive().partial_fit(frame[:2], y[:2])
        cut.save(tmp_path / "cut")
        cut = load(tmp_path / "cut")
        cut.partial_fit(frame[2:3], y[2:3]).partial_fit(frame[3:], y[3:])  # a row whose sky is missing
        assert cut.coef_.tobytes() == whole.coef_.tobytes()
        with pytest.raises(ValueError, match="feature names should match"):
            whole.predict(frame[["sky", "rain", "warm", "kind"]])
        with pytest.raises(ValueError, match="in the column 'sky' of words"):
            whole.partial_fit(frame.assign(sky=3), y)
        with pytest.raises(ValueError, match="row 1 of X holds NaN"):
            whole.partial_fit(frame.assign(rain=[1.0, np.nan] * 6), y)
        assert cut.coef_.tobytes() == whole.coef_.tobytes()

    @pytest.mark.interpreted
    @pytest.mark.parametrize("model", [*MODELS, Committee([PassiveAggressive()])], ids=repr)
    def test_a_row_of_a_frame_goes_by_its_names(self, frame, model):
        y = ["wet", "dry", "dry", "wet"] * 3
        frame = frame if model is MODELS[0] else frame[["rain", "warm"]].astype(float)
        model = clone(model).partial_fit(frame, y)
        turned, other = frame[frame.columns[::-1]], clone(model).partial_fit(frame, y)
        assert [model.predict_one(row) for _, row in turned.iterrows()] == model.predict(frame).tolist()
        for (_, row), label in zip(turned.iterrows(), y, strict=True):
            model.learn_one(row, label)
        assert model.predict(frame).tolist() == other.partial_fit(frame, y).predict(frame).tolist()
        assert model.t_ == 24
        with pytest.raises(ValueError, match=r"x must have the features rain.* by name, got .*snow"):
            model.predict_one(turned.rename(columns={"rain": "snow"}).iloc[0])

    def test_a_new_fit_forgets_them(self, frame):
        y = ["wet", "dry", "dry", "wet"] * 3
        model = PassiveAggressive().fit(frame, y).fit(frame[["rain", "warm"]], y)
        assert model.n_features_in_ == 2
        assert not hasattr(model, "word_columns_")

    @pytest.mark.parametrize("kind", ["table", "batch", "polars"])
    @pytest.mark.parametrize("words", [True, False])
    def test_arrow_tables_and_polars_frames_are_as_those_of_pandas(self, frame, kind, words):
        pa, y = pytest.importorskip("pyarrow"), ["wet", "dry", "dry", "wet"] * 3
        frame = frame if words else frame[["rain", "warm"]]
        table = pa.Table.from_pandas(frame)
        if kind == "polars":
            given = pytest.importorskip("polars").from_arrow(table)
        else:
            given = table if kind == "table" else table.to_batches()[0]
        for model in MODELS[:1] if words else MODELS:
            known = clone(model).partial_fit(frame, y)
            learned = clone(model).partial_fit(given, y)
            assert learned.decision_function(given).tobytes() == known.decision_function(frame).tobytes()
            assert learned.feature_names_in_.tolist() == frame.columns.tolist()
            assert known.predict(given).tolist() == learned.predict(frame).tolist()
            assert clone(model).learn_predict(given, y).tolist() == clone(model).learn_predict(frame, y).tolist()
            heavy = [0, *[1] * 11]
            without = clone(model).partial_fit(given, y, sample_weight=heavy).decision_function(given)
            assert without.tobytes() == clone(model).partial_fit(frame[1:], y[1:]).decision_function(frame).tobytes()

    def test_a_column_of_words_of_which_none_is_there_is_one_in_a_table(self):
        pa = pytest.importorskip("pyarrow")
        table = pa.table({"rain": [0.5, 1.0], "sky": pa.nulls(2, pa.string())})
        assert PassiveAggressive().partial_fit(table, ["wet", "dry"]).word_columns_ == ["sky"]
        with pytest.raises(ValueError, match="two columns with the same name: rain, rain"):
            PassiveAggressive().partial_fit(table.rename_columns(["rain", "rain"]), ["wet", "dry"])

    @pytest.mark.parametrize(
        ("learner", "names"),
        [
            (PassiveAggressive(), ["rain", "sky"]),
            (PassiveAggressive(), ["rain"]),
            (Scaled(PassiveAggressive()), ["rain"]),
        ],
    )
    def test_columns_that_are_neither_numbers_nor_words_are_refused_by_name(self, frame, learner, names):
        """A missing date would be the lowest of all integers."""
        pa, pd, y = pytest.importorskip("pyarrow"), pytest.importorskip("pandas"), ["wet", "dry", "dry", "wet"] * 3
        known = frame[names]
        dates = pd.to_datetime(["2020-01-01"] * 11 + [None])
        for column in (dates, dates - dates[0], dates.tz_localize("UTC"), dates.to_period("D"), [b"1"] * 12, [1j] * 12):
            odd = known.assign(day=column)
            for given in (odd, pa.Table.from_pandas(odd)) if column is dates else (odd,):
                with pytest.raises(ValueError, match="column 'day'"):
                    clone(learner).partial_fit(given, y)

    @pytest.mark.interpreted
    @pytest.mark.parametrize("words", [True, False])
    @pytest.mark.parametrize("model", [*MODELS, Committee([PassiveAggressive()]), Conformal(Perceptron())], ids=repr)
    def test_the_first_row_of_a_frame_tells_the_names_too(self, frame, model, words, tmp_path):
        y = ["wet", "dry", "dry", "wet"] * 3
        frame = frame if words and "Scaled" not in repr(model) else frame[["rain", "warm"]]
        whole, single = clone(model).partial_fit(frame, y), clone(model)
        for i, label in enumerate(y):
            single.learn_one((frame if i % 2 else frame[frame.columns[::-1]]).iloc[i] if i else frame.iloc[0], label)
        assert single.feature_names_in_.tolist() == frame.columns.tolist()
        single.save(tmp_path / "single")
        whole.save(tmp_path / "whole")
        assert (tmp_path / "single").read_bytes() == (tmp_path / "whole").read_bytes()

    @pytest.mark.interpreted
    @pytest.mark.parametrize("model", [*MODELS, Committee([PassiveAggressive()]), Conformal(Perceptron())], ids=repr)
    def test_columns_do_not_stand_for_the_names_in_dicts(self, frame, model, tmp_path):
        y, turned = ["wet", "dry", "dry", "wet"] * 3, frame[["warm", "rain"]]
        model = clone(model).partial_fit(frame[["rain", "warm"]].to_dict("records"), y)
        model.save(tmp_path / "before")
        row = turned.iloc[0]
        for call in (
            lambda: model.predict(turned), lambda: model.predict_one(row), lambda: model.learn_one(row, "wet"),
            lambda: model.partial_fit(turned, y), lambda: model.learn_predict(turned, y),
        ):  # fmt: skip
            with pytest.raises(ValueError, match=r"started on dicts and knows its features by name.*to_dict"):
                call()
        model.save(tmp_path / "after")
        assert (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()

    @pytest.mark.interpreted
    @pytest.mark.parametrize("model", [*MODELS, Committee([PassiveAggressive()]), Conformal(Perceptron())], ids=repr)
    def test_a_new_fit_on_an_array_forgets_the_names(self, frame, model):
        y, frame = ["wet", "dry", "dry", "wet"] * 3, frame[["rain", "warm"]]
        model = clone(model).fit(frame, y).fit(frame.to_numpy(dtype=float), y)
        assert not hasattr(model, "feature_names_in_")

    @pytest.mark.interpreted
    @pytest.mark.parametrize(
        "model",
        [IntervalRegressor(), Conformal(IntervalRegressor()), CELLIP(drift=0.1, cut="minvol", trigger="always")],
        ids=repr,
    )
    def test_an_ellipsoid_of_slabs_over_all_words_is_refused_and_one_over_those_that_come_is_not(self, frame, model):
        for method in ("fit", "partial_fit", "learn_predict"):
            with pytest.raises(
                ValueError, match=r"the column 'sky' of X holds words.*leave it out, or give .* as dicts"
            ):
                getattr(clone(model), method)(frame, [0, 1] * 6)
        records = frame.dropna().to_dict("records")
        assert clone(model).partial_fit(records, [i % 2 for i in range(len(records))]).t_ == len(records)
