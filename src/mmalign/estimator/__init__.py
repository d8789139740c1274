"""The estimator: one name, `MMAlign`, for the model of experts and for the paper's."""

from mmalign.estimator.contract import MMAlign

__all__ = ["MMAlign"]
