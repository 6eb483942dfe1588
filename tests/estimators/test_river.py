"""Our learners in river's own pipelines and evaluators, and its metrics in ours."""

import numpy as np
import pytest
from river import compose, evaluate, linear_model, metrics, preprocessing, stream

from ellipsoid import EllipsoidClassifier, PassiveAggressive, PassiveAggressiveRegressor, datasets, prequential
from ellipsoid.river import adapt

X, Y = datasets.load("digits").train
ROWS, LABELS = X[:300], Y[:300]
EXAMPLES = [({f"pixel {j}": float(v) for j, v in enumerate(row)}, int(y)) for row, y in zip(ROWS, LABELS, strict=True)]


def test_progressive_validation_is_our_test_then_train():
    metric = evaluate.progressive_val_score(iter(EXAMPLES), adapt(PassiveAggressive()), metrics.Accuracy())
    run = prequential(PassiveAggressive(), EXAMPLES)
    # river leaves out the first row, for which nothing can be predicted.
    assert metric.get() == pytest.approx((300 - run.errors) / 299)


def test_river_pipelines_scale_and_select_for_it():
    model = (
        compose.Select("pixel 20", "pixel 21", "pixel 36") | preprocessing.StandardScaler() | adapt(PassiveAggressive())
    )
    for x, y in EXAMPLES:
        model.predict_one(x)
        model.learn_one(x, y)
    learner = model["Adapted"].learner
    assert (learner.t_, learner.n_features_in_) == (300, 3)
    assert learner.certificates()


def test_a_copy_has_learned_nothing_and_the_given_model_is_not_touched():
    mine = PassiveAggressive(C=0.5)
    model = adapt(mine)
    model.learn_one(*EXAMPLES[0])
    fresh = model.clone()
    assert fresh.predict_one(EXAMPLES[0][0]) is None
    assert fresh.learner.C == 0.5
    assert not hasattr(mine, "classes_")


def test_frames_are_learned_as_their_rows():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame([x for x, _ in EXAMPLES], index=np.arange(300) + 7)
    many, one = adapt(PassiveAggressive()), adapt(PassiveAggressive())
    many.learn_many(frame, pd.Series(LABELS))
    for x, y in EXAMPLES:
        one.learn_one(x, y)
    np.testing.assert_array_equal(many.learner.coef_, one.learner.coef_)
    told = many.predict_many(frame)
    assert told.index.tolist() == frame.index.tolist()
    assert told.tolist() == [one.predict_one(x) for x, _ in EXAMPLES]


@pytest.mark.parametrize("spoilt", ["a cell", "the labels"])
def test_a_frame_that_is_refused_is_not_learned_in_part(spoilt):
    pd = pytest.importorskip("pandas")
    frame, labels = pd.DataFrame([x for x, _ in EXAMPLES[:9]]), pd.Series(LABELS[:9])
    model = adapt(PassiveAggressive())
    model.learn_many(frame, labels)
    before = model.learner.coef_.copy()
    if spoilt == "a cell":
        frame.iloc[5, 3] = np.nan
    with pytest.raises(ValueError, match="row 5 of X" if spoilt == "a cell" else "labels"):
        model.learn_many(frame, labels if spoilt == "a cell" else labels[:8])
    assert model.learner.t_ == 9
    assert (model.learner.coef_ == before).all()


def test_a_regressor_is_no_classifier_of_river():
    with pytest.raises(TypeError, match="adapt takes classifiers, got PassiveAggressiveRegressor"):
        adapt(PassiveAggressiveRegressor())


def test_metrics_of_river_judge_our_runs():
    metric = metrics.Accuracy()
    run = prequential(PassiveAggressive(), (ROWS, LABELS), metric=metric)
    assert metric.get() == pytest.approx((300 - run.errors) / 299)


def test_words_encoded_by_river_and_two_labels():
    rows = [({"sky": "grey"}, True), ({"sky": "blue"}, False)] * 20
    model = preprocessing.OneHotEncoder() | adapt(EllipsoidClassifier())
    peer = preprocessing.OneHotEncoder() | linear_model.LogisticRegression()
    for x, y in rows:
        model.learn_one(x, y)
        peer.learn_one(x, y)
    for word in ("grey", "blue"):
        assert model.predict_one({"sky": word}) == peer.predict_one({"sky": word})


def test_streams_of_river_can_be_run_through():
    run = prequential(PassiveAggressive(), stream.iter_array(ROWS, LABELS.tolist()))
    assert run.rows == 300
