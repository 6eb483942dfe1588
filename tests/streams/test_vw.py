"""Vowpal Wabbit's text: namespaces, values, what is passed over, and what each flaw is called."""

import io

import numpy as np
import pytest

from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.scan.hashing import hash_name

from .conftest import read


def column(namespace, name, bits=18):
    return hash_name(name, hash_name(namespace)) & (2**bits - 1)


def features(text, **options):
    """The features of the one line of a text, by column."""
    X, _, _ = read(text, format="vw", **options)
    assert X.shape[0] == 1
    return dict(zip(X.indices.tolist(), X.data.tolist(), strict=True))


def test_a_feature_has_the_hash_of_its_name_seeded_with_that_of_its_namespace():
    found = features(b"1 |a price:2.5 size |b price:-1e3\n")
    assert found == {column("a", "price"): 2.5, column("a", "size"): 1.0, column("b", "price"): -1000.0}


def test_the_scale_of_a_namespace_multiplies_its_values():
    assert features(b"1 |a:0.5 x:4 y |b z") == {column("a", "x"): 2.0, column("a", "y"): 0.5, column("b", "z"): 1.0}


def test_features_without_a_namespace():
    assert features(b"2 | word 7:3") == {column("", "word"): 1.0, column("", "7"): 3.0}


def test_repeated_features_add_up():
    assert features(b"1 |a x x:2 |b y |a x") == {column("a", "x"): 4.0, column("b", "y"): 1.0}


@pytest.mark.parametrize(
    "head", ["1 ", "1", "1 1.0 ", "1 1 0.5 ", "1 1 0.5 'tag", "1 'tag ", "1 tag", "1 1 2", "\t1\t'a'b ", "1.0e0 "]
)
def test_an_importance_of_1_a_base_and_a_tag_change_nothing(head):
    X, y, reader = read(head.encode() + b"|a x\r\n", format="vw")
    assert X.indices.tolist() == [column("a", "x")]
    assert y.tolist() == [1]
    assert "importance" not in reader.description


def test_importances_other_than_1_are_counted():
    _, _, reader = read(b"1 2.0 |a x\n1 1 |a x\n2 0.5 'tag |b y\n", format="vw")
    assert reader.description.endswith("Vowpal Wabbit text, features hashed to 18 bits; 2 importance weights")


@pytest.mark.parametrize("size", [4, 9, 64, 1 << 20])
def test_blocks_change_nothing(block_size, size):
    text = b"".join(b"%d 'x |a f%d:%d.25 g |b:2 h%d\n\n" % (i % 4, i, i, i % 7) for i in range(60))
    block_size(1 << 20)
    expected, labels, _ = read(text)
    block_size(size)
    found, again, _ = read(text)
    assert (expected != found).nnz == 0
    np.testing.assert_array_equal(labels, again)
    assert found.shape == (60, 2**18)


def test_bits_are_the_low_ones_of_the_hash():
    assert set(features(b"1 |a x y z", bits=5)) == {column("a", name, 5) for name in "xyz"}


def test_lines_without_labels_are_for_prediction_only():
    X, y, _ = read(b"|a x\n1 |a y\n", labelled=False)
    assert X.shape[0] == 2
    assert y is None
    with pytest.raises(ValueError, match=r"line 1: a line must begin with its label, a number, got '\|a'"):
        read(b"|a x\n1 |a y\n", format="vw")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1:2 2:3 |a x", "a line must begin with its label, a number, got '1:2'"),
        (b"yes |a x", "a line must begin with its label"),
        (b"nan |a x", "a line must begin with its label"),
        (b"1", r"numbers and a tag must be followed by \|"),
        (b"1 1 1 4 |a x", r"numbers and a tag must be followed by \|, got '4'"),
        (b"1 'tag 4 |a x", r"numbers and a tag must be followed by \|, got '4'"),
        (b"1 1 1 'tag 4|a x", r"numbers and a tag must be followed by \|, got '4"),
        (b"1 x:2 |a x", r"numbers and a tag must be followed by \|, got 'x:2'"),
        (b"1 |a x:y", "what follows a colon must be a number, got 'x:y'"),
        (b"1 |a x:", "what follows a colon must be a number"),
        (b"1 |a x:1:2", "what follows a colon must be a number, got 'x:1:2'"),
        (b"1 |a:b x", "what follows a colon must be a number, got '|a:b'".replace("|", r"\|")),
        (b"1 |a :3", "a feature must have a name, got ':3'"),
        (b"1 |a:1e300 x:1e300", "a value times the scale of its namespace must be well within the range of float64"),
        (b"1 |a x:1e999", "'1e999' is too large for a float64"),
        (b"1 |a x:\r", "what follows a colon must be a number, got 'x:'"),
        (b"1 |a b\r-1 |a c\r", r"a carriage return follows '1 \|a b': end the lines with line feeds"),
        (b"1\r2 |a b", "a carriage return follows '1': end the lines"),
        (b"1 |a x:2\r|b y", r"a carriage return follows '1 \|a x:2': end the lines"),
        (b"\r1 |a x", "a carriage return follows '': end the lines"),
    ],
)
def test_flaws_are_named_with_their_line(line, message):
    with pytest.raises(ValueError, match="line 3: " + message):
        read(b"1 |a x\n\n" + line + b"\n", format="vw")


def test_lines_may_end_with_carriage_returns_before_a_line_feed():
    X, y, _ = read(b"1 |a x\r\n\r\n2 1 |a x:3\r\r\n3 |b", format="vw")
    assert (X.sum(axis=1).ravel().tolist(), y.tolist()) == ([[1.0, 3.0, 0.0]], [1, 2, 3])


def test_fractional_labels():
    assert [y.tolist() for _, y, _ in open_stream(io.BytesIO(b"1 |a\n0.5 |a\n1 |a\n"))] == [[1], [0.5, 1.0]]
