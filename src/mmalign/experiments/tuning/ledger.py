"""The trials that are under way: which runs they wait for, and what these found."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import fmean

from mmalign.errors import MMAlignError
from mmalign.experiments.engines.contract import Event
from mmalign.experiments.job import Job
from mmalign.experiments.site import Site
from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.study import Study
from mmalign.experiments.tuning.trial import Trial
from mmalign.runs.manifest import read_record
from mmalign.runs.result import RESULT
from mmalign.training.selection import selection_score


@dataclass(frozen=True)
class Open:
    """A trial under way, the addresses of its runs, and when it was taken up."""

    trial: Trial
    runs: tuple[str, ...]
    started: float = field(default_factory=time.perf_counter)


class Ledger:
    """Turns trials into runs, and what became of the runs into scores of trials."""

    def __init__(self, search: Search, study: Study, site: Site) -> None:
        self.search = search
        self.study = study
        self.site = site
        self._open: dict[int, Open] = {}
        self._ended: dict[str, str] = {}  # runs, and why one diverged

    def jobs(self, most: int) -> Iterator[tuple[str, Job]]:
        """Runs to do, each once; a trial is asked for when a worker is free for its first run.

        Raises:
            MMAlignError: If the database or a result cannot be read.
        """
        given: set[str] = set()
        for trial in self.study.take(most):
            jobs = {
                job.address(self.search.data_hash): job for job in self.search.jobs_at(trial.point)
            }
            self._open[trial.number] = Open(trial, tuple(jobs))
            self._close_ended()  # a point that was tried before has its runs already
            for address, job in jobs.items():
                if address not in given and trial.number in self._open:
                    given.add(address)
                    yield address, job

    def hear(self, event: Event) -> None:
        """Record what became of a run, and of the trials that waited for it.

        Raises:
            MMAlignError: If it failed otherwise than by diverging, or a result cannot be read.
        """
        if event.state == "failed" and not event.is_divergence:
            raise MMAlignError(
                f"a run of the search failed: {event.error} "
                f"({self.site.error_file(event.address)}). Run the same command again to resume."
            )
        if event.state in ("done", "failed"):
            self._ended[event.address] = event.error
            self._close_ended()

    def _close_ended(self) -> None:
        for number, open_trial in [*self._open.items()]:
            trial, runs = open_trial.trial, open_trial.runs
            seconds = time.perf_counter() - open_trial.started
            error = next((self._ended[run] for run in runs if self._ended.get(run)), None)
            if error is not None:
                self.study.tell(trial, None, error=error, seconds=seconds)
            elif all(run in self._ended for run in runs):
                score, loss = self._validation(runs)
                self.study.tell(trial, score, loss=loss, seconds=seconds)
            else:
                continue
            del self._open[number]

    def _validation(self, runs: Iterable[str]) -> tuple[float, float]:
        """Mean score and loss on validation, as the runs report them."""
        setting, task = self.search.protocol.setting, self.search.dataset.task
        results = [read_record(self.site.run_folder(run), RESULT) for run in runs]
        metrics = [result["settings"][setting]["metrics"]["valid"] for result in results]
        scores = zip(*(selection_score(task, found) for found in metrics), strict=True)
        score, negative_loss = map(fmean, scores)
        return score, -negative_loss
