"""One paper's update, one file."""
