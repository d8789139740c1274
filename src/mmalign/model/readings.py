"""Who reads whom in the fusion."""

import itertools


def readings(modalities: int) -> tuple[tuple[int, int], ...]:
    """Who reads whom, reader by reader.

    >>> readings(1), readings(2)
    (((0, 0),), ((0, 1), (1, 0)))
    """
    if modalities == 1:
        return ((0, 0),)
    return tuple(itertools.permutations(range(modalities), 2))
