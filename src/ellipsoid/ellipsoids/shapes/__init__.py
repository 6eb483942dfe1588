"""The matrix of an ellipsoid, in the factors or on the device it was made in."""
