"""Weights behind a link: steps are added to a dual vector, which a link turns into the weights that score rows."""
