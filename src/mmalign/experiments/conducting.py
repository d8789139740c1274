"""Conduct a study: choose settings on validation, run the tables, one grid a dataset."""

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from mmalign.data.dataset import Dataset
from mmalign.data.task import task_from_json
from mmalign.errors import MMAlignError
from mmalign.experiments.grid import GRID, Grid, extend_grid, open_grid
from mmalign.experiments.job import Entry, Job
from mmalign.experiments.study import Choice, Study, StudyTable, folder_name
from mmalign.experiments.suites import all_pairs, list_entries
from mmalign.experiments.systems import Settings
from mmalign.runs.claim import refuse_foreign
from mmalign.runs.records import read_sealed, write_sealed
from mmalign.training.methods import configure
from mmalign.training.selection import selection_score

STUDY, CHOICE = "study.json", "choice"
Perform = Callable[[Grid], None]
"""Runs what a grid still lacks, and shows how it goes on."""


@dataclass(frozen=True)
class StudyFolder:
    """The directory of a study: `study.json`, and a grid for each dataset.

    Attributes:
        path: The directory.
        title: The study's title.
        grids: Names of the datasets' directories, by title.
    """

    path: Path
    title: str
    grids: Mapping[str, str]

    def grid(self, dataset: str) -> Path:
        """Where the tables of a dataset are run."""
        return self.path / self.grids[dataset]

    def is_started(self, dataset: str) -> bool:
        """Whether there is a grid of the dataset."""
        return (self.grid(dataset) / GRID).exists()

    def rates(self) -> dict[str, dict[str, dict[float, list[float]]]]:
        """What learning rates were chosen by: validation scores by dataset, system and rate."""
        return {
            title: choice_scores(open_grid(self.choice(title)))
            for title in self.grids
            if (self.choice(title) / GRID).exists()
        }

    def choice(self, dataset: str) -> Path:
        """Where the settings of a dataset are chosen."""
        return self.path / f"{self.grids[dataset]}-{CHOICE}"


def is_study(folder: Path) -> bool:
    """Whether a directory is a study's."""
    return (folder / STUDY).exists()


def open_study(folder: Path) -> StudyFolder:
    """The study that a directory holds.

    Raises:
        MMAlignError: If it is damaged.
    """
    fix = "Run mmalign bench STUDY.toml with the same --out again."
    content = read_sealed(folder / STUDY, fix=fix)
    try:
        return StudyFolder(folder, str(content["title"]), dict(content["grids"]))
    except (KeyError, TypeError, ValueError) as error:
        raise MMAlignError(f"{folder / STUDY}: not readable ({error!r}). {fix}") from error


def start_study(study: Study, path: Path) -> StudyFolder:
    """Make a study's directory, or add datasets to it.

    Raises:
        MMAlignError: If the directory holds something else.
    """
    refuse_foreign(path, marker=STUDY, what="study")
    known = open_study(path).grids if is_study(path) else {}
    names = {title: folder_name(title) for title in study.datasets}
    folder = StudyFolder(path, study.title, {**known, **names})
    path.mkdir(parents=True, exist_ok=True)
    write_sealed(path / STUDY, {"title": study.title, "grids": dict(folder.grids)})
    return folder


def conduct(study: Study, folder: StudyFolder, perform: Perform) -> list[Grid]:
    """Run a study, or what is left of it; returns the grids of its tables.

    Every system chooses its settings on the validation clips of the first pair of a dataset; the
    tables are then run with what was chosen.

    Raises:
        MMAlignError: If the directory holds something else, or a choice could not be made.
        DataError: If a dataset does not have what a table asks for.
    """
    grids = []
    for title, source in study.datasets.items():
        dataset = source.load()
        tables = [table for table in study.tables if table.dataset == title]
        if study.choice is not None and title not in study.chosen_on and tables:
            entries = list(choice_entries(study, study.choice, tables[0]))
            choosing = extend_grid(folder.choice(title), dataset, source, entries).only(entries)
            perform(choosing)
        chosen = chosen_settings(study, folder, title)
        entries = table_entries(study, tables, dataset, chosen)
        grid = extend_grid(folder.grid(title), dataset, source, entries).only(entries)
        perform(grid)
        grids.append(grid)
    return grids


def table_entries(
    study: Study,
    tables: list[StudyTable],
    dataset: Dataset,
    chosen: Mapping[str, Settings],
) -> list[Entry]:
    """All that the tables of one dataset hold, each place once."""
    entries = {
        entry.place: entry
        for table in tables
        for entry in list_entries(
            dataset, study.scope(table, chosen, all_pairs(dataset)), table.suites
        )
    }
    return list(entries.values())


def choice_entries(study: Study, choice: Choice, table: StudyTable) -> Iterator[Entry]:
    """Every system with every learning rate, on the first pair of a table."""
    visible, victim = table.pairs[0]
    for title, seed in itertools.product(study.systems, choice.seeds):
        for rate in choice.learning_rates:
            own = {**study.systems[title], "learning_rate": rate, "seed": seed}
            config = configure({**study.settings, **own})
            job = Job(visible=visible, victim=victim, survival=choice.survival, config=config)
            system = f"{title} @ {rate:g}"
            yield Entry(suite=CHOICE, system=system, survival=choice.survival, job=job)


def chosen_settings(study: Study, folder: StudyFolder, dataset: str) -> dict[str, Settings]:
    """What each system chose: the rate with the best mean validation score over A and B.

    Raises:
        MMAlignError: If a run of the choice is not finished.
    """
    if study.choice is None:
        return {}
    grid = open_grid(folder.choice(study.chosen_on.get(dataset, dataset)))
    scores = choice_scores(grid)
    found: dict[str, Settings] = {}
    for title, rate in itertools.product(study.systems, study.choice.learning_rates):
        if len(scores.get(title, {}).get(rate, ())) < 2 * len(study.choice.seeds):
            raise MMAlignError(
                f"{grid.folder}: {title} at learning rate {rate:g} has not finished on "
                "validation. Run the study again."
            )
    for title in study.systems:
        means = {rate: fmean(scores[title][rate]) for rate in study.choice.learning_rates}
        found[title] = {"learning_rate": max(means, key=lambda rate: (means[rate], rate))}
    return found


def choice_scores(grid: Grid) -> dict[str, dict[float, list[float]]]:
    """Validation scores by system and learning rate, of both settings and all seeds."""
    task = task_from_json(grid.data["task"])
    scores: dict[str, dict[float, list[float]]] = {}
    for entry, result in grid.results():
        title, rate = entry.system.rpartition(" @ ")[0], entry.job.config.learning_rate
        scores.setdefault(title, {}).setdefault(rate, []).extend(
            selection_score(task, found["metrics"]["valid"])[0]
            for found in result["settings"].values()
        )
    return scores
