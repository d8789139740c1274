"""Studies are conducted: settings are chosen on validation, then the tables are run."""

from statistics import fmean

import pytest

from mmalign.cli.report import report
from mmalign.data import write_native
from mmalign.errors import MMAlignError
from mmalign.experiments.conducting import (
    chosen_settings,
    conduct,
    is_study,
    open_study,
    start_study,
)
from mmalign.experiments.grid import Grid, open_grid
from mmalign.experiments.study import read_study
from mmalign.experiments.work import perform
from tests.experiments.test_study import CHOICE, write_study
from tests.training.small import small_dataset


def run_here(grid: Grid) -> None:
    dataset = grid.source.load()
    for address, job in grid.pending().items():
        perform(job, dataset, grid.run_folder(address))


@pytest.fixture(scope="module")
def conducted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_native(small_dataset(), folder / "data")
    study = read_study(write_study(folder, more=CHOICE))
    place = start_study(study, folder / "out")
    grids = conduct(study, place, run_here)
    return study, place, grids


def test_one_grid_a_dataset_and_all_of_it_is_done(conducted):
    study, place, grids = conducted
    assert is_study(place.path)
    assert open_study(place.path) == place
    assert [grid.folder.name for grid in grids] == ["first", "second-cut"]
    assert [len(grid.jobs) for grid in grids] == [8, 3]
    assert not any(grid.pending() for grid in grids)
    assert study.title == place.title


def test_every_system_gets_the_value_that_validates_best(conducted):
    study, place, grids = conducted
    for title, grid in zip(study.datasets, grids, strict=True):
        chosen = chosen_settings(study, place, title)
        assert set(chosen) == {"nothing", "plans"}
        for placed in grid.placed:
            rate = chosen[placed.entry.system]["learning_rate"]
            assert placed.entry.job.config.learning_rate == rate


def test_the_choice_looks_at_validation_alone(conducted):
    study, place, _ = conducted
    grid = open_grid(place.choice("first"))
    means = {
        entry.system: fmean(f["metrics"]["valid"]["weighted_f1"] for f in r["settings"].values())
        for entry, r in grid.results()
    }
    chosen = chosen_settings(study, place, "first")["plans"]["learning_rate"]
    other = 4e-3 if chosen == 1e-3 else 1e-3
    best, rest = (means[f"plans @ {rate:g}"] for rate in (chosen, other))
    assert best > rest or (best == rest and chosen == 4e-3)


def test_the_report_shows_every_dataset_and_what_rates_were_chosen_by(conducted, tmp_path):
    study, place, _ = conducted
    assert set(place.rates()) == set(study.datasets)
    assert all(len(s) == 2 for s in place.rates()["first"]["plans"].values())
    report(place.path, tmp_path / "report")
    page = (tmp_path / "report" / "results.md").read_text()
    assert "Learning rates" in page
    assert "second, cut" in page


def test_conducting_again_does_nothing(conducted):
    study, place, grids = conducted

    def refuse(grid: Grid) -> None:
        assert not grid.pending()

    assert [g.jobs.keys() for g in conduct(study, place, refuse)] == [g.jobs.keys() for g in grids]


def test_an_unfinished_choice_and_a_foreign_directory_are_refused(conducted, tmp_path):
    study, _, _ = conducted
    with pytest.raises(MMAlignError, match="has not finished on validation"):
        conduct(study, start_study(study, tmp_path / "out"), lambda *_: None)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").touch()
    with pytest.raises(MMAlignError, match="exists and is not a study"):
        start_study(study, tmp_path / "other")
