"""Imputers: one file each, one contract."""

from mmalign.imputers.bank import Direction, ImputerBank
from mmalign.imputers.contract import Imputer
from mmalign.imputers.dynamic_window import DynamicWindow
from mmalign.imputers.floors import Copy, MeanFill, RandomPlan, UniformWindow, ZeroFill
from mmalign.imputers.mfm import MFM
from mmalign.imputers.mmalign import AlignmentDynamicsLearner
from mmalign.imputers.modal_trans import ModalTrans
from mmalign.imputers.smil import SMIL

__all__ = [
    "MFM",
    "SMIL",
    "AlignmentDynamicsLearner",
    "Copy",
    "Direction",
    "DynamicWindow",
    "Imputer",
    "ImputerBank",
    "MeanFill",
    "ModalTrans",
    "RandomPlan",
    "UniformWindow",
    "ZeroFill",
]
