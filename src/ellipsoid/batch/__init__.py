"""Batch estimators: the ellipsoidal SVM (kernel, exact conic, online linear) and the Bayes point machine."""

from ellipsoid.batch.esvc import EllipsoidalSVC

__all__ = ["EllipsoidalSVC"]
