"""How much a file may cost, in proportion to its size: memory, time and text, for every format.

Whoever wrote a file chose its bytes, so what reading it costs must not be theirs to choose. Every
reader asks here before it allocates; what data need stays far below, what bombs need far above.
"""

SPARE_BYTES = 1 << 26
MEMORY_PER_BYTE = 20
"""Features shrink to a half or a quarter when packed, texts to a tenth; a bomb to a thousandth."""

SPARE_SECONDS = 120
BYTES_PER_SECOND = 1 << 21

EMPTY_SIDE = 1 << 16
"""The longest side of an array without values: its rows cost the file nothing, and us a clip."""

NAME_CHARACTERS = 1024
"""The longest id, or name of a modality, class or array."""

MESSAGE_CHARACTERS = 2000
"""The longest error message; what is between its two ends is cut."""


def memory_allowed(size: int) -> int:
    """Bytes of memory that reading a file of this size may take.

    >>> memory_allowed(0) >> 20, memory_allowed(1 << 20) >> 20
    (64, 84)
    """
    return SPARE_BYTES + MEMORY_PER_BYTE * size


def seconds_allowed(size: int) -> int:
    """Seconds that a library we do not trust may work on a file of this size."""
    return SPARE_SECONDS + size // BYTES_PER_SECOND
