"""What was run: data, masks, configuration, costs, and what is not finished."""

import platform
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from importlib import metadata
from itertools import groupby
from typing import Any

from mmalign.data.missingness import SETTINGS, Protocol
from mmalign.experiments.report.comparison import summarise
from mmalign.experiments.report.runs import Condition, Run, Runs
from mmalign.experiments.report.table import Cell, Column, Row, Table, prose_table
from mmalign.training.config import Config
from mmalign.version import __version__

PACKAGES = ("torch", "numpy", "scipy", "numba", "pyarrow", "matplotlib")
OF_THE_RUN = ("method", "seed")
"""What belongs to a row or a seed, not to the configuration."""


def data_table(runs: Runs) -> Table:
    """Task, modalities, clips and hash."""
    data, task = runs.grid.data, runs.grid.data["task"]
    kind = str(task["kind"])
    if "classes" in task:
        kind += f", {len(task['classes'])} classes: {', '.join(task['classes'])}"
    rows = [
        ("Name", runs.name),
        ("Task", kind),
        ("Modalities", ", ".join(f"{name} ({dim} features)" for name, dim in data["dims"].items())),
        ("Clips", ", ".join(f"{name} {count}" for name, count in data["clips"].items())),
        ("NaN and infinity", runs.grid.source.non_finite),
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
    for run in runs.of_pairs:
        seeds.setdefault(run.condition, set()).add(run.seed)
    rows = []
    for condition, used in seeds.items():
        cells = [
            Cell(f"{kept} / {count - kept}")
            for setting in SETTINGS
            for split, count in clips.items()
            for kept in [_protocol(condition, setting).survivors(split, count)]
        ]
        rows.append(Row(f"{condition.title}, seeds {_ranges(used)}", cells))
    return Table("masks", "Masks: clips that keep and lose their victim", "Protocol", columns, rows)


def mask_code(runs: Runs) -> str:
    """Python that makes the masks of the grid's first protocol again."""
    first = runs.of_pairs[0]
    return f"mmalign.data.{_protocol(first.condition, 'A', first.seed)!r}.masks(dataset)"


def config_table(runs: Runs) -> Table:
    """The part of the config that all runs share, beside the defaults."""
    defaults = asdict(Config())
    rows = [
        Row(
            name, [Cell(_show(value), is_best=value != defaults[name]), Cell(_show(defaults[name]))]
        )
        for name, value in _shared(runs).items()
    ]
    columns = [Column("All runs", is_prose=True), Column("Default", is_prose=True)]
    return Table("configuration", "Config that all runs share", "Parameter", columns, rows)


def change_table(runs: Runs) -> Table:
    """What each row changes of the shared config."""
    known, defaults = {*_shared(runs), *OF_THE_RUN}, asdict(Config())
    changed: dict[tuple[str, str], str] = {}
    for run in runs.planned:
        config = asdict(run.entry.job.config)
        told = [
            f"{name} = {_show(value)}"
            for name, value in config.items()
            if name not in known and value != defaults[name]
        ]
        place = run.entry.system, run.entry.suite
        changed.setdefault(place, ", ".join([f"method = {config['method']}", *told]))
    rows = [(*place, told) for place, told in changed.items()]
    return prose_table("systems", "What each row sets", ("Row", "Suite", "Config"), rows)


def cost_table(runs: Runs) -> Table:
    """Parameters, epochs and training time of the main suite's systems."""
    groups: dict[str, list[Run]] = {}
    for run in runs.finished:
        if run.entry.job.kind == "train" and run.entry.suite in ("main", "ablation"):
            groups.setdefault(run.entry.system, []).append(run)
    rows = [Row(system, list(_cost_cells(found))) for system, found in groups.items()]
    columns = [Column(title, "Parameters") for title in ("Backbone", "Imputer")]
    columns += [Column(title, "Training, mean ± sd") for title in ("Epochs", "Seconds")]
    return Table("costs", "Size and training time", "System", columns, rows)


def progress_table(runs: Runs) -> Table:
    """Finished, failed and missing runs of each suite."""
    states = ("Finished", "Failed", "Not run yet")
    counts: dict[str, Counter[str]] = {}
    for run in runs.planned:
        state = states[0] if run.is_done else states[1] if run.error else states[2]
        counts.setdefault(run.entry.suite, Counter())[state] += 1
    rows = [Row(suite, [Cell(f"{n[state]}") for state in states]) for suite, n in counts.items()]
    return Table("progress", "Runs of each suite", "Suite", list(map(Column, states)), rows)


def missing_table(runs: Runs) -> Table:
    """Rows whose seeds are not all finished, with the errors of those that failed."""
    missing: dict[tuple[str, str, str], dict[int, str]] = {}
    for run in runs.planned:
        if not run.is_done:
            place = run.entry.system, run.entry.suite, run.place
            missing.setdefault(place, {})[run.seed] = run.error
    rows = [
        (*place, _ranges(set(errors)), next(filter(None, reversed(errors.values())), "not run yet"))
        for place, errors in missing.items()
    ]
    headings = ("Row", "Suite", "Where", "Seeds", "Why")
    return prose_table("missing", "Runs that are not finished", headings, rows)


def _protocol(condition: Condition, setting: str, seed: int = 0) -> Protocol:
    return Protocol(**asdict(condition), setting=setting, seed=seed)


def _cost_cells(found: list[Run]) -> Iterator[Cell]:
    for part in ("backbone", "imputer"):
        yield Cell(f"{found[0].parameters[part]:,}")
    for values in ([float(run.epochs) for run in found], [run.seconds for run in found]):
        summary = summarise(dict(enumerate(values)))
        spread = f" ± {summary.sd:.1f}" if summary.seeds > 1 else ""
        yield Cell(f"{summary.mean:.1f}{spread}")


def _shared(runs: Runs) -> dict[str, Any]:
    """The part of the config that every job of the grid agrees on."""
    configs = [run.entry.job.config for run in runs.planned]
    names = [field.name for field in fields(Config) if field.name not in OF_THE_RUN]
    values = {name: {getattr(config, name) for config in configs} for name in names}
    return {name: next(iter(found)) for name, found in values.items() if len(found) == 1}


def _show(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _ranges(seeds: set[int]) -> str:
    """Seeds as people write them: 0–4, 7."""
    ordered = enumerate(sorted(seeds))
    runs = ([seed for _, seed in run] for _, run in groupby(ordered, lambda s: s[1] - s[0]))
    return ", ".join(f"{r[0]}" if len(r) == 1 else f"{r[0]}–{r[-1]}" for r in runs)
