"""A training in a directory: it resumes after a kill, and never mixes with another one.

This is the one executor: `mmalign train`, a cell of a grid and a trial of a search all leave the
same directory.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Protocol
from mmalign.errors import ConfigError, DataError
from mmalign.files import drafts_of
from mmalign.runs.artifact import MANIFEST, MASKS, SAVED_FILES, Artifact, save_artifact, seal
from mmalign.runs.checkpoint import load_checkpoint, save_checkpoint
from mmalign.runs.claim import (
    BusyFolderError,
    FinishedFolderError,
    claimed,
    keep_identity,
    refuse_foreign,
)
from mmalign.runs.machine import describe_machine
from mmalign.runs.records import read_json, write_json, write_json_lines
from mmalign.runs.result import PREDICTIONS, RESULT, TIMING, Outcome, Result, summary
from mmalign.training.config import Config, config_to_json
from mmalign.training.distributed import World
from mmalign.training.loop import Record, Training, check_trainable
from mmalign.training.losses import TrainingError
from mmalign.training.methods import find_method, seen_by
from mmalign.version import __version__

IDENTITY, CHECKPOINT, METRICS = "run.json", "checkpoint/state.safetensors", "metrics.jsonl"
WRITTEN = SAVED_FILES | {IDENTITY, CHECKPOINT, METRICS, MASKS, RESULT, TIMING, PREDICTIONS}

Watch = Callable[[Record, Training], None]
"""Called after each epoch with its record."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """What to train, and where.

    Attributes:
        dataset: All clips, complete; the protocols take away what must be missing.
        protocols: What goes missing. Several may share the training if they differ in their setting
            only: each selects its own epoch, and the first one's weights are kept.
        config: Method, model and training.
        out: The run directory.
        device: Where to compute.
        world: The processes that train together.
    """

    dataset: Dataset
    protocols: tuple[Protocol, ...]
    config: Config
    out: Path
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    world: World = field(default_factory=World)

    def __post_init__(self) -> None:
        first = self.protocols[0]
        if any(replace(protocol, setting=first.setting) != first for protocol in self.protocols):
            raise ConfigError("protocols of one run may differ in their setting only")

    def execute(self, on_epoch: Watch = lambda *_: None) -> Result:
        """Train, or go on where a killed run stopped; returns the content of `result.json`.

        Raises:
            BusyFolderError: If another process is at it.
            ForeignFolderError: If the directory belongs to another run, or to something else.
            FinishedFolderError: If the run is finished.
            DataError: If a modality or a split is not in the data.
            TrainingError: If a loss is not finite; the best epoch before it, if any, is saved.
        """
        self.check()
        with self._claimed():
            return self._train(on_epoch)

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

    def seconds(self) -> float:
        """How long the finished run trained."""
        return float(read_json(self.out / TIMING, fix="Train it again.")["seconds"])

    def restart(self) -> None:
        """Make the directory this run's, and forget what was trained in it.

        Raises:
            BusyFolderError: If another process is at it.
        """
        with self._held():
            for name in (MANIFEST, CHECKPOINT):
                (self.out / name).unlink(missing_ok=True)
            write_json(self.out / IDENTITY, self._identity())

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

    def _train(self, on_epoch: Watch) -> Result:
        training = self._prepare()
        try:
            self._run_epochs(training, on_epoch)
        except TrainingError as error:
            if not (self.world.is_leader and training.state.history):
                raise
            # The same command would diverge again: this is all that the run will ever be.
            self._finish(training, diverged=str(error))
            epoch = training.state.selections[self.protocols[0].setting].best_epoch
            raise TrainingError(
                f"{error} The best epoch before that, {epoch} of {len(training.state.history)}, is "
                f"saved in {self.out}: mmalign evaluate, predict and explain take it."
            ) from error
        return self._finish(training) if self.world.is_leader else {}

    def _prepare(self) -> Training:
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
        if (self.out / CHECKPOINT).exists():
            load_checkpoint(self.out / CHECKPOINT, training.state)
        return training

    def _run_epochs(self, training: Training, on_epoch: Watch) -> None:
        while not training.is_finished():
            record = training.run_epoch()
            if self.world.is_leader:
                save_checkpoint(training.state, self.out / CHECKPOINT)
                write_json_lines(self.out / METRICS, training.state.history)
                on_epoch(record, training)

    def _finish(self, training: Training, *, diverged: str | None = None) -> Result:
        """Write the selected epochs and all about them; `diverged` says what ended it early."""
        outcome = Outcome(training, diverged)
        for setting in reversed(self._seen):  # the first one's weights stay in the model
            outcome.score(setting, self._seen[setting])
        self.protocols[0].masks(self.dataset).save(self.out / MASKS)
        outcome.write_predictions(self.out / PREDICTIONS)
        result = outcome.result(self.protocols[0], self.dataset)
        write_json(self.out / TIMING, {"seconds": training.state.seconds})
        write_json(self.out / RESULT, result)
        artifact = Artifact(training.predictor, self.config)
        save_artifact(self.out, artifact, summary=summary(result))
        seal(self.out, self._identity())
        return result

    def _identity(self) -> dict[str, Any]:
        """All that must be equal for a checkpoint to be this run's."""
        protocol = asdict(self.protocols[0])
        return {
            "mmalign": __version__,
            **describe_machine(),
            "threads": torch.get_num_threads(),
            "processes": self.world.size,
            "device": self.device.type,
            "data": self._data_hash,
            "protocol": {**protocol, "setting": "".join(self._seen)},
            "config": config_to_json(self.config),
        }

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """Hold the directory: refuse a foreign, busy or finished one."""
        if not self.world.is_leader:
            self.world.wait()
            yield
            return
        folder, checkpoints = self.out, (self.out / CHECKPOINT).parent
        born = {checkpoints, folder / MANIFEST, *_drafts(folder)}
        refuse_foreign(folder, marker=IDENTITY, what="run directory", born=born)
        checkpoints.mkdir(parents=True, exist_ok=True)
        with self._held():
            if (folder / MANIFEST).exists():
                raise FinishedFolderError(f"{folder}: this run is finished. Give another --out.")
            keep_identity(folder, self._identity(), marker=IDENTITY, what="run")
            for draft in _drafts(folder):
                draft.unlink(missing_ok=True)
            self.world.wait()
            yield

    @contextmanager
    def _held(self) -> Iterator[None]:
        with claimed(self.out) as is_ours:
            if not is_ours:
                raise BusyFolderError(
                    f"{self.out}: another process is training here. Wait for it, or stop it."
                )
            yield


def _drafts(folder: Path) -> list[Path]:
    """What a killed run left half written, and nothing else: other hidden files are the user's."""
    return [draft for name in sorted(WRITTEN) for draft in drafts_of(folder / name)]
