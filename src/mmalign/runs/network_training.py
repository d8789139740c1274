"""The network's training on any number of modalities as a run, whatever the clips lack."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.split import Split
from mmalign.data.task import Labels
from mmalign.errors import DataError, located
from mmalign.predictor.features import check_any, with_modalities
from mmalign.runs.card import data_in_words
from mmalign.runs.epochs import (
    OnEpoch,
    score_settings,
    train_epochs,
    write_outcome,
)
from mmalign.runs.protocols import Protocols, protocol_facts, save_masks, seen_under
from mmalign.runs.records import without_nan
from mmalign.runs.result import Outcome, Result, scores_in_words
from mmalign.runs.subset_scores import having, score_subsets, subsets_summary
from mmalign.training.config import Config, config_to_json
from mmalign.training.distributed import World
from mmalign.training.loop import Training, check_trainable
from mmalign.training.methods import find_method


@dataclass(frozen=True, kw_only=True)
class NetworkTraining:
    """What to train a network on, of whose modalities clips may lack any.

    A bound is the dedicated network of its modalities: trained and scored on the clips that have
    all of them.

    Attributes:
        dataset: All clips.
        config: Method, model and training.
        modalities: Which to read, in the model's order; all of the dataset's, by name, by default.
        protocols: What goes missing, by setting; none leaves the data as it is. The network learns
            from the first one's training clips. Each setting selects its own epoch, and the first
            one's weights are kept.
        device: Where to compute.
        world: The processes that train together.
    """

    dataset: Dataset
    config: Config
    modalities: tuple[str, ...] | None = None
    protocols: Protocols = field(default_factory=dict)
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    world: World = field(default_factory=World)

    def check(self) -> None:
        """Check that every clip has a modality, and that there is something to learn from.

        Raises:
            DataError: If not, or if a modality, a split or labels are missing, or a window is too
                small.
        """
        for needed in ("train", "valid"):  # to learn from, and to choose the best epoch by
            self._used.training_labels(needed)
        for seen in self._seen.values():
            for name, split in seen.splits.items():
                with located(split=name):
                    _require_clips(split)
                    check_any(split, self._used.dims)
        check_trainable(self._first, self.config, modalities=self._names)

    def identity(self) -> dict[str, Any]:
        """Device, data, protocol and config."""
        return {
            "device": self.device.type,
            "data": self._data_hash,
            "protocol": protocol_facts(self.protocols),
            "config": {**config_to_json(self.config), "modalities": list(self._names)},
        }

    def train(self, folder: Path, watch: OnEpoch) -> Result:
        """Train from the checkpoint in the folder; write model, result and all about it.

        Raises:
            BrokenOffError: If a loss is not finite; the best epoch before it is saved.
            TrainingError: If that happens before there is any.
        """
        training = Training(
            self._first,
            self.config,
            modalities=self._names,
            validations={setting: seen["valid"] for setting, seen in self._seen.items()},
            device=self.device,
            world=self.world,
        )
        return train_epochs(training, folder, watch, self._finish)

    def _finish(self, outcome: Outcome, folder: Path) -> Result:
        score_settings(outcome, self._seen)
        save_masks(self.protocols, self._used, folder)
        predictor = outcome.training.predictor

        def score(split: Split, labels: Labels) -> tuple[Labels, dict[str, Any]]:
            outputs = predictor.outputs(with_modalities(split, self._names))
            metrics = predictor.metrics(outputs, labels)
            return predictor.to_labels(outputs), {"metrics": metrics}

        scored = score_subsets(self._names, self._first, score)
        found = outcome.result(protocol_facts(self.protocols), self._first)
        result = {**found, "subsets": without_nan(scored)}
        scores = scores_in_words(result, keep=self.config.keep).lstrip()
        about = data_in_words(self._used, self._data_hash, protocol_facts(self.protocols))
        in_words = f"{about}\n{scores}\n{subsets_summary(result)}"
        write_outcome(outcome, result, in_words, folder)
        return result

    @property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._used.dims)

    @cached_property
    def _data_hash(self) -> str:
        return dataset_hash(self._used)

    @cached_property
    def _used(self) -> Dataset:
        """The dataset with the modalities that are read, in the model's order."""
        return self.dataset.only(self.modalities or sorted(self.dataset.dims))

    @cached_property
    def _seen(self) -> dict[str, Dataset]:
        """What the method sees of the data, by setting."""
        method = find_method(self.config.method)
        seen = seen_under(self.protocols, self._used)
        if not method.is_masked:
            seen = dict.fromkeys(seen, self._used)
        if method.is_dedicated:
            seen = {setting: _complete(dataset) for setting, dataset in seen.items()}
        return seen

    @property
    def _first(self) -> Dataset:
        return next(iter(self._seen.values()))


def _complete(dataset: Dataset) -> Dataset:
    """The clips that have all modalities."""
    splits = {name: having(split, dataset.modalities) for name, split in dataset.splits.items()}
    return replace(dataset, splits=splits)


def _require_clips(split: Split) -> None:
    """Check that a bound has clips to learn from and to be scored on.

    Raises:
        DataError: If not.
    """
    if len(split) == 0:
        raise DataError(
            f"no clip has all of {', '.join(split.modalities)}",
            fix="A bound reads complete clips: choose fewer modalities, or another method.",
        )
