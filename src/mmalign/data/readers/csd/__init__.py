"""CMU-MultimodalSDK `.csd` folders: one HDF5 file per modality, one with words, one with labels.

Frames are averaged over the words they overlap, words are cut to the labelled segments, pauses
(`sp`) are dropped, and videos go to the corpus's standard folds.
"""

from mmalign.data.readers.csd.reader import read_folder

__all__ = ["read_folder"]
