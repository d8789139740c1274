"""What goes on around the steps of an optimiser: step sizes over time, and averaged weights."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mmalign.model.adamw import Optimizer
from mmalign.training.config import Config
from mmalign.training.denoise import Optimizers
from mmalign.training.selection import State

RISE = 0.1
"""Share of the training in which the step size rises to its full height."""


class Recipe:
    """Sets step sizes before, and averages weights after, each step of the backbone.

    With the paper's config it does nothing at all.

    Args:
        config: `schedule` and `average`.
        model: What is trained.
        optimizers: What trains it.
        average: The averaged weights so far; changed in place.
    """

    def __init__(
        self, config: Config, model: nn.Module, optimizers: Optimizers, average: State
    ) -> None:
        self.config = config
        self.model = model
        self.optimizers = optimizers
        self.average = average
        self.epoch, self.updates, self.done = 1, 1, 0

    def start_epoch(self, epoch: int, *, updates: int) -> None:
        """Get ready for the steps of an epoch, of which there will be so many."""
        self.epoch, self.updates, self.done = epoch, max(updates, 1), 0
        self._set_rates()

    def after_step(self) -> None:
        """Average the weights, and set the size of the next step."""
        self.done += 1
        if self.config.average:
            add_to_average(self.average, self.model, decay=self.config.average)
        self._set_rates()

    def _set_rates(self) -> None:
        if self.config.schedule == "constant":
            return
        done = self.epoch - 1 + (self.done + 0.5) / self.updates
        share = rate_share(done / self.config.epochs)
        set_rate(self.optimizers.main, share * self.config.learning_rate)
        if self.optimizers.fit is not None:
            set_rate(self.optimizers.fit, share * self.config.fit_learning_rate)


def rate_share(progress: float) -> float:
    """Share of the full step size: a line up to 1, then a cosine down to 0.

    >>> [round(rate_share(part), 3) for part in (0.0, 0.05, 0.1, 0.55, 1.0)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if progress < RISE:
        return progress / RISE
    return (1 + math.cos(math.pi * min(1.0, (progress - RISE) / (1 - RISE)))) / 2


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Let the next step of the optimiser have this size."""
    for group in optimizer.param_groups:
        group["lr"] = rate


@torch.no_grad()
def add_to_average(average: State, model: nn.Module, *, decay: float) -> None:
    """Move the averaged weights towards the model's; the first ones are taken as they are."""
    for name, weight in model.named_parameters():
        if name in average:
            average[name].lerp_(weight, 1 - decay)
        else:
            average[name] = weight.detach().clone()


@contextmanager
def standing_in(model: nn.Module, average: Mapping[str, Tensor]) -> Iterator[None]:
    """Let the model have its averaged weights for a while, if there are any."""
    weights = {n: p for n, p in model.named_parameters() if n in average}
    current = {name: weight.detach().clone() for name, weight in weights.items()}
    _copy(weights, average)
    try:
        yield
    finally:
        _copy(weights, current)


@torch.no_grad()
def _copy(weights: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    for name, weight in weights.items():
        weight.copy_(values[name])
