"""The paper's training as a run: protocols, epochs, the selected epoch's scores."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Protocol
from mmalign.errors import ConfigError, DataError
from mmalign.runs.artifact import Artifact
from mmalign.runs.checkpoint import CHECKPOINT, load_checkpoint, save_checkpoint
from mmalign.runs.manifest import MASKS, write_saved
from mmalign.runs.records import METRICS, write_json, write_json_lines
from mmalign.runs.result import PREDICTIONS, RESULT, TIMING, Outcome, Result, summary
from mmalign.runs.run import BrokenOffError
from mmalign.training.config import Config, config_to_json
from mmalign.training.distributed import World
from mmalign.training.loop import Record, Training, check_trainable
from mmalign.training.losses import TrainingError
from mmalign.training.methods import find_method, seen_by

OnEpoch = Callable[[Record, Training], None]
"""Called after each epoch with its record."""


@dataclass(frozen=True, kw_only=True)
class PairTraining:
    """What to train on a pair of modalities.

    Attributes:
        dataset: All clips, complete; the protocols take away what must be missing.
        protocols: What goes missing. Several may share the training if they differ in their setting
            only: each selects its own epoch, and the first one's weights are kept.
        config: Method, model and training.
        device: Where to compute.
        world: The processes that train together.
    """

    dataset: Dataset
    protocols: tuple[Protocol, ...]
    config: Config
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    world: World = field(default_factory=World)

    def __post_init__(self) -> None:
        first = self.protocols[0]
        if any(replace(protocol, setting=first.setting) != first for protocol in self.protocols):
            raise ConfigError("protocols of one run may differ in their setting only")

    def check(self) -> None:
        """Check that the data can be trained on with this config.

        Raises:
            DataError: If a modality, a split or labels are missing, or a window is too small.
        """
        for split in ("train", "valid"):
            if self.dataset[split].labels is None:
                raise DataError(
                    "training needs labels", split=split, fix="Give the data a column 'label'."
                )
        check_trainable(
            next(iter(self._seen.values())),
            self.config,
            modalities=(self.visible, self.victim),
            targets=(self.victim,),
        )

    def identity(self) -> dict[str, Any]:
        """Device, data, protocol and config."""
        protocol = asdict(self.protocols[0])
        return {
            "device": self.device.type,
            "data": self._data_hash,
            "protocol": {**protocol, "setting": "".join(self._seen)},
            "config": config_to_json(self.config),
        }

    def train(self, folder: Path, watch: OnEpoch) -> Result:
        """Train from the checkpoint in the folder; write model, result and all about it.

        Raises:
            BrokenOffError: If a loss is not finite; the best epoch before it is saved.
            TrainingError: If that happens before there is any.
        """
        training = self._prepare(folder / CHECKPOINT)
        try:
            self._run_epochs(training, folder, watch)
        except TrainingError as error:
            if not (self.world.is_leader and training.state.history):
                raise
            self._finish(training, folder, diverged=str(error))
            epoch = training.state.selections[self.protocols[0].setting].best_epoch
            raise BrokenOffError(
                f"{error} The best epoch before that, {epoch} of {len(training.state.history)}, is "
                f"saved in {folder}: mmalign evaluate, predict and explain take it."
            ) from error
        return self._finish(training, folder) if self.world.is_leader else {}

    @property
    def visible(self) -> str:
        """The visible modality."""
        return self.protocols[0].visible

    @property
    def victim(self) -> str:
        """The victim modality."""
        return self.protocols[0].victim

    @cached_property
    def _seen(self) -> dict[str, Dataset]:
        """What the method sees of the data, by setting."""
        method = find_method(self.config.method)
        return {
            protocol.setting: seen_by(method, self.dataset, protocol.masks(self.dataset))
            for protocol in self.protocols
        }

    @cached_property
    def _data_hash(self) -> str:
        return dataset_hash(self.dataset.only([self.visible, self.victim]))

    def _prepare(self, checkpoint: Path) -> Training:
        first = next(iter(self._seen.values()))
        training = Training(
            first,
            self.config,
            modalities=(self.visible, self.victim),
            targets=(self.victim,),
            validations={setting: seen["valid"] for setting, seen in self._seen.items()},
            device=self.device,
            world=self.world,
        )
        if checkpoint.exists():
            load_checkpoint(checkpoint, training.state)
        return training

    def _run_epochs(self, training: Training, folder: Path, watch: OnEpoch) -> None:
        while not training.is_finished():
            record = training.run_epoch()
            if self.world.is_leader:
                save_checkpoint(training.state, folder / CHECKPOINT)
                write_json_lines(folder / METRICS, training.state.history)
                watch(record, training)

    def _finish(self, training: Training, folder: Path, *, diverged: str | None = None) -> Result:
        """Write the selected epochs and all about them; `diverged` says what ended it early."""
        outcome = Outcome(training, diverged)
        for setting in reversed(self._seen):  # the first one's weights stay in the model
            outcome.score(setting, self._seen[setting])
        self.protocols[0].masks(self.dataset).save(folder / MASKS)
        outcome.write_predictions(folder / PREDICTIONS)
        result = outcome.result(self.protocols[0], self.dataset)
        write_json(folder / TIMING, {"seconds": training.state.seconds})
        write_json(folder / RESULT, result)
        artifact = Artifact(training.predictor, self.config)
        write_saved(folder, artifact.saved(summary(result, keep=self.config.keep)))
        return result
