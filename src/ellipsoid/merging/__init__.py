"""Models that were learned apart, from parts of one stream of data, put together to one."""

from .merger import merge

__all__ = ["merge"]
