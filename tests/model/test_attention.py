"""Attention equals torch's, and its gradients are right."""

import torch

from mmalign.model.attention import Attention, PreNormLayer, TransformerLayer


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


def test_gradients_are_right():
    torch.manual_seed(0)
    layer = TransformerLayer(4, 2, 0.0).double()
    is_valid = torch.tensor([[[True, True, False]]])
    inputs = (
        torch.randn(1, 3, 4).double().requires_grad_(),
        torch.randn(1, 3, 4).double().requires_grad_(),
    )
    assert torch.autograd.gradcheck(lambda a, b: layer(a, b, is_valid), inputs)


def test_the_pre_norm_layer_equals_torch_s():
    """nn.TransformerEncoderLayer with `norm_first` and the same weights is the oracle."""
    torch.manual_seed(0)
    ours = PreNormLayer(8, 2, 0.0).double()
    theirs = torch.nn.TransformerEncoderLayer(
        8, 2, 32, dropout=0.0, batch_first=True, norm_first=True
    ).double()
    attention = ours.attention
    pairs = {
        "self_attn.in_proj_weight": (attention.query.weight, attention.key_value.weight),
        "self_attn.in_proj_bias": (attention.query.bias, attention.key_value.bias),
    }
    parts = {
        "self_attn.out_proj": attention.out,
        "linear1": ours.widen,
        "linear2": ours.narrow,
        "norm1": ours.norm,
        "norm2": ours.norm_wide,
    }
    for norm in (ours.norm, ours.norm_wide):
        torch.nn.init.normal_(norm.weight)
        torch.nn.init.normal_(norm.bias)
    state = {name: torch.cat(both) for name, both in pairs.items()}
    for name, part in parts.items():
        state |= {f"{name}.weight": part.weight, f"{name}.bias": part.bias}
    theirs.load_state_dict(state)
    sequence = torch.randn(3, 6, 8).double()
    is_valid = torch.arange(6) < torch.tensor([[6], [1], [3]])
    found = ours(sequence, sequence, is_valid[:, None])
    expected = theirs(sequence, src_key_padding_mask=~is_valid)
    torch.testing.assert_close(found[is_valid], expected[is_valid], atol=1e-12, rtol=0)


def test_long_sequences_are_fused_and_give_the_same(monkeypatch):
    torch.manual_seed(0)
    layer = Attention(8, 2)
    queries, memory = torch.randn(3, 20, 8), torch.randn(3, 30, 8)
    is_valid = (torch.arange(30) < torch.tensor([[30], [1], [17]]))[:, None]
    plain = layer(queries, memory, is_valid)
    monkeypatch.setattr("mmalign.model.attention.FUSED_CELLS", 20 * 30)
    fused = layer(queries, memory, is_valid)
    assert not torch.equal(fused, plain)  # another order of sums
    torch.testing.assert_close(fused, plain, atol=1e-6, rtol=0)
