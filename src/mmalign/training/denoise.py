"""Denoising training: Algorithm 1 of the paper, with its line numbers."""

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from mmalign.errors import AlignmentError
from mmalign.model.adamw import AdamW, Optimizer, clip_gradients
from mmalign.model.hidden import Known
from mmalign.model.streams import Streams
from mmalign.predictor.model import Model, main_loss
from mmalign.training.config import Config
from mmalign.training.distributed import World
from mmalign.training.losses import (
    REMEDY,
    TrainingError,
    contrastive_loss,
    drawn_subset,
    imputed_loss,
    labels_of,
    step_contrast,
)

MissingLoss = Callable[[Model, Streams, Iterator[Streams]], Float[Tensor, ""]]
"""What a batch of incomplete clips is trained by; complete batches come on demand, without end."""


@dataclass(frozen=True)
class Optimizers:
    """One for the backbone (and what the task trains of the bank), one for the imputers."""

    main: Optimizer
    fit: Optimizer | None


def make_optimizers(model: Model, config: Config) -> Optimizers:
    """Adam with decoupled weight decay for both; none for imputers without parameters."""
    decay = config.weight_decay
    task = [*model.backbone.parameters(), *model.bank.task_parameters()]
    fitted = model.bank.imputer_parameters()
    return Optimizers(
        main=AdamW(task, rate=config.learning_rate, weight_decay=decay),
        fit=AdamW(fitted, rate=config.fit_learning_rate, weight_decay=decay)
        if fitted and config.fit
        else None,
    )


class DenoisingTraining:
    """One epoch of Algorithm 1 after the other; batches come as streams.

    With the paper's two modalities and one victim it is Algorithm 1 as printed. With more, every
    imputer is fitted on the clips that have both its ends, incomplete ones included; the
    contrastive losses are means over all pairs of modalities of complete clips; and with both
    passes, complete clips are trained a second time without a random subset of what they have.

    Args:
        model: What is trained.
        optimizers: From `make_optimizers`.
        config: Weights and switches.
        missing_loss: What the missing split is trained by.
        after_step: Called after each step of the backbone.
        world: The processes that train together.
    """

    def __init__(
        self,
        model: Model,
        optimizers: Optimizers,
        config: Config,
        *,
        missing_loss: MissingLoss = imputed_loss,
        after_step: Callable[[], None] = lambda: None,
        world: World | None = None,
    ) -> None:
        self.model = model
        self.optimizers = optimizers
        self.config = config
        self.missing_loss = missing_loss
        self.after_step = after_step
        self.world = world or World()
        self.losses: defaultdict[str, list[float]] = defaultdict(list)

    def warm_up(self, complete: Iterable[Streams]) -> None:
        """Lines 1 to 6: the backbone alone, on the complete split."""
        for batch in complete:
            self._step_backbone(batch, self._known(batch))

    def epoch(self, complete: Iterable[Streams], missing: Iterable[Streams]) -> None:
        """Lines 7 to 18: the complete split, then the missing split.

        Args:
            complete: Batches of clips that have every modality; may be read more than once.
            missing: Batches of clips that lack some.
        """
        if self.config.separated:
            for batch in complete:
                self._step_imputers(batch, self._encode_frozen(batch))
        for batch in complete:  # line 8
            known = self._known(batch)
            if not self.config.separated:
                detached = {name: found.detach() for name, found in known.items()}
                self._step_imputers(batch, detached)  # lines 9 to 11
            self._step_backbone(batch, known)  # lines 12 and 13
        companions = _without_end(complete)
        for batch in missing:  # line 15
            if self._can_fit(batch):
                self._step_imputers(batch, self._encode_frozen(batch))
            self._step_missing(batch, companions)  # lines 16 and 17

    def _known(self, batch: Streams) -> dict[str, Known]:
        return self.model.known(batch)

    def _step_missing(self, batch: Streams, companions: Iterator[Streams]) -> None:
        loss = self.missing_loss(self.model, batch, companions)
        self._update(self.optimizers.main, loss, "missing", batch)

    def _encode_frozen(self, batch: Streams) -> dict[str, Known]:
        with torch.no_grad():
            return self.model.known(batch)

    def _can_fit(self, batch: Streams) -> bool:
        """Whether an imputer has something to learn from these incomplete clips, in any process."""
        if self.optimizers.fit is None or self.model.pair is not None:
            return False
        is_here = any(
            bool((batch.is_present(source) & batch.is_present(target)).any())
            for source, target in self.model.bank.directions
        )
        return self.world.is_any(is_here, self.model.gate.device)

    def _step_imputers(self, batch: Streams, known: Mapping[str, Known]) -> None:
        if self.optimizers.fit is None:
            return
        try:
            losses = list(self.model.bank.fit_losses(known).values())
        except AlignmentError as error:
            raise diverged(f"the modalities cannot be aligned ({error})", batch) from error
        if losses:
            self._update(self.optimizers.fit, _mean(losses), "fit", batch)
        elif self.world.size > 1:  # others have a loss, and wait for this process
            nothing = sum(p.sum() for p in self.model.bank.imputer_parameters()) * 0.0
            self._update(self.optimizers.fit, cast(Tensor, nothing), "fit", batch)

    def _step_backbone(self, batch: Streams, known: Mapping[str, Known]) -> None:
        outputs = self.model.backbone.predict(self.model.completed(known))
        loss = main_loss(self.model, outputs, labels_of(batch))
        self.losses["main"].append(loss.item())
        if self.config.both_passes:
            dropped = drawn_subset(self.model)
            kept = {name: found for name, found in known.items() if name not in dropped}
            again = self.model.backbone.predict(self.model.completed(kept))
            loss = loss + main_loss(self.model, again, labels_of(batch))
        loss = loss + self._contrast(known)
        self._update(self.optimizers.main, loss, "complete", batch)

    def _contrast(self, known: Mapping[str, Known]) -> Float[Tensor, ""] | float:
        """The contrastive losses of complete clips, means over all pairs of modalities."""
        config = self.config
        pairs = list(itertools.combinations([found.hidden for found in known.values()], 2))
        total: Tensor | float = 0.0
        temperature = config.temperature
        if config.contrastive_weight and pairs:
            heads = _mean([contrastive_loss(*p, temperature=temperature) for p in pairs])
            self.losses["contrastive"].append(heads.item())
            total = total + config.contrastive_weight * heads
        if config.step_contrast_weight and pairs:
            window = config.window
            steps = _mean(
                [step_contrast(*p, window=window, temperature=temperature) for p in pairs]
            )
            self.losses["step_contrast"].append(steps.item())
            total = total + config.step_contrast_weight * steps
        return total

    def _update(
        self, optimizer: Optimizer, loss: Float[Tensor, ""], name: str, batch: Streams
    ) -> None:
        self._note(name, loss.item(), batch)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.world.average(parameters, len(batch))
        norm = clip_gradients(parameters, self.config.clip_norm)
        if not math.isfinite(norm):
            raise diverged(f"the gradient of the {name} loss is {norm}", batch)
        optimizer.step()
        if optimizer is self.optimizers.main:
            self.after_step()

    def _note(self, name: str, loss: float, batch: Streams) -> None:
        """Keep a loss for the record of the epoch."""
        if not math.isfinite(loss):
            raise diverged(f"the {name} loss is {loss}", batch)
        self.losses[name].append(loss)

    def mean_losses(self) -> dict[str, float]:
        """Mean of each loss since the last call."""
        means = {name: sum(values) / len(values) for name, values in self.losses.items() if values}
        self.losses.clear()
        return means


def _mean(losses: list[Float[Tensor, ""]]) -> Float[Tensor, ""]:
    return losses[0] if len(losses) == 1 else torch.stack(losses).mean()


def diverged(problem: str, batch: Streams) -> TrainingError:
    """What stops a training whose numbers are none any more."""
    shown = ", ".join(batch.ids[:4]) + (", …" if len(batch) > 4 else "")
    return TrainingError(f"{problem} on the batch with clips {shown}. {REMEDY}")


def _without_end(batches: Iterable[Streams]) -> Iterator[Streams]:
    while True:
        yield from batches
