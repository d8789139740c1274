"""Arrays in `.npy` files and zip archives: sizes are checked before anything is allocated.

No pickle is read here, and nothing is evaluated: numpy's own loader parses the header as Python
source and trusts the sizes it finds there.
"""

from mmalign.data.arrays.archive import Archive
from mmalign.data.arrays.npy import Array, parse_npy, read_npy, read_npz

__all__ = ["Archive", "Array", "parse_npy", "read_npy", "read_npz"]
