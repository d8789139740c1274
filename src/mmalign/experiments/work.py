"""Do a job: from a dataset to its result file, going on where a killed process stopped."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Protocol
from mmalign.errors import CorruptArtifactError, DataError
from mmalign.evaluation.floors import constant_floor
from mmalign.experiments.job import Job, Kind
from mmalign.experiments.plan_study import mean_plans, take_apart
from mmalign.experiments.plan_swaps import SWAPS, swapped_scores
from mmalign.experiments.speed import time_imputers
from mmalign.model.backbone import count_parameters
from mmalign.training.methods import find_method
from mmalign.training.records import write_json
from mmalign.training.settings import BothSettings, train_both_settings

RESULT, TIMING, CHECKPOINT = "result.json", "timing.json", "checkpoint.safetensors"
Result = dict[str, Any]


def perform(job: Job, dataset: Dataset, folder: Path) -> None:
    """Do the job and write `result.json`, last; a checkpoint of every epoch stands in between.

    The result is a function of job and data alone, seconds are in `timing.json`; only jobs of kind
    `speed` measure, and so differ from one time to the next.

    Args:
        job: What to do.
        dataset: All clips.
        folder: The job's directory; it must exist and belong to nobody else.

    Raises:
        DataError: If a modality or a split is not in the data.
        TrainingError: If a loss is not finite.
    """
    torch.set_num_threads(1)
    started = time.perf_counter()
    content = KINDS[job.kind](job, dataset, folder)
    seconds = content.pop("training_seconds", time.perf_counter() - started)
    write_json(folder / TIMING, {"seconds": seconds})
    write_json(folder / RESULT, {"job": job.to_json(), **content})
    (folder / CHECKPOINT).unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what a killed process left behind: drafts, and the checkpoint of a finished job."""
    for draft in folder.glob(".*.*"):
        draft.unlink(missing_ok=True)
    if (folder / RESULT).exists():
        (folder / CHECKPOINT).unlink(missing_ok=True)


def train(job: Job, dataset: Dataset, folder: Path) -> Result:
    """Scores of settings A and B on test, and of swapped plans where there are plans."""
    test_labels, train_labels = dataset["test"].labels, dataset["train"].labels
    if test_labels is None or train_labels is None:
        raise DataError("a grid needs labels in train and test", fix="Give each clip one.")
    done = _trained(job, dataset, folder)
    scores = {setting: chosen.test for setting, chosen in done.selected.items()}
    return {
        "scores": scores,
        "valid": {setting: chosen.valid for setting, chosen in done.selected.items()},
        "swaps": _swaps(job, dataset, done),
        "floor": constant_floor(dataset.task, train_labels, test_labels),
        "best_epoch": {setting: chosen.epoch for setting, chosen in done.selected.items()},
        "epochs": len(done.history),
        "parameters": {
            "backbone": count_parameters(done.predictor.model.backbone),
            "imputer": count_parameters(done.predictor.model.imputer),
        },
        "training_seconds": done.seconds,
    }


def alignment(job: Job, dataset: Dataset, folder: Path) -> Result:
    """Mean plans over the complete test clips."""
    done = _trained(job, dataset, folder)
    return mean_plans(done.predictor, job.config, dataset["test"])


def case(job: Job, dataset: Dataset, folder: Path) -> Result:
    """The plans of one clip."""
    done = _trained(job, dataset, folder)
    return take_apart(done.predictor, job.config, dataset, job.clip)


def speed(job: Job, dataset: Dataset, _folder: Path) -> Result:
    """Milliseconds a batch of the imputers."""
    protocol = Protocol(
        visible=job.visible,
        victim=job.victim,
        survival=job.survival,
        setting="A",
        seed=job.config.seed,
    )
    return time_imputers(dataset, job.config, protocol)


KINDS: Mapping[Kind, Callable[[Job, Dataset, Path], Result]] = {
    "train": train,
    "speed": speed,
    "alignment": alignment,
    "case": case,
}


def _trained(job: Job, dataset: Dataset, folder: Path) -> BothSettings:
    """Train from the checkpoint; a damaged one costs its epochs, not the job."""
    try:
        return _train_on(job, dataset, folder)
    except CorruptArtifactError:
        (folder / CHECKPOINT).unlink()
        return _train_on(job, dataset, folder)


def _train_on(job: Job, dataset: Dataset, folder: Path) -> BothSettings:
    return train_both_settings(
        dataset,
        job.config,
        visible=job.visible,
        victim=job.victim,
        survival=job.survival,
        checkpoint=folder / CHECKPOINT,
    )


def _swaps(job: Job, dataset: Dataset, done: BothSettings) -> dict[str, dict[str, float]]:
    """What other plans score in setting A, by name of the swap."""
    if not find_method(job.config.method).is_aligned:
        return {}
    test = dataset["test"]
    complete = test.select(np.flatnonzero(test.is_present(job.victim)))
    if len(complete) == 0:
        return {}
    return {name: swapped_scores(done.predictor, complete, swap) for name, swap in SWAPS.items()}
