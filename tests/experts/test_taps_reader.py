"""The reader answers as the network does that it was made from."""

import numpy as np
import pytest
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
    reader.check_shapes(channels=channels)
    assert (reader.blocks, reader.outputs) == (blocks, 4)


@pytest.mark.parametrize("name", ["stem.weight", "norm.bias", "blocks.1.far.weight", "read.bias"])
@pytest.mark.parametrize("change", ["cut", "gone", "flat", "more"])
def test_weights_that_do_not_fit_are_refused_before_a_loop_reads_them(name, change):
    weights = {k: v.numpy() for k, v in Taps(3, 4, step_gain=1.0, dim=8).state_dict().items()}
    TapsReader(weights, 1.0).check_shapes(channels=3)
    array = weights.pop(name)
    if change == "cut":
        weights[name] = array[:-1]
    if change == "flat":
        weights[name] = array[None]
    if change == "more":
        weights |= {name: array, "blocks.7.far.bias": array}
    with pytest.raises(ValueError, match=r"expected|blocks"):
        TapsReader(weights, 1.0).check_shapes(channels=3)
