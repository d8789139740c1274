"""Arrays in `.npy` files and zip archives: sizes are checked before anything is allocated.

Nothing is evaluated here, and pickles are left to `mmalign.data.pickles`: numpy's own loader parses
the header as Python source and trusts the sizes it finds there.
"""

from mmalign.data.arrays.archive import Archive
from mmalign.data.arrays.npy import MAGIC, Array, parse_npy, read_npy, read_npy_object, read_npz

__all__ = [
    "MAGIC",
    "Archive",
    "Array",
    "parse_npy",
    "read_npy",
    "read_npy_object",
    "read_npz",
]
