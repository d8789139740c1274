"""Workers of a Ray cluster: on this machine, or on several that share a directory.

Every job is a Ray task of one core, to which Ray gives one thread. A worker process of Ray loads
the data when its first job comes, and keeps it. Locks, checkpoints and results are files, so the
directory must be on a file system that all machines share; so must the data, unless all machines
have a copy under the same path.
"""

import functools
import os
import socket
import time
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from mmalign.errors import ConfigError, MMAlignError
from mmalign.experiments.engines.contract import Event
from mmalign.experiments.engines.worker import Worker
from mmalign.experiments.job import Job
from mmalign.experiments.site import Site

REACH_SECONDS = 10.0


class RayEngine:
    """Tasks on a Ray cluster.

    Args:
        workers: How many at a time; all cores of the cluster if None.
        address: The cluster; None starts one on this machine, which ends with the engine.

    Raises:
        ConfigError: If Ray is not installed.
    """

    def __init__(self, workers: int | None = None, address: str | None = None) -> None:
        self.workers = workers
        self.address = address
        self._ray = _import_ray()

    def __enter__(self) -> "RayEngine":
        if self.address:
            _check_reachable(self.address)
        ours = {"num_cpus": self.workers, "include_dashboard": False} if not self.address else {}
        try:
            self._ray.init(
                self.address or "local",
                log_to_driver=False,
                logging_level="ERROR",
                **ours,
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise _no_cluster(self.address or "this machine", error) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()

    def hire(self, site: Site, *, jobs: int) -> "RayCrew":
        """A crew for so many jobs of this directory."""
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        return RayCrew(self._ray, site, min(self.workers or cores, cores, jobs))


class RayCrew:
    """Tasks that do the jobs of one directory; Ray itself replaces a process that was lost."""

    def __init__(self, ray: ModuleType, site: Site, size: int) -> None:
        self.size = size
        self._ray = ray
        self._site = site
        self._attempt = ray.remote(num_cpus=1, max_retries=0)(attempt)
        self._running: dict[Any, str] = {}

    def start(self, address: str, job: Job) -> None:
        """Submit a job."""
        self._running[self._attempt.remote(self._site, address, job)] = address

    def wait(self, timeout_seconds: float | None) -> Sequence[Event]:
        """What became of jobs since."""
        if not self._running:
            time.sleep(timeout_seconds or 0)
            return []
        ended, _ = self._ray.wait(list(self._running), timeout=timeout_seconds)
        return [self._heard(task, self._running.pop(task)) for task in ended]

    def _heard(self, task: Any, address: str) -> Event:
        try:
            event: Event = self._ray.get(task)
        except self._ray.exceptions.RayError as error:
            return Event(address, "died", f"its worker was lost: {' '.join(str(error).split())}")
        return event


def attempt(site: Site, address: str, job: Job) -> Event:
    """Do a job in a worker process of Ray."""
    return _worker(site).attempt(address, job)


@functools.cache
def _worker(site: Site) -> Worker:
    return Worker(site)


def _check_reachable(address: str) -> None:
    """Check that a server listens at an address; Ray itself would try for many minutes.

    Raises:
        MMAlignError: If none does.
    """
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not (colon and port.isdecimal()):
        return  # a name such as auto, which Ray looks up
    try:
        socket.create_connection((host, int(port)), timeout=REACH_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise _no_cluster(address, error) from error


def _no_cluster(address: str, error: Exception) -> MMAlignError:
    return MMAlignError(
        f"no Ray cluster at {address} ({error}). Start one with ray start --head, or leave out "
        "--address; if the cluster wants a token, set RAY_AUTH_MODE=token."
    )


def _import_ray() -> ModuleType:
    # Read when ray is imported: nothing is sent anywhere.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ConfigError("--engine ray needs a package: pip install 'mmalign[ray]'") from error
    module: ModuleType = ray
    return module
