"""Slopes are those of torch's own differentiation; dropout hits its share, forward and back."""

import numpy as np
import pytest
import torch
from benchmarks.torch_taps import TorchTaps, padded
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from mmalign.data.packed import packed
from mmalign.experts.taps import OFFSETS, STEM, Taps, Weights, shapes, with_differences
from mmalign.experts.taps_slopes import add_slopes


def slopes_of(
    weights, clips, *, gain, blocks, own, other, share, stride=2, seeds=None, dropped=(0, 0)
):
    """Slopes of the summed loss, by name."""
    clips = packed(clips)
    slopes = np.zeros_like(weights.flat)
    seeds = np.zeros(blocks + 1, np.uint32) if seeds is None else seeds
    seeds = seeds + 977 * np.arange(len(clips), dtype=np.uint32)[:, None]
    chance = seeds, np.array(dropped, np.uint32)
    place = with_differences(clips, gain), clips.bounds, weights.flat, weights.starts
    goal = own, other, np.float32(share)
    add_slopes(*place, STEM, stride, OFFSETS, *chance, *goal, slopes)
    form = {name: part.shape for name, part in weights.named.items()}
    return Weights.over(slopes, form).named


def test_a_batch_is_the_sum_of_its_clips():
    rng = np.random.default_rng(0)
    lengths = [1, 300, 7, 120, 90, 40, 2, 250]  # more steps than go forward and back at once
    clips = [rng.normal(size=(n, 3)).astype(np.float32) for n in lengths]
    weights = Weights.drawn(shapes(3, dim=64, blocks=2, outputs=3), rng)
    own = rng.dirichlet(np.ones(3), len(clips)).astype(np.float32)
    usual = {"gain": 0.0, "blocks": 2, "share": 0.7}
    whole = slopes_of(weights, clips, own=own, other=own, **usual)
    alone = [
        slopes_of(weights, clips[n : n + 1], own=own[n : n + 1], other=own[n : n + 1], **usual)
        for n in range(len(clips))
    ]
    for name, found in whole.items():
        np.testing.assert_allclose(found, sum(one[name] for one in alone), atol=2e-5, err_msg=name)


@settings(max_examples=15)
@given(
    st.lists(st.integers(1, 25), min_size=1, max_size=5),
    st.integers(1, 4),
    st.sampled_from([0.0, 1.5]),
    st.integers(0, 3),
    st.sampled_from([1, 3]),
    st.sampled_from([1.0, 0.3]),
    st.integers(1, 3),
)
def test_slopes_are_those_of_torch(lengths, channels, gain, blocks, outputs, share, stride):
    rng = np.random.default_rng(sum(lengths))
    form = shapes(channels * (2 if gain else 1), dim=64, blocks=blocks, outputs=outputs)
    weights = Weights.drawn(form, rng)
    clips = [rng.normal(size=(n, channels)).astype(np.float32) for n in lengths]
    own, other = (rng.dirichlet(np.ones(3), len(clips)).astype(np.float32) for _ in range(2))
    # In rows, as training has them: another layout would be compiled for ten seconds.
    own, other = (np.ascontiguousarray(goal[:, :outputs]) for goal in (own, other))
    form = {"gain": gain, "blocks": blocks, "stride": stride}
    found = slopes_of(weights, clips, own=own, other=other, share=share, **form)
    network = TorchTaps.like(Taps(weights.named, gain, stride)).double().eval()
    features, sizes = padded([torch.from_numpy(steps) for steps in clips])
    said = network(features.double(), sizes)
    goals = [torch.from_numpy(goal).double() for goal in (own, other)]
    if outputs == 1:
        losses = [(said - goal).abs().sum() for goal in goals]
    else:
        losses = [functional.cross_entropy(said, goal, reduction="sum") for goal in goals]
    (share * losses[0] + (1 - share) * losses[1]).backward()
    for name, weight in network.named_parameters():
        expected = weight.grad.numpy()
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(found[name] / size, expected / size, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("dropped", [(26, 0), (128, 0)])
def test_dropout_hits_its_share_and_follows_its_seed(dropped):
    rng = np.random.default_rng(0)
    form = shapes(2, dim=64, blocks=1, outputs=2)
    weights = Weights.drawn(form, rng)
    # Far above what is added, so that nothing is cut off at 0: slopes reach every number kept.
    weights.named["norm.bias"][:] = 100
    clips = [rng.normal(size=(50, 2)).astype(np.float32) for _ in range(16)]
    own = np.eye(2, dtype=np.float32)[np.arange(16) % 2]

    def to_shift(seed, dropped):
        found = slopes_of(
            *(weights, clips), gain=0.0, blocks=1, own=own, other=own, share=1.0,
            seeds=np.array([seed, seed], np.uint32), dropped=dropped,
        )  # fmt: skip
        return found["blocks.0.norm.bias"]

    one, same, another = to_shift(5, dropped), to_shift(5, dropped), to_shift(6, dropped)
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, another)
    # What is kept is made louder, so that the mean slope stays.
    usual = np.mean([to_shift(seed, dropped).mean() for seed in range(40)])
    np.testing.assert_allclose(usual, to_shift(0, (0, 0)).mean(), rtol=0.1, atol=0.02)
