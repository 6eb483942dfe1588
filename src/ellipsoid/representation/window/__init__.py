"""Hypotheses with a window of the last examples, whose coefficients may still move."""
