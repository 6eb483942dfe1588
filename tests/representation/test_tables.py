"""Tables of weights that grow: nothing is lost or moved, in either layout, with and without averages."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ellipsoid.ellipsoids.tables.table import EllipsoidTable
from ellipsoid.links.functions import BALANCED, NORM, SIMPLEX, Link
from ellipsoid.links.table import LinkTable
from ellipsoid.representation.linear import ClassMajor, FeatureMajor
from ellipsoid.representation.scaled.tables import PowerTable, ScaledTable
from ellipsoid.representation.tables import LinearTable
from ellipsoid.representation.window.table import WindowTable

layouts = pytest.mark.parametrize("by_class", [True, False], ids=["class-major", "feature-major"])


def filled(by_class, scores, width, average=True):
    """A table whose every entry tells its place."""
    table = LinearTable(by_class=by_class, average=average)
    table.reserve(scores, width)
    marks = 100.0 * np.arange(1, scores + 1)[:, None] + np.arange(1 + width)
    table.restore({"W": marks, "U": -marks})
    return table, marks


@layouts
@given(steps=st.lists(st.tuples(st.integers(1, 9), st.integers(0, 40)), max_size=8))
def test_growth_keeps_what_was_there_and_adds_zeros(by_class, steps):
    table, marks = filled(by_class, 2, 3)
    scores, width = 2, 3
    for more_scores, more_width in steps:
        before = table.W
        moved = table.reserve(more_scores, more_width)
        assert moved == (table.W is not before)
        scores, width = max(scores, more_scores), max(width, more_width)
        assert table.width == width
        state = table.state(scores)
        for name, sign in (("W", 1.0), ("U", -1.0)):
            assert state[name].shape == (scores, 1 + width)
            assert (state[name][:2, :4] == sign * marks).all()
            assert not state[name][2:].any()
            assert not state[name][:, 4:].any()
        assert table.rep.W is table.W
        assert table.rep.U is table.U
        assert type(table.rep) is (ClassMajor if by_class else FeatureMajor)


def windowed(**options):
    return WindowTable(LinearTable(**options), window=3, constant=1.0, cap=1.0)


def shaped(form, by_class):
    """An ellipsoid's table in one of its forms; sparse rows have one of their own."""

    def make(**options):
        linear = LinearTable(by_class=by_class, average=options["average"])
        table = EllipsoidTable(linear, columns=np.inf, kept=1.0, log_scale=0.0, constant=True, form=form)
        table.reserve(1, 1)
        table.prepare()
        return table

    return make


def powers(**options):
    return PowerTable(power=3.0, **options)


KEPT = {
    "linear": LinearTable,
    "scaled": ScaledTable,
    "powers": powers,
    "window": windowed,
    **{
        f"link {kind} {joint}": lambda kind=kind, joint=joint, **options: LinkTable(
            Link(kind, 3.0, joint), average=options["average"], constant=True
        )
        for kind in (NORM, SIMPLEX, BALANCED)
        for joint in (True, False)
    },
    **{form: shaped(form, form != "sparse") for form in ("column", "gram", "product", "full", "sparse")},
}


def places(part):
    """The arrays of a representation, by their names."""
    for name, value in zip(part._fields, part, strict=True):
        if hasattr(value, "_fields"):
            yield from places(value)
        elif isinstance(value, np.ndarray) and value.size:
            yield name, value


@layouts
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("name", KEPT)
def test_there_is_room_for_whatever_was_reserved(name, average, by_class):
    """Compiled code looks at no bound: every array it finds a weight in must hold all functions and features."""
    table = KEPT[name](by_class=by_class, average=average)
    for scores, width in [(1, 3), (1, 4), (2, 4), (3, 4), (3, 9), (4, 9), (5, 10), (5, 40), (12, 41)]:
        table.reserve(scores, width)
        weight = (scores, 1 + width)
        asked = {
            **dict.fromkeys(("W", "U", "V", "theta"), weight if table.by_class else weight[::-1]),
            **dict.fromkeys(("f", "Bz"), weight),
            "H": (0, *weight),
            "J": (*weight, *weight),
            "slot": weight[1:],
            "x": (width,),
        }
        for array_name, array in places(table.rep):
            if array_name in asked:
                assert np.greater_equal(array.shape, asked[array_name]).all(), array_name


@layouts
def test_growth_one_by_one_copies_seldom(by_class):
    table = LinearTable(by_class=by_class, average=False)
    moves = sum(table.reserve(1 + n // 10, n) for n in range(1, 2000))
    assert moves <= 11 + 8
    assert table.W.size < 4 * 200 * 2000


@layouts
def test_the_first_reservation_is_exact(by_class):
    table = LinearTable(by_class=by_class, average=False)
    table.reserve(20, 46_818)
    assert table.W.size == 20 * 46_819
    assert table.U.size == 0
    assert not table.reserve(20, 46_818)
    assert not table.reserve(1, 5)


@layouts
def test_average_and_predictor(by_class):
    table, marks = filled(by_class, 3, 4)
    np.testing.assert_allclose(table.weights(3, rounds=4), marks + marks / 4, rtol=1e-15)
    assert (table.weights(3, rounds=0) == marks).all()
    predictor = table.predictor(4)
    oriented = predictor.W if by_class else predictor.W.T
    np.testing.assert_allclose(oriented[:3, :5], marks + marks / 4, rtol=1e-15)
    assert table.predictor(0) is table.rep
    plain, marks = filled(by_class, 3, 4, average=False)
    assert plain.predictor(4) is plain.rep
    assert list(plain.state(3)) == ["W"]


@layouts
@pytest.mark.parametrize("factor", [0.5, 1.0])
def test_one_vector_becomes_two_opposite_rows(by_class, factor):
    table, marks = filled(by_class, 1, 4)
    table.split(factor)
    for name, sign in (("W", 1.0), ("U", -1.0)):
        rows = table.state(2)[name]
        assert (rows[1] == sign * factor * marks[0]).all()
        assert (rows[0] == -rows[1]).all()


@layouts
def test_zeros_stay_positive_when_split(by_class):
    table = LinearTable(by_class=by_class, average=True)
    table.reserve(1, 3)
    table.split(1.0)
    assert not np.signbit(table.state(2)["W"]).any()


@layouts
@pytest.mark.parametrize("average", [False, True])
def test_copies_are_apart(by_class, average):
    table, marks = filled(by_class, 2, 3, average=average)
    other = copy.deepcopy(table)
    other.W[...] = 0.0
    assert (table.state(2)["W"] == marks).all()
    assert other.rep.W is other.W
    fresh = LinearTable(by_class=not by_class, average=average)
    fresh.restore(table.state(2))
    assert {name: array.tobytes() for name, array in fresh.state(2).items()} == {
        name: array.tobytes() for name, array in table.state(2).items()
    }
