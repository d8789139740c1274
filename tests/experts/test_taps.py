"""The network: what lies beyond a clip's end has no say."""

import torch

from mmalign.experts.taps import OFFSETS, Taps
from mmalign.experts.taps_layers import shifted


def test_shifting_reads_the_steps_at_the_offsets_and_zeros_beyond_the_ends():
    steps = torch.arange(1.0, 6.0)[None, :, None]
    found = shifted(steps, torch.tensor([5]), (-2, 0, 1))
    assert found[0, 2].tolist() == [1.0, 3.0, 4.0]
    assert found[0, 0].tolist() == [0.0, 1.0, 2.0]
    assert found[0, 4].tolist() == [3.0, 5.0, 0.0]


def test_the_slope_of_shifting_is_that_of_slicing():
    steps = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([5, 4])
    assert torch.autograd.gradcheck(lambda s: shifted(s, lengths, (-7, -1, 0, 2)), steps)


def test_padding_and_what_is_in_it_change_nothing():
    torch.manual_seed(0)
    network = Taps(3, 4, step_gain=2.0).eval()
    clip = torch.randn(1, 11, 3)
    lengths = torch.tensor([11])
    padded = torch.cat((clip, torch.full((1, 30, 3), 7.0)), dim=1)
    torch.testing.assert_close(network(clip, lengths), network(padded, lengths))
    steps = network.encode(padded, lengths)
    assert (steps[:, 11:] == 0).all()


def test_one_step_is_enough_and_every_parameter_is_reached():
    torch.manual_seed(0)
    network = Taps(3, 4, step_gain=2.0)
    assert network.eval()(torch.randn(2, 1, 3), torch.tensor([1, 1])).shape == (2, 4)
    network.train()(torch.randn(4, 20, 3), torch.full((4,), 20)).square().sum().backward()
    assert all(p.grad is not None and bool(p.grad.any()) for p in network.parameters())
    assert len(OFFSETS) == 9
