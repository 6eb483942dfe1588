"""The matrix of an ellipsoid: as an object in the form it was made in, or on a device."""
