"""Read pickled arrays, lists and dicts without Python's unpickler.

A pickle is a program, and Python's unpickler runs it: it imports what the file names and calls
what it imports. The machine here has no way to import or call anything. A name in the file
stays a pair of strings; applying it looks the exact pair up in a short table of ours that rebuilds
numpy arrays and plain containers, and refuses everything else. Sizes are checked against
the bytes that are really there before anything is allocated, so the memory that parsing takes is
bounded by the size of the file.
"""

from mmalign.data.pickles.files import map_file, read_pickle
from mmalign.data.pickles.machine import PickleMachine
from mmalign.data.pickles.rebuild import REBUILDERS
from mmalign.data.pickles.state import Global, Python2Text

__all__ = [
    "REBUILDERS",
    "Global",
    "PickleMachine",
    "Python2Text",
    "map_file",
    "read_pickle",
]
