"""The learned state of online learners, and how the engine is run on it."""
