"""What there is to see of a model: its history, its portrait, and the reasons of a prediction."""
