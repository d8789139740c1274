"""Numbers that kernels and their callers agree on."""

TAPS = 9
"""Numbers of a pattern."""

LANES = 16
"""Numbers of a vector: clips whose patterns are read side by side; parts of a hidden step."""
