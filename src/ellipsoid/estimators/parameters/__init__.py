"""Parameters of estimators: how they are declared, which of them are shared, and what is said of a wrong one."""
