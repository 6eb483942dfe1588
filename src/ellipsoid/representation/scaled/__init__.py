"""Hypotheses kept as a scalar times a table or an expansion, so that to scale all of it costs one multiplication."""
