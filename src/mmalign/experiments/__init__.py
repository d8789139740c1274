"""Suites of runs and their reports."""
