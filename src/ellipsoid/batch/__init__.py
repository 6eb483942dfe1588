"""Batch solvers."""
