"""A network's training in a run directory: one checkpoint an epoch, and what is left in the end."""

from collections.abc import Callable
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.runs.artifact import Artifact
from mmalign.runs.checkpoint import CHECKPOINT, load_checkpoint, save_checkpoint
from mmalign.runs.manifest import write_saved
from mmalign.runs.records import METRICS, write_json, write_json_lines
from mmalign.runs.result import PREDICTIONS, RESULT, TIMING, Outcome, Result, write_predictions
from mmalign.runs.run import BrokenOffError
from mmalign.training.loop import Record, Training
from mmalign.training.losses import TrainingError

OnEpoch = Callable[[Record, Training], None]
"""Called after each epoch with its record."""

Finish = Callable[[Outcome, Path], Result]
"""Scores the selected epochs, and writes them and all about them into the folder."""


def train_epochs(training: Training, folder: Path, watch: OnEpoch, finish: Finish) -> Result:
    """Train from the checkpoint in the folder to the end, and finish.

    Raises:
        BrokenOffError: If a loss is not finite; the best epoch before it is saved.
        TrainingError: If that happens before there is any.
    """
    if (folder / CHECKPOINT).exists():
        load_checkpoint(folder / CHECKPOINT, training.state)
    try:
        _run_epochs(training, folder, watch)
    except TrainingError as error:
        if not (training.world.is_leader and training.state.history):
            raise
        finish(Outcome(training, str(error)), folder)
        epoch = next(iter(training.state.selections.values())).best_epoch
        raise BrokenOffError(
            f"{error} The best epoch before that, {epoch} of {len(training.state.history)}, is "
            f"saved in {folder}: mmalign evaluate, predict and explain take it."
        ) from error
    return finish(Outcome(training), folder) if training.world.is_leader else {}


def _run_epochs(training: Training, folder: Path, watch: OnEpoch) -> None:
    while not training.is_finished():
        record = training.run_epoch()
        if training.world.is_leader:
            save_checkpoint(training.state, folder / CHECKPOINT)
            write_json_lines(folder / METRICS, training.state.history)
            watch(record, training)


def score_settings(outcome: Outcome, seen: dict[str, Dataset]) -> None:
    """Score each setting's selected epoch; the first one's weights stay in the model."""
    for setting in reversed(seen):
        outcome.score(setting, seen[setting])


def write_outcome(outcome: Outcome, result: Result, summary: str, folder: Path) -> None:
    """Write predictions, result, time and model; `summary` is what the card says of it."""
    training = outcome.training
    write_predictions(outcome.predictions, folder / PREDICTIONS)
    write_json(folder / TIMING, {"seconds": training.state.seconds})
    write_json(folder / RESULT, result)
    write_saved(folder, Artifact(training.predictor, training.config).saved(summary))
