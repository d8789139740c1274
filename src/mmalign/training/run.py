"""A training run in a directory: it resumes after a kill, and never mixes with another run."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import pyarrow.parquet as pq
import torch

from mmalign.claim import LOCK, claimed
from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.missingness import Masks, Protocol
from mmalign.errors import DataError, MMAlignError
from mmalign.evaluation.floors import constant_floor
from mmalign.files import drafts_of, write_atomically
from mmalign.model.backbone import count_parameters
from mmalign.training.artifact import (
    MANIFEST,
    MASKS,
    SAVED_FILES,
    Artifact,
    save_artifact,
    seal,
)
from mmalign.training.checkpoint import load_checkpoint, save_checkpoint
from mmalign.training.config import Config, config_to_json
from mmalign.training.distributed import World
from mmalign.training.loop import (
    Record,
    Training,
    TrainingState,
    check_trainable,
)
from mmalign.training.losses import TrainingError
from mmalign.training.machine import describe_machine
from mmalign.training.methods import find_method, seen_by
from mmalign.training.prediction import Predictor, prediction_table
from mmalign.training.records import keep_identity, without_nan, write_json, write_json_lines
from mmalign.version import __version__

IDENTITY, CHECKPOINT = "run.json", "checkpoint/state.safetensors"
METRICS, RESULT, PREDICTIONS = "metrics.jsonl", "result.json", "predictions.parquet"
WRITTEN = SAVED_FILES | {IDENTITY, CHECKPOINT, METRICS, MASKS, RESULT, PREDICTIONS}


@dataclass(frozen=True, kw_only=True)
class Run:
    """What to train, and where.

    Attributes:
        dataset: All clips, complete; the protocol takes away what must be missing.
        protocol: Who loses what.
        config: Method, model and training.
        out: The run directory.
        device: Where to compute.
        world: The processes that train together.
    """

    dataset: Dataset
    protocol: Protocol
    config: Config
    out: Path
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    world: World = field(default_factory=World)

    def execute(self, on_epoch: Callable[[Record, Training], None]) -> dict[str, Any]:
        """Train, or go on where a killed run stopped; returns the content of `result.json`.

        Raises:
            MMAlignError: If the directory is busy, finished, or belongs to another run.
            DataError: If a modality or a split is not in the data.
            TrainingError: If a loss is not finite; the best epoch before it, if any, is saved.
        """
        method = find_method(self.config.method)
        for split in ("train", "valid"):
            if self.dataset[split].labels is None:
                raise DataError("training needs labels", split=split, fix="Give each clip one.")
        masks = self.protocol.masks(self.dataset)
        seen = seen_by(method, self.dataset, masks)
        visible, victim = self.protocol.visible, self.protocol.victim
        check_trainable(seen, self.config, visible=visible, victim=victim)
        with self._claimed():
            return self._train(seen, masks, on_epoch)

    def _train(
        self, seen: Dataset, masks: Masks, on_epoch: Callable[[Record, Training], None]
    ) -> dict[str, Any]:
        training = self._prepare(seen)
        try:
            self._run_epochs(training, on_epoch)
        except TrainingError as error:
            if not (self.world.is_leader and training.state.history):
                raise
            # The same command would diverge again: this is all that the run will ever be.
            result = self._finish(training, seen, masks, diverged=str(error))
            raise TrainingError(f"{error} {self._what_is_saved(result)}") from error
        return self._finish(training, seen, masks) if self.world.is_leader else {}

    def _run_epochs(self, training: Training, on_epoch: Callable[[Record, Training], None]) -> None:
        while not training.is_finished():
            record = training.run_epoch()
            if self.world.is_leader:
                save_checkpoint(training.state, self.out / CHECKPOINT)
                write_json_lines(self.out / METRICS, training.state.history)
                on_epoch(record, training)

    def _what_is_saved(self, result: dict[str, Any]) -> str:
        return (
            f"The best epoch before that, {result['best_epoch']} of {result['epochs']}, is saved "
            f"in {self.out}: mmalign evaluate, predict and explain take it."
        )

    def _prepare(self, seen: Dataset) -> Training:
        training = Training(
            seen,
            self.config,
            visible=self.protocol.visible,
            victim=self.protocol.victim,
            validations={self.protocol.setting: seen["valid"]},
            device=self.device,
            world=self.world,
        )
        if (self.out / CHECKPOINT).exists():
            load_checkpoint(self.out / CHECKPOINT, training.state)
        return training

    def _finish(
        self, training: Training, seen: Dataset, masks: Masks, *, diverged: str | None = None
    ) -> dict[str, Any]:
        """Write the selected epoch and all about it; `diverged` says what ended training early."""
        predictor = training.select(self.protocol.setting)
        result = self._result(predictor, training.state, seen) | {"diverged": diverged}
        masks.save(self.out / MASKS)
        _write_predictions(predictor, seen, self.out / PREDICTIONS)
        write_json(self.out / RESULT, result)
        save_artifact(self.out, Artifact(predictor, self.config), summary=_summary(result))
        seal(self.out, self._identity())
        return cast(dict[str, Any], without_nan(result))

    def _result(self, predictor: Predictor, state: TrainingState, seen: Dataset) -> dict[str, Any]:
        """Metrics of the selected epoch; the test split is read here, once, after training."""
        scores, floors = {}, {}
        train_labels = self.dataset["train"].labels
        for name in ("valid", "test"):
            split = seen.splits.get(name)
            if split is not None and split.labels is not None and train_labels is not None:
                scores[name] = predictor.evaluate(split)
                floors[name] = constant_floor(seen.task, train_labels, split.labels)
        return {
            "method": self.config.method,
            "protocol": asdict(self.protocol),
            "metrics": scores,
            "floor": floors,
            "best_epoch": state.selections[self.protocol.setting].best_epoch,
            "epochs": len(state.history),
            "training_seconds": state.seconds,
            "parameters": {
                "backbone": count_parameters(state.model.backbone),
                "imputer": count_parameters(state.model.imputer),
            },
        }

    def _identity(self) -> dict[str, Any]:
        """All that must be equal for a checkpoint to be this run's."""
        return {
            "mmalign": __version__,
            **describe_machine(),
            "threads": torch.get_num_threads(),
            "processes": self.world.size,
            "device": self.device.type,
            "data": dataset_hash(self.dataset.only([self.protocol.visible, self.protocol.victim])),
            "protocol": asdict(self.protocol),
            "config": config_to_json(self.config),
        }

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """Hold the directory: refuse a foreign, busy or finished one."""
        if not self.world.is_leader:
            self.world.wait()
            yield
            return
        identity = self._identity()
        self._refuse_foreign()
        (self.out / CHECKPOINT).parent.mkdir(parents=True, exist_ok=True)
        with claimed(self.out) as is_ours:
            if not is_ours:
                raise MMAlignError(
                    f"{self.out}: another process is training here. Wait for it, or stop it."
                )
            if (self.out / MANIFEST).exists():
                raise MMAlignError(f"{self.out}: this run is finished. Give another --out.")
            self._check_identity(identity)
            _sweep(self.out)
            self.world.wait()
            yield

    def _refuse_foreign(self) -> None:
        """A directory is ours if it is new, empty, a run, or a run that was killed at birth."""
        if not self.out.exists() or (self.out / IDENTITY).exists():
            return
        born = {self.out / name for name in (LOCK, Path(CHECKPOINT).parent.name, MANIFEST)}
        if not self.out.is_dir() or set(self.out.iterdir()) - born - set(_drafts(self.out)):
            raise MMAlignError(f"{self.out}: exists and is no run directory. Give another --out.")

    def _check_identity(self, identity: dict[str, Any]) -> None:
        changes = keep_identity(self.out / IDENTITY, identity)
        if changes:
            raise MMAlignError(
                f"{self.out}: holds another run; {'; '.join(changes)}. "
                "Give another --out, or the settings it was started with."
            )


def _drafts(folder: Path) -> list[Path]:
    """What a killed run left half written, and nothing else: other hidden files are the user's."""
    return [draft for name in sorted(WRITTEN) for draft in drafts_of(folder / name)]


def _sweep(folder: Path) -> None:
    for draft in _drafts(folder):
        draft.unlink(missing_ok=True)


def _write_predictions(predictor: Predictor, seen: Dataset, file: Path) -> None:
    splits = {name: seen.splits[name] for name in ("valid", "test") if name in seen.splits}
    sink = io.BytesIO()
    pq.write_table(prediction_table(predictor, splits), sink)
    write_atomically(file, sink.getvalue())


def _summary(result: dict[str, Any]) -> str:
    protocol = result["protocol"]
    lines = [
        f"Survival rate {protocol['survival']:g}, setting {protocol['setting']}, "
        f"seed {protocol['seed']}; epoch {result['best_epoch']} of {result['epochs']}, "
        "selected on validation.",
        "",
    ]
    if result["diverged"] is not None:
        lines += [f"Training diverged in epoch {result['epochs'] + 1}: {result['diverged']}", ""]
    for split, metrics in result["metrics"].items():
        shown = ", ".join(
            f"{name} {value:.3f}"
            for name, value in metrics.items()
            if value is not None and "/" not in name
        )
        lines.append(f"- {split}: {shown}")
    return "\n".join(lines) + "\n"
