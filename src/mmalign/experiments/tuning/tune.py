"""From a search to the best settings it finds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mmalign.errors import ConfigError, MMAlignError
from mmalign.experiments.engines.alone import Alone
from mmalign.experiments.engines.contract import Crew, Engine
from mmalign.experiments.engines.dispatch import dispatch
from mmalign.experiments.site import Site
from mmalign.experiments.tuning.files import write_best, write_trials
from mmalign.experiments.tuning.picture import draw_search
from mmalign.experiments.tuning.search import Search
from mmalign.experiments.tuning.trial import Trial, ranked
from mmalign.runs.claim import claimed, keep_identity, refuse_foreign

IDENTITY, DATABASE = "search.json", "study.db"


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
    engine: Engine | None = None,
    on_change: Callable[[list[Trial]], None] = lambda _: None,
) -> Tuned:
    """Try points of the space until there are `trials` of them, or a grid is exhausted.

    Each seed of a trial is a run in `out/runs`. After a kill, the same call goes on: trials and
    runs that were under way are finished. Into `out` go `study.db`, and at the end `best.toml`,
    `trials.csv` and `importance.png`.

        data = mmalign.load_dataset("smartwatch")
        protocol = Protocol(visible="accelerometer", victim="gyroscope", survival=0.1)
        search = Search(dataset=data, protocol=protocol, settings={"epochs": 20}, seeds=(0, 1))
        tune(search, Path("search"), trials=30).ranking[0].point

    Args:
        search: What is searched.
        out: The search's directory.
        trials: How many there shall be in all, those of earlier calls included.
        engine: Where the runs are done, entered already; by default, in this process.
        on_change: Called with all trials: at the start, and when some may have changed.

    Raises:
        ConfigError: If optuna is not installed, `trials` is less than 1, or an engine has no
            source to read the data from.
        MMAlignError: If the directory belongs to something else, is in use or cannot be read, a
            run failed, or no trial could be completed.
    """
    if trials < 1:
        raise ConfigError(f"trials must be >= 1, got {trials}")
    if engine is not None and search.source is None:
        raise ConfigError("the workers of an engine read the data themselves: give Search a source")
    require_optuna()
    from mmalign.experiments.tuning.ledger import Ledger
    from mmalign.experiments.tuning.study import Study

    with _claimed(search, out):
        study = Study(search, out / DATABASE)
        on_change(study.trials())
        site = search.site(out)
        ledger = Ledger(search, study, site)
        crew = _hire(search, site, engine, jobs=trials * len(search.seeds))
        for event in dispatch(crew, site, ledger.jobs(trials)):
            ledger.hear(event)
            if event.state != "started":
                on_change(study.trials())
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


@contextmanager
def _claimed(search: Search, out: Path) -> Iterator[None]:
    """Hold the directory: refuse a foreign or a busy one."""
    refuse_foreign(out, marker=IDENTITY, what="directory of a search")
    out.mkdir(parents=True, exist_ok=True)
    busy = (
        "another process is searching here. Wait for it, or stop it and start again with more "
        "--jobs."
    )
    with claimed(out, busy=busy):
        keep_identity(out, search.identity(), marker=IDENTITY, what="search")
        yield


def _hire(search: Search, site: Site, engine: Engine | None, *, jobs: int) -> Crew:
    return Alone(site, search.dataset) if engine is None else engine.hire(site, jobs=jobs)


def _write(search: Search, tuned: Tuned, out: Path) -> None:
    write_trials(tuned.trials, list(search.searched.dimensions), out / "trials.csv")
    if not tuned.ranking:
        raise MMAlignError(
            f"every trial diverged; {out / 'trials.csv'} says how. Search lower learning rates."
        )
    write_best(search, tuned.ranking[0], out / "best.toml")
    draw_search(search, tuned.trials, tuned.importances, out / "importance.png")
