"""Compile the kernels of the network ahead of their first use, those of the alignment included."""

import torch
from torch import nn

from mmalign.align.compile import compile_kernels as compile_alignment
from mmalign.align.compiled import DTYPES, kernels
from mmalign.model.gru import gru_states


def compile_kernels() -> bool:
    """Use every kernel once in every dtype; tells whether there are any to compile."""
    if kernels("model.kernels.gru") is None:
        return False
    for dtype in DTYPES:
        gru = nn.GRU(2, 3, batch_first=True).to(dtype)
        gru_states(gru, torch.zeros(1, 2, 2, dtype=dtype)).sum().backward()  # type: ignore[no-untyped-call]
    return compile_alignment()
