"""Training does what it did: the weights of every method are those of the frozen reference."""

import json
from pathlib import Path

import pytest
import torch

from tests.reference.weights import METHODS, machine, weights_hash

FROZEN = json.loads((Path(__file__).parent / "weights.json").read_text())


@pytest.mark.parametrize("both_passes", [False, True], ids=["printed", "both passes"])
@pytest.mark.parametrize("method", METHODS)
def test_weights_after_three_epochs_are_the_frozen_ones_to_the_bit(method, both_passes):
    if machine() != FROZEN["machine"]:
        pytest.skip(f"the reference was made on {FROZEN['machine']}, this is {machine()}")
    torch.set_num_threads(1)
    name = f"{method}, both passes" if both_passes else method
    assert weights_hash(method, both_passes=both_passes) == FROZEN["weights"][name]
