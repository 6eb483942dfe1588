"""Models that were learned apart, from parts of one stream of data, put together to one."""

from .merge import merge

__all__ = ["merge"]
