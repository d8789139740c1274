"""Do a job: a training is a run, whose model is then asked what the grid wants to know."""

import time
from pathlib import Path

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Protocol
from mmalign.errors import CorruptArtifactError
from mmalign.experiments.analyses import ANALYSES
from mmalign.experiments.job import Job
from mmalign.experiments.speed import time_imputers
from mmalign.files import drafts_of
from mmalign.runs.artifact import load_artifact
from mmalign.runs.checkpoint import CHECKPOINT
from mmalign.runs.claim import FinishedFolderError, ForeignFolderError
from mmalign.runs.manifest import MANIFEST, WEIGHTS, seal
from mmalign.runs.records import write_json, write_sealed
from mmalign.runs.result import RESULT, TIMING
from mmalign.runs.run import Run
from mmalign.training.losses import TrainingError

DAMAGED = "Delete it and start again."


def perform(job: Job, dataset: Dataset, folder: Path, *, device: str = "cpu") -> None:
    """Do the job, or what is left of it, on one thread.

    Raises:
        DataError: If a modality or a split is not in the data.
        BusyFolderError: If another process is at it.
        TrainingError: If a loss is not finite.
    """
    torch.set_num_threads(1)
    if job.kind == "speed":
        _measure(job, dataset, folder)
        return
    asked = [name for name in job.analyses if not analysis_file(folder, name).exists()]
    run = job.run(dataset, folder, device=device)
    if not is_trained(folder) or (asked and not (folder / WEIGHTS).exists()):
        _train(run)
    if asked:
        _analyse(asked, dataset, folder)
    (folder / CHECKPOINT).unlink(missing_ok=True)


def _analyse(names: list[str], dataset: Dataset, folder: Path) -> None:
    trained = load_artifact(folder)
    for name in names:
        for draft in drafts_of(analysis_file(folder, name)):  # of a process that was killed
            draft.unlink(missing_ok=True)
        write_sealed(analysis_file(folder, name), ANALYSES[name](trained, dataset))


def is_trained(folder: Path) -> bool:
    """Whether the run in the directory is finished."""
    return (folder / MANIFEST).exists()


def is_done(job: Job, folder: Path) -> bool:
    """Whether all is there that the job asks for."""
    wanted = (analysis_file(folder, name) for name in job.analyses)
    is_tidy = not (folder / CHECKPOINT).exists()
    return is_trained(folder) and is_tidy and all(file.exists() for file in wanted)


def analysis_file(folder: Path, name: str) -> Path:
    """Where the answer of an analysis is kept, beside the run."""
    return folder / f"{name}.json"


def _train(run: Run) -> None:
    """Train from the checkpoint; one that is damaged, or another machine's, costs its epochs."""
    if is_trained(run.out):
        run.restart()
    try:
        run.execute()
    except FinishedFolderError:
        return  # another engine was faster
    except (CorruptArtifactError, ForeignFolderError):
        run.restart()
        run.execute()
    except TrainingError as error:
        run.restart()  # a run that diverged is no cell of a table: nothing of it is saved
        raise error.__cause__ or error from None


def _measure(job: Job, dataset: Dataset, folder: Path) -> None:
    """Milliseconds a batch of the imputers; they differ from one time to the next."""
    started = time.perf_counter()
    protocol = Protocol(
        visible=job.visible, victim=job.victim, survival=job.survival, seed=job.config.seed
    )
    found = time_imputers(dataset, job.config, protocol)
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / TIMING, {"seconds": time.perf_counter() - started})
    write_json(folder / RESULT, {"job": job.to_json(), **found})
    seal(folder, {"job": job.to_json()})
