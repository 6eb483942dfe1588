"""Scripts hold no doctests. Those that draw import one another by bare names, those of the gallery have tests."""

collect_ignore = ["figures", "gallery"]
