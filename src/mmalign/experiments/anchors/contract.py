"""What an anchor is: something that answers for clips, whatever they have."""

from collections.abc import Callable

from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.training.config import Config

Answer = Callable[[Split], Labels]
"""From clips to predictions: numbers, or indices of classes."""

Fit = Callable[[Dataset, Config], Answer]
"""Learns from train, and perhaps valid; what it gives answers for clips like these."""
