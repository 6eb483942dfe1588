"""A model that learns over HTTP and forgets nothing that it acknowledged."""

try:
    import msgspec  # noqa: F401 - every part reads and writes by it
except ImportError as error:
    raise ImportError("a service needs msgspec; install it with: pip install 'ellipsoid[serve]'") from error
