"""Where the taps network reads, in steps from where it stands."""

OFFSETS = (-8, -4, -2, -1, 0, 1, 2, 4, 8)
STEM = (-2, -1, 0, 1, 2)
