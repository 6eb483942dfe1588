"""Readers: one file for each format that rows come in, and the blocks of text that they are cut from."""
