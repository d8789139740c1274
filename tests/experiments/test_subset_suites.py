"""Suites about any subset of modalities: what they list, and what a job of them leaves."""

import csv
import json

import numpy as np
import pytest

from mmalign.errors import ConfigError, DataError
from mmalign.experiments.cost import relative_cost
from mmalign.experiments.grid import Grid, extend_grid
from mmalign.experiments.job import Job
from mmalign.experiments.keeping import drop_unkept
from mmalign.experiments.scope import Scope
from mmalign.experiments.source import Source
from mmalign.experiments.subset_suites import GAP_RATES, MISSING_RATES, SUBSET_SUITES, TRAINED_SO
from mmalign.experiments.suites import list_entries
from mmalign.experiments.systems import find_candidates
from mmalign.experiments.tables import write_tables
from mmalign.experiments.work import is_done, perform
from mmalign.runs.result import RESULT
from mmalign.training.config import config_from
from tests.experts.made import NAMES, made_clips, made_dataset

DATA = made_dataset(train=made_clips(18, seed=0))


def scope(**changes) -> Scope:
    return Scope(pairs=[NAMES[:2]], seeds=[0, 1], **{"settings": {"epochs": 1}, **changes})


COUNTS = {
    "subsets": 3 * 2,
    "random-missing": 3 * 2 * len(MISSING_RATES),
    "gaps": 3 * 2 * len(GAP_RATES),
}


@pytest.mark.parametrize("suite", SUBSET_SUITES)
def test_a_suite_lists_systems_by_seeds_by_rates_each_in_a_place_of_its_own(suite):
    entries = list_entries(DATA, scope(), [suite])
    assert len(entries) == COUNTS[suite]
    assert len({entry.place for entry in entries}) == len(entries)
    assert len({entry.job.address("data") for entry in entries}) == len(entries)
    assert {entry.job.modalities for entry in entries} == {NAMES}
    epochs = {entry.job.config.method: entry.job.config.epochs for entry in entries}
    assert epochs == {"experts": 1, "minirocket": 41, "lb": 1}
    several = list_entries(DATA, scope(settings={"members": 3}), [suite])
    members = {entry.job.config.method: entry.job.config.members for entry in several}
    assert members == {"experts": 3, "minirocket": 1, "lb": 3}
    assert all(relative_cost(entry.job) > 0 for entry in entries)


def test_gaps_are_asked_of_one_model_without_and_of_one_with_gaps_a_rate():
    entries = list_entries(DATA, scope(candidates=find_candidates(["experts"])), ["gaps"])
    rates = {}
    for entry in entries:
        rates.setdefault(entry.system, set()).add(entry.job.rates)
    assert rates["experts"] == {GAP_RATES}
    assert rates[f"experts{TRAINED_SO}"] == {(rate,) for rate in GAP_RATES[1:]}


def test_missing_rates_can_be_chosen_and_are_checked():
    chosen = scope(candidates=find_candidates(["experts"]), rates=[0.3, 0.6])
    found = {}
    for entry in list_entries(DATA, chosen, ["random-missing", "gaps"]):
        found.setdefault((entry.suite, entry.system), set()).add(entry.job.rates)
    assert found["random-missing", "experts"] == {(0.3,), (0.6,)}
    assert found["gaps", "experts"] == {(0.0, 0.3, 0.6)}  # training is without gaps
    assert found["gaps", f"experts{TRAINED_SO}"] == {(0.3,), (0.6,)}
    with pytest.raises(ConfigError, match=r"in \[0, 1\), got 1.0"):
        scope(rates=[0.5, 1.0])
    with pytest.raises(ConfigError, match="given twice"):
        scope(rates=[0.5, 0.5])


def test_modalities_and_systems_can_be_chosen_and_are_checked():
    chosen = scope(modalities=NAMES[:2], candidates=find_candidates(["experts"]))
    assert {e.job.modalities for e in list_entries(DATA, chosen, ["subsets"])} == {NAMES[:2]}
    with pytest.raises(DataError, match="smell"):
        list_entries(DATA, scope(modalities=["pose", "smell"]), ["subsets"])
    with pytest.raises(ConfigError, match="modalities are given twice"):
        scope(modalities=["pose", "pose"])
    with pytest.raises(ConfigError, match="'ub' does not answer for subsets; there are experts"):
        find_candidates(["ub"])


def test_the_address_of_a_pair_is_what_it_was():
    job = Job(visible="a", victim="b", survival=0.5, config=config_from({}))
    assert set(job.to_json()) == {
        *("kind", "visible", "victim", "survival", "config", "analyses", "settings")
    }
    assert Job.from_json(json.loads(json.dumps(job.to_json()))) == job


@pytest.mark.parametrize("suite", SUBSET_SUITES)
def test_a_job_is_read_as_it_was_written(suite):
    for entry in list_entries(DATA, scope(), [suite]):
        assert Job.from_json(json.loads(json.dumps(entry.job.to_json()))) == entry.job


@pytest.fixture(scope="module")
def grid(tmp_path_factory) -> Grid:
    """One seed of experts on two modalities, in every suite; gaps at one rate."""
    chosen = scope(modalities=("pose", "wrist"), candidates=find_candidates(["experts"]))
    entries = [
        entry
        for entry in list_entries(DATA, chosen, list(SUBSET_SUITES))
        if entry.job.config.seed == 0 and entry.job.rates in ((), (0.5,), GAP_RATES)
    ]
    grid = extend_grid(tmp_path_factory.mktemp("grid") / "g", DATA, Source("made"), entries)
    for address, job in grid.jobs.items():
        perform(job, DATA, grid.run_folder(address))
    return grid


def test_a_run_of_experts_answers_for_every_subset_and_rate(grid):
    for address, job in grid.jobs.items():
        assert is_done(job, grid.run_folder(address))
        result = grid.result(address)
        subsets = [found["modalities"] for found in result["subsets"]]
        assert subsets == [["pose"], ["wrist"], ["pose", "wrist"]]
        if job.rates:
            assert list(result["settings"]) == [f"{rate:g}" for rate in job.rates]


def test_the_table_has_a_row_for_every_subset_and_rate(grid):
    write_tables(grid)
    rows = list(csv.DictReader((grid.folder / "results.csv").open()))
    subsets = [row["visible"] for row in rows if row["suite"] == "subsets"]
    assert subsets == ["pose", "pose+wrist", "wrist"]
    rates = [row["setting"] for row in rows if (row["suite"], row["system"]) == ("gaps", "experts")]
    assert rates == [f"{rate:g}" for rate in GAP_RATES]
    assert "random-missing, experts, pose+wrist, random 0.5, seed 0" in {
        grid.describe(address) for address in grid.jobs
    }


def test_the_best_seed_is_kept_where_there_is_no_pair(grid):
    drop_unkept(grid, "best")
    assert all((grid.run_folder(address) / RESULT).exists() for address in grid.jobs)
    assert np.all([grid.is_done(address) for address in grid.jobs])
