"""What an online learner has learned, and how the engine is run on it."""
