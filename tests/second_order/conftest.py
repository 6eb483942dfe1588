"""Learners with a confidence run as the Python they are written in, but where a test is about compiled code."""

import pytest

from ellipsoid.estimators import second_order
from ellipsoid.estimators.state import expansion, learner, one_row


@pytest.fixture(autouse=True)
def plain(request, interpret):
    """So every rule meets every form without being compiled; ``compiled`` among a test's fixtures says otherwise."""
    if "compiled" not in request.fixturenames:
        interpret(expansion, learner, one_row, second_order)
