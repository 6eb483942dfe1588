"""The journal: every example in its order, on disk before it is acknowledged."""
