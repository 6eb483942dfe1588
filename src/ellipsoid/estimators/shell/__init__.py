"""The scikit-learn classes that every estimator is a subclass of: ``fit``, ``partial_fit``, ``predict`` and so on."""
