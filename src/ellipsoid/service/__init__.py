"""A model that learns over HTTP and forgets nothing that it acknowledged."""
