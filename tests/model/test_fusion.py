"""The fusion: what positions are for, and why position 0 suffices."""

import pytest
import torch

from mmalign.model.config import BackboneConfig
from mmalign.model.fusion import Fusion
from mmalign.model.hidden import Hidden


def random_hidden(batch: int, time: int, lengths: list[int]) -> Hidden:
    return Hidden(
        torch.randn(batch, 8).double(), torch.randn(batch, time, 8).double(), torch.tensor(lengths)
    )


def make_fusion(**changes) -> Fusion:
    return Fusion(BackboneConfig(dim=8, heads=2, **changes), 2).double().eval()


def test_the_fusion_sees_an_alignment_only_with_positions():
    torch.manual_seed(0)
    visible, victim = random_hidden(2, 5, [5, 5]), random_hidden(2, 5, [5, 5])
    turned = Hidden(victim.head, victim.steps.flip(1), victim.lengths)
    blind = make_fusion(fusion_positions=False)
    torch.testing.assert_close(blind(visible, victim), blind(visible, turned), atol=1e-12, rtol=0)
    sighted = make_fusion()
    assert (sighted(visible, victim) - sighted(visible, turned)).abs().max() > 1e-3


@pytest.mark.parametrize("layers", [1, 3])
def test_position_zero_alone_equals_the_whole_fusion(layers):
    """Computing only the reader's position 0 is exact."""
    torch.manual_seed(0)
    fusion = make_fusion(fusion_layers=layers)
    reader, memory = torch.randn(2, 6, 8).double(), torch.randn(2, 4, 8).double()
    is_valid = torch.tensor([[[True] * 4], [[True, True, False, False]]])
    whole = reader
    for layer in fusion.readers[0].layers:
        whole = layer(whole, memory, is_valid)
    short = fusion.readers[0](reader, memory, is_valid)
    torch.testing.assert_close(short, whole[:, 0], atol=1e-12, rtol=0)


def test_three_modalities_each_read_the_two_others():
    torch.manual_seed(0)
    fusion = Fusion(BackboneConfig(dim=8, heads=2), 3).double().eval()
    three = [random_hidden(2, time, [time, time - 1]) for time in (5, 4, 6)]
    whole = fusion(*three)
    assert whole.shape == (2, 24)
    for place in range(3):
        changed = list(three)
        changed[place] = random_hidden(2, 5, [5, 5])
        parts = (fusion(*changed) - whole).abs().amax(dim=0).view(3, 8).amax(dim=1)
        assert (parts > 1e-6).all()


def test_a_modality_that_is_alone_reads_itself():
    torch.manual_seed(0)
    fusion = Fusion(BackboneConfig(dim=8, heads=2), 1).double().eval()
    alone = random_hidden(2, 5, [5, 3])
    assert fusion(alone).shape == (2, 8)
    other = Hidden(alone.head, alone.steps.flip(1), alone.lengths)
    assert not torch.equal(fusion(alone), fusion(other))
