"""HTTP beneath the calls: connections, tokens and counts."""
