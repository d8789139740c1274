"""A crew of one: this process, with the data that it has."""

import time
from collections.abc import Sequence

from mmalign.data.dataset import Dataset
from mmalign.experiments.engines.contract import Event
from mmalign.experiments.engines.worker import Worker
from mmalign.experiments.job import Job
from mmalign.experiments.site import Site


class Alone:
    """Does jobs in this process, one at a time, while it is waited for."""

    size = 1

    def __init__(self, site: Site, dataset: Dataset) -> None:
        self._worker = Worker(site, dataset)
        self._given: tuple[str, Job] | None = None

    def start(self, address: str, job: Job) -> None:
        """Take a job, which `wait` will do."""
        self._given = address, job

    def wait(self, timeout_seconds: float | None) -> Sequence[Event]:
        """Do the job that was given; without one, let the time pass."""
        if self._given is None:
            time.sleep(timeout_seconds or 0.0)
            return []
        given, self._given = self._given, None
        return [self._worker.attempt(*given)]
