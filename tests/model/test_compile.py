"""Ahead of their first use, the model's kernels are compiled."""

import torch

from mmalign.model.compile import compile_kernels
from mmalign.model.kernels import gru


def test_every_entry_is_compiled_for_every_dtype():
    assert compile_kernels()
    for entry in (gru.gru_forward, gru.gru_backward):
        assert len(entry.signatures) >= len((torch.float32, torch.float64)), entry


def test_without_numba_there_is_nothing_to_compile(monkeypatch):
    monkeypatch.setattr("mmalign.model.compile.kernels", lambda _: None)
    assert not compile_kernels()
