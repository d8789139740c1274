"""Training from the first epoch to the last, with selection on validation data."""

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch

from mmalign.align import smallest_window
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.errors import DataError
from mmalign.evaluation.predictions import NonFiniteOutputError
from mmalign.imputers.bank import Direction, needed_directions
from mmalign.predictor.model import Model
from mmalign.predictor.predictor import Predictor
from mmalign.predictor.scaling import ScalingConfig
from mmalign.training.config import Config
from mmalign.training.distributed import World
from mmalign.training.losses import REMEDY, TrainingError
from mmalign.training.member import Member, member_configs
from mmalign.training.meta import meta_loss
from mmalign.training.methods import build_model, find_method
from mmalign.training.recipe import standing_in
from mmalign.training.selection import Selection, choose_gate, selection_score

Record = dict[str, Any]


@dataclass
class TrainingState:
    """All that training needs to go on: what a checkpoint holds.

    Attributes:
        members: The networks, with their current weights and what trains them.
        selections: The best epoch so far on each validation set.
        history: One record an epoch; its length is the number of epochs done.
        seconds: Time spent in training, validation included.
    """

    members: list[Member]
    selections: dict[str, Selection]
    history: list[Record] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def model(self) -> Model:
        """The first member's network, as a rule the only one."""
        return self.members[0].model


def fresh_models(
    dataset: Dataset,
    configs: Sequence[Config],
    *,
    modalities: Sequence[str],
    targets: Sequence[str] | None,
) -> list[Model]:
    """A model for each config: weights from its seed, scales from the training split.

    Raises:
        DataError: If there is no training split, or nothing to learn from in it.
    """
    config, train = configs[0], dataset["train"]
    check_trainable(dataset, config, modalities=modalities, targets=targets)
    directions = _directions(train, config, modalities, targets)
    wanted = ScalingConfig(centre=config.centre, scale=config.scale, differences=config.differences)
    scalings = wanted.choose(train, modalities)
    dims = {name: dataset.dims[name] for name in modalities}
    models = []
    for member in configs:
        torch.manual_seed(member.seed)
        model = build_model(member, dataset.task, dims, directions, scalings)
        model.backbone.learn_gaps([m for m in modalities if m in train.gapped])
        model.fit_scales(train)
        models.append(model)
    return models


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
    if method.missing_loss is meta_loss and not train.has_all(modalities).any():
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
        configs, train = member_configs(config), dataset["train"]
        models = fresh_models(dataset, configs, modalities=modalities, targets=targets)
        members = [
            Member(model, train, own, device=self.device, world=self.world)
            for model, own in zip(models, configs, strict=True)
        ]
        self.state = TrainingState(members, {name: Selection() for name in validations})
        self.predictor = Predictor(models[0], dataset.task, others=tuple(models[1:]))

    def is_finished(self) -> bool:
        """Whether there is nothing left to do."""
        epoch = len(self.state.history)
        if epoch >= self.config.epochs or self.config.keep == "last":
            return epoch >= self.config.epochs
        patience, warm_up = self.config.patience, self.config.warm_up_epochs
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
        self.predictor.load_weights(self.state.selections[name].best_state)
        if self.config.gate and self.state.model.pair is not None:
            choose_gate(self.predictor, self.validations[name])
        for model in self.predictor.members:
            model.eval()
        return self.predictor

    def run_epoch(self) -> Record:
        """One epoch: train, validate, keep what is best.

        Raises:
            TrainingError: If a loss is not finite.
        """
        started = time.perf_counter()
        epoch = len(self.state.history) + 1
        losses = [member.train(epoch) for member in self.state.members]
        record: Record = {"epoch": epoch, "losses": _mean_losses(losses)}
        with ExitStack() as averaged:
            for member in self.state.members:
                averaged.enter_context(standing_in(member.model, member.average))
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
            keep(epoch, score, self.predictor.weights())
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


def _mean_losses(losses: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean over the members of each loss."""
    names = dict.fromkeys(name for one in losses for name in one)
    return {name: statistics.fmean(one[name] for one in losses if name in one) for name in names}
