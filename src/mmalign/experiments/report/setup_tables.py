"""What was run: data, masks, configuration, costs, and what is not finished."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, fields
from importlib import metadata
from typing import Any

from mmalign.data.missingness import SETTINGS, Protocol
from mmalign.experiments.report.comparison import summarise
from mmalign.experiments.report.runs import Condition, Run, Runs, condition_of
from mmalign.experiments.report.table import Cell, Column, Row, Table, prose_table
from mmalign.training.config import Config
from mmalign.version import __version__

PACKAGES = ("torch", "numpy", "scipy", "numba", "pyarrow", "matplotlib")
OF_THE_RUN = ("method", "seed")
"""Settings that belong to a row or a seed, not to the configuration."""


def data_name(runs: Runs) -> str:
    """What the data is called: the last part of its path, which may be a machine's own."""
    return runs.grid.source.path.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or "data"


def data_table(runs: Runs) -> Table:
    """Task, modalities, clips and hash."""
    data, source = runs.grid.data, runs.grid.source
    task = data["task"]
    kind = str(task["kind"])
    if "classes" in task:
        kind += f", {len(task['classes'])} classes: {', '.join(task['classes'])}"
    rows = [
        ("Name", data_name(runs)),
        ("Task", kind),
        ("Modalities", ", ".join(f"{name} ({dim} features)" for name, dim in data["dims"].items())),
        ("Clips", ", ".join(f"{name} {count}" for name, count in data["clips"].items())),
        ("NaN and infinity", source.non_finite),
        ("SHA-256 of the content", data["hash"]),
    ]
    return prose_table("data", "Data", ("What", "Value"), rows)


def version_table() -> Table:
    """Versions of what made this report."""
    rows = [("mmalign", __version__), ("Python", platform.python_version())]
    rows += [(name, metadata.version(name)) for name in PACKAGES]
    return prose_table("versions", "Versions", ("Package", "Version"), rows)


def mask_table(runs: Runs) -> Table:
    """How many clips keep their victim, split by split."""
    clips: Mapping[str, int] = runs.grid.data["clips"]
    columns = [
        Column(split, f"Setting {setting}: keep / lose") for setting in SETTINGS for split in clips
    ]
    seeds: dict[Condition, set[int]] = {}
    for placed in runs.grid.placed:
        condition = condition_of(placed.entry)
        seeds.setdefault(condition, set()).add(placed.entry.job.config.seed)
    rows = []
    for condition, used in seeds.items():
        cells = [
            Cell(f"{kept} / {count - kept}")
            for setting in SETTINGS
            for split, count in clips.items()
            for kept in [_protocol(condition, setting).survivors(split, count)]
        ]
        rows.append(Row(f"{condition.title}, seeds {_ranges(sorted(used))}", cells))
    return Table("masks", "Masks: clips that keep and lose their victim", "Protocol", columns, rows)


def mask_code(runs: Runs) -> str:
    """Python that makes the masks of the grid's first protocol again."""
    entry = runs.grid.placed[0].entry
    protocol = _protocol(condition_of(entry), "A", entry.job.config.seed)
    return f"mmalign.data.{protocol!r}.masks(dataset)"


def config_table(runs: Runs) -> Table:
    """Settings that all runs share, beside the defaults."""
    shared, defaults = _shared(runs), asdict(Config())
    rows = [
        Row(
            name, [Cell(_show(value), is_best=value != defaults[name]), Cell(_show(defaults[name]))]
        )
        for name, value in shared.items()
    ]
    columns = [Column("All runs", is_prose=True), Column("Default", is_prose=True)]
    return Table("configuration", "Settings that all runs share", "Setting", columns, rows)


def change_table(runs: Runs) -> Table:
    """What each row changes on top."""
    shared = _shared(runs)
    changed: dict[tuple[str, str], str] = {}
    for placed in runs.grid.placed:
        settings = asdict(placed.entry.job.config)
        defaults = asdict(Config())
        told = [f"method = {settings['method']}"]
        told += [
            f"{name} = {_show(value)}"
            for name, value in settings.items()
            if name not in shared and name not in OF_THE_RUN and value != defaults[name]
        ]
        changed.setdefault((placed.entry.suite, placed.entry.system), ", ".join(told))
    rows = [(system, suite, told) for (suite, system), told in changed.items()]
    return prose_table("systems", "What each row sets", ("Row", "Suite", "Settings"), rows)


def cost_table(runs: Runs) -> Table:
    """Parameters, epochs and training time of the main suite's systems."""
    groups: dict[str, list[Run]] = {}
    for run in runs.finished:
        if run.entry.job.kind == "train" and run.entry.suite in ("main", "ablation"):
            groups.setdefault(run.entry.system, []).append(run)
    rows = [Row(system, _cost_cells(found)) for system, found in groups.items()]
    columns = [
        Column("Backbone", "Parameters"),
        Column("Imputer", "Parameters"),
        Column("Epochs", "Training, mean ± sd"),
        Column("Seconds", "Training, mean ± sd"),
    ]
    return Table("costs", "Size and training time", "System", columns, rows)


def progress_table(runs: Runs) -> Table:
    """Finished, failed and missing runs of each suite."""
    grid = runs.grid
    failures = grid.failures()
    counts: dict[str, list[int]] = {}
    for placed in grid.placed:
        row = counts.setdefault(placed.entry.suite, [0, 0, 0])
        is_done = grid.is_done(placed.address)
        row[0 if is_done else 1 if placed.address in failures else 2] += 1
    columns = [Column("Finished"), Column("Failed"), Column("Not run yet")]
    rows = [Row(suite, [Cell(f"{n}") for n in row]) for suite, row in counts.items()]
    return Table("progress", "Runs of each suite", "Suite", columns, rows)


def missing_table(runs: Runs) -> Table | None:
    """Rows whose seeds are not all finished, with the errors of those that failed."""
    grid = runs.grid
    failures = grid.failures()
    seeds: dict[tuple[str, str, Condition], list[int]] = {}
    errors: dict[tuple[str, str, Condition], str] = {}
    for placed in grid.placed:
        if not grid.is_done(placed.address):
            entry = placed.entry
            place = entry.suite, entry.system, condition_of(entry)
            seeds.setdefault(place, []).append(entry.job.config.seed)
            if placed.address in failures:
                errors[place] = failures[placed.address]
    if not seeds:
        return None
    rows = [
        (system, suite, condition.title, _ranges(sorted(missing)), errors.get(place, "not run yet"))
        for place, missing in seeds.items()
        for suite, system, condition in [place]
    ]
    headings = ("Row", "Suite", "Where", "Seeds", "Why")
    return prose_table("missing", "Runs that are not finished", headings, rows)


def _protocol(condition: Condition, setting: str, seed: int = 0) -> Protocol:
    return Protocol(
        visible=condition.visible,
        victim=condition.victim,
        survival=condition.survival,
        setting=setting,
        seed=seed,
    )


def _cost_cells(found: list[Run]) -> list[Cell]:
    parameters: Mapping[str, Any] = found[0].result["parameters"]
    epochs = summarise({i: float(run.result["epochs"]) for i, run in enumerate(found)})
    seconds = summarise({i: run.seconds for i, run in enumerate(found)})
    return [
        Cell(f"{parameters['backbone']:,}"),
        Cell(f"{parameters['imputer']:,}"),
        *(
            Cell(f"{s.mean:.1f}" + (f" ± {s.sd:.1f}" if s.seeds > 1 else ""))
            for s in (epochs, seconds)
        ),
    ]


def _shared(runs: Runs) -> dict[str, Any]:
    """Settings that every job of the grid agrees on."""
    configs = [job.config for job in runs.grid.jobs.values()]
    names = [field.name for field in fields(Config) if field.name not in OF_THE_RUN]
    values = {name: {getattr(config, name) for config in configs} for name in names}
    return {name: next(iter(found)) for name, found in values.items() if len(found) == 1}


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _ranges(seeds: list[int]) -> str:
    """Seeds as people write them: 0–4, 7."""
    parts: list[list[int]] = []
    for seed in dict.fromkeys(seeds):
        if parts and parts[-1][-1] == seed - 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    return ", ".join(f"{p[0]}" if len(p) == 1 else f"{p[0]}–{p[-1]}" for p in parts)
