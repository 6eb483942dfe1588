"""Kernel expansions: support patterns, and scores of blocks of rows computed ahead of the loop."""
