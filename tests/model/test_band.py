"""Attention within a band equals dense attention with a band mask."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from mmalign.model.attention import Attention, BandAttention
from mmalign.model.band import CLOSED, SHORTEST_BLOCK, band_attention

HEADS = 2


def dense_with_mask(attention: Attention, sequence, is_valid, band: int):
    """The oracle: every score is written down, and those outside the band are masked."""
    places = torch.arange(sequence.shape[1])
    is_near = (places[:, None] - places).abs() <= band
    is_near[0] = is_near[:, 0] = True  # [CLS] reads and is read
    return attention(sequence, sequence, is_valid & is_near)


def both(band: int, dtype: torch.dtype) -> tuple[Attention, BandAttention]:
    torch.manual_seed(0)
    plain, banded = Attention(8, HEADS), BandAttention(8, HEADS, band=band)
    banded.load_state_dict(plain.state_dict())
    return plain.to(dtype), banded.to(dtype)


@settings(max_examples=60)
@given(
    lengths=st.lists(st.integers(1, 3 * SHORTEST_BLOCK + 1), min_size=1, max_size=3),
    band=st.integers(1, 2 * SHORTEST_BLOCK),
    gaps=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 9),
)
def test_it_equals_dense_attention_with_a_band_mask(lengths, band, gaps, seed):
    """Padding and gaps included, and so do its gradients."""
    plain, banded = both(band, torch.float32)
    torch.manual_seed(seed)
    time = max(lengths) + 1
    sequence = torch.randn(len(lengths), time, 8, requires_grad=True)
    inside = torch.arange(time) <= torch.tensor(lengths)[:, None]
    known = (inside & (torch.rand(inside.shape) >= gaps)).index_fill(1, torch.tensor([0]), True)
    expected = dense_with_mask(plain, sequence, known[:, None], band)
    found = banded(sequence, sequence, known[:, None])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=0)
    weights = torch.randn_like(found)
    gradients = (torch.autograd.grad((o * weights).sum(), sequence)[0] for o in (found, expected))
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-5)


def test_a_step_outside_the_band_has_no_say_at_all():
    """Its share is exactly 0, not nearly."""
    time, part = 100, 4
    torch.manual_seed(0)
    query, key, value = torch.randn(1, time, part), *torch.randn(2, 1, time + 1, part)
    valid = torch.ones(1, time, dtype=torch.bool)
    valid[0, 52] = False
    before = band_attention(query, key, value, valid, band=3)
    value[0, 1 + 52] = 1e30  # invalid, and in the band of its neighbours
    value[0, 1 + 90] = 1e30
    after = band_attention(query, key, value, valid, band=3)
    far = (torch.arange(time) - 90).abs() > 3
    assert torch.equal(before[:, far], after[:, far])
    assert after[0, 90].abs().max() > 1e20


def test_a_band_wider_than_the_clip_is_dense_and_takes_no_more():
    plain, banded = both(10**9, torch.float64)
    sequence = torch.randn(2, 7, 8, dtype=torch.float64)
    is_valid = torch.ones(2, 1, 7, dtype=torch.bool)
    expected = plain(sequence, sequence, is_valid)
    torch.testing.assert_close(banded(sequence, sequence, is_valid), expected, atol=1e-12, rtol=0)


def test_what_is_closed_is_exactly_nothing_for_scores_of_any_size():
    scores = torch.tensor([-1e4, CLOSED * 0.1 + 1e4])
    assert functional.softmax(scores, dim=0)[1] == 0
