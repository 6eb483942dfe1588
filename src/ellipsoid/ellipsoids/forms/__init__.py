"""The forms in which the shape of an ellipsoid is kept: compiled parts for the loop, and a class for each."""
