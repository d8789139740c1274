"""One network in training: its weights, what trains them, and its own order of batches."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mmalign.data.batching import Batches
from mmalign.data.split import Split
from mmalign.model.hidden import is_valid
from mmalign.model.streams import Streams, to_streams
from mmalign.predictor.model import Model
from mmalign.training.config import Config
from mmalign.training.denoise import make_optimizers
from mmalign.training.direct import denoising_training
from mmalign.training.distributed import World
from mmalign.training.methods import find_method
from mmalign.training.recipe import Recipe
from mmalign.training.selection import State

STRIDE = 1_000_003
"""From a member's seed to the next one's: seeds that people count up do not share members."""


def member_configs(config: Config) -> list[Config]:
    """One config a member, each with a seed of its own; the first one's is that of the config."""
    seeds = [(config.seed + number * STRIDE) % 2**32 for number in range(config.members)]
    return [replace(config, seed=seed) for seed in seeds]


class Member:
    """Trains one network, epoch by epoch, to the same bits whether or not there are others.

    Args:
        model: A fresh model, its scales fitted.
        train: Training clips as the method sees them.
        config: What to do; its seed is the member's own.
        device: Where to compute.
        world: The processes that train together.
    """

    def __init__(
        self, model: Model, train: Split, config: Config, *, device: torch.device, world: World
    ) -> None:
        self.model = model.to(device)
        self.config, self.device, self.world = config, device, world
        self.optimizers = make_optimizers(model, config)
        self.average: State = {}
        self.recipe = Recipe(config, model, self.optimizers, self.average)
        self.algorithm = denoising_training(
            model,
            self.optimizers,
            config,
            missing_loss=find_method(config.method).missing_loss,
            after_step=self.recipe.after_step,
            world=world,
            longest=max(int(train.lengths(name).max()) for name in model.modalities),
        )
        is_whole = train.has_all(model.modalities)
        self.complete = self._batches(train.select(np.flatnonzero(is_whole)))
        self.missing = self._batches(train.select(np.flatnonzero(~is_whole)))

    def _batches(self, split: Split) -> Batches:
        config, dims = self.config, self.model.features
        return Batches(split, dims, batch_size=config.batch_size, seed=config.seed)

    def train(self, epoch: int) -> dict[str, float]:
        """Train for an epoch; returns the mean of each loss.

        Raises:
            TrainingError: If a loss is not finite.
        """
        # Dropout is a function of seed and epoch, so that a resumed run repeats it to the bit.
        stream = (self.config.seed * 1_000_003 + epoch) * 1009 + self.world.rank
        torch.manual_seed(stream % 2**63)
        complete = self.streams(self.complete, epoch)
        if epoch <= self.config.warm_up_epochs:
            self.recipe.start_epoch(epoch, updates=len(self.complete))
            self.model.train()
            self.algorithm.warm_up(complete)
        else:
            self.recipe.start_epoch(epoch, updates=len(self.complete) + len(self.missing))
            self._prepare_imputers()
            self.model.train()
            self.algorithm.epoch(complete, self.streams(self.missing, epoch))
        return self.algorithm.mean_losses()

    def _prepare_imputers(self) -> None:
        self.model.bank.prepare(self._hidden_steps)
        # Each process encodes all clips; the leader's answer saves them from rounding apart.
        self.world.agree(list(self.model.bank.buffers()))

    @torch.no_grad()
    def _hidden_steps(self, modality: str) -> Float[Tensor, "steps dim"]:
        """A modality's hidden steps of all training clips that have it, without dropout."""
        model = self.model.eval()
        steps = []
        for batch in itertools.chain(self.complete.in_order(), self.missing.in_order()):
            streams = to_streams(batch, model.modalities).to(self.device)
            is_there = streams.is_present(modality)
            if bool(is_there.any()):
                hidden = model.encode(
                    modality, streams if bool(is_there.all()) else streams.rows(is_there)
                )
                steps.append(hidden.steps[is_valid(hidden.lengths, hidden.steps.shape[1])])
        return torch.cat(steps)

    def streams(self, batches: Batches, epoch: int) -> "EpochStreams":
        """This process's batches of an epoch."""
        return EpochStreams(batches, epoch, self.device, self.world)


@dataclass(frozen=True)
class EpochStreams:
    """This process's batches of an epoch; they can be read again and again."""

    batches: Batches
    epoch: int
    device: torch.device
    world: World

    def __iter__(self) -> Iterator[Streams]:
        for batch in self.batches.epoch(self.epoch):
            yield self.world.share(to_streams(batch, tuple(self.batches.dims))).to(self.device)
