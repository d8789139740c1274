"""Ahead of their first use, all kernels are compiled."""

from mmalign.experts import batch_kernels, kernels, taps_forward, taps_slopes, window_kernels
from mmalign.experts.compile import compile_kernels

ENTRIES = [
    getattr(module, name)
    for module, names in (
        (kernels, ("fill_shares", "fill_thresholds", "fill_shares_together")),
        (taps_forward, ("read_clips", "turn_weights")),
        (window_kernels, ("fill_windows",)),
        (batch_kernels, ("add_changed", "fill_mixed")),
        (taps_slopes, ("add_slopes",)),
    )
    for name in names
]


def test_every_entry_is_compiled():
    assert compile_kernels()
    for entry in ENTRIES:
        assert entry.signatures, entry


def test_without_numba_there_is_nothing_to_compile(monkeypatch):
    monkeypatch.setattr("mmalign.experts.compile.kernels", lambda _: None)
    assert not compile_kernels()
