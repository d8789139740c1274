"""A worker loads the data once and does one job after the other, each on one thread."""

import traceback
from functools import cached_property
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.errors import DataError, MMAlignError
from mmalign.experiments.engines.contract import Event
from mmalign.experiments.job import Job
from mmalign.experiments.site import Site
from mmalign.experiments.work import perform
from mmalign.runs.claim import BusyFolderError
from mmalign.runs.records import write_json
from mmalign.training.losses import TrainingError


class Worker:
    """Does the jobs of one directory.

    Args:
        site: Where results go, and where the data is.
        dataset: The data, if it is at hand; else it is loaded for the first job.
    """

    def __init__(self, site: Site, dataset: Dataset | None = None) -> None:
        self.site = site
        if dataset is not None:
            self.dataset = dataset

    @cached_property
    def dataset(self) -> Dataset:
        """The data, as this machine sees it.

        Raises:
            DataError: If it cannot be read, or is not what the jobs were planned for.
        """
        dataset = self.site.source.load(self.site.splits)
        if dataset_hash(dataset) != self.site.data_hash:
            raise DataError(
                "this worker sees other data than the jobs were planned for",
                file=self.site.source.path,
                fix="Give all machines the same files.",
            )
        return dataset

    def attempt(self, address: str, job: Job) -> Event:
        """Do a job, or what is left of it, unless another engine is at it; an error is recorded."""
        file = self.site.error_file(address)
        try:
            folder, device = self.site.run_folder(address), self.site.device
            perform(job, self.dataset, folder, device=device)
        except BusyFolderError:
            return Event(address, "busy")
        except Exception as error:  # whatever it is, the other jobs go on
            text = _told(error)
            record_failure(file, text, trace=traceback.format_exc())
            is_divergence = isinstance(error, TrainingError)
            return Event(address, "failed", text, is_divergence=is_divergence)
        file.unlink(missing_ok=True)
        return Event(address, "done")


def record_failure(file: Path, error: str, *, trace: str = "") -> None:
    """Leave the error where `Grid.failures` finds it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, {"error": error, "trace": trace})


def _told(error: Exception) -> str:
    """The error in one line; its class, too, if it is not one of ours."""
    text = " ".join(str(error).split())
    return text if isinstance(error, MMAlignError) else f"{type(error).__name__}: {text}"
