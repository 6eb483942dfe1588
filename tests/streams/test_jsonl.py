"""JSON lines: the features of the same dicts, errors with their line, and the commands."""

import gzip
import io
import json

import numpy as np
import pytest

from ellipsoid import LineError, PassiveAggressive, load, open_stream, prequential
from ellipsoid.cli import main

EXAMPLES = [
    ({"rain": 1.5, "sky": "grey", "warm": False}, "wet"),
    ({"sun": 2, "sky": "blue", "warm": True}, "dry"),
    ({}, "dry"),
    ({"rain": 0.25, "sky": "dünn bewölkt", "": "x"}, "wet"),
] * 6


def written(examples, label="label"):
    return "\n".join(json.dumps({**x, label: y}) for x, y in examples).encode()


@pytest.mark.parametrize("options", [{}, {"bits": 9}, {"chunk_rows": 5}])
def test_rows_are_those_of_the_same_dicts(options):
    X, y = open_stream(io.BytesIO(written(EXAMPLES)), **options).arrays()
    expected, labels = open_stream(EXAMPLES, **options).arrays()
    assert (expected != X).nnz == 0
    assert y.tolist() == labels.tolist()
    kept = [chunk.X for chunk in open_stream(io.BytesIO(written(EXAMPLES)), dicts="keep")]
    assert [x for chunk in kept for x in chunk] == [x for x, _ in EXAMPLES]


def test_suffixes_description_and_chosen_columns(tmp_path):
    for name in ("a.jsonl", "a.ndjson", "a.jsonl.gz"):
        text = written(EXAMPLES, "class") + b"\n\n"
        (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        stream = open_stream(tmp_path / name, label="class", bits=10)
        assert stream.arrays()[0].shape == (24, 1024)
        assert stream.description.endswith("JSON lines, label 'class', features hashed to 10 bits")
    unlabelled = open_stream(tmp_path / "a.jsonl", labelled=False, label="class")
    assert unlabelled.arrays()[1] is None
    some = open_stream(tmp_path / "a.jsonl", label="class", columns=("rain",)).arrays()[0]
    assert some.data.tolist() == [1.5, 0.25] * 6


def test_labels_are_of_one_kind_and_whole_numbers_are_integers():
    read = lambda *labels: open_stream(io.BytesIO(b"".join(b'{"x": 1, "label": %s}\n' % y for y in labels)))  # noqa: E731
    assert [c.y.tolist() for c in read(b"1", b"true", b"2.0")] == [[1, 1, 2]]
    assert [c.y.tolist() for c in read(b"1", b"2.5")] == [[1], [2.5]]
    with pytest.raises(LineError, match="line 2: the label 'a' must be a number, as the first one is"):
        list(read(b"1", b'"a"'))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"x": 1', "not JSON: "),
        (b"[1, 2]", r"a line must hold one object, \{\.\.\.\}, got \[1, 2\]"),
        (b'{"x": 1}', "there is no 'label': name the member of the labels by label"),
        (b'{"x": [1], "label": 1}', r"feature 'x' must be a number or a word, got \[1\]"),
        (b'{"x": null, "label": 1}', "feature 'x' is missing; give missing='zero'"),
        (b'{"x": 1, "label": null}', "there is no 'label'"),
        (b'{"x": 1, "label": {}}', r"a label must be a number or a word, got \{\}"),
        (b'{"x": NaN, "label": 1}', "NaN is not a number; write null"),
        (b'{"x": 1e999, "label": 1}', "'x' is too large for a float64"),
        (b'{"x": 1' + b"0" * 400 + b', "label": 1}', "'x' is too large for a float64"),
        (b'{"x": 1, "x": 2, "label": 1}', "'x' is given twice"),
        (b'{"x": "\xff", "label": 1}', "not JSON: it is not UTF-8"),
        (b'{"x":' + b"[" * 100_000, "a line must hold one flat object"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_and_the_rows_before_it_are_read(line, sentence):
    stream = iter(open_stream(io.BytesIO(b'{"x": 1, "label": 0}\n\n' + line + b"\n")))
    assert next(stream).y.tolist() == [0]
    with pytest.raises(LineError, match="line 3: " + sentence):
        next(stream)


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ("w" + "o" * 1000, "a label must have at most 1,000 characters, got one of 1,001"),
        ("w\0", r"the label 'w\\x00' ends with a NUL"),
        ("\ud800", r"the label '\\ud800' is not valid Unicode"),
    ],
)
def test_words_that_cannot_be_labels_are_named_and_the_rows_before_them_are_read(label, sentence):
    stream = iter(open_stream(io.BytesIO(written([({"a": 1}, "u"), ({"a": 1}, label)]))))
    assert next(stream).y.tolist() == ["u"]
    with pytest.raises(LineError, match="line 2: " + sentence):
        next(stream)


def test_null_is_missing():
    text = b'{"x": null, "sky": null, "label": 1}\n{"x": 2, "sky": "red", "label": 0}'
    X = open_stream(io.BytesIO(text), missing="zero").arrays()[0]
    assert np.diff(X.indptr).tolist() == [0, 2]
    dicts = [({"x": None, "sky": None}, 1), ({"x": 2, "sky": "red"}, 0)]
    assert (open_stream(dicts, missing="zero").arrays()[0] != X).nnz == 0


def test_commands_and_prequential_runs_read_json_lines(tmp_path):
    from click.testing import CliRunner

    path, model = tmp_path / "weather.jsonl", tmp_path / "model"
    path.write_bytes(written(EXAMPLES))
    for arguments in (
        ["learn", path, "--model", "PassiveAggressive", "--bits", "12", "--save", model],
        ["predict", model, path, "-o", tmp_path / "labels"],
        ["compare", path, "--models", "PassiveAggressive", "--output", tmp_path / "report"],
    ):
        result = CliRunner().invoke(main, [str(argument) for argument in arguments])
        assert result.exit_code == 0, result.output
    assert load(model).n_features_in_ == 4096
    assert (tmp_path / "labels").read_text().split()[:2] == ["wet", "dry"]
    own = PassiveAggressive()
    assert prequential(own, path).errors == prequential(PassiveAggressive(), EXAMPLES).errors
    assert own.n_features_in_ < 10


def wrapped(examples, **more):
    return "".join(json.dumps({"x": x, "y": y, **more}) + "\n" for x, y in examples).encode()


@pytest.mark.parametrize("options", [{}, {"bits": 9}])
def test_examples_of_the_service_are_those_of_the_same_dicts(options):
    X, y = open_stream(io.BytesIO(wrapped(EXAMPLES, key="k")), **options).arrays()
    expected, labels = open_stream(EXAMPLES, **options).arrays()
    assert (expected != X).nnz == 0
    assert y.tolist() == labels.tolist()


def test_examples_of_the_service_may_be_rows_of_numbers():
    rows = [([1, 2.5], 3), ([0, -1e-3], 4), ([7, 0], 3)]
    stream = open_stream(io.BytesIO(wrapped(rows)))
    X, y = stream.arrays()
    assert (X.tolist(), y.tolist()) == ([x for x, _ in rows], [3, 4, 3])
    assert (stream.bits, stream.n_features) == (None, 2)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        ({"x": [1], "y": 1}, "2 numbers"),
        ({"x": {"a": 1}, "y": 1}, "list of numbers"),
        ({"x": [1, True], "y": 1}, "numbers"),
        ({"x": [1, None], "y": 1}, "numbers"),
        ({"x": [1, 2]}, "no 'y'"),
        ({"y": 1}, "list of numbers"),
    ],
)
def test_an_example_that_is_none_is_named(bad, word):
    text = wrapped([([1, 2], 1)]) + json.dumps(bad).encode()
    with pytest.raises(LineError, match=word) as error:
        open_stream(io.BytesIO(text)).arrays()
    assert error.value.line == 2


@pytest.mark.interpreted
def test_announced_labels_hold_for_dicts_too():
    run = prequential(model := PassiveAggressive(), EXAMPLES, classes=["dry", "wet", "snow"])
    assert run.rows == 24
    assert model.classes_.tolist() == ["dry", "wet", "snow"]
