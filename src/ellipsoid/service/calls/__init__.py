"""The calls of the service: one file for each kind, and what all of them share."""
