"""From the features of one modality to its hidden sequence."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.model.attention import transformer_layers
from mmalign.model.config import BackboneConfig
from mmalign.model.dropout import dropout
from mmalign.model.hidden import Hidden, is_valid
from mmalign.model.positions import position_table


class Encoder(nn.Module):
    """Projection, [CLS], positions and self-attention (paper: "Backbone Network", m1 = m2)."""

    def __init__(self, features: int, config: BackboneConfig) -> None:
        super().__init__()
        # As in MulT, a short convolution lets a step see its neighbours before attention does.
        self.project = nn.Conv1d(features, config.dim, config.kernel, padding="same")
        self.cls = nn.Parameter(torch.randn(config.dim) / math.sqrt(config.dim))
        self.layers = transformer_layers(config, config.encoder_layers)
        self.dropout = config.dropout

    def forward(
        self, features: Float[Tensor, "batch time features"], lengths: Int[Tensor, " batch"]
    ) -> Hidden:
        """Encode; what the features hold after each clip's length does not matter."""
        inside = is_valid(lengths, features.shape[1])
        projected = self.project(features.masked_fill(~inside[..., None], 0.0).mT).mT
        batch, _, dim = projected.shape
        sequence = torch.cat((self.cls.expand(batch, 1, dim), projected), dim=1)
        sequence = sequence + position_table(
            sequence.shape[1], dim, sequence.dtype, sequence.device
        )
        sequence = dropout(sequence, self.dropout, is_training=self.training)
        is_valid_with_head = functional.pad(inside, (1, 0), value=True)[:, None]
        for layer in self.layers:
            sequence = layer(sequence, sequence, is_valid_with_head)
        steps = sequence[:, 1:].masked_fill(~inside[..., None], 0.0)
        return Hidden(sequence[:, 0], steps, lengths)
