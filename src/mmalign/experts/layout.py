"""Numbers that kernels of pattern features and their callers agree on."""

TAPS = 9
"""Numbers of a pattern."""

LANES = 16
"""Clips that are answered side by side: the numbers of a vector."""
