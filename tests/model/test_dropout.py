"""Dropout keeps the mean, and follows the seed."""

import torch

from mmalign.model.dropout import dropout


def test_dropout_keeps_the_mean_and_drops_the_rate():
    torch.manual_seed(0)
    dropped = dropout(torch.ones(400_000), 0.25, is_training=True)
    assert abs((dropped == 0).float().mean() - 0.25) < 0.005
    assert abs(dropped.mean() - 1) < 0.01
    by_place = dropout(torch.ones(50_000, 8), 0.25, is_training=True).eq(0).float().mean(0)
    assert (by_place - 0.25).abs().max() < 0.01  # every byte of a random word is used alike


def test_dropout_is_off_outside_training_and_follows_the_seed():
    values = torch.randn(100)
    assert dropout(values, 0.5, is_training=False) is values
    torch.manual_seed(3)
    first = dropout(values, 0.5, is_training=True)
    torch.manual_seed(3)
    assert torch.equal(first, dropout(values, 0.5, is_training=True))
