"""The compiled CPU path: the band walked clip by clip, inside the cache.

Numba is imported when a kernel module is, and not before: ``import mmalign.align`` stays light, and
everything works without Numba, on the torch path. Three habits hold in every kernel:

* a band is kept diagonal by diagonal, ``[width, time]``, so that the inner loop runs along time,
  is contiguous, and LLVM makes SIMD code of it;
* a vector over columns starts ``window`` steps early, so that entry ``k`` of row ``i`` meets
  ``vector[first[i] + k]`` without a bounds check; ``first[i] = i`` for equal lengths;
* all that is used of a clip is its own steps, so that neither padding nor batch-mates can touch it.

The exception to the first habit is :mod:`~mmalign.align.kernels.group`: eight short clips at once.
"""
