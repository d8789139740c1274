"""Predictions of a model on a split, and their metrics."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mmalign.data.batching import Batch, Batches, Watch, unwatched
from mmalign.data.split import Split
from mmalign.data.task import Classification, Labels, Task
from mmalign.errors import MMAlignError
from mmalign.evaluation.floors import score
from mmalign.evaluation.predictions import Answers, answer_table, check_finite, in_terms_of
from mmalign.imputers.bank import Direction
from mmalign.model.streams import Streams, to_streams
from mmalign.predictor.members import mean_outputs, member_prefix, split_members
from mmalign.predictor.model import Model, main_loss
from mmalign.predictor.readers import fresh_reader_of

EVALUATION_BATCH = 128
EVALUATION_CELLS = 1 << 20


@dataclass(frozen=True)
class Predictor:
    """Models with their task, whose answers are averaged; as a rule there is one.

    Attributes:
        model: The first one, whose plans and stand-ins are shown.
        task: What is predicted.
        watch: Sees batches go by, or groups of clips where kernels answer.
        others: Further members: trained on the same clips, and scaled alike.
    """

    model: Model
    task: Task
    watch: Watch = unwatched
    others: tuple[Model, ...] = ()

    @property
    def members(self) -> tuple[Model, ...]:
        """All models that answer."""
        return (self.model, *self.others)

    def outputs(self, split: Split) -> Float[Tensor, "clips outputs"]:
        """Raw outputs, one row a clip, in the split's order; of members, those of their mean.

        Raises:
            NonFiniteOutputError: If an output is NaN or infinite, which is no prediction.
        """
        return mean_outputs([self._outputs(model, split) for model in self.members])

    @torch.no_grad()
    def _outputs(self, model: Model, split: Split) -> Float[Tensor, "clips outputs"]:
        model.eval()
        if len(split) == 0:
            return torch.empty(0, model.backbone.outputs)
        # Who asked for compiled layers has the answers of a compiled reader, within 1e-5.
        reader = fresh_reader_of(model) if model.backbone.fuse.is_compiled else None
        read = None if reader is None else reader.outputs(split, self.watch)
        if read is not None:
            check_finite(read, split.ids)
            return torch.from_numpy(read)
        # Clips of like length share a batch, which costs less; rows are put back afterwards.
        batches = Batches(split, self.features(), batch_size=_evaluation_batch(split))
        order = batches.order(0)
        answers = torch.cat(
            [
                model(self.streams(batch)).cpu()
                for batch in self.watch(batches.epoch(0), len(batches))
            ]
        )
        rows = torch.tensor([row for batch in order for row in batch])
        outputs = torch.empty_like(answers).index_copy_(0, rows, answers)
        check_finite(outputs.numpy(), split.ids)
        return outputs

    def weights(self) -> dict[str, Tensor]:
        """Weights of all members; a first one's names are its own, others' have a number."""
        return {
            member_prefix(number) + name: tensor
            for number, model in enumerate(self.members)
            for name, tensor in model.state_dict().items()
        }

    def load_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Take over what `weights` gave.

        Raises:
            RuntimeError: If names or shapes are others.
        """
        for model, own in zip(self.members, split_members(weights, len(self.members)), strict=True):
            model.load_state_dict(own)

    def move(self, device: torch.device) -> None:
        """Compute there from now on."""
        for model in self.members:
            model.to(device)

    def set_gate(self, weight: float) -> None:
        """Let a victim that is there count so much against its imputation."""
        for model in self.members:
            model.gate.fill_(weight)

    @property
    def modalities(self) -> tuple[str, ...]:
        """What the model reads, in its own order."""
        return self.model.modalities

    @property
    def visible(self) -> str:
        """The visible modality of the paper's pair.

        Raises:
            MMAlignError: If the model is none.
        """
        return self._pair.source

    @property
    def victim(self) -> str:
        """The victim modality of the paper's pair.

        Raises:
            MMAlignError: If the model is none.
        """
        return self._pair.target

    @property
    def _pair(self) -> Direction:
        if self.model.pair is None:
            names = ", ".join(self.modalities)
            raise MMAlignError(f"this model has no visible and victim modality; it reads {names}")
        return self.model.pair

    def streams(self, batch: Batch) -> Streams:
        """The tensors of a batch, where the model is and of its floating type."""
        place = self.model.label_mean
        return to_streams(batch, self.modalities).to(place.device).to(place.dtype)

    def features(self) -> dict[str, int]:
        """Feature dims of the modalities."""
        return self.model.features

    def to_labels(self, outputs: Float[Tensor, "clips outputs"]) -> Labels:
        """Predictions in the terms of the labels: numbers, or indices of classes."""
        mean, scale = self.model.label_mean.item(), self.model.label_scale.item()
        return in_terms_of(self.task, outputs.numpy(), mean, scale)

    def evaluate(self, split: Split) -> dict[str, float]:
        """The task's metrics over all clips of a labelled split, and the mean main loss."""
        if split.labels is None:
            raise ValueError("the split has no labels to compare with")
        return self.metrics(self.outputs(split), split.labels)

    def metrics(self, outputs: Float[Tensor, "clips outputs"], labels: Labels) -> dict[str, float]:
        """The task's metrics of these outputs, and the mean main loss."""
        device = self.model.label_mean.device
        loss = main_loss(self.model, outputs.to(device), torch.from_numpy(labels).to(device))
        return score(self.task, self.to_labels(outputs), labels) | {"loss": loss.item()}


def _evaluation_batch(split: Split) -> int:
    """Clips a batch, fewer where they are long: attention takes memory with length squared."""
    longest = max(int(split.lengths(name).max()) for name in split.modalities)
    return int(np.clip(EVALUATION_CELLS // (longest * longest), 1, EVALUATION_BATCH))


def prediction_table(
    predictor: Predictor,
    splits: Mapping[str, Split],
    *,
    present: Mapping[str, Bool[np.ndarray, " _"]] | None = None,
    outputs: Mapping[str, Float[Tensor, "clips outputs"]] | None = None,
) -> pa.Table:
    """Split, id, prediction, label where known, and what was there: one row a clip.

    There is a column `has_<modality>` for each modality, and `used` names those of a clip; in the
    paper's pair there is `has_<victim>` alone.

    Args:
        predictor: What predicts.
        splits: Clips as the model sees them.
        present: Which clips of a pair had their victim before the method looked at them.
        outputs: The predictor's outputs on these splits, where they are known already.
    """
    answers = {
        name: _answers(
            predictor, split, predictor.outputs(split) if outputs is None else outputs[name]
        )
        for name, split in splits.items()
    }
    victim = None if predictor.model.pair is None else predictor.victim
    return answer_table(
        predictor.task,
        answers,
        modalities=predictor.modalities,
        victim=victim,
        present=present,
    )


def _answers(
    predictor: Predictor, split: Split, outputs: Float[Tensor, "clips outputs"]
) -> Answers:
    is_classified = isinstance(predictor.task, Classification)
    shares = outputs.softmax(dim=-1).numpy() if is_classified else None
    return Answers(split, predictor.to_labels(outputs), shares)
