"""Solvers that see all data at once: the ellipsoidal SVM (kernel, exact conic) and the Bayes point machine."""

from .bayes_point import BayesPointMachine
from .esvc import EllipsoidalSVC

__all__ = ["BayesPointMachine", "EllipsoidalSVC"]
