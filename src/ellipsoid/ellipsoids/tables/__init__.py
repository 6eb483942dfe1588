"""The growing arrays of weights with an ellipsoid around them, one file for each kind."""
