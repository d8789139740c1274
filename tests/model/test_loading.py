"""Weights are compared with a network that is never built, and its random numbers never drawn."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from mmalign.model.loading import check_weights, drawn


def test_numbers_are_those_of_randn_to_the_bit():
    for over in (1.0, 0.5, 37**0.5):
        torch.manual_seed(3)
        expected = torch.randn(5, 37) / over
        torch.manual_seed(3)
        assert torch.equal(drawn(5, 37, over=over), expected)


def test_shapes_alone_take_no_memory_and_no_chance():
    before = torch.get_rng_state()
    with torch.device("meta"):
        assert drawn(1 << 40).shape == (1 << 40,)
    assert torch.equal(torch.get_rng_state(), before)


def test_weights_that_are_not_those_of_the_network_are_refused():
    good = nn.Linear(2, 3).state_dict()
    check_weights(lambda: nn.Linear(2, 3), good)
    with pytest.raises(ValueError, match=r"weight is torch.float32 \[3, 2\], expected .* \[4, 2\]"):
        check_weights(lambda: nn.Linear(2, 4), good)
    with pytest.raises(ValueError, match="bias is not known"):
        check_weights(lambda: nn.Linear(2, 3, bias=False), good)


def test_a_network_is_loaded_without_the_compiler_of_torch():
    program = (
        "import sys\n"
        "from mmalign.data import Regression\n"
        "from mmalign.model.loading import check_weights\n"
        "from mmalign.training.config import Config\n"
        "from mmalign.training.methods import METHODS, build_model\n"
        "for method in METHODS:\n"
        "    config = Config(method=method, dim=8)\n"
        "    make = lambda: build_model(config, Regression(), {'a': 2, 'b': 3}, [('a', 'b')])\n"
        "    check_weights(make, make().state_dict())\n"
        "sys.exit('torch._dynamo' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
