"""Denoising training of the paper's pair without autograd, to rounding as with it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float32
from torch import Tensor

from mmalign.align.compiled import kernels
from mmalign.model.adamw import AdamW
from mmalign.model.compiled_layers import LONGEST, can_be_compiled
from mmalign.model.hidden import Known
from mmalign.model.streams import Streams
from mmalign.predictor.model import Model
from mmalign.predictor.rows import CLS, GAP, Encoded, PairRows, Rows
from mmalign.predictor.scaling import AS_PRINTED
from mmalign.training.config import Config
from mmalign.training.denoise import DenoisingTraining, MissingLoss, Optimizers, diverged
from mmalign.training.distributed import World
from mmalign.training.losses import imputed_loss, labels_of

METHOD = "mmalign"
"""What the kernels impute by."""

Slopes = Float32[np.ndarray, "clips outputs"]


class DirectTraining(DenoisingTraining):
    """`DenoisingTraining` of what `can_go_directly`; the fitter is left to autograd.

    So is a batch with other clips than the paper's, all of which have the visible modality, and the
    victim in the complete split alone.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        if not isinstance(self.optimizers.main, AdamW):
            raise TypeError("DirectTraining needs the AdamW of make_optimizers")
        self.network = PairRows(self.model, self.optimizers.main)
        self.encoded: list[Encoded] = []

    def warm_up(self, complete: Iterable[Streams]) -> None:
        """Lines 1 to 6: the backbone alone, on the complete split."""
        self.network.flat.load()
        super().warm_up(complete)
        self._leave()

    def epoch(self, complete: Iterable[Streams], missing: Iterable[Streams]) -> None:
        """Lines 7 to 18: the complete split, then the missing split."""
        self.network.flat.load()
        super().epoch(complete, missing)
        self._leave()

    def _leave(self) -> None:
        """Store what was learned; members of an ensemble do not keep the memory of their steps."""
        self.network.flat.store()
        self.encoded = []
        self.network.arena.release()

    def _known(self, batch: Streams) -> dict[str, Known]:
        network = self.network
        network.arena.clear()
        self.encoded = []
        if not all(bool(batch.is_present(name).all()) for name in self.model.modalities):
            network.flat.store()
            return super()._known(batch)
        self.encoded = [network.encode(number, batch) for number in range(2)]
        found = [network.known(encoded, batch) for encoded in self.encoded]
        return dict(zip(self.model.modalities, found, strict=True))

    def _step_backbone(self, batch: Streams, known: Mapping[str, Known]) -> None:
        network, sides = self.network, self.encoded
        if not sides:
            super()._step_backbone(batch, known)
            network.flat.load()
            return
        network.flat.slopes[:] = 0
        answer = network.answer(*(side.rows for side in sides))
        loss, to_outputs = self._main_loss(answer.outputs, batch)
        self.losses["main"].append(loss)
        slopes = network.answer_back(answer, to_outputs)
        if self.config.contrastive_weight:
            contrast = self._contrast_rows([side.rows for side in sides], slopes)
            self.losses["contrastive"].append(contrast)
            loss += self.config.contrastive_weight * contrast
        for side, to_side in zip(sides, slopes, strict=True):
            network.encode_back(side, to_side)
        self._step("complete", loss, batch, self._moved(sides))

    def _step_missing(self, batch: Streams, companions: Iterator[Streams]) -> None:
        network = self.network
        source, target = (batch.is_present(name) for name in self.model.modalities)
        if not bool((source & ~target).all()):
            network.flat.store()
            super()._step_missing(batch, companions)
            network.flat.load()
            return
        network.arena.clear()
        network.flat.slopes[:] = 0
        visible = network.encode(0, batch)
        imputed = network.impute(visible.rows)
        answer = network.answer(visible.rows, imputed.rows)
        loss, to_outputs = self._main_loss(answer.outputs, batch)
        to_visible, to_imputed = network.answer_back(answer, to_outputs)
        network.impute_back(imputed, to_imputed, visible.rows, to_visible)
        network.encode_back(visible, to_visible)
        self._step("missing", loss, batch, self._moved([visible]))

    def _moved(self, sides: list[Encoded]) -> Bool[np.ndarray, " tensors"]:
        """Which tensors a step changes: those that the loss depends on.

        Left alone are: the gap vector of an encoder whose clips have no gaps; and, where the victim
        is missing, its whole encoder but [CLS], which opens the imputed sequence.
        """
        is_moved = np.array([place is not None for place in self.network.flat.places])
        for span in self.network.spans[len(sides) : 2]:
            is_moved[span.start : span.stop] = False
            is_moved[span.start + CLS] = True
        for side in sides:
            is_moved[self.network.spans[side.number].start + GAP] &= side.has_gaps
        return is_moved

    def _step(
        self, name: str, loss: float, batch: Streams, is_moved: Bool[np.ndarray, " tensors"]
    ) -> None:
        self._note(name, loss, batch)
        norm = self.network.flat.step(is_moved, self.config.clip_norm)
        if not np.isfinite(norm):
            raise diverged(f"the gradient of the {name} loss is {norm}", batch)
        self.after_step()

    def _main_loss(self, outputs: Slopes, batch: Streams) -> tuple[float, Slopes]:
        """The loss of `mmalign.predictor.model.main_loss`, and its slopes."""
        labels: Tensor = labels_of(batch)
        count, clips = len(outputs), np.arange(len(outputs))
        if labels.is_floating_point():
            mean, scale = float(self.model.label_mean), float(self.model.label_scale)
            error = outputs - ((labels.float().numpy() - mean) / scale)[:, None].astype(np.float32)
            return float(np.mean(error**2)), error * np.float32(2 / count)
        shifted = outputs - outputs.max(axis=1, keepdims=True)
        shares = np.exp(shifted)
        totals = shares.sum(axis=1, keepdims=True)
        chosen = labels.numpy()
        loss = np.mean(np.log(totals[:, 0]) - shifted[clips, chosen])
        shares /= totals
        shares[clips, chosen] -= 1
        return float(loss), shares / np.float32(count)

    def _contrast_rows(self, sides: list[Rows], slopes: list[np.ndarray]) -> float:
        """The contrastive loss of head embeddings; its weighted slopes are added to theirs."""
        dim, config = self.network.dim, self.config
        heads = [rows.numbers.reshape(-1, dim)[rows.starts[:-1]] for rows in sides]
        sizes = [np.maximum(np.linalg.norm(h, axis=1, keepdims=True), 1e-12) for h in heads]
        units = [head / size for head, size in zip(heads, sizes, strict=True)]
        scores = units[0] @ units[1].T / np.float32(config.temperature)
        shifted = scores - scores.max(axis=1, keepdims=True)
        shares = np.exp(shifted)
        totals = shares.sum(axis=1)
        loss = float(np.mean(np.log(totals) - np.diag(shifted)))
        shares /= totals[:, None]
        np.fill_diagonal(shares, np.diag(shares) - 1)
        shares *= np.float32(config.contrastive_weight / config.temperature / len(shares))
        to_units = shares @ units[1], shares.T @ units[0]
        for rows, to, unit, size, slope in zip(sides, to_units, units, sizes, slopes, strict=True):
            along = (unit * to).sum(axis=1, keepdims=True)
            slope.reshape(-1, dim)[rows.starts[:-1]] += (to - unit * along) / size
        return loss


def can_go_directly(
    model: Model, config: Config, *, missing_loss: MissingLoss, world: World, longest: int
) -> bool:
    """Whether there are kernels for all that a training does to the backbone.

    Args:
        model: What is trained.
        config: How.
        missing_loss: What the missing split is trained by.
        world: The processes that train together.
        longest: Steps of the longest clip.
    """
    is_plain = not (config.separated or config.both_passes or config.step_contrast_weight)
    return (
        (config.method == METHOD and model.pair is not None)
        and (can_be_compiled(config) and config.pool == "cls")
        and (is_plain and not config.average and missing_loss is imputed_loss)
        and all(scaling == AS_PRINTED for scaling in model.scalings.values())
        and (world.size == 1 and model.gate.device.type == "cpu" and longest <= LONGEST)
        and kernels("model.kernels.pairs") is not None
    )


def denoising_training(
    model: Model,
    optimizers: Optimizers,
    config: Config,
    *,
    missing_loss: MissingLoss = imputed_loss,
    after_step: Callable[[], None] = lambda: None,
    world: World | None = None,
    longest: int = LONGEST,
) -> DenoisingTraining:
    """What trains a model: directly where that is possible."""
    world = world or World()
    how = {"missing_loss": missing_loss, "world": world}
    is_direct = can_go_directly(model, config, longest=longest, **how)  # type: ignore[arg-type]
    kind = DirectTraining if is_direct else DenoisingTraining
    return kind(model, optimizers, config, after_step=after_step, **how)  # type: ignore[arg-type]
