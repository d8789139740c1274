"""A grid's results as one CSV file, the same bytes whoever did the runs and in whatever order."""

from collections.abc import Iterable, Iterator
from typing import Any

from mmalign.experiments.grid import Grid, Placed
from mmalign.files import csv_bytes, drafts_of, write_atomically
from mmalign.runs.claim import awaited

RESULTS, TIMINGS = "results.csv", "timings.csv"
PLACE = ("suite", "system", "visible", "victim", "survival", "setting", "seed")
SIZE = ("epochs", "best_epoch", "backbone_parameters", "imputer_parameters", "address")
SUBSET = "subset"
"""The setting of a row about one subset of modalities."""

Row = dict[str, Any]


def write_tables(grid: Grid) -> None:
    """Write `results.csv` and `timings.csv` for all that is done.

    Raises:
        MMAlignError: If a result file is damaged.
    """
    rows = sorted(_result_rows(grid), key=lambda row: [row[name] for name in PLACE])
    metrics = dict.fromkeys(name for row in rows for name in row)  # in their own order
    columns = [*PLACE, *(name for name in metrics if name not in (*PLACE, *SIZE)), *SIZE]
    tables = {
        grid.folder / RESULTS: _csv(columns, rows),
        grid.folder / TIMINGS: _csv(["address", "kind", "seconds"], _timings(grid)),
    }
    with awaited(grid.folder):  # so that a draft is that of a process that was killed
        for file, payload in tables.items():
            for draft in drafts_of(file):
                draft.unlink()
            write_atomically(file, payload)


def _result_rows(grid: Grid) -> Iterator[Row]:
    """One row an entry and setting, or subset, where there are scores."""
    for placed in grid.placed:
        if placed.entry.job.kind == "train" and grid.is_done(placed.address):
            result = grid.result(placed.address)
            if placed.entry.shows == "subsets":
                yield from _subset_rows(placed, result)
                continue
            for setting, found in result["settings"].items():
                place = *placed.entry.job.where, setting
                yield _row(placed, result, place, found["metrics"]["test"], found["best_epoch"])


def _subset_rows(placed: Placed, result: dict[str, Any]) -> Iterator[Row]:
    """One row a subset: what is visible is all that the model is asked with."""
    epoch = next(iter(result["settings"].values()))["best_epoch"]
    for found in result["subsets"]:
        if "test" in found:
            place = "+".join(found["modalities"]), "", SUBSET
            yield _row(placed, result, place, found["test"]["metrics"], epoch)


def _row(
    placed: Placed,
    result: dict[str, Any],
    place: tuple[str, str, str],
    scores: dict[str, Any],
    epoch: int,
) -> Row:
    entry = placed.entry
    visible, victim, setting = place
    return {
        "suite": entry.suite,
        "system": entry.system,
        "visible": visible,
        "victim": victim,
        "survival": entry.survival,
        "setting": setting,
        "seed": entry.job.config.seed,
        **{name: value for name, value in scores.items() if "/" not in name},  # not per class
        "epochs": result["epochs"],
        "best_epoch": epoch,
        "backbone_parameters": result["parameters"]["backbone"],
        "imputer_parameters": result["parameters"]["imputer"],
        "address": placed.address,
    }


def _timings(grid: Grid) -> list[Row]:
    return [
        {"address": address, "kind": job.kind, "seconds": grid.seconds(address)}
        for address, job in sorted(grid.jobs.items())
        if grid.is_done(address)
    ]


def _csv(columns: list[str], rows: Iterable[Row]) -> bytes:
    return csv_bytes(columns, ([row.get(name, "") for name in columns] for row in rows))
