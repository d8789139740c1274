"""Positions: sequences of unequal length share one clock."""

import torch

from mmalign.model.positions import position_table, scaled_positions, sinusoids


def test_positions_share_a_clock():
    """Equal lengths count 1, 2, 3; twice as many steps stand half as far apart."""
    lengths = torch.tensor([3])
    equal = scaled_positions(3, lengths, lengths, 6)
    torch.testing.assert_close(equal[0], position_table(4, 6, torch.float64, torch.device("cpu")))
    double = scaled_positions(6, torch.tensor([6]), lengths, 6)
    expected = sinusoids(torch.tensor([0, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25]).double(), 6)
    torch.testing.assert_close(double[0], expected)


def test_a_table_is_the_count_to_the_bit_and_lengths_share_it():
    for time in (0, 1, 2, 3, 100, 257):
        counted = sinusoids(torch.arange(time, dtype=torch.float64), 6).float()
        assert torch.equal(position_table(time, 6, torch.float32, torch.device("cpu")), counted)
    tables = [position_table(time, 6, torch.float32, torch.device("cpu")) for time in (65, 128)]
    assert tables[0].data_ptr() == tables[1].data_ptr()
