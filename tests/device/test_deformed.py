"""Deformed digits: rows made from the seed and their number alone, on any device."""

import numpy as np
import pytest

from ellipsoid import Perceptron, datasets
from ellipsoid.evaluate.prequential import prequential
from ellipsoid.representation.kernel import device
from ellipsoid.streams.opening import open_stream
from ellipsoid.streams.sets import deformed
from ellipsoid.streams.sets.deformed import DeformedDigits

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, size=(50, deformed.PIXELS)).astype(np.uint8)
LABELS = RNG.integers(0, 10, 50)


def test_the_first_rows_are_the_digits_themselves():
    rows, labels = DeformedDigits(IMAGES, LABELS, rows=200).rows(0, 50)
    np.testing.assert_allclose(rows, IMAGES, atol=1e-9)
    assert (labels == LABELS).all()


def test_any_cut_gives_the_same_rows_to_the_bit(monkeypatch):
    stream = DeformedDigits(IMAGES, LABELS, rows=230, seed=3)
    whole, labels = stream.rows(0, 230)
    monkeypatch.setattr(deformed, "ROWS_AT_ONCE", 37)
    parts = list(stream)
    assert np.array_equal(np.concatenate([rows for rows, _ in parts]), whole)
    assert np.array_equal(np.concatenate([found for _, found in parts]), labels)
    assert np.array_equal(stream.rows(151, 158)[0], whole[151:158])


def test_every_part_holds_every_digit_once():
    numbers = np.arange(50, 100)
    stream = DeformedDigits(IMAGES, LABELS, rows=100)
    assert sorted(stream.digits(numbers)) == list(range(50))
    assert not np.array_equal(stream.digits(numbers), stream.digits(numbers + 50))


def test_seeds_differ_and_rows_of_one_digit_differ():
    one, other = (DeformedDigits(IMAGES, LABELS, rows=400, seed=seed) for seed in (0, 1))
    assert np.abs(one.rows(60, 70)[0] - other.rows(60, 70)[0]).max() > 1.0
    rows, _ = one.rows(50, 400)
    picks = one.digits(np.arange(50, 400))
    same = rows[picks == picks[0]]
    assert len(same) > 3
    assert np.abs(same[0] - same[1]).max() > 1.0


def test_pixels_move_as_far_as_documented():
    """A displacement field of 0.6 pixels and maps about the centre: measured on the maps themselves."""
    affine, amplitudes = deformed.deformations(np, 0, np.arange(4000))
    waves = deformed.smoothing_waves()
    fields = waves @ amplitudes[:, 0] @ waves.T
    assert fields.std() == pytest.approx(deformed.DISPLACEMENT, rel=0.02)
    shifts = affine[:, :, 2]
    assert np.abs(shifts).max() <= deformed.LARGEST_SHIFT
    assert shifts.std() == pytest.approx(deformed.LARGEST_SHIFT / np.sqrt(3.0), rel=0.03)
    # Neighbours move together: the correlation of a field smoothed by a Gaussian of 4.5 pixels.
    together = np.corrcoef(fields[:, 14, 14], fields[:, 14, 17])[0, 1]
    assert together == pytest.approx(np.exp(-(3.0**2) / (4 * 4.5**2)), abs=0.05)


@pytest.mark.parametrize("where", ["numpy", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_device_makes_the_same_rows_to_rounding(where):
    stream = DeformedDigits(IMAGES, LABELS, rows=300, unit=True)
    rows, _ = stream.rows(100, 300)
    if where == "cuda":
        cupy = pytest.importorskip("cupy")
        found = DeformedDigits(IMAGES, LABELS, rows=300, unit=True, arrays=cupy).rows(100, 300)[0]
    else:
        numbers = np.arange(100, 300)
        affine, amplitudes = deformed.deformations(np, stream.seed, numbers)
        bent = deformed.bend_on(np, stream.images, stream.digits(numbers), affine, stream.waves, amplitudes)
        found = bent / np.sqrt((bent * bent).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, rows, atol=1e-12)


@pytest.mark.parametrize("bad", [{"rows": 0}, {"rows": 2.5}, {"rows": 5, "seed": -1}])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="must be a"):
        DeformedDigits(IMAGES, LABELS, **bad)


@pytest.fixture
def few_digits(monkeypatch):
    """A data set of 50 digits in the place of MNIST."""
    found = datasets.Dataset("mnist", X_train=IMAGES, y_train=LABELS, X_test=IMAGES[:7], y_test=LABELS[:7])
    monkeypatch.setattr(datasets, "load", lambda name: found)


@pytest.mark.usefixtures("few_digits")
class TestByName:
    def test_it_is_a_stream_like_any_other(self):
        digits = datasets.stream("mnist-deformed", rows=130, seed=4)
        whole, labels = DeformedDigits(IMAGES, LABELS, rows=130, seed=4).rows(0, 130)
        for found in (open_stream(digits), open_stream("mnist-deformed:rows=130:seed=4")):
            assert (found.n_rows, found.n_features, found.lies_in_memory) == (130, 784, False)
            assert found.classes.tolist() == np.unique(LABELS).tolist()
            assert len(found.test[1]) == 7
            X, y = found.in_memory().arrays()
            assert np.array_equal(X, whole)
            assert np.array_equal(y, labels)
        skipped = open_stream("mnist-deformed:rows=130:seed=4", skip=100, chunk_rows=9)
        assert skipped.n_rows == 30
        assert np.array_equal(np.concatenate([chunk.X for chunk in skipped]), whole[100:])

    @pytest.mark.interpreted
    def test_it_can_be_learned_test_then_train(self):
        digits = datasets.stream("mnist-deformed", rows=60)
        assert prequential(Perceptron(), digits, classes=range(10)).rows == 60

    def test_it_has_a_million_rows_by_default(self):
        assert open_stream("mnist-deformed").n_rows == 1_000_000

    def test_rows_are_made_where_they_are_wanted(self, monkeypatch):
        monkeypatch.setattr(device, "cuda_arrays", lambda: np)
        assert datasets.stream("mnist-deformed", device="cuda").arrays is np
        assert open_stream("mnist-deformed", device="auto").n_rows == 1_000_000
        with pytest.raises(ValueError, match="device must be one of 'cpu', 'cuda', 'auto', got 'gpu'"):
            datasets.stream("mnist-deformed", device="gpu")


def test_unsuitable_names_and_options_of_streams_are_refused():
    with pytest.raises(ValueError, match="only 'mnist-deformed' can be made on a device"):
        datasets.stream("sea", device="cpu")
    with pytest.raises(ValueError, match="too long to load"):
        datasets.load("mnist-deformed")
    with pytest.raises(ValueError, match="a whole number, got 'rows=many'"):
        open_stream("sea:rows=many")
    with pytest.raises(ValueError, match="no data set 'lake:rows=5'"):
        open_stream("lake:rows=5")


def test_a_name_can_say_how_many_rows_and_from_which_seed():
    X, y = datasets.stream("abrupt", rows=70, seed=5)
    found = open_stream("abrupt:rows=70:seed=5").arrays()
    assert np.array_equal(found[0], X)
    assert np.array_equal(found[1], y)
    board = open_stream("chess-board:rows=30:seed=2")
    assert board.n_rows == 30
    assert np.array_equal(board.test[0], datasets.load("chess-board", seed=2).X_test)
