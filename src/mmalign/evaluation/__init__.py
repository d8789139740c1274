"""Metrics, floors and significance: pure functions."""
