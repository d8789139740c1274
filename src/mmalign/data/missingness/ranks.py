"""Ranks of clips that nothing but their ids and a seed can change, and exact counts."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from hashlib import blake2b

Entry = tuple[str, str]
"""A modality and the id of a clip."""


def ranked(names: Iterable[str], seed: int) -> list[str]:
    """The names in an order of their own: that of a keyed hash.

    Neither their order, nor the process, nor Python's hash seed can disturb it.
    """
    return sorted(names, key=lambda name: digest_of(seed, name))


def ranked_entries(modalities: Iterable[str], ids: Sequence[str], seed: int) -> list[Entry]:
    """All pairs of modality and id, in such an order."""
    entries = [(modality, clip_id) for modality in modalities for clip_id in ids]
    return sorted(entries, key=lambda entry: (digest_of(seed, ":".join(entry)), entry))


def digest_of(seed: int, name: str) -> bytes:
    """The keyed hash of a name."""
    return blake2b(f"{seed}:{name}".encode(), digest_size=8).digest()


def surviving_ids(ids: Sequence[str], *, count: int, seed: int) -> frozenset[str]:
    """The `count` ids that keep their victim: a larger count contains a smaller one."""
    return frozenset(ranked(ids, seed)[:count])


def exact(rate: float) -> Fraction:
    """The decimal that the user wrote: 0.29 is 29/100, not a little less."""
    return Fraction(repr(float(rate)))


def exact_floor(rate: float, n: int) -> int:
    """floor(rate * n) of the decimal the user wrote: 0.29 of 100 is 29, not 28."""
    return math.floor(exact(rate) * n)
