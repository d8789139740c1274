"""Training from the first epoch to the last, with selection on validation data."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from mmalign.align import smallest_window
from mmalign.data.batching import Batches
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.errors import DataError
from mmalign.imputers.bank import Direction, needed_directions
from mmalign.model.hidden import is_valid
from mmalign.model.streams import Streams, to_streams
from mmalign.predictor.model import Model
from mmalign.predictor.predictor import NonFiniteOutputError, Predictor
from mmalign.predictor.scaling import ScalingConfig
from mmalign.training.config import Config
from mmalign.training.denoise import DenoisingTraining, Optimizers, make_optimizers
from mmalign.training.distributed import World
from mmalign.training.losses import REMEDY, TrainingError
from mmalign.training.meta import meta_loss
from mmalign.training.methods import build_model, find_method
from mmalign.training.recipe import Recipe, standing_in
from mmalign.training.selection import Selection, State, choose_gate, selection_score

Record = dict[str, Any]


@dataclass
class TrainingState:
    """All that training needs to go on: what a checkpoint holds.

    Attributes:
        model: The current weights.
        optimizers: Their state.
        selections: The best epoch so far on each validation set.
        history: One record an epoch; its length is the number of epochs done.
        seconds: Time spent in training, validation included.
        average: Averaged weights, if the config wants them.
    """

    model: Model
    optimizers: Optimizers
    selections: dict[str, Selection]
    history: list[Record] = field(default_factory=list)
    seconds: float = 0.0
    average: State = field(default_factory=dict)


def start_training(
    dataset: Dataset,
    config: Config,
    *,
    modalities: Sequence[str],
    targets: Sequence[str] | None,
    validations: Mapping[str, Split],
) -> TrainingState:
    """A fresh state: weights from the seed, scales from the training split.

    Raises:
        DataError: If there is no training split, or nothing to learn from in it.
    """
    check_trainable(dataset, config, modalities=modalities, targets=targets)
    train = dataset["train"]
    directions = _directions(train, config, modalities, targets)
    wanted = ScalingConfig(centre=config.centre, scale=config.scale, differences=config.differences)
    scalings = wanted.choose(train, modalities)
    torch.manual_seed(config.seed)
    dims = {name: dataset.dims[name] for name in modalities}
    model = build_model(config, dataset.task, dims, directions, scalings)
    model.backbone.learn_gaps([m for m in modalities if m in train.gapped])
    model.fit_scales(train)
    selections = {name: Selection() for name in validations}
    return TrainingState(model, make_optimizers(model, config), selections)


def _directions(
    train: Split, config: Config, modalities: Sequence[str], targets: Sequence[str] | None
) -> tuple[Direction, ...]:
    """What is imputed from what; training that drops at random may need any direction.

    So may two modalities of which clips may lack either: one direction is the paper's pair.
    """
    needs_all = config.both_passes or len(modalities) == 2
    wanted = modalities if targets is None and needs_all else targets
    return needed_directions(train, modalities, wanted)


def check_trainable(
    dataset: Dataset,
    config: Config,
    *,
    modalities: Sequence[str],
    targets: Sequence[str] | None = None,
) -> None:
    """Check that there is something to learn from, and that the window reaches across each clip.

    Raises:
        DataError: If not.
    """
    train = dataset["train"]
    for name in modalities:
        if not train.is_present(name).any():
            raise _unknown(name, is_victim=targets is not None and name in targets)
    method = find_method(config.method)
    if method.missing_loss is meta_loss and not _is_complete(train, modalities).any():
        raise DataError(
            f"no training clip has all of {', '.join(modalities)}",
            fix=f"{config.method} learns from complete clips: give some, or another method.",
        )
    if method.is_aligned:
        for direction in _directions(train, config, modalities, targets):
            _check_window(train, config.window, *direction)


def _unknown(modality: str, *, is_victim: bool) -> DataError:
    if is_victim:
        return DataError(
            "no training clip has the victim modality",
            modality=modality,
            fix="Raise the survival rate: the method learns from complete clips.",
        )
    return DataError(
        "no training clip has the modality",
        modality=modality,
        fix="Leave it out of the modalities, or give training clips that have it.",
    )


def _check_window(train: Split, window: int, source: str, target: str) -> None:
    lengths = zip(train.ids, train.lengths(source), train.lengths(target), strict=True)
    for clip_id, n, m in lengths:
        if n > 0 and m > 0 and smallest_window(int(n), int(m)) > window:
            raise DataError(
                f"window {window} cannot reach across {n} {source} and {m} {target} steps",
                clip=clip_id,
                fix=f"This clip needs --set window={smallest_window(int(n), int(m))}, "
                "or leave it out.",
            )


def _is_complete(split: Split, modalities: Sequence[str]) -> Bool[np.ndarray, " clips"]:
    found: Bool[np.ndarray, " clips"] = np.all([split.is_present(m) for m in modalities], axis=0)
    return found


class Training:
    """A training run in memory; its `state` starts fresh and may be filled from a checkpoint.

    Args:
        dataset: As the method sees it under the protocol.
        config: What to do.
        modalities: What the model reads, in its order; for the paper's pair visible and victim.
        targets: What may have to be imputed; for the paper's pair the victim. Without it, whatever
            training drops at random or some clip lacks: see `needed_directions`.
        validations: Validation splits by name; the best epoch on each is kept. Training ends when
            none of them has improved for `patience` epochs.
        device: Where to compute.
        world: The processes that train together.
    """

    def __init__(
        self,
        dataset: Dataset,
        config: Config,
        *,
        modalities: Sequence[str],
        targets: Sequence[str] | None = None,
        validations: Mapping[str, Split],
        device: torch.device | None = None,
        world: World | None = None,
    ) -> None:
        self.world = world or World()
        self.config = config
        self.validations = validations
        self.device = device or torch.device("cpu")
        self.state = start_training(
            dataset, config, modalities=modalities, targets=targets, validations=validations
        )
        self.state.model.to(self.device)
        self.predictor = Predictor(self.state.model, dataset.task)
        self.recipe = Recipe(config, self.state.model, self.state.optimizers, self.state.average)
        self.algorithm = DenoisingTraining(
            self.state.model,
            self.state.optimizers,
            config,
            missing_loss=find_method(config.method).missing_loss,
            after_step=self.recipe.after_step,
            world=self.world,
        )
        train = dataset["train"]
        is_complete = _is_complete(train, modalities)
        self.complete = self._batches(train.select(np.flatnonzero(is_complete)))
        self.missing = self._batches(train.select(np.flatnonzero(~is_complete)))

    def _batches(self, split: Split) -> Batches:
        config, dims = self.config, self.predictor.features()
        return Batches(split, dims, batch_size=config.batch_size, seed=config.seed)

    @property
    def total_epochs(self) -> int:
        """Warm-up and denoising epochs, if patience lasts."""
        return self.config.warm_up + self.config.epochs

    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        epoch = len(self.state.history)
        if epoch >= self.total_epochs or self.config.keep == "last":
            return epoch >= self.total_epochs
        patience, warm_up = self.config.patience, self.config.warm_up
        return all(
            selection.is_exhausted(epoch, patience=patience, warm_up=warm_up)
            for selection in self.state.selections.values()
        )

    def run(self, on_epoch: Callable[[Record], None] = lambda _: None) -> None:
        """Train to the end; `on_epoch` is called with each epoch's record."""
        while not self.is_finished():
            on_epoch(self.run_epoch())

    def select(self, name: str) -> Predictor:
        """The epoch that is kept for a validation set, with its gate if the config wants one."""
        self.state.model.load_state_dict(self.state.selections[name].best_state)
        if self.config.gate and self.state.model.pair is not None:
            choose_gate(self.predictor, self.validations[name])
        self.state.model.eval()
        return self.predictor

    def run_epoch(self) -> Record:
        """One epoch: train, validate, keep what is best.

        Raises:
            TrainingError: If a loss is not finite.
        """
        started = time.perf_counter()
        epoch = len(self.state.history) + 1
        # Dropout is a function of seed and epoch, so that a resumed run repeats it to the bit.
        stream = (self.config.seed * 1_000_003 + epoch) * 1009 + self.world.rank
        torch.manual_seed(stream % 2**63)
        complete = self._streams(self.complete, epoch)
        if epoch <= self.config.warm_up:
            self.recipe.start_epoch(epoch, updates=len(self.complete))
            self.state.model.train()
            self.algorithm.warm_up(complete)
        else:
            self.recipe.start_epoch(epoch, updates=len(self.complete) + len(self.missing))
            self._prepare_imputers()
            self.state.model.train()
            self.algorithm.epoch(complete, self._streams(self.missing, epoch))
        record: Record = {"epoch": epoch, "losses": self.algorithm.mean_losses()}
        with standing_in(self.state.model, self.state.average):
            record["valid"] = self._validate_all(epoch)
        self.state.history.append(record)
        self.state.seconds += time.perf_counter() - started
        return record

    def _validate_all(self, epoch: int) -> dict[str, dict[str, float]]:
        """Metrics on each validation set, which keeps the weights if the config wants it to."""
        found = {}
        for name, split in self.validations.items():
            found[name] = self._validate(split, epoch)
            score = selection_score(self.predictor.task, found[name])
            selection = self.state.selections[name]
            keep = selection.take if self.config.keep == "last" else selection.offer
            keep(epoch, score, self.state.model.state_dict())
        return found

    def _validate(self, split: Split, epoch: int) -> dict[str, float]:
        try:
            metrics = self.predictor.evaluate(split)
        except NonFiniteOutputError as error:
            raise TrainingError(
                f"{error.problem} on validation clip {error.clip} after epoch {epoch}. {REMEDY}"
            ) from error
        if not math.isfinite(metrics["loss"]):
            raise TrainingError(
                f"the validation loss is {metrics['loss']} after epoch {epoch}. {REMEDY}"
            )
        return metrics

    def _prepare_imputers(self) -> None:
        bank = self.state.model.bank
        bank.prepare(self._hidden_steps)
        # Each process encodes all clips; the leader's answer saves them from rounding apart.
        self.world.agree(list(bank.buffers()))

    @torch.no_grad()
    def _hidden_steps(self, modality: str) -> Float[Tensor, "steps dim"]:
        """A modality's hidden steps of all training clips that have it, without dropout."""
        model = self.state.model.eval()
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

    def _streams(self, batches: Batches, epoch: int) -> "EpochStreams":
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
