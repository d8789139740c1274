"""Ahead of their first use, all kernels are compiled."""

import runpy

import torch

from mmalign.align import compile as ahead
from mmalign.align.compile import compile_kernels
from mmalign.align.kernels import carry, solve

ENTRIES = (
    solve.tolerance_groups,
    solve.tolerance_batch,
    solve.sinkhorn_batch,
    carry.impute_forward,
    carry.impute_backward,
    carry.fit_loss_forward,
)


def test_every_entry_is_compiled_for_every_dtype():
    assert compile_kernels()
    for entry in ENTRIES:
        assert len(entry.signatures) >= len((torch.float32, torch.float64)), entry


def test_without_numba_there_is_nothing_to_compile(monkeypatch):
    monkeypatch.setattr("mmalign.align.compile.kernels", lambda _: None)
    assert not compile_kernels()


def test_it_compiles_when_it_is_run_and_not_when_it_is_imported(monkeypatch):
    asked = []
    monkeypatch.setattr("mmalign.align.compiled.kernels", asked.append)
    runpy.run_path(ahead.__file__, run_name="imported")
    assert asked == []
    runpy.run_path(ahead.__file__, run_name="__main__")
    assert asked == ["align.kernels.solve"]
