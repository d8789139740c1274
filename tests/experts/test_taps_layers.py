"""The compiled layers against the same in torch's own operators, which take float64."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mmalign.experts.taps_layers import finished, highest, pooled, shifted

OFFSETS = (-8, -1, 0, 2)


@st.composite
def steps_and_lengths(draw):
    batch, time, dim = draw(st.integers(1, 4)), draw(st.integers(1, 12)), draw(st.integers(1, 9))
    lengths = torch.tensor(draw(st.lists(st.integers(1, time), min_size=batch, max_size=batch)))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    steps = torch.from_numpy(rng.uniform(0, 1, (batch, time, dim)).astype(np.float32))
    own = torch.arange(time)[None, :, None] < lengths[:, None, None]
    return steps * own, lengths


def compare(layer, steps, lengths):
    """Values and slopes of the compiled path, and of the portable one in double precision."""
    single = steps.clone().requires_grad_()
    double = steps.double().requires_grad_()
    found, expected = layer(single, lengths), layer(double, lengths)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-5)
    slopes = torch.from_numpy(np.random.default_rng(1).normal(size=found.shape))
    found.backward(slopes.float())
    expected.backward(slopes)
    own = torch.arange(steps.shape[1])[None, :, None] < lengths[:, None, None]
    torch.testing.assert_close(single.grad.double() * own, double.grad * own, rtol=1e-4, atol=1e-5)


@given(steps_and_lengths())
@settings(max_examples=40)
def test_shifting_highest_and_pooling_agree_with_torch(given):
    compare(lambda s, lengths: shifted(s, lengths, OFFSETS), *given)
    compare(highest, *given)
    compare(pooled, *given)


@given(steps_and_lengths(), st.integers(0, 3))
@settings(max_examples=40)
def test_finishing_agrees_with_torch(given, narrow):
    steps, lengths = given
    dim = steps.shape[2]
    narrow = min(narrow, dim - 1)
    torch.manual_seed(0)
    norm = nn.LayerNorm(dim)
    with torch.no_grad():
        norm.weight.normal_()
        norm.bias.normal_()
    for part in range(3):
        parts = [torch.randn(*steps.shape[:2], width) for width in (dim - narrow, narrow)]

        def layer(s, lengths, part=part, parts=parts):
            double = s.dtype == torch.float64
            far, near = (p.double() if double else p for p in parts)
            kept = nn.LayerNorm(dim, dtype=torch.float64) if double else norm
            kept.load_state_dict(norm.state_dict())
            if part == 0:
                return finished(far, near, s, lengths, norm=kept, rate=0.0)
            mixed = far * s.mean(dim=-1, keepdim=True)
            rest = torch.zeros_like(s) if part == 2 else s
            return finished(mixed, near, rest, lengths, norm=kept, rate=0.0)

        if dim > 1:  # a single number has no spread to normalise
            compare(layer, steps, lengths)


def test_slopes_of_gain_and_bias_agree_with_torch():
    torch.manual_seed(0)
    far, near, steps = (torch.randn(3, 7, width) for width in (5, 3, 8))
    lengths = torch.tensor([7, 2, 5])
    found = []
    for dtype in (torch.float32, torch.float64):
        norm = nn.LayerNorm(8, dtype=dtype)
        parts = (part.to(dtype) for part in (far, near, steps))
        finished(*parts, lengths, norm=norm, rate=0.0).square().sum().backward()
        found.append((norm.weight.grad.double(), norm.bias.grad.double()))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_hits_its_share_and_slopes_pass_where_numbers_did(rate):
    torch.manual_seed(0)
    norm = nn.LayerNorm(64)
    far = torch.randn(16, 50, 64, requires_grad=True)
    lengths = torch.full((16,), 50)
    zero = torch.full((16, 50, 64), 100.0)  # far above what is added: nothing is cut off at 0
    out = finished(far, far[..., :0], zero, lengths, norm=norm, rate=rate) - 100
    plain = norm(far)
    kept = out.abs() > 1e-3
    assert abs(kept.float().mean().item() - (1 - rate)) < 0.01
    gain = 256 / (256 - round(256 * rate))
    torch.testing.assert_close(out[kept], gain * plain[kept], rtol=1e-3, atol=1e-3)
    norm.zero_grad()
    out.sum().backward()
    expected = (kept * gain).sum(dim=(0, 1))
    torch.testing.assert_close(norm.bias.grad, expected, rtol=0.02, atol=1.0)


def test_dropout_follows_torchs_seed():
    norm, far = nn.LayerNorm(8), torch.randn(2, 5, 8)
    lengths = torch.tensor([5, 3])
    drawn = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        drawn.append(finished(far, far[..., :0], far * 0, lengths, norm=norm, rate=0.5))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2])


def test_what_lies_beyond_a_clips_end_is_never_read():
    torch.manual_seed(0)
    lengths = torch.tensor([3])
    norm, double = nn.LayerNorm(4), nn.LayerNorm(4, dtype=torch.float64)
    layers = (
        lambda s: shifted(s, lengths, OFFSETS),
        lambda s: highest(s, lengths),
        lambda s: pooled(s, lengths),
        lambda s: finished(
            s, s[..., :0], s, lengths, norm=norm if s.dtype == torch.float32 else double, rate=0.0
        ),
    )
    for layer, dtype in itertools.product(layers, (torch.float32, torch.float64)):
        steps = torch.rand(1, 6, 4, dtype=dtype)
        spoilt = steps.clone()
        spoilt[:, 3:] = torch.nan
        assert torch.equal(layer(steps), layer(spoilt))
