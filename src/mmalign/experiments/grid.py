"""A grid in a directory: which jobs it holds, what is done, what failed."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.fingerprint import dataset_hash
from mmalign.data.task import task_to_json
from mmalign.documents import unsealed
from mmalign.errors import ConfigError, CorruptArtifactError, MMAlignError
from mmalign.experiments.job import Entry, Job
from mmalign.experiments.site import Site
from mmalign.experiments.source import Source
from mmalign.experiments.work import DAMAGED, analysis_file, is_done
from mmalign.runs.claim import awaited, refuse_foreign
from mmalign.runs.manifest import read_record
from mmalign.runs.records import read_json, read_sealed, write_sealed
from mmalign.runs.result import RESULT, TIMING
from mmalign.version import __version__

GRID = "grid.json"
FORMAT_VERSION = 2


@dataclass(frozen=True)
class Placed:
    """An entry and the address of its job."""

    entry: Entry
    address: str


@dataclass(frozen=True)
class Grid:
    """All entries of a grid directory.

    Attributes:
        folder: The directory: `grid.json`, and one directory a job in `runs`.
        source: Where the data is.
        data: Hash, task and sizes of the data.
        placed: The entries; several may share an address.
    """

    folder: Path
    source: Source
    data: dict[str, Any]
    placed: tuple[Placed, ...]

    @cached_property
    def jobs(self) -> dict[str, Job]:
        """Every job once, by address, in the order of the entries, with all that they ask of it."""
        jobs: dict[str, Job] = {}
        for placed in self.placed:
            job = jobs.get(placed.address, placed.entry.job)
            asked = dict.fromkeys((*job.analyses, *placed.entry.job.analyses))
            jobs[placed.address] = replace(job, analyses=tuple(asked))
        return jobs

    def only(self, entries: Iterable[Entry]) -> "Grid":
        """The same grid, reduced to these entries: what one command asks for; not for saving."""
        places = {entry.place for entry in entries}
        return replace(
            self, placed=tuple(placed for placed in self.placed if placed.entry.place in places)
        )

    @property
    def site(self) -> Site:
        """What a worker must know."""
        return Site(self.folder.absolute(), self.source, self.data["hash"])

    def run_folder(self, address: str) -> Path:
        """Where a job works and leaves its result."""
        return self.site.run_folder(address)

    def is_done(self, address: str) -> bool:
        """Whether the job has its result."""
        return is_done(self.jobs[address], self.run_folder(address))

    def pending(self) -> dict[str, Job]:
        """Jobs without a result, those that failed before included."""
        return {address: job for address, job in self.jobs.items() if not self.is_done(address)}

    def result(self, address: str) -> dict[str, Any]:
        """What the job found.

        Raises:
            MMAlignError: If the file is not readable.
        """
        return read_record(self.run_folder(address), RESULT)

    def analysis(self, address: str, name: str) -> dict[str, Any]:
        """What an analysis of the job's run found.

        Raises:
            MMAlignError: If the file is not readable.
        """
        return read_sealed(analysis_file(self.run_folder(address), name), fix=DAMAGED)

    def seconds(self, address: str) -> float:
        """How long the job took."""
        return float(read_record(self.run_folder(address), TIMING)["seconds"])

    def failures(self) -> dict[str, str]:
        """Errors of the jobs that failed and were not done since, by address."""
        found = {}
        for address in self.pending():
            file = self.site.error_file(address)
            if file.exists():
                found[address] = str(read_json(file, fix=DAMAGED).get("error", "unknown"))
        return found

    def results(self) -> Iterator[tuple[Entry, dict[str, Any]]]:
        """Every entry whose job is done, with its result."""
        for placed in self.placed:
            if self.is_done(placed.address):
                yield placed.entry, self.result(placed.address)

    def describe(self, address: str) -> str:
        """A job in words: the first place in a table that it has."""
        return _in_words(next(one.entry for one in self.placed if one.address == address))

    def save(self) -> None:
        """Write `grid.json`; the directory must exist."""
        content = {
            "format": FORMAT_VERSION,
            "mmalign": __version__,
            "source": self.source.to_json(),
            "data": self.data,
            "entries": [
                {
                    "suite": placed.entry.suite,
                    "system": placed.entry.system,
                    "survival": placed.entry.survival,
                    "address": placed.address,
                    "job": placed.entry.job.to_json(),
                }
                for placed in self.placed
            ],
        }
        write_sealed(self.folder / GRID, content)


def open_grid(folder: Path) -> Grid:
    """The grid that a directory holds.

    Raises:
        MMAlignError: If it holds none, one of another version, or a damaged one.
    """
    file = folder / GRID
    if not file.exists():
        raise MMAlignError(
            f"{folder}: holds no grid. Make one with mmalign bench … --out {folder}."
        )
    content = read_json(file, fix=DAMAGED)
    if content.get("format") != FORMAT_VERSION:
        raise MMAlignError(
            f"{folder}: a grid of an older format, whose cells are no runs yet. Its results.csv "
            "stays readable; to go on, start it again in another --out."
        )
    if content.get("mmalign") != __version__:
        raise MMAlignError(
            f"{folder}: made by mmalign {content.get('mmalign')}, this is {__version__}; "
            "results do not mix. Give another --out."
        )
    try:
        content = unsealed(content)
        placed = tuple(
            Placed(
                Entry(
                    suite=row["suite"],
                    system=row["system"],
                    survival=row["survival"],
                    job=Job.from_json(row["job"]),
                ),
                row["address"],
            )
            for row in content["entries"]
        )
        return Grid(folder, Source.from_json(content["source"]), content["data"], placed)
    except (LookupError, TypeError, ValueError, AttributeError, ConfigError) as error:
        raise CorruptArtifactError(f"{file}: not readable ({error!r}). {DAMAGED}") from error


def extend_grid(folder: Path, dataset: Dataset, source: Source, entries: Sequence[Entry]) -> Grid:
    """A grid of these entries, added to what the directory holds already, and written there.

    Raises:
        MMAlignError: If the directory holds something else: no grid, a grid on other data, or other
            settings for the same place in a table.
    """
    refuse_foreign(folder, marker=GRID, what="grid")
    folder.mkdir(parents=True, exist_ok=True)
    with awaited(folder):  # of two commands that add at once, neither loses what the other adds
        grid = plan_grid(folder, dataset, source, entries)
        grid.save()
    return grid


def plan_grid(folder: Path, dataset: Dataset, source: Source, entries: Sequence[Entry]) -> Grid:
    """What `extend_grid` would write, with nothing written.

    Raises:
        MMAlignError: As `extend_grid`.
    """
    data = _describe(dataset)
    hashes: dict[tuple[str, ...], str] = {}
    known = {placed.entry.place: placed for placed in _existing(folder, data)}
    for entry in entries:
        names = entry.job.names
        if names not in hashes:
            hashes[names] = dataset_hash(dataset.only(list(names)))
        placed = Placed(entry, entry.job.address(hashes[names]))
        before = known.setdefault(entry.place, placed)
        if before.address != placed.address:
            raise MMAlignError(
                f"{folder}: holds another grid; {_change(before.entry.job, entry.job)} "
                f"for {_in_words(entry)}. Give another --out."
            )
    return Grid(folder, source, data, tuple(known.values()))


def _existing(folder: Path, data: dict[str, Any]) -> tuple[Placed, ...]:
    """Entries of the grid that is there, if any."""
    refuse_foreign(folder, marker=GRID, what="grid")
    if not (folder / GRID).exists():
        return ()
    grid = open_grid(folder)
    if grid.data["hash"] != data["hash"]:
        raise MMAlignError(
            f"{folder}: holds a grid on other data ({grid.source.path}). Give another --out."
        )
    return grid.placed


def _describe(dataset: Dataset) -> dict[str, Any]:
    return {
        "hash": dataset_hash(dataset),
        "task": task_to_json(dataset.task),
        "dims": dict(dataset.dims),
        "clips": {name: len(split) for name, split in dataset.splits.items()},
    }


def _in_words(entry: Entry) -> str:
    return f"{entry.suite}, {entry.system}, {entry.about}, seed {entry.job.config.seed}"


def _change(old: Job, new: Job) -> str:
    """The first setting that differs."""
    before, after = old.to_json(), new.to_json()
    before |= before.pop("config")
    after |= after.pop("config")
    name = next(name for name in after if before.get(name) != after[name])
    return f"{name} was {before.get(name)!r}, is {after[name]!r}"
