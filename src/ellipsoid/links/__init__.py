"""Weights behind a link: steps are added to a dual vector, and a link turns it into the weights that score."""
