"""Generic functions choose by type, in Python and in compiled code; what is missing is said."""

from functools import partial
from typing import NamedTuple

import pytest

from ellipsoid.engine import compiled, entry, generic
from ellipsoid.engine.generic import NoBody
from ellipsoid.engine.native.digest import SOURCES


class Left(NamedTuple):
    size: float


class Right(NamedTuple):
    size: float


@generic(2)
def meet(one, other, factor):
    """Which two met."""


class Middle(NamedTuple):
    size: float


class Centre(NamedTuple):
    size: float


@meet.register(Left, Right)
def _(one, other, factor):
    return factor * (one.size - other.size)


@meet.register(Middle | Centre, Left | Right)
def _(one, other, factor):
    return factor * (one.size + other.size)


@meet.register(Right, Left)
def _(one, other, factor):
    return factor * 100.0


@compiled
def meeting(one, other, factor):
    return meet(one, other, factor)


@pytest.mark.parametrize("call", [meet, meeting], ids=["python", "compiled"])
def test_body_is_chosen_by_the_types_of_both_parts(call):
    assert call(Left(5.0), Right(2.0), 2.0) == 6.0
    assert call(Right(5.0), Left(2.0), 2.0) == 200.0


@pytest.mark.parametrize("call", [meet, meeting], ids=["python", "compiled"])
def test_one_body_serves_all_combinations_of_the_types_it_is_given(call):
    for kind in (Middle, Centre):
        assert call(kind(5.0), Left(2.0), 2.0) == call(kind(4.0), Right(3.0), 2.0) == 14.0


def test_unregistered_pair_is_named():
    sentence = r"^meet is not written for Left, Left: register a body for it with @meet.register\(Left, Left\)$"
    for call in (meet, meeting, partial(entry, meeting)):
        with pytest.raises(NoBody, match=sentence):
            call(Left(1.0), Left(1.0), 1.0)


def test_bodies_have_names_that_say_which_they_are():
    (found,) = [
        each.function for each in SOURCES if each.kinds == (Left, Right) and each.function.__module__ == __name__
    ]
    assert found.__name__ == found.__qualname__ == found.__code__.co_name == "meet[Left, Right]"


def test_wrong_number_of_types_is_refused():
    with pytest.raises(TypeError, match="meet chooses by 2 part types, got 1"):
        meet.register(Left)


def test_entry_is_found_once_for_each_combination_of_types():
    args = (Left(5.0), Right(2.0), 2.0)
    first = entry(meeting, *args)
    assert first(*args) == 6.0
    assert entry(meeting, Left(-1.0), Right(0.0), 3.0) is first
    assert first(Left(-1.0), Right(0.0), 3.0) == -3.0
    assert entry(meeting, Right(5.0), Left(2.0), 2.0) is not first
    # An int where a float was is another type, and must not meet the machine code of the first.
    assert entry(meeting, Left(5.0), Right(2.0), 2)(Left(5.0), Right(2.0), 2) == 6.0
