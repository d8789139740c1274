"""The backbone: masks, invariances, and weights that differ."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.errors import ConfigError
from mmalign.model.attention import Attention, TransformerLayer
from mmalign.model.backbone import Backbone, count_parameters
from mmalign.model.config import BackboneConfig
from mmalign.model.dropout import dropout
from mmalign.model.encoder import Encoder
from mmalign.model.fusion import Fusion
from mmalign.model.hidden import Hidden
from mmalign.model.positions import position_table, scaled_positions, sinusoids


def make_encoder(**changes) -> Encoder:
    torch.manual_seed(0)
    return Encoder(5, BackboneConfig(dim=8, heads=2, **changes)).double().eval()


def test_attention_equals_torch_s():
    """nn.MultiheadAttention with the same weights is the oracle."""
    torch.manual_seed(0)
    ours = Attention(8, 2).double()
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat((ours.query.weight, ours.key_value.weight)))
        theirs.in_proj_bias.copy_(torch.cat((ours.query.bias, ours.key_value.bias)))
        theirs.out_proj.weight.copy_(ours.out.weight)
        theirs.out_proj.bias.copy_(ours.out.bias)
    queries, memory = torch.randn(3, 4, 8).double(), torch.randn(3, 6, 8).double()
    is_valid = torch.arange(6) < torch.tensor([[6], [1], [3]])
    expected, _ = theirs(queries, memory, memory, key_padding_mask=~is_valid)
    torch.testing.assert_close(
        ours(queries, memory, is_valid[:, None]), expected, atol=1e-12, rtol=0
    )


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


def test_no_two_siblings_start_alike():
    torch.manual_seed(0)
    backbone = Backbone(
        BackboneConfig(encoder_layers=2, fusion_layers=2),
        visible_features=4,
        victim_features=4,
        outputs=3,
    )
    weights = [p for p in backbone.parameters() if p.ndim > 1]
    for first, second in itertools.combinations(weights, 2):
        assert first.shape != second.shape or not torch.equal(first, second)


def random_hidden(batch: int, time: int, lengths: list[int]) -> Hidden:
    return Hidden(
        torch.randn(batch, 8).double(), torch.randn(batch, time, 8).double(), torch.tensor(lengths)
    )


def make_fusion(**changes) -> Fusion:
    return Fusion(BackboneConfig(dim=8, heads=2, **changes)).double().eval()


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
    for layer in fusion.visible_reads_victim.layers:
        whole = layer(whole, memory, is_valid)
    short = fusion.visible_reads_victim(reader, memory, is_valid)
    torch.testing.assert_close(short, whole[:, 0], atol=1e-12, rtol=0)


def test_positions_share_a_clock():
    """Equal lengths count 1, 2, 3; twice as many steps stand half as far apart."""
    lengths = torch.tensor([3])
    equal = scaled_positions(3, lengths, lengths, 6)
    torch.testing.assert_close(equal[0], position_table(4, 6, torch.float64, torch.device("cpu")))
    double = scaled_positions(6, torch.tensor([6]), lengths, 6)
    expected = sinusoids(torch.tensor([0, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25]).double(), 6)
    torch.testing.assert_close(double[0], expected)


def test_dropout_keeps_the_mean_and_drops_the_rate():
    torch.manual_seed(0)
    dropped = dropout(torch.ones(400_000), 0.25, is_training=True)
    assert abs((dropped == 0).float().mean() - 0.25) < 0.005
    assert abs(dropped.mean() - 1) < 0.01
    by_place = dropout(torch.ones(50_000, 8), 0.25, is_training=True).eq(0).float().mean(0)
    assert (by_place - 0.25).abs().max() < 0.01  # every byte of a random word is used alike


def test_dropout_is_off_outside_training_and_follows_the_seed():
    values = torch.randn(100)
    assert dropout(values, 0.5, is_training=False) is values
    torch.manual_seed(3)
    first = dropout(values, 0.5, is_training=True)
    torch.manual_seed(3)
    assert torch.equal(first, dropout(values, 0.5, is_training=True))


def test_gradients_are_right():
    torch.manual_seed(0)
    layer = TransformerLayer(4, 2, 0.0).double()
    is_valid = torch.tensor([[[True, True, False]]])
    inputs = (
        torch.randn(1, 3, 4).double().requires_grad_(),
        torch.randn(1, 3, 4).double().requires_grad_(),
    )
    assert torch.autograd.gradcheck(lambda a, b: layer(a, b, is_valid), inputs)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 10, "heads": 4}, "must divide"),
        ({"dropout": 1.0}, "dropout must be in"),
        ({"kernel": 2}, "kernel must be odd"),
        ({"encoder_layers": 0}, "encoder_layers"),
    ],
)
def test_nonsense_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        BackboneConfig(**changes)


def test_parameters_are_counted():
    assert count_parameters(torch.nn.Linear(3, 2)) == 8
