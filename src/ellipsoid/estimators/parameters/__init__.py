"""Parameters of estimators: how they are declared, which of them are shared, and how they are checked."""
