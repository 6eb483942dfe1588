"""Learning on many machines: parts of the data are learned separately and merged, round by round.

Dask is only needed, and imported, for a cluster: ``pip install 'ellipsoid[distributed]'``.
"""

from .comparing import compare
from .fitting import fit
from .predicting import predict

__all__ = ["compare", "fit", "predict"]
