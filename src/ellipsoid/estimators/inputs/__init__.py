"""What users pass: rows, labels and weights in every shape, made ready for the compiled loop or refused."""
