"""The scikit-learn shells that every estimator is a subclass of."""
