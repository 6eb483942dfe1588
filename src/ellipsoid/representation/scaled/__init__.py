"""Weights of which a multiple is the hypothesis, so that to scale all of them costs one multiplication."""
