"""Measures beside the error: by hand, against scikit-learn's, and equal however the stream is cut."""

import json
from math import isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from ellipsoid import Perceptron, datasets, prequential
from ellipsoid.evaluate.confusion import Confusion, f1_scores, kappa
from ellipsoid.evaluate.run import Prequential


def test_a_learner_that_repeats_the_last_label_has_kappa_temporal_zero(parrot):
    y = np.array(["a", "a", "b", "b", "b", "a", "c", "c"])
    run = prequential(parrot(), (np.zeros((8, 1)), y))
    assert (run.repeat_errors, run.kappa_temporal) == (run.errors, 0.0)
    # The commonest so far: none, a, a, a, a or b (a was first), b, b or a (a), a
    assert run.majority_errors == 1 + 0 + 1 + 1 + 1 + 1 + 1 + 1
    assert run.kappa_majority == 1 - 4 / 7
    assert run.labels == ("a", "b", "c")
    assert run.confusion.tolist() == [[1, 1, 0], [1, 2, 0], [1, 0, 1]]
    assert run.label_counts.tolist() == [3, 3, 2]
    assert run.balanced_error == pytest.approx(1 - (1 / 3 + 2 / 3 + 1 / 2) / 3)


labels = st.lists(st.sampled_from("abc"), min_size=2, max_size=60)


@given(pairs=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=2, max_size=80))
def test_measures_are_those_of_scikit_learn(pairs):
    y, told = (np.array(part) for part in zip(*pairs, strict=True))
    found = Confusion()
    found.add(told, y)
    order = found.labels
    if len(order) == 1:
        assert found.matrix.tolist() == [[len(y)]]
        return
    np.testing.assert_array_equal(found.matrix, metrics.confusion_matrix(y, told, labels=order))
    expected = metrics.f1_score(y, told, labels=order, average=None, zero_division=0)
    np.testing.assert_allclose(f1_scores(found.matrix, found.counts), expected)
    np.testing.assert_allclose(kappa(found.matrix), metrics.cohen_kappa_score(y, told), atol=1e-12)


predictions = st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=60, max_size=60)


@given(y=labels, told=predictions, cut=st.integers())
def test_chunks_change_no_count(y, told, cut):
    told, y = np.array(told[: len(y)], dtype=object), np.array(y)
    cut %= len(y)
    whole, parts = Confusion(), Confusion()
    whole.add(told, y)
    parts.add(told[:cut], y[:cut])
    parts.add(told[cut:], y[cut:])
    assert whole.labels == parts.labels
    assert whole.matrix.tolist() == parts.matrix.tolist()
    assert (whole.repeat_errors, whole.majority_errors) == (parts.repeat_errors, parts.majority_errors)
    assert whole.counts.tolist() == parts.counts.tolist() == [y.tolist().count(label) for label in whole.labels]


@given(y=labels, told=predictions, other=predictions)
def test_baselines_do_not_depend_on_predictions(y, told, other):
    first, second = Confusion(), Confusion()
    first.add(np.array(told[: len(y)], dtype=object), np.array(y))
    second.add(np.array(other[: len(y)], dtype=object), np.array(y))
    assert (first.repeat_errors, first.majority_errors) == (second.repeat_errors, second.majority_errors)
    met = list(dict.fromkeys(y))
    assert first.labels[: len(met)] == second.labels[: len(met)] == met


def test_baselines_are_those_of_a_loop_over_rows():
    y = np.random.default_rng(0).integers(0, 4, 3000)  # longer than the blocks in which it is counted
    found = Confusion()
    found.add(y, y)
    seen: dict[int, int] = {}
    repeat = majority = 0
    for t, label in enumerate(y.tolist()):
        repeat += t == 0 or y[t - 1] != label
        majority += not seen or max(seen, key=seen.__getitem__) != label
        seen[label] = seen.get(label, 0) + 1
    assert (found.repeat_errors, found.majority_errors) == (repeat, majority)


def test_label_sets_have_no_confusion_and_files_of_old_runs_none_either():
    X, y = datasets.load("digits").train
    run = prequential(Perceptron(), (X[:200], y[:200]))
    record = json.loads(json.dumps(run.to_dict(), allow_nan=False))
    again = Prequential.from_dict(record)
    assert (again.labels, again.kappa_temporal, again.f1) == (run.labels, run.kappa_temporal, run.f1)
    for name in ("labels", "confusion", "label_counts", "repeat_errors", "majority_errors"):
        del record[name]
    old = Prequential.from_dict(record)
    assert all(map(isnan, (old.kappa_temporal, old.kappa_majority, old.kappa, old.balanced_error, old.f1)))
