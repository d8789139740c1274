"""Predictors and their HTTP face."""
