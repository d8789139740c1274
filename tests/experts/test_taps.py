"""The network answers as the same network in torch does, for clips of any length and width."""

import numpy as np
import pytest
import torch
from benchmarks.torch_taps import TorchTaps, padded
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data.packed import packed
from mmalign.experts.taps import Taps, Weights, shapes, with_differences


def drawn(channels: int, *, gain: float, blocks: int = 3, dim: int = 64, stride: int = 2) -> Taps:
    form = shapes(channels * (2 if gain else 1), dim=dim, blocks=blocks, outputs=4)
    return Taps(Weights.drawn(form, np.random.default_rng(channels)).named, gain, stride)


def made(lengths: list[int], channels: int) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(lengths))
    return [rng.normal(size=(length, channels)).astype(np.float32) for length in lengths]


GAINS = st.sampled_from([0.0, 1.5])
LENGTHS = st.lists(st.integers(1, 30), min_size=1, max_size=6)


@settings(max_examples=20)
@given(
    LENGTHS, st.integers(1, 5), st.sampled_from([0.0, 1.5]), st.integers(0, 3), st.integers(1, 3)
)
def test_it_answers_as_torch_in_double_precision(lengths, channels, gain, blocks, stride):
    network = drawn(channels, gain=gain, blocks=blocks, stride=stride)
    clips = made(lengths, channels)
    features, sizes = padded([torch.from_numpy(steps) for steps in clips])
    with torch.no_grad():
        expected = TorchTaps.like(network).double().eval()(features.double(), sizes)
    np.testing.assert_allclose(network(packed(clips)), expected.numpy(), rtol=1e-4, atol=1e-5)
    network.check_shapes(channels=channels)
    assert (network.blocks, network.outputs) == (blocks, 4)


@given(LENGTHS)
def test_neighbours_in_a_batch_change_nothing(lengths):
    network, clips = drawn(2, gain=1.0), made(lengths, 2)
    alone = np.concatenate([network(packed([steps])) for steps in clips])
    np.testing.assert_allclose(network(packed(clips)), alone, rtol=1e-5, atol=1e-6)


def test_differences_begin_anew_with_each_clip():
    clips = packed([np.array([[1.0], [3.0]], np.float32), np.array([[9.0], [8.0]], np.float32)])
    assert with_differences(clips, 10.0).tolist() == [[1, 0], [3, 20], [9, 0], [8, -10]]
    assert with_differences(clips, 0.0).tolist() == clips.rows.tolist()


@pytest.mark.parametrize("gain", [0.0, 1.5])
def test_steps_are_read_in_rows_however_the_clips_lie_in_memory(gain):
    """Kernels are compiled ahead for rows; another layout would be compiled at the first use."""
    columns = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(3, 2))
    assert with_differences(packed([columns]), gain).flags.c_contiguous


def test_a_hidden_step_has_whole_vectors():
    with pytest.raises(ValueError, match="96 numbers, expected a multiple of 64"):
        shapes(6, dim=96, blocks=2, outputs=3)


def test_parts_of_the_weights_are_views_in_order():
    form = shapes(6, dim=64, blocks=2, outputs=3)
    weights = Weights.drawn(form, np.random.default_rng(0))
    assert {name: part.shape for name, part in weights.named.items()} == form
    assert all(np.shares_memory(part, weights.flat) for part in weights.named.values())
    assert len(weights.starts) == 4 + 2 * 7 + 2 + 1
    assert weights.starts[-1] == len(weights.flat)


@pytest.mark.parametrize("name", ["stem.weight", "norm.bias", "blocks.1.far.weight", "read.bias"])
@pytest.mark.parametrize("change", ["cut", "gone", "flat", "more"])
def test_weights_that_do_not_fit_are_refused_before_a_loop_reads_them(name, change):
    weights = dict(drawn(3, gain=1.0, dim=64).weights)
    Taps(weights, 1.0).check_shapes(channels=3)
    array = weights.pop(name)
    if change == "cut":
        weights[name] = array[:-1]
    if change == "flat":
        weights[name] = array[None]
    if change == "more":
        weights |= {name: array, "blocks.7.far.bias": array}
    with pytest.raises(ValueError, match=r"expected|blocks"):
        Taps(weights, 1.0).check_shapes(channels=3)
