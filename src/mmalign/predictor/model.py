"""A model is a backbone plus an imputer."""

import math
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.data.split import Split
from mmalign.imputers.contract import Imputer
from mmalign.model.backbone import Backbone
from mmalign.model.hidden import Hidden
from mmalign.model.pair import Pair
from mmalign.predictor.scaler import Scaler


class Model(nn.Module):
    """Predicts from complete, missing and mixed batches; a victim that is there is used.

    Args:
        backbone: Encodes, fuses and predicts.
        imputer: Stands in for a missing victim.
        scalers: For the features of visible and victim.
    """

    length_ratio: Tensor
    gate: Tensor
    label_mean: Tensor
    label_scale: Tensor

    def __init__(
        self, backbone: Backbone, imputer: Imputer, scalers: tuple[Scaler, Scaler]
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.imputer = imputer
        self.visible_scaler, self.victim_scaler = scalers
        # Steps of the victim per step of the visible modality: its length when it is missing.
        self.register_buffer("length_ratio", torch.ones((), dtype=torch.float64))
        # How much a victim that is there counts against its imputation; chosen on validation.
        self.register_buffer("gate", torch.ones(()))
        self.register_buffer("label_mean", torch.zeros(()))
        self.register_buffer("label_scale", torch.ones(()))

    def encode_visible(self, pair: Pair) -> Hidden:
        """Hidden sequence of the visible modality."""
        scaled = self.visible_scaler(pair.visible)
        return cast(Hidden, self.backbone.encode_visible(scaled, pair.visible_lengths))

    def encode_victim(self, pair: Pair) -> Hidden:
        """Hidden sequence of the victim; every clip of the pair must have it."""
        scaled = self.victim_scaler(pair.victim)
        return cast(Hidden, self.backbone.encode_victim(scaled, pair.victim_lengths))

    def impute(self, visible: Hidden) -> Hidden:
        """What stands in for the victim."""
        lengths = self.victim_lengths(visible.lengths)
        return self.backbone.imputed(self.imputer.impute(visible, lengths), lengths)

    def victim_lengths(self, visible_lengths: Int[Tensor, " batch"]) -> Int[Tensor, " batch"]:
        """How long a missing victim is taken to be."""
        return (visible_lengths * self.length_ratio).round().long().clamp(min=1)

    def forward(self, pair: Pair) -> Float[Tensor, "batch outputs"]:
        """One prediction a clip, with the victim where it is there and its imputation elsewhere."""
        is_complete = pair.is_complete
        if bool(is_complete.all()):
            return self._predict_complete(pair)
        if not bool(is_complete.any()):
            return self._predict_imputed(self.encode_visible(pair))
        answers: list[Tensor] = [self(pair.rows(c)) for c in (is_complete, ~is_complete)]
        mixed = answers[0].new_empty(len(pair), answers[0].shape[1])
        mixed[is_complete], mixed[~is_complete] = answers
        return mixed

    def _predict_complete(self, pair: Pair) -> Float[Tensor, "batch outputs"]:
        """The prediction with the victim, mixed with the one without it where the gate says so."""
        visible = self.encode_visible(pair)
        outputs = self.backbone.predict(visible, self.encode_victim(pair))
        gate = float(self.gate)
        if gate == 1.0:
            return outputs
        return gate * outputs + (1 - gate) * self._predict_imputed(visible)

    def _predict_imputed(self, visible: Hidden) -> Float[Tensor, "batch outputs"]:
        lengths = self.victim_lengths(visible.lengths)
        answers = [
            self.backbone.predict(visible, self.backbone.imputed(steps, lengths))
            for steps in self.imputer.draws(visible, lengths)
        ]
        return answers[0] if len(answers) == 1 else average_answers(torch.stack(answers))

    def fit_scales(self, train: Split, visible: str, victim: str) -> None:
        """Learn feature scales, label scale and the ratio of lengths from the training split."""
        self.visible_scaler.fit(train, visible)
        self.victim_scaler.fit(train, victim)
        steps, victim_steps = train.lengths(visible), train.lengths(victim)
        is_complete = victim_steps > 0
        if is_complete.any():
            ratio = victim_steps[is_complete].sum() / steps[is_complete].sum()
            self.length_ratio.fill_(float(ratio))
        if train.labels is not None and train.labels.dtype.kind == "f":
            self.label_mean.fill_(float(train.labels.mean()))
            self.label_scale.fill_(float(train.labels.std()) or 1.0)


def average_answers(
    answers: Float[Tensor, "draws batch outputs"],
) -> Float[Tensor, "batch outputs"]:
    """The answer whose value, or whose class probabilities, are the mean over all draws."""
    if answers.shape[2] == 1:
        return answers.mean(dim=0)
    return answers.log_softmax(dim=-1).logsumexp(dim=0) - math.log(len(answers))


def main_loss(
    model: Model,
    outputs: Float[Tensor, "batch outputs"],
    labels: Float[Tensor, " batch"] | Int[Tensor, " batch"],
) -> Float[Tensor, ""]:
    """Squared error of scaled labels, or cross-entropy (paper: Eq. 5)."""
    if labels.is_floating_point():
        wanted = (labels.to(outputs.dtype) - model.label_mean) / model.label_scale
        return functional.mse_loss(outputs[:, 0], wanted)
    return functional.cross_entropy(outputs, labels)
