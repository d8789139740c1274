"""Which runs of a grid keep their weights; nothing else of a run is ever dropped."""

from collections import defaultdict
from typing import Literal

from mmalign.data.task import task_from_json
from mmalign.experiments.grid import Grid
from mmalign.runs.manifest import WEIGHTS, drop_weights
from mmalign.training.selection import selection_score

Keep = Literal["weights", "best", "nothing"]


def drop_unkept(grid: Grid, keep: Keep) -> None:
    """Drop the weights of finished runs that are not to be kept.

    `best` keeps, of the seeds of each system and condition, the one that validates best: in A, or
    as it was trained.

    Raises:
        MMAlignError: If a result or a manifest is damaged.
    """
    if keep == "weights":
        return
    kept = _best(grid) if keep == "best" else set()
    for address in _trained(grid):
        if address not in kept:
            drop_weights(grid.run_folder(address))


def _trained(grid: Grid) -> list[str]:
    return [
        address
        for address, job in grid.jobs.items()
        if job.kind == "train"
        and grid.is_done(address)
        and (grid.run_folder(address) / WEIGHTS).exists()
    ]


def _best(grid: Grid) -> set[str]:
    """Addresses of the seeds that validate best."""
    task, trained = task_from_json(grid.data["task"]), set(_trained(grid))
    seeds: dict[tuple[str, str, str, str, float], dict[str, tuple[float, float]]]
    seeds = defaultdict(dict)
    for placed in grid.placed:
        if placed.address in trained:
            entry = placed.entry
            settings = grid.result(placed.address)["settings"]
            metrics = settings.get("A", next(iter(settings.values())))["metrics"]["valid"]
            place = entry.suite, entry.system, *entry.job.where, entry.survival
            seeds[place][placed.address] = selection_score(task, metrics)
    return {max(scores, key=lambda address: scores[address]) for scores in seeds.values()}
