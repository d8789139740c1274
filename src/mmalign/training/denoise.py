"""Denoising training: Algorithm 1 of the paper, with its line numbers."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from mmalign.errors import AlignmentError
from mmalign.model.hidden import Hidden
from mmalign.model.pair import Pair
from mmalign.predictor.model import Model, main_loss
from mmalign.training.config import Config
from mmalign.training.losses import (
    REMEDY,
    TrainingError,
    contrastive_loss,
    imputed_loss,
    labels_of,
    step_contrast,
)

MissingLoss = Callable[[Model, Pair, Iterator[Pair]], Float[Tensor, ""]]
"""What a batch without its victim is trained by; complete batches come on demand, without end."""


@dataclass(frozen=True)
class Optimizers:
    """One for the backbone (and what the task trains of the imputer), one for the imputer."""

    main: torch.optim.Optimizer
    fit: torch.optim.Optimizer | None


def make_optimizers(model: Model, config: Config) -> Optimizers:
    """Adam with decoupled weight decay for both; none for an imputer without parameters."""
    decay = config.weight_decay
    task = [*model.backbone.parameters(), *model.imputer.task_parameters()]
    fitted = list(model.imputer.parameters())
    return Optimizers(
        main=torch.optim.AdamW(task, lr=config.learning_rate, weight_decay=decay, fused=True),
        fit=torch.optim.AdamW(fitted, lr=config.fit_learning_rate, weight_decay=decay, fused=True)
        if fitted and config.fit
        else None,
    )


class DenoisingTraining:
    """One epoch of Algorithm 1 after the other; batches come as pairs.

    Args:
        model: What is trained.
        optimizers: From `make_optimizers`.
        config: Weights and switches.
        missing_loss: What the missing split is trained by.
        average: Averages the gradients of parameters over processes, in place; for torchrun.
    """

    def __init__(
        self,
        model: Model,
        optimizers: Optimizers,
        config: Config,
        *,
        missing_loss: MissingLoss = imputed_loss,
        average: Callable[[list[nn.Parameter], int], None] = lambda _parameters, _clips: None,
    ) -> None:
        self.model = model
        self.optimizers = optimizers
        self.config = config
        self.missing_loss = missing_loss
        self.average = average
        self.losses: defaultdict[str, list[float]] = defaultdict(list)

    def warm_up(self, complete: Iterable[Pair]) -> None:
        """Lines 1 to 6: the backbone alone, on the complete split."""
        for batch in complete:
            visible, victim = self.model.encode_visible(batch), self.model.encode_victim(batch)
            self._step_backbone(batch, visible, victim)

    def epoch(self, complete: Iterable[Pair], missing: Iterable[Pair]) -> None:
        """Lines 7 to 18: the complete split, then the missing split.

        Args:
            complete: Batches with their victim; may be read more than once.
            missing: Batches without it.
        """
        if self.config.separated:
            for batch in complete:
                self._step_imputer(batch, *self._encode_frozen(batch))
        for batch in complete:  # line 8
            visible, victim = self.model.encode_visible(batch), self.model.encode_victim(batch)
            if not self.config.separated:
                self._step_imputer(batch, visible.detach(), victim.detach())  # lines 9 to 11
            self._step_backbone(batch, visible, victim)  # lines 12 and 13
        companions = _without_end(complete)
        for batch in missing:  # line 15
            loss = self.missing_loss(self.model, batch, companions)  # line 16
            self._update(self.optimizers.main, loss, "missing", batch)  # line 17

    def _encode_frozen(self, batch: Pair) -> tuple[Hidden, Hidden]:
        with torch.no_grad():
            return self.model.encode_visible(batch), self.model.encode_victim(batch)

    def _step_imputer(self, batch: Pair, visible: Hidden, victim: Hidden) -> None:
        if self.optimizers.fit is None:
            return
        try:
            loss = self.model.imputer.fit_loss(visible, victim)
        except AlignmentError as error:
            raise _diverged(f"the modalities cannot be aligned ({error})", batch) from error
        if loss is not None:
            self._update(self.optimizers.fit, loss, "fit", batch)

    def _step_backbone(self, batch: Pair, visible: Hidden, victim: Hidden) -> None:
        outputs = self.model.backbone.predict(visible, victim)
        loss = main_loss(self.model, outputs, labels_of(batch))
        self.losses["main"].append(loss.item())
        if self.config.both_passes:
            again = self.model.backbone.predict(visible, self.model.impute(visible))
            loss = loss + main_loss(self.model, again, labels_of(batch))
        loss = loss + self._contrast(visible, victim)
        self._update(self.optimizers.main, loss, "complete", batch)

    def _contrast(self, visible: Hidden, victim: Hidden) -> Float[Tensor, ""] | float:
        config = self.config
        total: Tensor | float = 0.0
        temperature = config.temperature
        if config.contrastive_weight:
            heads = contrastive_loss(visible, victim, temperature=temperature)
            self.losses["contrastive"].append(heads.item())
            total = total + config.contrastive_weight * heads
        if config.step_contrast_weight:
            steps = step_contrast(visible, victim, window=config.window, temperature=temperature)
            self.losses["step_contrast"].append(steps.item())
            total = total + config.step_contrast_weight * steps
        return total

    def _update(
        self, optimizer: torch.optim.Optimizer, loss: Float[Tensor, ""], name: str, batch: Pair
    ) -> None:
        value = loss.item()
        if not math.isfinite(value):
            raise _diverged(f"the {name} loss is {value}", batch)
        self.losses[name].append(value)
        parameters = [p for group in optimizer.param_groups for p in group["params"]]
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        self.average(parameters, len(batch))
        norm = nn.utils.clip_grad_norm_(parameters, self.config.clip_norm)
        if not math.isfinite(norm.item()):
            raise _diverged(f"the gradient of the {name} loss is {norm.item()}", batch)
        optimizer.step()

    def mean_losses(self) -> dict[str, float]:
        """Mean of each loss since the last call."""
        means = {name: sum(values) / len(values) for name, values in self.losses.items() if values}
        self.losses.clear()
        return means


def _diverged(problem: str, batch: Pair) -> TrainingError:
    shown = ", ".join(batch.ids[:4]) + (", …" if len(batch) > 4 else "")
    return TrainingError(f"{problem} on the batch with clips {shown}. {REMEDY}")


def _without_end(batches: Iterable[Pair]) -> Iterator[Pair]:
    while True:
        yield from batches
