"""Suites about any subset of modalities: one model beside what is trained for each subset alone."""

from collections.abc import Callable, Iterator, Mapping

from mmalign.data.dataset import Dataset
from mmalign.experiments.anchors.minirocket import KIND as MINIROCKET
from mmalign.experiments.job import GAPS, RANDOM, Entry, Job
from mmalign.experiments.scope import Scope
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.training.config import Config, config_from
from mmalign.training.methods import configure

SUBSETS, RANDOM_MISSING = "subsets", "random-missing"
MISSING_RATES = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
GAP_RATES = (0.0, 0.1, 0.3, 0.5, 0.7)
TRAINED_SO = ", trained with gaps"
"""What is added to the title of a system that has seen gaps in training."""


def subsets(dataset: Dataset, scope: Scope) -> Iterator[Entry]:
    """Systems x seeds; a run answers for every non-empty subset."""
    for title, config in _configs(scope):
        yield _entry(SUBSETS, title, Job(modalities=_modalities(dataset, scope), config=config))


def random_missing(dataset: Dataset, scope: Scope) -> Iterator[Entry]:
    """Systems x missing rates x seeds; the rate is the same in training and test."""
    names = _modalities(dataset, scope)
    for title, config in _configs(scope):
        for rate in scope.rates or MISSING_RATES:
            job = Job(modalities=names, missing=RANDOM, rates=(rate,), config=config)
            yield _entry(RANDOM_MISSING, title, job)


def gaps(dataset: Dataset, scope: Scope) -> Iterator[Entry]:
    """Systems x seeds, asked at every rate of missing steps.

    Each is trained once on the clips as they are, and once at each rate.
    """
    names, asked = _modalities(dataset, scope), tuple(scope.rates) or GAP_RATES
    as_they_are = (0.0, *(rate for rate in asked if rate))  # training is at the first
    for title, config in _configs(scope):
        for rates in (as_they_are, *((rate,) for rate in as_they_are[1:])):
            job = Job(modalities=names, missing=GAPS, rates=rates, config=config)
            yield _entry(GAPS, title if rates == as_they_are else f"{title}{TRAINED_SO}", job)


SUBSET_SUITES: Mapping[str, Callable[[Dataset, Scope], Iterator[Entry]]] = {
    SUBSETS: subsets,
    RANDOM_MISSING: random_missing,
    GAPS: gaps,
}


def _configs(scope: Scope) -> Iterator[tuple[str, Config]]:
    """Every system's config for every seed.

    What is set for all runs is for networks; experts have some of it, MiniRocket nothing.
    """
    shared = {EXPERTS: scope.experts_settings, MINIROCKET: {}}
    for title, settings in scope.candidates.items():
        for seed in scope.seeds:
            own, method = {**settings, "seed": seed}, settings["method"]
            if method in shared:
                yield title, config_from({**shared[method], **own})
            else:
                yield title, configure({**scope.settings, **own})


def _modalities(dataset: Dataset, scope: Scope) -> tuple[str, ...]:
    return tuple(scope.modalities or dataset.modalities)


def _entry(suite: str, title: str, job: Job) -> Entry:
    return Entry(suite=suite, system=title, survival=job.survival, job=job)
