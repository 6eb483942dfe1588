"""A disk that nobody waits for: files of tests need not outlive a failure of power."""

import os

import pytest


@pytest.fixture(autouse=True, scope="module")
def nobody_waits_for_the_disk():
    """For every test of the rooms whose ``conftest`` imports it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield
