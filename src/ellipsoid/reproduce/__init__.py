"""The papers' tables and figures: one small file a paper says what is run, and what the paper printed."""

from ellipsoid.reproduce.entries import ENTRIES, named
from ellipsoid.reproduce.run import reproduce

__all__ = ["ENTRIES", "named", "reproduce"]
