"""Comparisons to look at: text tables, plots, and one HTML file."""
