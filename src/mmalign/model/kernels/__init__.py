"""Compiled kernels of the model; see :mod:`mmalign.align.kernels` for how they are made."""
