"""The cycle of learning rates, and changes that leave a clip's shape."""

import itertools

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from mmalign.experts.augment import Augment
from mmalign.experts.recipe import Recipe, cycle, flattened, padded, train_taps
from mmalign.experts.taps import Taps


def test_the_rate_rises_in_a_line_and_falls_to_zero():
    rates = [cycle(step / 1000, 0.1) for step in range(1001)]
    assert max(rates) == cycle(0.1, 0.1) == 1.0
    assert all(a < b for a, b in itertools.pairwise(rates[:101]))
    assert all(a > b for a, b in itertools.pairwise(rates[100:]))
    assert rates[-1] < 1e-12


@given(st.lists(st.integers(1, 40), min_size=1, max_size=4), st.integers(0, 99))
def test_changed_clips_keep_their_shape_and_nearly_their_values(lengths, seed):
    torch.manual_seed(seed)
    features, sizes = padded([torch.linspace(1, 2, length)[:, None] for length in lengths])
    changed = Augment(jitter=0.0, gain=0.0)(features, sizes)
    assert changed.shape == features.shape
    for row, length in enumerate(lengths):
        own = changed[row, :length, 0]
        assert own.min() >= 1 - 1e-5  # what lies beyond the end is never mixed in
        assert own.max() <= 2 + 1e-5
        assert (own.diff() >= -1e-5).all()  # time keeps its direction


def test_flattened_weights_train_as_the_separate_ones_do():
    def trained(is_flat):
        torch.manual_seed(0)
        network = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        weights = [flattened(network)] if is_flat else list(network.parameters())
        optimizer = torch.optim.AdamW(weights, lr=0.1, weight_decay=0.1)
        for _ in range(5):
            optimizer.zero_grad(set_to_none=False)
            network(torch.ones(2, 3)).square().sum().backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
        return network.state_dict()

    flat, separate = trained(is_flat=True), trained(is_flat=False)
    for name, weights in separate.items():
        torch.testing.assert_close(flat[name], weights)


def test_few_clips_are_passed_over_often_enough_to_learn():
    rng = np.random.default_rng(0)
    clips = [rng.normal(size=(6, 1)).astype(np.float32) for _ in range(10)]
    seen = []

    def watched(features, lengths):
        seen.append(len(features))
        return features

    network = Taps(1, 2, step_gain=0.0, dim=8, blocks=1)
    targets = torch.arange(10) % 2
    train_taps(network, clips, targets, recipe=Recipe(epochs=2), change=watched)
    assert seen == [10] * 16
