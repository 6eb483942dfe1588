"""Engines that run tasks: this process, processes of this machine, or the workers of a Dask cluster."""
