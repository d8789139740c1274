"""The encoder: padding and batch-mates do not matter."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.model.config import BackboneConfig
from mmalign.model.encoder import Encoder


def make_encoder(**changes) -> Encoder:
    torch.manual_seed(0)
    return Encoder(5, BackboneConfig(dim=8, heads=2, **changes)).double().eval()


@settings(max_examples=25)
@given(
    lengths=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    extra=st.integers(0, 7),
    filler=st.sampled_from([0.0, 1e30, float("nan"), float("inf")]),
    band=st.sampled_from([0, 2]),
)
def test_padding_and_batch_mates_do_not_matter(lengths, extra, filler, band):
    encoder = make_encoder(attention_band=band)
    torch.manual_seed(1)
    clips = [torch.randn(n, 5).double() for n in lengths]
    padded = torch.full((len(clips), max(lengths) + extra, 5), filler).double()
    for row, clip in zip(padded, clips, strict=True):
        row[: len(clip)] = clip
    together = encoder(padded, torch.tensor(lengths))
    for index, clip in enumerate(clips):
        alone = encoder(clip[None], torch.tensor([len(clip)]))
        torch.testing.assert_close(together.head[index], alone.head[0], atol=1e-12, rtol=0)
        steps = together.steps[index]
        torch.testing.assert_close(steps[: len(clip)], alone.steps[0], atol=1e-12, rtol=0)
        assert (steps[len(clip) :] == 0).all()


def gapped(**changes):
    torch.manual_seed(0)
    encoder = Encoder(3, BackboneConfig(dim=8, heads=2, dropout=0.0, **changes)).double().eval()
    features = torch.randn(2, 6, 3, dtype=torch.float64)
    lengths = torch.tensor([6, 4])
    observed = torch.tensor([[True, False, False, True, True, True], [True] * 4 + [False] * 2])
    return encoder, features, lengths, observed


@pytest.mark.parametrize("band", [0, 1])
def test_what_stands_in_a_gap_has_no_say_and_the_length_stays(band):
    encoder, features, lengths, observed = gapped(attention_band=band)
    first = encoder(features, lengths, observed)
    features[0, 1:3] = torch.nan
    second = encoder(features, lengths, observed)
    assert torch.equal(first.steps, second.steps)
    assert torch.equal(first.head, second.head)
    assert first.steps.shape == (2, 6, 8)
    assert first.steps[0].abs().sum(dim=-1).min() > 0  # a step in a gap is no zero vector
    assert not torch.equal(first.steps, encoder(features.nan_to_num(0.0), lengths).steps)


def test_a_step_sees_as_far_as_the_band_of_each_layer_and_the_kernel():
    """[CLS] sees everything, and tells the next layer's steps."""
    encoder = make_encoder(attention_band=3, kernel=1)
    torch.manual_seed(1)
    features, lengths = torch.randn(1, 40, 5, dtype=torch.float64), torch.tensor([40])
    before = encoder(features, lengths)
    features[0, 20] += 1
    after = encoder(features, lengths)
    changed = (before.steps != after.steps).any(dim=-1)[0].nonzero()[:, 0].tolist()
    assert changed == list(range(17, 24))
    assert not torch.equal(before.head, after.head)


def test_without_gaps_nothing_changes_to_the_bit():
    encoder, features, lengths, _ = gapped()
    everything = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    plain, marked = encoder(features, lengths), encoder(features, lengths, everything)
    assert torch.equal(plain.steps, marked.steps)
    assert torch.equal(plain.head, marked.head)


def test_the_gap_s_vector_is_zeros_takes_no_chance_and_learns():
    encoder, features, lengths, observed = gapped()
    before = encoder(features, lengths, observed)
    chance = torch.get_rng_state()
    names = [name for name, _ in encoder.named_parameters()]
    encoder.learn_gap()
    encoder.double()
    assert torch.equal(chance, torch.get_rng_state())
    assert [name for name, _ in encoder.named_parameters() if name != "gap"] == names
    after = encoder(features, lengths, observed)
    assert torch.equal(before.steps, after.steps)
    after.steps[0, 1].sum().backward()
    assert encoder.gap.grad.abs().sum() > 0
