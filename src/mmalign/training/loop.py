"""Training from the first epoch to the last, with selection on validation data."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from mmalign.align import smallest_window
from mmalign.data.batching import Batches
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.errors import DataError
from mmalign.model.hidden import is_valid
from mmalign.model.pair import Pair, to_pair
from mmalign.predictor.model import Model
from mmalign.predictor.predictor import NonFiniteOutputError, Predictor
from mmalign.training.config import Config
from mmalign.training.denoise import DenoisingTraining, Optimizers, make_optimizers
from mmalign.training.distributed import World
from mmalign.training.losses import REMEDY, TrainingError
from mmalign.training.methods import build_model, find_method
from mmalign.training.selection import Selection, choose_gate, selection_score

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
    """

    model: Model
    optimizers: Optimizers
    selections: dict[str, Selection]
    history: list[Record] = field(default_factory=list)
    seconds: float = 0.0


def start_training(
    dataset: Dataset, config: Config, *, visible: str, victim: str, validations: Mapping[str, Split]
) -> TrainingState:
    """A fresh state: weights from the seed, scales from the training split.

    Raises:
        DataError: If there is no training split, or no clip in it is complete.
    """
    check_trainable(dataset, config, visible=visible, victim=victim)
    train = dataset["train"]
    torch.manual_seed(config.seed)
    model = build_model(
        config,
        dataset.task,
        visible_features=dataset.dims[visible],
        victim_features=dataset.dims[victim],
    )
    model.fit_scales(train, visible, victim)
    selections = {name: Selection() for name in validations}
    return TrainingState(model, make_optimizers(model, config), selections)


def check_trainable(dataset: Dataset, config: Config, *, visible: str, victim: str) -> None:
    """Check that there are complete clips, and that the window reaches across each of them.

    Raises:
        DataError: If not.
    """
    train = dataset["train"]
    lengths = zip(train.ids, train.lengths(visible), train.lengths(victim), strict=True)
    complete = [(clip_id, int(n), int(m)) for clip_id, n, m in lengths if m > 0]
    if not complete:
        raise DataError(
            "no training clip has the victim modality",
            modality=victim,
            fix="Raise the survival rate: the method learns from complete clips.",
        )
    if not find_method(config.method).is_aligned:
        return
    for clip_id, n, m in complete:
        if smallest_window(n, m) > config.window:
            raise DataError(
                f"window {config.window} cannot reach across {n} {visible} and {m} {victim} steps",
                clip=clip_id,
                fix=f"This clip needs --set window={smallest_window(n, m)}, or leave it out.",
            )


class Training:
    """A training run in memory; its `state` starts fresh and may be filled from a checkpoint.

    Args:
        dataset: As the method sees it under the protocol.
        config: What to do.
        visible: The visible modality.
        victim: The victim modality.
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
        visible: str,
        victim: str,
        validations: Mapping[str, Split],
        device: torch.device | None = None,
        world: World | None = None,
    ) -> None:
        self.world = world or World()
        self.config = config
        self.validations = validations
        self.device = device or torch.device("cpu")
        self.state = start_training(
            dataset, config, visible=visible, victim=victim, validations=validations
        )
        self.state.model.to(self.device)
        self.predictor = Predictor(self.state.model, visible, victim, dataset.task)
        self.algorithm = DenoisingTraining(
            self.state.model,
            self.state.optimizers,
            config,
            missing_loss=find_method(config.method).missing_loss,
            average=self.world.average,
        )
        train = dataset["train"]
        is_complete = train.is_present(victim)
        self.complete = self._batches(train.select(np.flatnonzero(is_complete)), dataset)
        self.missing = self._batches(train.select(np.flatnonzero(~is_complete)), dataset)

    def _batches(self, split: Split, dataset: Dataset) -> Batches:
        config = self.config
        return Batches(split, dataset.dims, batch_size=config.batch_size, seed=config.seed)

    @property
    def total_epochs(self) -> int:
        """Warm-up and denoising epochs, if patience lasts."""
        return self.config.warm_up + self.config.epochs

    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        epoch = len(self.state.history)
        if epoch >= self.total_epochs:
            return True
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
        """The epoch that was best on a validation set, with its gate if the config wants one."""
        self.state.model.load_state_dict(self.state.selections[name].best_state)
        if self.config.gate:
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
        complete = self._pairs(self.complete, epoch)
        if epoch <= self.config.warm_up:
            self.state.model.train()
            self.algorithm.warm_up(complete)
        else:
            self._prepare_imputer()
            self.state.model.train()
            self.algorithm.epoch(complete, self._pairs(self.missing, epoch))
        record: Record = {"epoch": epoch, "losses": self.algorithm.mean_losses(), "valid": {}}
        for name, split in self.validations.items():
            metrics = self._validate(split, epoch)
            record["valid"][name] = metrics
            score = selection_score(self.predictor.task, metrics)
            self.state.selections[name].offer(epoch, score, self.state.model.state_dict())
        self.state.history.append(record)
        self.state.seconds += time.perf_counter() - started
        return record

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

    def _prepare_imputer(self) -> None:
        imputer = self.state.model.imputer
        imputer.prepare(self._victim_steps)
        # Each process encodes all clips; the leader's answer saves them from rounding apart.
        self.world.agree(list(imputer.buffers()))

    @torch.no_grad()
    def _victim_steps(self) -> Float[Tensor, "steps dim"]:
        """The victim's hidden steps of all complete training clips, without dropout."""
        model = self.state.model.eval()
        steps = []
        for batch in self.complete.in_order():
            pair = to_pair(batch, self.predictor.visible, self.predictor.victim).to(self.device)
            hidden = model.encode_victim(pair)
            steps.append(hidden.steps[is_valid(hidden.lengths, hidden.steps.shape[1])])
        return torch.cat(steps)

    def _pairs(self, batches: Batches, epoch: int) -> "Pairs":
        return Pairs(batches, epoch, self.predictor, self.device, self.world)


@dataclass(frozen=True)
class Pairs:
    """This process's batches of an epoch; they can be read again and again."""

    batches: Batches
    epoch: int
    predictor: Predictor
    device: torch.device
    world: World

    def __iter__(self) -> Iterator[Pair]:
        for batch in self.batches.epoch(self.epoch):
            pair = to_pair(batch, self.predictor.visible, self.predictor.victim)
            yield self.world.share(pair).to(self.device)
