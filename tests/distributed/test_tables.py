"""Tables in runs over shards: features are told apart by their places, so that every door holds files to one order."""

import gzip

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from ellipsoid import MIRA, PassiveAggressiveRegressor, Scaled, distributed, load
from ellipsoid.distributed.plan import make_plan

from .conftest import digest

pytestmark = pytest.mark.interpreted

SENTENCE = r"in .*turned.* are d, c, b, a, where the model learned a, b, c, d; name its columns in that order"


def _write(path, columns, X, y):
    """The columns of X by their letters, and the label y."""
    values = {name: y.tolist() if name == "y" else X[:, "abcd".index(name)].tolist() for name in columns}
    if path.suffix == ".csv":
        rows = zip(*values.values(), strict=True)
        path.write_text("\n".join([",".join(columns), *(",".join(map(repr, row)) for row in rows)]) + "\n")
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import feather, parquet

        write = parquet.write_table if path.suffix == ".parquet" else feather.write_feather
        write(pyarrow.table(values), str(path))
    return str(path)


@pytest.fixture(params=["csv", "parquet", "feather"])
def pair(request, stream, tmp_path):
    """The same rows twice, the columns of the second file in the reverse order."""
    return [
        _write(tmp_path / f"{name}.{request.param}", columns, *stream)
        for name, columns in (("straight", "abcdy"), ("turned", "dcbay"))
    ]


DOORS = {
    "fit": lambda straight, turned: distributed.fit(MIRA(), [straight, turned], client="here"),
    "validate": lambda straight, turned: distributed.fit(MIRA(), straight, validate=turned, rounds=1, client="here"),
    "compare": lambda straight, turned: distributed.compare({"m": MIRA()}, [straight, turned], client="here"),
    "predict": lambda straight, turned: distributed.predict(
        distributed.fit(MIRA(), straight, rounds=1, client="here"), turned, client="here"
    ),
}


@pytest.mark.parametrize("door", DOORS)
def test_columns_in_another_order_are_refused(door, pair):
    with pytest.raises(ValueError, match=SENTENCE):
        DOORS[door](*pair)


@pytest.mark.parametrize("learner", [MIRA(), Scaled(MIRA()), PassiveAggressiveRegressor()], ids=repr)
def test_a_model_file_holds_tables_to_the_order_that_was_learned(learner, stream, tmp_path):
    """Whoever wrote it: a run over shards its checkpoint, ``save``, or ``save`` of what was loaded."""
    straight, turned = (
        _write(tmp_path / name, columns, *stream) for name, columns in (("a.csv", "abcdy"), ("turned.csv", "dcbay"))
    )
    kept, path, again = tmp_path / "kept", tmp_path / "m.model", tmp_path / "again.model"
    model = distributed.fit(learner, straight, rounds=1, client="here", checkpoint=kept)
    model.save(path)
    load(path).save(again)
    assert again.read_bytes() == path.read_bytes()
    for name in (kept, path, again):
        with pytest.raises(ValueError, match=SENTENCE):
            distributed.predict(load(name), turned, client="here")
        found = distributed.predict(load(name), turned, client="here", label="y", columns=tuple("abcd"))
        assert np.array_equal(found, model.predict(stream[0]))
    # What is learned anew has nothing to do with the columns of before.
    load(path).fit(*stream).save(again)
    assert len(distributed.predict(load(again), turned, client="here")) == len(stream[1])


def test_columns_that_are_named_are_read_in_their_order(pair):
    """What the sentence advises helps, also where a file is read from its middle."""
    told = {"client": "here", "block_bytes": 700, "shards": 3, "rounds": 1, "label": "y", "columns": tuple("abcd")}
    # Lines of both files are equally long, and so cut into the same blocks of rows.
    twice = distributed.fit(MIRA(), [pair[0], pair[0]], **told)
    assert digest(distributed.fit(MIRA(), pair, **told)) == digest(twice)


def test_a_label_may_stand_elsewhere(stream, tmp_path):
    told = {"label": "y"}
    files = [_write(tmp_path / f"{columns}.csv", columns, *stream) for columns in ("abcdy", "yabcd")]
    plan = make_plan(files, 300, told)
    chunks = [chunk for block in plan.blocks for chunk in block.chunks(plan.reading)]
    assert len(chunks) > 10
    assert np.array_equal(np.concatenate([chunk.X for chunk in chunks]), np.vstack([stream[0]] * 2))
    assert np.array_equal(np.concatenate([chunk.y for chunk in chunks]), np.tile(stream[1], 2))


def test_the_label_is_the_column_that_is_named(stream, tmp_path):
    last, first = (_write(tmp_path / f"{columns}.csv", columns, *stream) for columns in ("abcdy", "yabcd"))
    expected = distributed.fit(MIRA(), last, client="here", validate=last)
    found = distributed.fit(MIRA(), first, client="here", validate=first, label="y")
    assert (digest(found), found.history_) == (digest(expected), expected.history_)
    assert np.array_equal(distributed.predict(found, first, client="here", label="y"), expected.predict(stream[0]))


def test_a_table_without_labels_is_predicted_with_no_label(stream, tmp_path):
    X, y = stream
    model = distributed.fit(MIRA(), _write(tmp_path / "rows.csv", "abcdy", X, y), rounds=1, client="here")
    bare = _write(tmp_path / "bare.csv", "abcd", X, y)
    with pytest.raises(ValueError, match="give labelled=False if it has no label"):
        distributed.predict(model, bare, client="here")
    assert np.array_equal(distributed.predict(model, bare, client="here", labelled=False), model.predict(X))


@pytest.mark.parametrize("zero_based", [False, True])
def test_features_are_predicted_from_what_they_were_learned_to_count_from(zero_based, tmp_path):
    """The rows to be labelled have no feature 0, and do not show what they count from."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    X[:, 1] += 4.0 * y
    learned, shown = str(tmp_path / "all.svm"), str(tmp_path / "some.svm")
    dump_svmlight_file(X, y, learned, zero_based=zero_based)
    X[:, 0] = 0.0
    dump_svmlight_file(X, y, shown, zero_based=zero_based)
    model = distributed.fit(MIRA(), learned, client="here", rounds=1)
    assert np.array_equal(distributed.predict(model, shown, client="here", block_bytes=600), model.predict(X))


def test_all_blocks_are_predicted_from_one_count(tmp_path):
    """A model of arrays knows nothing of files: the first lines tell, and not each block for itself."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    X[30:, 0] = 0.0
    dump_svmlight_file(X, y, str(tmp_path / "rows.svm"), zero_based=True)
    model = MIRA().fit(X, y)
    found = distributed.predict(model, str(tmp_path / "rows.svm"), client="here", block_bytes=600)
    assert np.array_equal(found, model.predict(X))


def test_names_are_predicted_with_the_bits_they_were_learned_with(tmp_path):
    path = tmp_path / "rows.vw"
    path.write_text("".join(f"{1 if i % 2 else -1} | {'rain' if i % 2 else 'sun'}:1 w{i}:0.5\n" for i in range(40)))
    model = distributed.fit(MIRA(), str(path), client="here", rounds=1, bits=6)
    assert distributed.predict(model, str(path), client="here").tolist() == [1 if i % 2 else -1 for i in range(40)]
    with pytest.raises(ValueError, match="hashed to 6 bits"):
        distributed.predict(model, str(path), client="here", bits=7)


@pytest.mark.parametrize("columns", ["abcdy", "dcbay"])
def test_a_compressed_table_is_one_block(columns, stream, tmp_path):
    plain = _write(tmp_path / "rows.csv", columns, *stream)
    packed = tmp_path / "rows.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "rows.csv").read_bytes()))
    one = distributed.fit(MIRA(), plain, client="here", rounds=2)
    other = distributed.fit(MIRA(), str(packed), client="here", rounds=2, block_bytes=100, validate=str(packed))
    assert other.shards_ == 1
    assert digest(other) == digest(one)
    assert np.array_equal(distributed.predict(one, str(packed), client="here"), one.predict(_arrays(plain)))


def test_compressed_tables_are_held_to_one_order_too(stream, tmp_path):
    files = []
    for name, columns in (("straight", "abcdy"), ("turned", "dcbay")):
        _write(tmp_path / f"{name}.csv", columns, *stream)
        files.append(str(tmp_path / f"{name}.csv.gz"))
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress((tmp_path / f"{name}.csv").read_bytes()))
    with pytest.raises(ValueError, match=SENTENCE):
        make_plan(files, 100, {})
    same = [files[0], str(tmp_path / "straight.csv")]
    assert len(make_plan(same, 1 << 20, {}).blocks) == 2


def _arrays(path):
    return np.loadtxt(path, delimiter=",", skiprows=1)[:, :-1]


def _rows(names, block_bytes=1 << 20, **told):
    """The rows of all blocks as lists, their labels, and how many blocks there are."""
    plan = make_plan([str(name) for name in names], block_bytes, {"missing": "zero", "bits": 4, **told})
    chunks = [chunk for block in plan.blocks for chunk in block.chunks(plan.reading)]
    rows = [row for X, *_ in chunks for row in (X.toarray() if hasattr(X, "toarray") else X).tolist()]
    return rows, [label for chunk in chunks for label in chunk.y.tolist()], len(plan.blocks)


@pytest.mark.parametrize("header", ["a,colour,y\n", ""])
def test_a_column_that_is_empty_where_its_file_begins_is_read_as_in_one_process(header, tmp_path):
    """Words come after 30 rows, and labels and words of a later block look like numbers."""
    lines = [f"{i},{'' if i < 30 else 'red' if i < 40 else i % 3},{'u' if i < 40 else i % 2}\n" for i in range(60)]
    whole = tmp_path / "rows.csv"
    whole.write_text(header + "".join(lines))
    for name, part in (("first", lines[:25]), ("second", lines[25:])):
        (tmp_path / f"{name}.csv").write_text(header + "".join(part))
    (tmp_path / "none.csv").write_text(header)
    *expected, _ = _rows([whole])
    assert (len(expected[0][0]), set(expected[1])) == (17, {"u", "0", "1"})
    *cut, blocks = _rows([whole], 64)
    assert blocks > 5
    assert cut == expected
    *several, _ = _rows([tmp_path / f"{name}.csv" for name in ("none", "first", "none", "second")], 64)
    assert several == expected


def test_a_second_half_without_a_header_is_read_as_in_one_process(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    (tmp_path / "b.csv").write_text("5,6,0\n7,8,1\n9,10,0\n")
    rows, labels, _ = _rows([tmp_path / "a.csv", tmp_path / "b.csv"], 5)
    assert (rows, labels) == ([[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]], [0, 1, 0, 1, 0])


@pytest.mark.parametrize("suffix", [".csv", ".svm", "", ".parquet"])
def test_a_file_without_rows_is_none_among_others(suffix, stream, tmp_path):
    X, y = stream
    full, none = tmp_path / f"full{suffix}", tmp_path / f"none{suffix}"
    for path, rows in ((full, slice(None)), (none, slice(0, 0))):
        if suffix == ".svm" and path == full:
            dump_svmlight_file(X[rows], y[rows], str(path), zero_based=True)
        elif suffix in ("", ".svm"):
            path.write_text("".join(f"{x[0]},{x[1]},{label}\n" for x, label in zip(X[rows], y[rows], strict=True)))
        else:
            _write(path, "abcdy", X[rows], y[rows])
    told = {"client": "here", "rounds": 1}
    model = distributed.fit(MIRA(), [str(none), str(full), str(none)], **told)
    alone = distributed.fit(MIRA(), str(full), **told)
    assert digest(model) == digest(alone)
    found = distributed.predict(MIRA().fit(X[:, : model.n_features_in_], y), [str(none), str(full)], client="here")
    assert len(found) == len(y)
    with pytest.raises(ValueError, match="no rows"):
        distributed.fit(MIRA(), [str(none), str(none)], **told)
