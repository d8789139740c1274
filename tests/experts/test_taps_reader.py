"""The reader answers as the network does that it was made from."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.experts.taps import Taps
from mmalign.experts.taps_reader import TapsReader


@settings(max_examples=20)
@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=6),
    st.integers(1, 5),
    st.sampled_from([0.0, 1.5]),
    st.integers(0, 3),
)
def test_the_reader_answers_as_the_network_in_double_precision(lengths, channels, gain, blocks):
    torch.manual_seed(len(lengths))
    network = Taps(channels, 4, step_gain=gain, dim=16, blocks=blocks).eval()
    weights = {name: value.numpy().copy() for name, value in network.state_dict().items()}
    features = torch.randn(len(lengths), max(lengths), channels)
    for row, length in enumerate(lengths):
        features[row, length:] = 0
    sizes = torch.tensor(lengths)
    reader = TapsReader(weights, gain)
    with torch.no_grad():
        expected = network.double()(features.double(), sizes)
    found = reader(features.numpy(), sizes.numpy())
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-5)
    assert (reader.blocks, reader.outputs) == (blocks, 4)
