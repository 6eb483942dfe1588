"""Data sets by name, and streams that are made from a seed."""
