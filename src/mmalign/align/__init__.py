"""Windowed optimal transport between two sequences: band plans, pure tensor maths."""
