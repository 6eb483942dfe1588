"""Deformed digits: rows made from the seed and their number alone, on any device."""

import numpy as np
import pytest

from ellipsoid.streams import deformed
from ellipsoid.streams.deformed import DeformedDigits

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


def test_pixels_move_as_far_as_is_said():
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
