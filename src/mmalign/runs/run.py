"""A training in a directory: it resumes after a kill, and never mixes with another one.

This is the one executor: `mmalign train`, a cell of a grid and a trial of a search all leave the
same directory, whatever is trained.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch

from mmalign.files import drafts_of, read_regular
from mmalign.runs.checkpoint import CHECKPOINT
from mmalign.runs.claim import (
    FinishedFolderError,
    claimed,
    keep_identity,
    refuse_foreign,
)
from mmalign.runs.machine import describe_machine
from mmalign.runs.manifest import IDENTITY, MANIFEST, MASKS, SAVED_FILES, read_record, seal
from mmalign.runs.records import METRICS, differences, read_json, write_json
from mmalign.runs.result import PREDICTIONS, RESULT, TIMING, Result
from mmalign.training.distributed import World
from mmalign.training.losses import TrainingError
from mmalign.version import __version__

WRITTEN = SAVED_FILES | {IDENTITY, CHECKPOINT, METRICS, MASKS, RESULT, TIMING, PREDICTIONS}

Watch = Callable[..., None]
"""Called after each epoch, or each modality, with its record and what is being trained."""


class BrokenOffError(TrainingError):
    """A training that cannot go on; what it learned before that is saved."""


@runtime_checkable
class Trainee(Protocol):
    """What is trained in a run directory."""

    @property
    def world(self) -> World:
        """The processes that train together."""

    def check(self) -> None:
        """Check that the data can be trained on, before anything is written.

        Raises:
            DataError: If not.
        """

    def identity(self) -> dict[str, Any]:
        """All that decides the result, beside the machine."""

    def train(self, folder: Path, watch: Watch) -> Result:
        """Train from the checkpoint in the folder; write model, result and all about it.

        Raises:
            BrokenOffError: If it cannot go on, and what it learned before that is saved.
        """


@dataclass(frozen=True)
class Run:
    """What to train, and in which directory."""

    trainee: Trainee
    out: Path

    def execute(
        self, watch: Watch = lambda *_: None, on_resume: Callable[[str], None] = lambda _: None
    ) -> Result:
        """Train, or resume where a killed run stopped; returns the content of `result.json`.

        Args:
            watch: Called after each epoch, or each modality of experts.
            on_resume: Called with what is saved, in words, if there is something to resume.

        Raises:
            BusyFolderError: If another process is at it.
            ForeignFolderError: If the directory belongs to another run, or to something else.
            FinishedFolderError: If the run is finished.
            DataError: If a modality or a split is not in the data.
            TrainingError: If a loss is not finite; the best epoch before it, if any, is saved.
        """
        self.check()
        with self._claimed():
            saved = self._saved()
            if saved is not None:
                on_resume(saved)
            return self._train(watch)

    def check(self) -> None:
        """Check that the data can be trained on.

        Raises:
            DataError: If a modality, a split or labels are missing, or a window is too small.
        """
        self.trainee.check()

    def seconds(self) -> float:
        """How long the finished run trained."""
        return float(read_record(self.out, TIMING)["seconds"])

    def progress(self) -> str:
        """Say what is saved of a run that was stopped."""
        saved = self._saved()
        return "nothing is saved yet" if saved is None else f"saved up to {saved}"

    def result(self) -> Result:
        """What the finished run found.

        Raises:
            FinishedFolderError: If it is not this run that is finished there, or it diverged.
            MMAlignError: If the directory is damaged.
        """
        known = read_json(self.out / IDENTITY, fix="Delete the directory.")
        changes = differences(known, json.loads(json.dumps(self._identity())))
        if changes:
            raise FinishedFolderError(
                f"{self.out}: holds another finished run; {'; '.join(changes)}. Give another --out."
            )
        result = read_record(self.out, RESULT)
        if result.get("diverged"):
            raise FinishedFolderError(
                f"{self.out}: this run is finished: it diverged, {result['diverged']}"
            )
        return result

    def _saved(self) -> str | None:
        """The last epoch or modality that is saved, in words."""
        try:
            records = read_regular(self.out / METRICS).splitlines()
        except OSError:
            return None
        if not records:
            return None
        noun = "modality" if b'"modality"' in records[-1] else "epoch"
        return f"{noun} {len(records)}"

    def restart(self) -> None:
        """Make the directory this run's, and forget what was trained in it.

        Raises:
            BusyFolderError: If another process is at it.
        """
        with self._held():
            for name in (MANIFEST, CHECKPOINT):
                (self.out / name).unlink(missing_ok=True)
            write_json(self.out / IDENTITY, self._identity())

    def _train(self, watch: Watch) -> Result:
        try:
            result = self.trainee.train(self.out, watch)
        except BrokenOffError:
            # The same command would break off again: this is all that the run will ever be.
            self._seal()
            raise
        self._seal()
        return result

    def _seal(self) -> None:
        if self.trainee.world.is_leader:
            seal(self.out, self._identity())

    def _identity(self) -> dict[str, Any]:
        """All that must be equal for a checkpoint to be this run's."""
        return {
            "mmalign": __version__,
            **describe_machine(),
            "threads": torch.get_num_threads(),
            "processes": self.trainee.world.size,
            **self.trainee.identity(),
        }

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """Hold the directory: refuse a foreign, busy or finished one."""
        if not self.trainee.world.is_leader:
            self.trainee.world.wait()
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
            self.trainee.world.wait()
            yield

    def _held(self) -> AbstractContextManager[None]:
        return claimed(self.out, busy="another process is training here. Wait for it, or stop it.")


def _drafts(folder: Path) -> list[Path]:
    """What a killed run left half written, and nothing else: other hidden files are the user's."""
    return [draft for name in sorted(WRITTEN) for draft in drafts_of(folder / name)]
