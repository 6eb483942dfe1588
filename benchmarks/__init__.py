"""This library beside its peers: the same job, the same data, interleaved, as ratios.

``ellipsoid bench`` or ``python -m benchmarks`` from the root of the source checkout. The benchmarks are not part of the
installed package: they need peers, data and a checkout to write their results to.
"""
