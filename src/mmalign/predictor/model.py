"""A model is a backbone plus a bank of imputers."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from mmalign.data.split import Split
from mmalign.imputers.bank import Ask, Direction, ImputerBank, all_draws, one
from mmalign.model.backbone import Backbone
from mmalign.model.hidden import Hidden, Known, is_valid
from mmalign.model.streams import Streams
from mmalign.predictor.scaler import Scaler
from mmalign.predictor.scaling import Scaling


class Model(nn.Module):
    """Predicts from clips that have any of its modalities; what is there is used.

    Args:
        backbone: Encodes, fuses and predicts.
        bank: Stands in for what is missing.
        scalers: For the features of each modality.
    """

    gate: Tensor
    label_mean: Tensor
    label_scale: Tensor

    def __init__(self, backbone: Backbone, bank: ImputerBank, scalers: Sequence[Scaler]) -> None:
        super().__init__()
        self.backbone = backbone
        self.bank = bank
        self.scalers = nn.ModuleList(scalers)
        self._features = {m: len(s.mean) for m, s in zip(self.modalities, scalers, strict=True)}
        # How much a victim that is there counts against its imputation; chosen on validation, in
        # the paper's pair only.
        self.register_buffer("gate", torch.ones(()))
        self.register_buffer("label_mean", torch.zeros(()))
        self.register_buffer("label_scale", torch.ones(()))

    @property
    def modalities(self) -> tuple[str, ...]:
        """What it reads, in its own order."""
        return self.backbone.modalities

    @property
    def pair(self) -> Direction | None:
        """Visible and victim, if this is the paper's model: two modalities, one direction."""
        is_pair = self.bank.directions == (self.modalities,)
        return self.bank.directions[0] if is_pair else None

    @property
    def uncertain(self) -> tuple[str, ...]:
        """What a clip may lack: in the paper's pair the victim, otherwise anything."""
        return self.modalities if self.pair is None else (self.pair.target,)

    @property
    def features(self) -> dict[str, int]:
        """Feature dims of the modalities."""
        return dict(self._features)

    @property
    def scalings(self) -> dict[str, Scaling]:
        """How the features of each modality are scaled."""
        scalers = cast(list[Scaler], self.scalers)
        return {m: s.scaling for m, s in zip(self.modalities, scalers, strict=True)}

    def encode(self, modality: str, streams: Streams) -> Hidden:
        """Hidden sequences of one modality; every clip must have it."""
        features, lengths = streams.features[modality], streams.lengths[modality]
        observed = streams.observed.get(modality)
        inside = is_valid(lengths, features.shape[1])
        is_known = inside if observed is None else inside & observed
        scaled = self.scalers[self.modalities.index(modality)](features, is_known)
        return self.backbone.encode(modality, scaled, lengths, observed)

    def known(self, streams: Streams) -> dict[str, Known]:
        """Hidden sequences of all that is there; a modality that no clip has is left out."""
        found = {}
        for name in self.modalities:
            is_there = streams.is_present(name)
            if bool(is_there.all()):
                found[name] = Known(self.encode(name, streams), is_there)
            elif bool(is_there.any()):
                found[name] = Known(self.encode(name, streams.rows(is_there)), is_there)
        return found

    def stand_in(
        self, target: str, known: Mapping[str, Known], is_wanted: Bool[Tensor, " batch"]
    ) -> Hidden:
        """What stands in for a modality in the wanted clips."""
        return next(self._stand_ins(target, known, is_wanted, one))

    def _stand_ins(
        self, target: str, known: Mapping[str, Known], is_wanted: Bool[Tensor, " batch"], ask: Ask
    ) -> Iterator[Hidden]:
        for steps, lengths in self.bank.stand_ins(target, known, is_wanted, ask):
            yield self.backbone.imputed(target, steps, lengths)

    def completed(
        self, known: Mapping[str, Known], shown: Mapping[str, Known] | None = None
    ) -> dict[str, Hidden]:
        """A sequence of every modality for every clip, imputed where it is not there.

        Args:
            known: What is there; stand-ins are made of it.
            shown: What stands for itself in the answer; as a rule the same.
        """
        whole = {}
        for name in self.modalities:
            if name not in known:
                everywhere = torch.ones_like(next(iter(known.values())).is_there)
                whole[name] = self.stand_in(name, known, everywhere)
                continue
            own = (shown or known)[name]
            is_complete = bool(own.is_there.all())
            whole[name] = (
                own.hidden if is_complete else own.filled(self.stand_in(name, known, ~own.is_there))
            )
        return whole

    def forward(self, streams: Streams) -> Float[Tensor, "batch outputs"]:
        """One prediction a clip, from what it has and from stand-ins for the rest.

        Clips of one pattern are computed together, and their rows put back.
        """
        patterns = [rows for _, rows in streams.patterns()]
        if len(patterns) == 1:
            return self._predict(self.known(streams))
        answers: list[Tensor] = [self._predict(self.known(streams.rows(r))) for r in patterns]
        mixed = answers[0].new_empty(len(streams), answers[0].shape[1])
        for rows, answer in zip(patterns, answers, strict=True):
            mixed[rows] = answer
        return mixed

    def _predict(self, known: Mapping[str, Known]) -> Float[Tensor, "batch outputs"]:
        """The prediction for clips of one pattern.

        A pair mixes the one with the victim and the one without it where the gate says so.
        """
        if len(known) < len(self.modalities):
            return self._predict_imputed(known)
        outputs = self.backbone.predict({name: found.hidden for name, found in known.items()})
        gate = float(self.gate)
        if gate == 1.0 or self.pair is None:
            return outputs
        visible = {self.pair.source: known[self.pair.source]}
        return gate * outputs + (1 - gate) * self._predict_imputed(visible)

    def _predict_imputed(self, known: Mapping[str, Known]) -> Float[Tensor, "batch outputs"]:
        present = {name: found.hidden for name, found in known.items()}
        everywhere = next(iter(known.values())).is_there
        missing = [name for name in self.modalities if name not in known]
        # A stand-in of zeros comes once, however many draws there are of others.
        drawn = (self._stand_ins(name, known, everywhere, all_draws) for name in missing)
        answers = [
            self.backbone.predict({**present, **dict(zip(missing, stand_ins, strict=True))})
            for stand_ins in zip(*drawn, strict=False)
        ]
        return answers[0] if len(answers) == 1 else average_answers(torch.stack(answers))

    def fit_scales(self, train: Split) -> None:
        """Learn feature scales, label scale and the ratios of lengths from the training split."""
        for name, scaler in zip(self.modalities, self.scalers, strict=True):
            cast(Scaler, scaler).fit(train, name)
        for (source, target), way in self.bank.items():
            way.fit_lengths(train.lengths(source), train.lengths(target))
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
