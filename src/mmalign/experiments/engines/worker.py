"""A worker: it loads the data once and does one job after the other, each on one thread."""

import traceback
from functools import cached_property
from pathlib import Path

import torch

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.errors import DataError, MMAlignError
from mmalign.experiments.engines.contract import Event
from mmalign.experiments.grid import Site
from mmalign.experiments.job import Job
from mmalign.experiments.work import perform
from mmalign.runs.claim import BusyFolderError
from mmalign.runs.records import write_json


class Worker:
    """Does jobs of one grid.

    Args:
        site: Where results go, and where the data is.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        torch.set_num_threads(1)

    @cached_property
    def dataset(self) -> Dataset:
        """The grid's data, as this machine sees it.

        Raises:
            DataError: If it cannot be read, or is not what the grid was made for.
        """
        source = self.site.source
        dataset = source.load()
        if dataset_hash(dataset) != self.site.data_hash:
            raise DataError(
                "this worker sees other data than the grid was made for",
                file=source.path,
                fix="Give all machines the same files.",
            )
        return dataset

    def attempt(self, address: str, job: Job) -> Event:
        """Do a job, or what is left of it, unless another engine is at it; an error is recorded."""
        file = self.site.error_file(address)
        try:
            perform(job, self.dataset, self.site.run_folder(address))
        except BusyFolderError:
            return Event(address, "busy")
        except Exception as error:  # whatever it is, the other jobs go on
            text = _told(error)
            record_failure(file, text, trace=traceback.format_exc())
            return Event(address, "failed", text)
        file.unlink(missing_ok=True)
        return Event(address, "done")


def record_failure(file: Path, error: str, *, trace: str = "") -> None:
    """Leave the error where `Grid.failures` finds it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_json(file, {"error": error, "trace": trace})


def _told(error: Exception) -> str:
    """One line; the kind of error only where it is not one of ours, whose text says all."""
    text = " ".join(str(error).split())
    return text if isinstance(error, MMAlignError) else f"{type(error).__name__}: {text}"
