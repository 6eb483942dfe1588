"""Several copies of one learner side by side, which differ in the size of their steps and share every row."""
