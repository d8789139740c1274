"""The paper's pair as it was written before there were N modalities: frozen, not to be improved.

Only what was replaced is kept here: encoder, fusion, backbone, model, and the losses of Algorithm 1
and of SMIL. Layers, imputers and solver are the package's own.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from mmalign.model.attention import transformer_layers
from mmalign.model.config import BackboneConfig
from mmalign.model.dropout import dropout
from mmalign.model.fusion import CrossAttention
from mmalign.model.hidden import Hidden, is_valid, step_error
from mmalign.model.positions import position_table, scaled_positions
from mmalign.predictor.model import average_answers
from mmalign.predictor.scaler import Scaler
from mmalign.training.losses import contrastive_loss, step_contrast
from mmalign.training.meta import INNER_RATE, REGULARISATION_WEIGHT


@dataclass(frozen=True)
class Pair:
    visible: Tensor
    visible_lengths: Tensor
    victim: Tensor
    victim_lengths: Tensor
    labels: Tensor

    def rows(self, chosen: Tensor) -> "Pair":
        lengths, victim_lengths = self.visible_lengths[chosen], self.victim_lengths[chosen]
        return Pair(
            self.visible[chosen][:, : int(lengths.max())],
            lengths,
            self.victim[chosen][:, : int(victim_lengths.max())],
            victim_lengths,
            self.labels[chosen],
        )


class Encoder(nn.Module):
    def __init__(self, features: int, config: BackboneConfig) -> None:
        super().__init__()
        self.project = nn.Conv1d(features, config.dim, config.kernel, padding="same")
        self.cls = nn.Parameter(torch.randn(config.dim) / math.sqrt(config.dim))
        self.layers = transformer_layers(config, config.encoder_layers)
        self.dropout = config.dropout

    def forward(self, features: Tensor, lengths: Tensor) -> Hidden:
        inside = is_valid(lengths, features.shape[1])
        projected = self.project(features.masked_fill(~inside[..., None], 0.0).mT).mT
        batch, _, dim = projected.shape
        sequence = torch.cat((self.cls.expand(batch, 1, dim), projected), dim=1)
        sequence = sequence + _table(sequence)
        sequence = dropout(sequence, self.dropout, is_training=self.training)
        for layer in self.layers:
            sequence = layer(
                sequence, sequence, functional.pad(inside, (1, 0), value=True)[:, None]
            )
        return Hidden(sequence[:, 0], sequence[:, 1:].masked_fill(~inside[..., None], 0.0), lengths)


class Fusion(nn.Module):
    def __init__(self, config: BackboneConfig) -> None:
        super().__init__()
        self.visible_reads_victim = CrossAttention(config)
        self.victim_reads_visible = CrossAttention(config)

    def forward(self, visible: Hidden, victim: Hidden) -> Tensor:
        first, second = visible.with_head, victim.with_head
        first = first + _table(first)
        second = second + _victim_positions(visible, victim, second)
        return torch.cat(
            (
                self.visible_reads_victim(first, second, _valid_with_head(victim)),
                self.victim_reads_visible(second, first, _valid_with_head(visible)),
            ),
            dim=-1,
        )


def _table(sequence: Tensor) -> Tensor:
    return position_table(sequence.shape[1], sequence.shape[2], sequence.dtype, sequence.device)


def _victim_positions(visible: Hidden, victim: Hidden, sequence: Tensor) -> Tensor:
    if torch.equal(visible.lengths, victim.lengths):
        return _table(sequence)
    time, dim = victim.steps.shape[1:]
    return scaled_positions(time, victim.lengths, visible.lengths, dim).to(sequence.dtype)


def _valid_with_head(hidden: Hidden) -> Tensor:
    inside = is_valid(hidden.lengths, hidden.steps.shape[1])
    return functional.pad(inside, (1, 0), value=True)[:, None]


class Backbone(nn.Module):
    def __init__(self, config: BackboneConfig, dims: tuple[int, int], outputs: int) -> None:
        super().__init__()
        self.encode_visible, self.encode_victim = (Encoder(dim, config) for dim in dims)
        self.fuse = Fusion(config)
        self.head = nn.Sequential(
            nn.Linear(2 * config.dim, config.dim), nn.Tanh(), nn.Linear(config.dim, outputs)
        )

    def predict(self, visible: Hidden, victim: Hidden) -> Tensor:
        return self.head(self.fuse(visible, victim))

    def imputed(self, steps: Tensor, lengths: Tensor) -> Hidden:
        return Hidden(self.encode_victim.cls.expand(len(steps), -1), steps, lengths)


class Model(nn.Module):
    def __init__(self, backbone: Backbone, imputer: nn.Module, dims: tuple[int, int]) -> None:
        super().__init__()
        self.backbone = backbone
        self.imputer = imputer
        self.visible_scaler, self.victim_scaler = (Scaler(dim) for dim in dims)
        self.register_buffer("length_ratio", torch.ones((), dtype=torch.float64))
        self.register_buffer("gate", torch.ones(()))
        self.register_buffer("label_mean", torch.zeros(()))
        self.register_buffer("label_scale", torch.ones(()))

    def encode_visible(self, pair: Pair) -> Hidden:
        return self.backbone.encode_visible(self.visible_scaler(pair.visible), pair.visible_lengths)

    def encode_victim(self, pair: Pair) -> Hidden:
        return self.backbone.encode_victim(self.victim_scaler(pair.victim), pair.victim_lengths)

    def victim_lengths(self, visible: Hidden) -> Tensor:
        return (visible.lengths * self.length_ratio).round().long().clamp(min=1)

    def impute(self, visible: Hidden) -> Hidden:
        lengths = self.victim_lengths(visible)
        return self.backbone.imputed(self.imputer.impute(visible, lengths), lengths)

    def forward(self, pair: Pair) -> Tensor:
        is_complete = pair.victim_lengths > 0
        if bool(is_complete.all()):
            visible = self.encode_visible(pair)
            outputs = self.backbone.predict(visible, self.encode_victim(pair))
            gate = float(self.gate)
            return (
                outputs
                if gate == 1
                else gate * outputs + (1 - gate) * self._predict_imputed(visible)
            )
        if not bool(is_complete.any()):
            return self._predict_imputed(self.encode_visible(pair))
        answers = [self(pair.rows(chosen)) for chosen in (is_complete, ~is_complete)]
        mixed = answers[0].new_empty(len(is_complete), answers[0].shape[1])
        mixed[is_complete], mixed[~is_complete] = answers
        return mixed

    def _predict_imputed(self, visible: Hidden) -> Tensor:
        lengths = self.victim_lengths(visible)
        answers = [
            self.backbone.predict(visible, self.backbone.imputed(steps, lengths))
            for steps in self.imputer.draws(visible, lengths)
        ]
        return answers[0] if len(answers) == 1 else average_answers(torch.stack(answers))


def complete_losses(model: Model, pair: Pair, *, window: int) -> tuple[Tensor | None, Tensor]:
    """Lines 9 to 13, with both passes and both contrasts: the imputer's loss and the backbone's."""
    visible, victim = model.encode_visible(pair), model.encode_victim(pair)
    has_parameters = any(True for _ in model.imputer.parameters())
    fit = model.imputer.fit_loss(visible.detach(), victim.detach()) if has_parameters else None
    loss = functional.cross_entropy(model.backbone.predict(visible, victim), pair.labels)
    again = model.backbone.predict(visible, model.impute(visible))
    loss = loss + functional.cross_entropy(again, pair.labels)
    heads = contrastive_loss(visible, victim, temperature=0.1)
    steps = step_contrast(visible, victim, window=window, temperature=0.1)
    return fit, loss + (0.0 + 0.1 * heads + 0.5 * steps)


def missing_loss(model: Model, pair: Pair, _complete: Pair) -> Tensor:
    """Line 16."""
    visible = model.encode_visible(pair)
    outputs = model.backbone.predict(visible, model.impute(visible))
    return functional.cross_entropy(outputs, pair.labels)


class RegularisedTask(nn.Module):
    def __init__(self, model: Model) -> None:
        super().__init__()
        self.model = model

    def forward(self, pair: Pair) -> Tensor:
        model = self.model
        visible = model.encode_visible(pair)
        regularised = model.imputer.regularised(visible)
        outputs = model.backbone.predict(regularised, model.impute(visible))
        distance = step_error(regularised.steps, visible) + functional.mse_loss(
            regularised.head, visible.head
        )
        loss = functional.cross_entropy(outputs, pair.labels)
        return loss + REGULARISATION_WEIGHT * distance


def meta_loss(model: Model, missing: Pair, complete: Pair) -> Tensor:
    """SMIL's two levels."""
    task = RegularisedTask(model)
    inner = task(missing)
    own, victims = "model.backbone.", "model.backbone.encode_victim."
    weights = {
        name: weight
        for name, weight in task.named_parameters()
        if name.startswith(own) and not name.startswith(victims)
    }
    gradients = torch.autograd.grad(
        inner, list(weights.values()), create_graph=True, materialize_grads=True
    )
    stepped = {
        name: weight - INNER_RATE * gradient
        for (name, weight), gradient in zip(weights.items(), gradients, strict=True)
    }
    return inner + functional_call(task, stepped, (complete,))
