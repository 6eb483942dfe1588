"""Reports of comparisons: text tables, plots, and one HTML file."""
