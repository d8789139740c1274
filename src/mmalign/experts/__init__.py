"""Experts: one model for any subset of modalities, additive over what a clip has."""

from mmalign.experts.contract import Expert
from mmalign.experts.model import Experts
from mmalign.experts.ridge_expert import RidgeExpert
from mmalign.experts.taps_expert import TapsExpert

__all__ = ["Expert", "Experts", "RidgeExpert", "TapsExpert"]
