"""Protocols of missingness: what is taken away is a pure function of ids, rates and a seed.

`pair` is the paper's protocol, `subsets` takes whole modalities away, `gaps` runs of steps. What is
taken away is dropped, never zeroed. `Masks` are a protocol's outcome on a dataset, as a file.
"""

from mmalign.data.missingness.gaps import GapProtocol
from mmalign.data.missingness.masks import Masks, Missingness
from mmalign.data.missingness.pair import SETTINGS, PairProtocol, Protocol
from mmalign.data.missingness.ranks import surviving_ids
from mmalign.data.missingness.subsets import PatternProtocol, RandomMissing, SubsetProtocol

__all__ = [
    "SETTINGS",
    "GapProtocol",
    "Masks",
    "Missingness",
    "PairProtocol",
    "PatternProtocol",
    "Protocol",
    "RandomMissing",
    "SubsetProtocol",
    "surviving_ids",
]
