"""The forms in which the shape of an ellipsoid is kept, one file each."""
