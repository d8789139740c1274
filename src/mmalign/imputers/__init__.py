"""One file per imputer, one contract; a model is a backbone plus an imputer."""

from mmalign.imputers.contract import Imputer
from mmalign.imputers.floors import UniformWindow, ZeroFill
from mmalign.imputers.mmalign import AlignmentDynamicsLearner
from mmalign.imputers.model import Model

__all__ = ["AlignmentDynamicsLearner", "Imputer", "Model", "UniformWindow", "ZeroFill"]
