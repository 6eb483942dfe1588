"""Batch estimators: the ellipsoidal SVM (kernel, exact conic, online linear) and the Bayes point machine."""

from ellipsoid.batch.bayes_point import BayesPointMachine
from ellipsoid.batch.esvc import EllipsoidalSVC
from ellipsoid.batch.online_esvc import OnlineEllipsoidalSVC

__all__ = ["BayesPointMachine", "EllipsoidalSVC", "OnlineEllipsoidalSVC"]
