"""Suites: what they list, and what they refuse."""

import itertools
from dataclasses import replace

import pytest

from mmalign.errors import ConfigError, DataError
from mmalign.experiments.cost import longest_first, relative_cost
from mmalign.experiments.suites import SUITES, all_pairs, list_entries
from mmalign.experiments.systems import SYSTEMS
from mmalign.training.config import STRONG, config_to_json
from tests.experiments.tiny import SETTINGS, tiny_scope
from tests.training.small import small_dataset

DATA = small_dataset()
PAIRS = [("visible", "victim"), ("victim", "visible")]


def test_pairs_are_ordered():
    assert all_pairs(DATA) == PAIRS


def test_the_main_table_is_methods_by_pairs_by_rates_by_seeds():
    scope = tiny_scope(pairs=PAIRS, survivals=[0.1, 0.5], seeds=[3, 5], methods=tuple(SYSTEMS))
    entries = list_entries(DATA, scope, ["main"])
    places = {
        (e.system, e.job.visible, e.job.victim, e.survival, e.job.config.seed) for e in entries
    }
    titles = [title for title, _ in SYSTEMS.values()]
    assert len(places) == len(entries)
    assert places == {
        (title, *pair, rate, seed)
        for title, pair, rate, seed in itertools.product(titles, PAIRS, [0.1, 0.5], [3, 5])
    }
    assert all(entry.job.config.epochs == SETTINGS["epochs"] for entry in entries)


@pytest.mark.parametrize("suite", SUITES)
def test_every_suite_lists_something_with_places_of_its_own(suite):
    entries = list_entries(DATA, tiny_scope(pairs=PAIRS), [suite])
    assert entries
    assert {entry.suite for entry in entries} == {suite}
    assert len({entry.place for entry in entries}) == len(entries)


def test_bounds_do_not_depend_on_the_rate_and_methods_do():
    scope = tiny_scope(survivals=[0.1, 0.5], methods=["lb", "lb-complete", "ub", "mmalign"])
    rates = {}
    for entry in list_entries(DATA, scope, ["main"]):
        rates.setdefault(entry.system, set()).add(entry.job.survival)
    assert rates["LB"] == rates["UB"] == {1.0}
    assert rates["MM-Align"] == rates["LB, complete split only"] == {0.1, 0.5}


def test_one_recipe_makes_every_row_strong():
    scope = tiny_scope(methods=tuple(SYSTEMS), settings={**SETTINGS, **STRONG})
    for suite in ("main", "ablation"):
        for entry in list_entries(DATA, scope, [suite]):
            found = config_to_json(entry.job.config)
            assert {name: found[name] for name in STRONG} == STRONG


MISTAKES = [
    ({"methods": ["mmalgn"]}, "did you mean 'mmalign'"),
    ({"methods": []}, "at least one of systems"),
    ({"survivals": [0.0]}, r"survival rate lies in \(0, 1\], got 0.0"),
    ({"seeds": [1, 1]}, "seeds are given twice"),
    ({"settings": {"seed": 3}}, "seed is not a setting of a suite: use --seeds"),
]


@pytest.mark.parametrize(("changes", "message"), MISTAKES)
def test_a_scope_that_makes_no_sense_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        tiny_scope(**changes)


def test_unknown_suites_and_too_few_seeds_are_told_together():
    with pytest.raises(ConfigError, match=r"did you mean 'main'.*needs two or more, got 1"):
        list_entries(DATA, tiny_scope(seeds=[0]), ["window", "mian"])


def test_one_seed_is_enough_where_nothing_is_compared():
    assert list_entries(DATA, tiny_scope(seeds=[0]), ["speed", "alignment", "case"])


def test_pairs_must_be_in_the_data_and_labels_there():
    with pytest.raises(DataError, match="smell"):
        list_entries(DATA, tiny_scope(pairs=[("visible", "smell")]), ["main"])
    with pytest.raises(DataError, match="two modalities"):
        list_entries(DATA, tiny_scope(pairs=[("visible", "visible")]), ["main"])
    bare = {**DATA.splits, "test": replace(DATA["test"], labels=None)}
    with pytest.raises(DataError, match="needs labels"):
        list_entries(replace(DATA, splits=bare), tiny_scope(), ["main"])


def test_the_longest_jobs_are_started_first():
    entries = list_entries(DATA, tiny_scope(methods=tuple(SYSTEMS)), ["main", "window"])
    jobs = {entry.place: entry.job for entry in entries}
    ordered = longest_first(jobs)
    costs = [relative_cost(job) for job in ordered.values()]
    assert costs == sorted(costs, reverse=True)
    assert ordered.keys() == jobs.keys()
    assert longest_first(dict(reversed(jobs.items()))).keys() == jobs.keys()


def test_a_method_without_a_row_of_its_own_goes_by_its_name():
    entries = list_entries(DATA, tiny_scope(methods=["modal-trans-uncached"]), ["main"])
    assert {entry.system for entry in entries} == {"modal-trans-uncached"}
    assert {entry.job.config.method for entry in entries} == {"modal-trans-uncached"}
