"""Processes that work through the trials of one study."""

import multiprocessing
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from mmalign.errors import MMAlignError
from mmalign.experiments.tuning.folder import SearchFolder
from mmalign.experiments.tuning.objective import validate_point
from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.study import SharedStudy
from mmalign.experiments.tuning.trial import Trial
from mmalign.training.losses import TrainingError

POLL_SECONDS = 0.5

OnChange = Callable[[list[Trial]], None]


def work(study: SharedStudy, *, most: int, on_change: OnChange) -> None:
    """Try points until there are enough trials, in this process.

    Trials of other processes are waited for: should one of those die, its trial is done here.
    """
    with study.folder.worker() as worker:
        while True:
            trial = study.take(worker, most=most)
            if trial is not None:
                _try(study, trial)
            trials = study.trials()
            on_change(trials)
            if trial is None:
                if not any(other.state == "running" for other in trials):
                    return
                _stop_if_orphaned()
                time.sleep(POLL_SECONDS)


def _try(study: SharedStudy, trial: Trial) -> None:
    started = time.perf_counter()
    try:
        validation = validate_point(study.search, trial.point, lambda _: _stop_if_orphaned())
    except TrainingError as error:
        study.diverge(trial, str(error), time.perf_counter() - started)
    else:
        study.complete(trial, validation, time.perf_counter() - started)


def work_in_processes(study: SharedStudy, *, most: int, jobs: int, on_change: OnChange) -> None:
    """Try points in several processes of one thread each; a process that dies is made up for.

    Raises:
        MMAlignError: If processes died and the others could not do all trials.
    """
    context = multiprocessing.get_context("spawn")
    complaints = context.SimpleQueue()
    task = study.search, study.folder.path, most, complaints
    processes = [context.Process(target=_work_alone, args=task) for _ in range(jobs)]
    try:
        for process in processes:
            process.start()
        while any(process.is_alive() for process in processes):
            on_change(study.trials())
            time.sleep(POLL_SECONDS)
    finally:
        for process in processes:
            if process.pid is not None:
                process.terminate()
                process.join()
    on_change(study.trials())
    codes = [process.exitcode for process in processes]
    if all(codes):
        reason = f"exit codes {codes}" if complaints.empty() else complaints.get()
        raise MMAlignError(
            f"all {jobs} processes of the search died ({reason}). "
            "The same command goes on where they stopped."
        )


def _work_alone(search: Search, folder: Path, most: int, complaints: Any) -> None:
    """The main function of a process."""
    torch.set_num_threads(1)
    try:
        work(SharedStudy(search, SearchFolder(folder)), most=most, on_change=lambda _: None)
    except MMAlignError as error:
        complaints.put(str(error))
        raise SystemExit(1) from error
    except KeyboardInterrupt:
        raise SystemExit(130) from None


def _stop_if_orphaned() -> None:
    """End a process whose parent was killed: nobody would know that it still works."""
    parent = multiprocessing.parent_process()
    if parent is not None and not parent.is_alive():
        os._exit(1)
