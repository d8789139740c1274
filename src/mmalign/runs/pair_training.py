"""The paper's training as a run: protocols, epochs, the selected epoch's scores."""

from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Protocol
from mmalign.errors import ConfigError
from mmalign.runs.card import data_in_words
from mmalign.runs.epochs import (
    OnEpoch,
    score_settings,
    train_epochs,
    write_outcome,
)
from mmalign.runs.manifest import MASKS
from mmalign.runs.result import Outcome, Result, summary
from mmalign.training.config import Config, config_to_json
from mmalign.training.distributed import World
from mmalign.training.loop import Training, check_trainable
from mmalign.training.methods import find_method, seen_by


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
        for needed in ("train", "valid"):  # to learn from, and to choose the best epoch by
            self.dataset.training_labels(needed)
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
        training = Training(
            next(iter(self._seen.values())),
            self.config,
            modalities=(self.visible, self.victim),
            targets=(self.victim,),
            validations={setting: seen["valid"] for setting, seen in self._seen.items()},
            device=self.device,
            world=self.world,
        )
        return train_epochs(training, folder, watch, self._finish)

    def _finish(self, outcome: Outcome, folder: Path) -> Result:
        score_settings(outcome, self._seen)
        protocol = self.protocols[0]
        protocol.masks(self.dataset).save(folder / MASKS)
        facts = {k: v for k, v in asdict(protocol).items() if k != "setting"}
        result = outcome.result(facts, self.dataset)
        about = data_in_words(self.dataset, self._whole_hash, facts)
        in_words = f"{about}\n{summary(result, keep=self.config.keep)}"
        write_outcome(outcome, result, in_words, folder)
        return result

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

    @property
    def _whole_hash(self) -> str:
        """That of all modalities, which may be more than the pair or in another order."""
        is_pair = tuple(self.dataset.dims) == (self.visible, self.victim)
        return self._data_hash if is_pair else dataset_hash(self.dataset)

    @cached_property
    def _data_hash(self) -> str:
        return dataset_hash(self.dataset.only([self.visible, self.victim]))
