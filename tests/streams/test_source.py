"""Every kind of stream becomes the same chunks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from ellipsoid.streams.scale import scale
from ellipsoid.streams.source import as_source, from_arrays

X = np.arange(14.0).reshape(7, 2)
y = np.array([0, 1, 2, 0, 1, 2, 0])


def kinds():
    csr = sparse.csr_matrix(X)
    return {
        "pair": (X, y),
        "sparse": (csr, y),
        "chunks": [(X[:3], y[:3]), (X[3:], y[3:])],
        "examples": list(zip(X, y, strict=True)),
        "sparse examples": [(csr[i], y[i]) for i in range(7)],
        "generator": ((x, label) for x, label in zip(X, y, strict=True)),
    }


@pytest.mark.parametrize("kind", kinds())
@pytest.mark.parametrize("chunk_size", [1, 2, 3, 100])
def test_chunks_join_to_the_whole_stream(kind, chunk_size):
    parts = list(as_source(kinds()[kind]).read(chunk_size))
    assert all(len(labels) <= chunk_size for _, labels in parts)
    rows = [part.toarray() if sparse.issparse(part) else part for part, _ in parts]
    np.testing.assert_array_equal(np.concatenate(rows), X)
    np.testing.assert_array_equal(np.concatenate([labels for _, labels in parts]), y)


def test_dict_examples_stay_dicts():
    ((examples, labels),) = as_source([({"rain": 1.0}, "wet"), ({"sun": 2.0}, "dry")]).read(10)
    assert examples == [{"rain": 1.0}, {"sun": 2.0}]
    assert labels.tolist() == ["wet", "dry"]


def test_arrays_gathers_dense_and_sparse():
    for matrix in (X, sparse.csr_matrix(X)):
        gathered, labels = as_source([(matrix[:3], y[:3]), (matrix[3:], y[3:])]).arrays()
        assert (gathered != matrix).sum() == 0
        assert labels.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("stream", "message"),
    [
        ((X, y[:3]), "as many rows as each other, got 7 and 3"),
        ((X[0], y), "X must have two dimensions"),
        ([1, 2], r"pair \(X, y\)"),
    ],
)
def test_bad_streams_are_explained(stream, message):
    with pytest.raises(ValueError, match=message):
        list(as_source(stream))


def test_a_number_is_no_stream():
    with pytest.raises(TypeError, match="stream must be a data set"):
        as_source(3)


def test_an_empty_stream_has_no_arrays():
    with pytest.raises(ValueError, match="has no rows"):
        as_source([]).arrays()


@given(st.integers(1, 50), st.integers(1, 60))
def test_a_source_can_be_read_again(n, chunk_size):
    source = from_arrays("mine", np.ones((n, 1)), np.zeros(n))
    first = [len(labels) for _, labels in source.read(chunk_size)]
    assert first == [len(labels) for _, labels in source.read(chunk_size)]
    assert sum(first) == n


def test_unit_rows_have_length_one_and_zero_rows_stay():
    scaled, other = scale("unit", np.array([[3.0, 4.0], [0.0, 0.0]]), sparse.csr_matrix([[0.0, 2.0]]))
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), [1.0, 0.0])
    assert other.toarray().tolist() == [[0.0, 1.0]]


def test_standard_takes_its_statistics_from_the_training_part_alone():
    train, test = scale("standard", X, 10 * X)
    np.testing.assert_allclose(train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(train.std(axis=0), 1)
    np.testing.assert_allclose(test, (10 * X - X.mean(axis=0)) / X.std(axis=0))


def test_unknown_scale_lists_the_known_ones():
    with pytest.raises(ValueError, match="scale must be one of none, unit, standard, got 'log'"):
        scale("log", X)
