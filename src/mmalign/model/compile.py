"""Compile the network's kernels ahead of their first use: `python -m mmalign.model.compile`."""

from typing import Any

import numpy as np
import torch
from torch import nn

from mmalign.align.compiled import DTYPES, kernels
from mmalign.align.kernels.kept import Kernel, keep_for_reading
from mmalign.model.config import BackboneConfig
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import Fusion
from mmalign.model.gru import gru_states


def compile_kernels() -> bool:
    """Use every kernel once in every dtype; tells whether there are any to compile."""
    if kernels("model.kernels.gru") is None:
        return False
    for dtype in DTYPES:
        gru = nn.GRU(2, 3, batch_first=True).to(dtype)
        gru_states(gru, torch.zeros(1, 2, 2, dtype=dtype)).sum().backward()  # type: ignore[no-untyped-call]
    _read_a_clip()
    _train_on_a_clip()
    _train_directly()
    used = ("encode_all", "impute_all", "answer_all")
    keep_for_reading("network", [Kernel("model.kernels.clip", name) for name in used])
    return True


def _read_a_clip() -> None:
    """Use the kernels of a prediction, on weights that are all 0."""
    clip: Any = kernels("model.kernels.clip")
    dim, heads, lengths = 4, 1, np.array([[3, 2]])
    weights, table = np.zeros(1 << 14, np.float32), np.zeros(1 << 8, np.float32)
    hidden, features = np.zeros((1, 2, 1 << 9), np.float32), np.zeros((3, 2), np.float32)
    encoder = dim, heads, 3, 1, False, table, weights
    clip.encode_all(features, np.array([0, 3]), *encoder, hidden, 0)
    clip.impute_all(hidden, 0, 1, lengths, dim, 2, weights, np.float32(1))
    readings, outputs = np.array([[0, 1], [1, 0]]), np.empty((1, 1), np.float32)
    fusion = dim, heads, 1, False, True, False, table, weights
    clip.answer_all(hidden, lengths, readings, *fusion, outputs)
    steps, plans = np.zeros((1, 3, dim), np.float32), np.empty((1, 3, 5), np.float32)
    clip.plan_all(steps, np.array([[3, 3]]), 2, weights, plans)


def _train_on_a_clip() -> None:
    """Use the kernels of compiled layers."""
    config = BackboneConfig(dim=16, heads=1, compiled_layers=True)
    hidden = Encoder(2, config)(torch.zeros(1, 3, 2), torch.tensor([3]))
    Fusion(config, 2)(hidden, hidden).sum().backward()


def _train_directly() -> None:
    """Use the kernels of training without autograd, on weights that are all 0."""
    batches: Any = kernels("model.kernels.batches")
    pairs: Any = kernels("model.kernels.pairs")
    adam: Any = kernels("model.kernels.adam")
    dim, window, starts, known = 16, 2, batches.starts_of(np.array([3])), np.empty(4, np.bool_)
    numbers, features = np.zeros(1 << 14, np.float32), np.zeros((1, 3, 2), np.float32)
    scale, gaps = (numbers[:2], numbers[:2]), np.empty((0, 0), np.bool_)
    batches.lay_out(features, starts, gaps, *scale, 3, known, numbers)
    pairs.place_rows(numbers, starts, numbers, 0, dim, numbers)
    pairs.take_heads(numbers, starts, dim, numbers)
    pairs.add_heads(numbers, starts, dim, numbers)
    plans, totals, cls = np.zeros_like(numbers), np.zeros(4, np.float32), numbers[:dim]
    pairs.plan_room(starts, dim)
    pairs.plan_rows(numbers, starts, starts, dim, window, numbers, np.zeros_like(numbers), plans)
    pairs.impute_rows(numbers, starts, starts, plans, window, cls, dim, totals, plans)
    pairs.impute_rows_back(numbers, starts, starts, plans, window, dim, totals, plans)
    moved, counts = np.ones(1, np.bool_), np.zeros(1, np.int64)
    how = moved, counts, *map(np.float32, (1e-3, 0.0, 0.9, 0.999)), 1.0
    adam.adam_of_parts(numbers, numbers, numbers, plans, np.array([0, 16]), *how)


if __name__ == "__main__":
    compile_kernels()
