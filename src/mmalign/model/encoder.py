"""From the features of one modality to its hidden sequence."""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.attention import last_norm, self_attention_layers
from mmalign.model.compiled_layers import can_be_compiled, encoded, layer_kernels
from mmalign.model.config import BackboneConfig
from mmalign.model.dropout import dropout
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.loading import drawn
from mmalign.model.positions import position_table


class Encoder(nn.Module):
    """Projection, [CLS], positions and self-attention (paper: "Backbone Network", m1 = m2).

    A step in a gap has no features: a vector of its own and its position stand there, zeros until
    `learn_gap`. No step reads it, in the convolution it counts like what lies before the first
    step, and what it reads from the others makes it a hidden step like any other.
    """

    gap: nn.Parameter | None

    def __init__(self, features: int, config: BackboneConfig) -> None:
        super().__init__()
        # As in MulT, a short convolution lets a step see its neighbours before attention does.
        self.project = nn.Conv1d(features, config.dim, config.kernel, padding="same")
        self.cls = nn.Parameter(drawn(config.dim, over=math.sqrt(config.dim)))
        self.layers = self_attention_layers(config)
        self.norm = last_norm(config)
        self.dropout = config.dropout
        self.is_compiled = can_be_compiled(config)
        self.register_parameter("gap", None)

    def learn_gap(self) -> None:
        """Let training change what stands in a gap, from zeros on."""
        self.gap = nn.Parameter(torch.zeros_like(self.cls))

    def forward(
        self,
        features: Float[Tensor, "batch time features"],
        lengths: Int[Tensor, " batch"],
        observed: Bool[Tensor, "batch time"] | None = None,
    ) -> Hidden:
        """Encode; what the features hold in gaps and after each clip's length does not matter."""
        inside = is_valid(lengths, features.shape[1])
        known = inside if observed is None else inside & observed
        if self.is_compiled and not features.requires_grad:
            compiled = layer_kernels(features.shape[1], features, self.cls)
            if compiled is not None:
                between = None if observed is None else self.gap
                return encoded(compiled, self, features, lengths, known, between)
        projected = self.project(features.masked_fill(~known[..., None], 0.0).mT).mT
        batch, _, dim = projected.shape
        if observed is not None:
            gap = torch.zeros_like(self.cls) if self.gap is None else self.gap
            projected = torch.where((inside & ~known)[..., None], gap, projected)
        sequence = torch.cat((self.cls.expand(batch, 1, dim), projected), dim=1)
        sequence = sequence + position_table(
            sequence.shape[1], dim, sequence.dtype, sequence.device
        )
        sequence = dropout(sequence, self.dropout, is_training=self.training)
        is_valid_with_head = functional.pad(known, (1, 0), value=True)[:, None]
        for layer in self.layers:
            sequence = layer(sequence, sequence, is_valid_with_head)
        sequence = self.norm(sequence)
        steps = sequence[:, 1:].masked_fill(~inside[..., None], 0.0)
        return Hidden(sequence[:, 0], steps, lengths)
