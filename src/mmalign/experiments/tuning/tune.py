"""From a search to the best settings it finds."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mmalign.errors import ConfigError, MMAlignError
from mmalign.experiments.tuning.files import write_best, write_trials
from mmalign.experiments.tuning.folder import SearchFolder
from mmalign.experiments.tuning.picture import draw_search
from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.trial import Trial, ranked


@dataclass(frozen=True)
class Tuned:
    """What a search found.

    Attributes:
        trials: All trials, interrupted ones included.
        importances: Share of each setting in what makes a trial good, largest first; empty if
            fewer than four trials are complete.
    """

    trials: list[Trial]
    importances: dict[str, float]

    @property
    def ranking(self) -> list[Trial]:
        """Complete trials, best first."""
        return ranked(self.trials)


def tune(
    search: Search,
    out: Path,
    *,
    trials: int = 30,
    jobs: int = 1,
    on_change: Callable[[list[Trial]], None] = lambda _: None,
) -> Tuned:
    """Try points of the space until there are `trials` of them, or a grid is exhausted.

    Killed, the same call goes on where it stopped; called at the same time from several processes,
    they share the work. Into `out` go `study.db`, and at the end `best.toml`, `trials.csv` and
    `importance.png`.

        data = mmalign.load_dataset("smartwatch")
        protocol = Protocol(visible="accelerometer", victim="gyroscope", survival=0.1)
        search = Search(dataset=data, protocol=protocol, settings={"epochs": 20}, seeds=(0, 1))
        tune(search, Path("search"), trials=30).ranking[0].point

    Args:
        search: What is searched.
        out: The search's directory.
        trials: How many there shall be in all, those of earlier calls included.
        jobs: Processes of one thread each; with one, it is this process.
        on_change: Called with all trials: at the start, and when some may have changed.

    Raises:
        ConfigError: If optuna is not installed, or trials or jobs are less than 1.
        MMAlignError: If the directory belongs to something else or cannot be read, or no trial
            could be completed.
    """
    for name, count in (("trials", trials), ("jobs", jobs)):
        if count < 1:
            raise ConfigError(f"{name} must be >= 1, got {count}")
    require_optuna()
    from mmalign.experiments.tuning.study import SharedStudy
    from mmalign.experiments.tuning.workers import work, work_in_processes

    folder = SearchFolder(out)
    folder.claim(search.identity())
    study = SharedStudy(search, folder)
    on_change(study.trials())
    if jobs == 1:
        work(study, most=trials, on_change=on_change)
    else:
        work_in_processes(study, most=trials, jobs=jobs, on_change=on_change)
    tuned = Tuned(study.trials(), study.importances())
    _write(search, tuned, out)
    return tuned


def require_optuna() -> None:
    """Check that optuna can be imported.

    Raises:
        ConfigError: If it cannot.
    """
    try:
        import optuna  # noqa: F401
    except ImportError as error:
        raise ConfigError("tuning needs a package: pip install 'mmalign[tune]'") from error


def _write(search: Search, tuned: Tuned, out: Path) -> None:
    write_trials(tuned.trials, list(search.searched.dimensions), out / "trials.csv")
    if not tuned.ranking:
        raise MMAlignError(
            f"every trial diverged; {out / 'trials.csv'} says how. Search lower learning rates."
        )
    write_best(search, tuned.ranking[0], out / "best.toml")
    draw_search(search, tuned.trials, tuned.importances, out / "importance.png")
