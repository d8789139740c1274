"""Roughly how long a job takes, in relation to others: the longest are started first."""

from collections.abc import Mapping

from mmalign.experiments.anchors.minirocket import KIND as MINIROCKET
from mmalign.experiments.job import Job
from mmalign.runs.experts_artifact import KIND as EXPERTS
from mmalign.training.methods import find_method

EXPERTS_COST = 100.0
"""Of experts with one member: little of it is epochs."""


def relative_cost(job: Job) -> float:
    """Epochs times what an epoch takes: a clip with its victim costs that of two without."""
    config = job.config
    if job.kind == "speed":
        return 1.0
    if config.method == MINIROCKET:
        return EXPERTS_COST / 2
    if config.method == EXPERTS:
        return EXPERTS_COST * (1 + job.survival) * (1 + config.members) / 2
    epoch = find_method(config.method).cost * (1 + job.survival) + 0.5 * config.both_passes
    return config.members * config.epochs * (epoch + config.window / 64)


def longest_first(jobs: Mapping[str, Job]) -> dict[str, Job]:
    """The jobs in the order to start them, so that no long one is left alone at the end."""
    order = sorted(jobs, key=lambda address: (-relative_cost(jobs[address]), address))
    return {address: jobs[address] for address in order}
