"""What the runs of a grid found, by their place in tables and figures.

Nothing else in the report knows how a grid and its results lie on disk.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mmalign.data.missingness import SETTINGS
from mmalign.errors import MMAlignError, counted
from mmalign.experiments.grid import GRID, Grid, Placed
from mmalign.experiments.job import Entry, Job
from mmalign.experiments.report.measures import Measure, measures_of, percent
from mmalign.experiments.systems import SYSTEMS
from mmalign.experiments.work import analysis_file
from mmalign.runs.result import RESULT
from mmalign.training.config import Config

Seeds = Mapping[int, float]
"""A score of each seed."""

Metrics = Mapping[str, float | None]
OWN = "own"
"""The plan that a model predicts itself, in contrast to one that is put in its place."""

TITLES = tuple(title for title, _ in SYSTEMS.values())
ESSENTIAL: Mapping[str, tuple[str, ...]] = {
    "scores": ("scores", "swaps", "floor", "epochs", "parameters"),
    "subsets": ("subsets",),
    "rates": ("settings", "floor"),
    "speed": ("batch_size", "milliseconds"),
    "alignment": ("clips", "window", "solver", "fitter"),
    "case": ("clip", "words", "times", "visible_steps", "victim_steps", "solver", "fitter"),
}
"""What must be known of a run to show it."""


@dataclass(frozen=True, order=True)
class Condition:
    """What a table is about: a pair of modalities and a survival rate."""

    visible: str
    victim: str
    survival: float

    @property
    def pair(self) -> str:
        """Both modalities, as the paper writes them."""
        return f"{self.visible} → {self.victim}"

    @property
    def title(self) -> str:
        """Pair and survival rate."""
        return f"{self.pair}, survival {percent(self.survival)}"


@dataclass(frozen=True)
class Run:
    """A job in one of its places.

    Attributes:
        entry: The place, and what is done there.
        result: What was found; empty if the job is not finished.
        seconds: How long it took.
        error: Why it failed; empty if it did not.
    """

    entry: Entry
    result: Mapping[str, Any]
    seconds: float
    error: str

    @property
    def is_done(self) -> bool:
        """Whether there is a result."""
        return bool(self.result)

    @property
    def condition(self) -> Condition:
        """The pair and survival rate of its table."""
        return Condition(self.entry.job.visible, self.entry.job.victim, self.entry.survival)

    @property
    def is_of_pair(self) -> bool:
        """Whether it is about a visible modality and a victim."""
        return not self.entry.job.modalities

    @property
    def place(self) -> str:
        """Modalities and what is missing of them, in words."""
        return self.condition.title if self.is_of_pair else self.entry.about

    @cached_property
    def subsets(self) -> dict[tuple[str, ...], dict[str, Any]]:
        """Metrics and floor on test, by the modalities that are there."""
        return {
            tuple(found["modalities"]): found["test"]
            for found in self.result["subsets"]
            if "test" in found
        }

    @cached_property
    def rates(self) -> dict[float, Metrics]:
        """Metrics on test, by missing rate."""
        found = self.result["settings"]
        return {rate: found[f"{rate:g}"]["metrics"]["test"] for rate in self.entry.job.rates}

    @property
    def seed(self) -> int:
        """What its scores are paired by."""
        return self.entry.job.config.seed

    @property
    def scores(self) -> dict[tuple[str, str], Metrics]:
        """Metrics of a training by setting and plan; other plans are put in in setting A."""
        own = {(setting, OWN): found for setting, found in sorted(self.result["scores"].items())}
        return own | {("A", plan): found for plan, found in self.result["swaps"].items()}

    @property
    def epochs(self) -> int:
        """How many epochs a training took."""
        return int(self.result["epochs"])

    @property
    def parameters(self) -> Mapping[str, int]:
        """Numbers of parameters of `backbone` and `imputer`."""
        return dict(self.result["parameters"])


@dataclass(frozen=True)
class Runs:
    """All runs of a grid, in the order of its entries.

    Attributes:
        grid: Where they are from.
        planned: The runs, finished or not.
        decides: Name of the metric that systems are compared by; the task's first if empty.
    """

    grid: Grid
    planned: tuple[Run, ...]
    decides: str = ""

    @cached_property
    def finished(self) -> tuple[Run, ...]:
        """Runs that have a result."""
        return tuple(run for run in self.planned if run.is_done)

    @property
    def jobs(self) -> dict[Job, Run]:
        """Every job once, in one of its places."""
        return {replace(run.entry.job, analyses=()): run for run in self.planned}

    @property
    def measures(self) -> tuple[Measure, ...]:
        """Metrics of the grid's task; the first decides."""
        known = measures_of(self.grid.data["task"])
        return tuple(sorted(known, key=lambda measure: measure.key != self.decides))

    @property
    def name(self) -> str:
        """What the data is called: the last part of its path, which may be a machine's own."""
        return self.grid.source.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or "data"

    @property
    def of_pairs(self) -> list[Run]:
        """Runs about a visible modality and a victim, finished or not."""
        return [run for run in self.planned if run.is_of_pair]

    def of(self, suite: str) -> Iterator[Run]:
        """The finished runs of a suite."""
        return (run for run in self.finished if run.entry.suite == suite)

    def modalities(self, suite: str) -> list[tuple[str, ...]]:
        """The sets of modalities that a suite is about, in the order of the grid."""
        return list(dict.fromkeys(run.entry.job.modalities for run in self.of(suite)))

    def conditions(self, suite: str) -> list[Condition]:
        """Conditions of a suite with a finished run, in the order of the grid."""
        return list(dict.fromkeys(run.condition for run in self.of(suite)))

    def systems(self, suite: str, condition: Condition) -> list[str]:
        """Systems that the suite plans here, finished or not; known ones in the usual order."""
        return in_usual_order(
            run.entry.system
            for run in self.planned
            if run.entry.suite == suite and run.condition == condition
        )

    def config(self, system: str) -> Config:
        """The config of a row's first run."""
        return next(r.entry.job.config for r in self.planned if r.entry.system == system)

    def seeds(self, suite: str) -> list[int]:
        """Seeds that the suite plans."""
        return sorted({run.seed for run in self.planned if run.entry.suite == suite})

    def seed_count(self, suite: str) -> str:
        """How many seeds the suite's numbers are over, in words."""
        count = counted(len(self.seeds(suite)), "seed")
        is_finished = all(run.is_done for run in self.planned if run.entry.suite == suite)
        return count if is_finished else f"up to {count}"

    def floor(self, measure: Measure) -> float:
        """What a constant scores on test; the same for all runs, as it looks at labels only."""
        for run in self.finished:
            if run.entry.shows == "scores":
                value = run.result["floor"].get(measure.key)
                return float("nan") if value is None else float(value)
        return float("nan")

    @cached_property
    def by_place(self) -> dict[tuple[str, Condition, str], list[Run]]:
        """Finished trainings by suite, condition and system."""
        found: dict[tuple[str, Condition, str], list[Run]] = {}
        for run in self.finished:
            if run.entry.shows == "scores":
                place = run.entry.suite, run.condition, run.entry.system
                found.setdefault(place, []).append(run)
        return found


def in_usual_order(titles: Iterable[str]) -> list[str]:
    """Each title once: known systems as the suites list them, then others as they come."""
    given = dict.fromkeys(titles)
    return [t for t in TITLES if t in given] + [t for t in given if t not in TITLES]


def read_runs(grid: Grid, *, decides: str = "") -> Runs:
    """Read every result once.

    Args:
        grid: Whose results to read.
        decides: Name of the metric that systems are compared by; the task's first if empty.

    Raises:
        MMAlignError: If a result is damaged, or there is none at all.
    """
    lacking = [name for name in ("hash", "task", "dims", "clips") if name not in grid.data]
    if lacking:
        raise MMAlignError(
            f"{grid.folder / GRID}: damaged, {', '.join(lacking)} of the data is missing. "
            "Run the grid again."
        )
    errors, pending = grid.failures(), grid.pending()
    done = {_shown(placed): placed for placed in grid.placed if placed.address not in pending}
    found = {shown: _found(grid, placed) for shown, placed in done.items()}
    seconds = {placed.address: grid.seconds(placed.address) for placed in done.values()}
    runs = tuple(
        Run(
            placed.entry,
            found.get(_shown(placed), {}),
            seconds.get(placed.address, 0.0),
            errors.get(placed.address, ""),
        )
        for placed in grid.placed
    )
    if not any(run.is_done for run in runs):
        raise MMAlignError(
            f"{grid.folder}: no run is finished yet, there is nothing to report. "
            f"Go on with mmalign bench … --out {grid.folder}."
        )
    return Runs(grid, runs, decides)


def _shown(placed: Placed) -> tuple[str, str]:
    """What tells findings apart: the job, and what of it is shown."""
    return placed.address, placed.entry.shows


def _found(grid: Grid, placed: Placed) -> dict[str, Any]:
    """What is shown of a finished job in this place.

    Raises:
        MMAlignError: If its file is damaged.
    """
    shows, folder = placed.entry.shows, grid.run_folder(placed.address)
    file = folder / RESULT
    if shows == "scores":
        found = _scores(grid, placed, file)
    elif shows in ("speed", "subsets", "rates"):
        found = grid.result(placed.address)
    else:
        file, found = analysis_file(folder, shows), grid.analysis(placed.address, shows)
    lacking = [name for name in ESSENTIAL[shows] if name not in found]
    if lacking:
        raise _damaged(file, ", ".join(lacking))
    return found


def _scores(grid: Grid, placed: Placed, file: Path) -> dict[str, Any]:
    """Test scores by setting, beside the floor, and what other plans score."""
    result, asked = grid.result(placed.address), placed.entry.job.analyses
    try:
        scores = {s: dict(result["settings"][s]["metrics"]["test"]) for s in SETTINGS}
        floor = dict(result["floor"]["test"])
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(file, str(error)) from error
    swaps = grid.analysis(placed.address, "swaps") if "swaps" in asked else {}
    return {**result, "scores": scores, "floor": floor, "swaps": swaps}


def _damaged(file: Path, lacking: str) -> MMAlignError:
    return MMAlignError(f"{file}: damaged, {lacking} is missing. Delete it and run the grid again.")
