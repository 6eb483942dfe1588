"""Bounds that hold for the stream just seen, with the conditions under which they do."""

from .certificate import Certificate

__all__ = ["Certificate"]
