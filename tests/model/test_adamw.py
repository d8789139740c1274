"""Steps and clipping are torch's own, to the bit."""

import subprocess
import sys

import pytest
import torch
from torch import nn

from mmalign.model.adamw import AdamW, Optimizer, clip_gradients

SHAPES = [(3, 5), (7,), (), (40, 33)]


def weights(dtype: torch.dtype) -> list[nn.Parameter]:
    random = torch.Generator().manual_seed(0)
    return [nn.Parameter(torch.randn(shape, generator=random, dtype=dtype)) for shape in SHAPES]


def give_gradients(chosen: list, turn: int) -> None:
    """The second weight has none in the first two steps."""
    random = torch.Generator().manual_seed(turn)
    for place, weight in enumerate(chosen):
        drawn = torch.randn(weight.shape, generator=random, dtype=weight.dtype)
        weight.grad = None if place == 1 and turn < 2 else drawn


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_are_those_of_torch(dtype):
    ours, theirs = weights(dtype), weights(dtype)
    mine = AdamW(ours, rate=0.01, weight_decay=0.1)
    oracle = torch.optim.AdamW(theirs, lr=0.01, weight_decay=0.1, fused=True)
    for turn in range(5):
        for optimizer, chosen in ((mine, ours), (oracle, theirs)):
            optimizer.param_groups[0]["lr"] = 0.01 / (1 + turn)
            optimizer.zero_grad()
            give_gradients(chosen, turn)
            optimizer.step()
        assert all(map(torch.equal, ours, theirs))
    assert isinstance(mine, Optimizer)
    assert isinstance(oracle, Optimizer)


def test_torch_knows_that_weights_have_changed():
    """What is made of weights and kept must be made again; the fused step itself does not tell."""
    chosen = weights(torch.float32)
    before = [weight._version for weight in chosen]
    give_gradients(chosen, turn=0)
    AdamW(chosen, rate=0.01, weight_decay=0.1).step()
    changed = [now._version > was for now, was in zip(chosen, before, strict=True)]
    assert changed == [True, False, True, True]


def test_it_goes_on_from_its_own_state_and_from_torch_s():
    first, second, third = (weights(torch.float32) for _ in range(3))
    before = torch.optim.AdamW(first, lr=0.1, weight_decay=0.1, fused=True)
    give_gradients(first, 5)
    before.step()
    for chosen in (second, third):
        for weight, source in zip(chosen, first, strict=True):
            weight.data.copy_(source)
    mine = AdamW(second, rate=0.1, weight_decay=0.1)
    mine.load_state_dict(before.state_dict())
    again = AdamW(third, rate=0.1, weight_decay=0.1)
    kept = {i: {n: t.clone() for n, t in s.items()} for i, s in mine.state_dict()["state"].items()}
    again.load_state_dict({"state": kept})
    for optimizer, chosen in ((before, first), (mine, second), (again, third)):
        give_gradients(chosen, 6)
        optimizer.step()
    assert all(map(torch.equal, first, second))
    assert all(map(torch.equal, first, third))


def test_a_state_of_other_weights_is_refused():
    wrong = {"step": torch.ones(()), "exp_avg": torch.zeros(4), "exp_avg_sq": torch.zeros(4)}
    with pytest.raises(ValueError, match="weight 1 has another shape"):
        AdamW(weights(torch.float32), rate=1.0, weight_decay=0.0).load_state_dict(
            {"state": {1: wrong}}
        )


@pytest.mark.parametrize("most", [0.5, 1e3])
def test_clipping_is_torch_s(most):
    ours, theirs = weights(torch.float32), weights(torch.float32)
    for chosen in (ours, theirs):
        give_gradients(chosen, 0)
    assert clip_gradients(ours, most) == nn.utils.clip_grad_norm_(theirs, most).item()
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.grad is other.grad is None or torch.equal(mine.grad, other.grad)
    assert clip_gradients([torch.zeros(2)], most) == 0


def test_no_compiler_is_imported():
    code = """
import sys, torch
from mmalign.model.adamw import AdamW, clip_gradients
weight = torch.zeros(3, requires_grad=True)
weight.sum().backward()
clip_gradients([weight], 1.0)
AdamW([weight], rate=0.1, weight_decay=0.0).step()
sys.exit("torch._dynamo" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
