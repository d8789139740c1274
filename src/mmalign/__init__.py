"""Prediction from parallel sequences when a whole modality is missing."""

from mmalign.version import __version__

__all__ = ["__version__"]
