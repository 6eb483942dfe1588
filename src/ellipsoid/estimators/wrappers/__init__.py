"""Estimators made of others: scaled, calibrated, conformal, and committees."""
