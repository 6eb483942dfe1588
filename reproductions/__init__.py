"""The papers' tables and figures: one small file a paper says what is run, and what the paper printed."""

from .entries import ENTRIES, named
from .run import reproduce

__all__ = ["ENTRIES", "named", "reproduce"]
