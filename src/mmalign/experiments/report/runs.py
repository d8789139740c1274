"""What the runs of a grid found, by their place in tables and figures."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mmalign.data.missingness import SETTINGS
from mmalign.errors import MMAlignError
from mmalign.experiments.grid import GRID, Grid, Placed
from mmalign.experiments.job import Entry
from mmalign.experiments.report.measures import percent
from mmalign.experiments.suites import SYSTEMS
from mmalign.experiments.work import analysis_file
from mmalign.runs.result import RESULT

Seeds = Mapping[int, float]
"""A score of each seed."""

TITLES = tuple(title for title, _ in SYSTEMS.values())
ESSENTIAL: Mapping[str, tuple[str, ...]] = {
    "scores": ("scores", "swaps", "floor", "epochs", "parameters"),
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
    """A finished job in one of its places."""

    entry: Entry
    result: Mapping[str, Any]
    seconds: float

    @property
    def condition(self) -> Condition:
        """Where its scores stand."""
        return condition_of(self.entry)

    @property
    def seed(self) -> int:
        """What its scores are paired by."""
        return self.entry.job.config.seed


@dataclass(frozen=True)
class Runs:
    """All finished runs of a grid, in the order of its entries.

    Attributes:
        grid: Where they are from.
        finished: The runs.
    """

    grid: Grid
    finished: tuple[Run, ...]

    def of(self, suite: str) -> Iterator[Run]:
        """The finished runs of a suite."""
        return (run for run in self.finished if run.entry.suite == suite)

    def conditions(self, suite: str) -> list[Condition]:
        """Conditions of a suite with a finished run, in the order of the grid."""
        return list(dict.fromkeys(run.condition for run in self.of(suite)))

    def systems(self, suite: str, condition: Condition) -> list[str]:
        """Systems that the suite plans here, finished or not; known ones in the usual order."""
        planned = dict.fromkeys(
            placed.entry.system
            for placed in self.grid.placed
            if placed.entry.suite == suite and condition_of(placed.entry) == condition
        )
        known = [title for title in TITLES if title in planned]
        return known + [title for title in planned if title not in TITLES]

    def seeds(self, suite: str) -> list[int]:
        """Seeds that the suite plans."""
        placed = (p for p in self.grid.placed if p.entry.suite == suite)
        return sorted({p.entry.job.config.seed for p in placed})

    def seed_count(self, suite: str) -> str:
        """How many seeds the suite's numbers are over, in words."""
        count = len(self.seeds(suite))
        noun = "seed" if count == 1 else "seeds"
        places = [p for p in self.grid.placed if p.entry.suite == suite]
        is_finished = all(self.grid.is_done(placed.address) for placed in places)
        return f"{count} {noun}" if is_finished else f"up to {count} {noun}"

    def scores(
        self, suite: str, condition: Condition, system: str, setting: str, key: str
    ) -> dict[int, float]:
        """A metric of every finished seed; seeds whose metric is undefined are left out."""
        found = {}
        for run in self._by_place.get((suite, condition, system), ()):
            value = run.result["scores"][setting].get(key)
            if value is not None:
                found[run.seed] = float(value)
        return found

    def swaps(
        self, suite: str, condition: Condition, system: str, swap: str, key: str
    ) -> dict[int, float]:
        """A metric with another plan put in, of every finished seed."""
        found = {}
        for run in self._by_place.get((suite, condition, system), ()):
            value = run.result["swaps"].get(swap, {}).get(key)
            if value is not None:
                found[run.seed] = float(value)
        return found

    def floor(self, key: str) -> float:
        """What a constant scores on test; the same for all runs, as it looks at labels only."""
        for run in self.finished:
            if run.entry.shows == "scores":
                value = run.result["floor"].get(key)
                return float("nan") if value is None else float(value)
        return float("nan")

    @cached_property
    def _by_place(self) -> dict[tuple[str, Condition, str], list[Run]]:
        found: dict[tuple[str, Condition, str], list[Run]] = {}
        for run in self.finished:
            if run.entry.shows == "scores":
                place = run.entry.suite, run.condition, run.entry.system
                found.setdefault(place, []).append(run)
        return found


def condition_of(entry: Entry) -> Condition:
    """The pair and survival rate whose table an entry stands in."""
    return Condition(entry.job.visible, entry.job.victim, entry.survival)


def read_runs(grid: Grid) -> Runs:
    """Read every result once.

    Raises:
        MMAlignError: If a result is damaged, or there is none at all.
    """
    lacking = [name for name in ("hash", "task", "dims", "clips") if name not in grid.data]
    if lacking:
        raise MMAlignError(
            f"{grid.folder / GRID}: damaged, {', '.join(lacking)} of the data is missing. "
            "Run the grid again."
        )
    finished = tuple(
        Run(placed.entry, _found(grid, placed), grid.seconds(placed.address))
        for placed in grid.placed
        if grid.is_done(placed.address)
    )
    if not finished:
        raise MMAlignError(
            f"{grid.folder}: no run is finished yet, there is nothing to report. "
            f"Go on with mmalign bench … --out {grid.folder}."
        )
    return Runs(grid, finished)


def _found(grid: Grid, placed: Placed) -> dict[str, Any]:
    """What is shown of a finished job in this place.

    Raises:
        MMAlignError: If its file is damaged.
    """
    shows, folder = placed.entry.shows, grid.run_folder(placed.address)
    file = folder / RESULT
    if shows == "scores":
        found = _scores(grid, placed, file)
    elif shows == "speed":
        found = grid.result(placed.address)
    else:
        file, found = analysis_file(folder, shows), grid.analysis(placed.address, shows)
    _check(found, ESSENTIAL[shows], file)
    return found


def _scores(grid: Grid, placed: Placed, file: Path) -> dict[str, Any]:
    """Test scores by setting, beside the floor, and what other plans score."""
    result, swapped = grid.result(placed.address), placed.entry.job.analyses
    try:
        scores = {s: dict(result["settings"][s]["metrics"]["test"]) for s in SETTINGS}
        floor = dict(result["floor"]["test"])
    except (KeyError, TypeError, ValueError) as error:
        raise MMAlignError(
            f"{file}: damaged, {error} is missing. Delete it and run the grid again."
        ) from error
    swaps = grid.analysis(placed.address, "swaps") if "swaps" in swapped else {}
    return {**result, "scores": scores, "floor": floor, "swaps": swaps}


def _check(found: Mapping[str, Any], essential: tuple[str, ...], file: Path) -> None:
    lacking = [name for name in essential if name not in found]
    if lacking:
        raise MMAlignError(
            f"{file}: damaged, {', '.join(lacking)} is missing. Delete it and run the grid again."
        )
