"""Merges models that were learned separately, on parts of the data, into one model."""

from .merger import merge

__all__ = ["merge"]
