"""The encoder: padding and batch-mates do not matter."""

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
)
def test_padding_and_batch_mates_do_not_matter(lengths, extra, filler):
    encoder = make_encoder()
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
