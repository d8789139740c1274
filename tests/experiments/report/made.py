"""Grids whose results are made up, not trained: a report's numbers can be known beforehand."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from mmalign.data import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Classification, Regression, Task
from mmalign.experiments.grid import Grid, extend_grid
from mmalign.experiments.job import Entry, Job
from mmalign.experiments.scope import Scope
from mmalign.experiments.source import Source
from mmalign.experiments.suites import SUITES, list_entries
from mmalign.experiments.work import analysis_file
from mmalign.runs.manifest import seal
from mmalign.runs.records import write_sealed
from mmalign.runs.result import RESULT, TIMING

STEPS = 24
WORDS = ("well", "i", "thought", "this", "movie", "was", "<really>", "&", "truly", "$5", "100%")
WORDS += ("_bad_", "but", "|", "not", "*that*", "bad")
BASES = {"lb": 0.62, "lb-complete": 0.5, "zero-fill": 0.63, "mfm": 0.6, "ub": 0.74}
BASES |= {"dynamic-window": 0.68, "random-plan": 0.57}
MOSI = {"train": 1284, "valid": 229, "test": 686}
EXERCISES = Classification(("PEN", "ABD", "ROW"))
Score = Callable[[Entry, str], float]


@dataclass(frozen=True)
class Making:
    """What grid to make."""

    task: Task = EXERCISES
    pairs: Sequence[tuple[str, str]] = (("accelerometer", "gyroscope"),)
    survivals: Sequence[float] = (0.1, 0.5)
    seeds: Sequence[int] = (0, 1, 2, 3, 4)
    suites: Sequence[str] = tuple(SUITES)
    settings: Mapping[str, Any] | None = None
    clips: Mapping[str, int] | None = None
    path: str = "smartwatch"
    words: Sequence[str] | None = None
    clip_id: str = "test-0"


def made_dataset(making: Making) -> Dataset:
    """Just enough clips for the suites to list their jobs."""
    names = list(dict.fromkeys(name for pair in making.pairs for name in pair))
    is_classes = isinstance(making.task, Classification)
    labels = np.array([0, 1], dtype=np.int64 if is_classes else np.float32)
    splits = {
        split: Split(
            ids=(f"{split}-0" if split != "test" else making.clip_id, f"{split}-1"),
            labels=labels,
            sequences={name: [np.ones((STEPS, 2), np.float32)] * 2 for name in names},
        )
        for split in ("train", "valid", "test")
    }
    return Dataset(making.task, dict.fromkeys(names, 2), splits)


def default_score(entry: Entry, setting: str) -> float:
    """A share near the method's base, better in setting B, the same noise for each seed."""
    config = entry.job.config
    # Of the job alone: entries that share a job share its result.
    name = crc32(f"{replace(config, seed=0)} {setting}".encode())
    own = np.random.default_rng(name).normal(0, 0.008)
    seed = np.random.default_rng(config.seed).normal(0, 0.02)
    noise = np.random.default_rng([config.seed, name]).normal(0, 0.006)
    gain = 0.04 if setting == "B" and config.method != "lb" else 0.0
    rarity = -0.03 if entry.job.survival < 0.5 else 0.0
    return float(BASES.get(config.method, 0.64) + own + seed + noise + gain + rarity)


def metrics(task: Task, share: float) -> dict[str, float]:
    """All metrics of a task that one share of right answers might give."""
    if isinstance(task, Classification):
        classes = {f"f1/{name}": share for name in task.classes}
        return {"weighted_f1": share, "macro_f1": share - 0.02, "accuracy": share + 0.01} | classes
    return {
        "mae": 1.9 - 1.2 * share,
        "r": share - 0.2,
        "acc2": share + 0.02,
        "acc2_with_zero": share,
        "f1": share + 0.01,
        "acc7": share - 0.35,
    }


def made_result(entry: Entry, making: Making, score: Score) -> dict[str, Any]:
    """A result such as a run writes, or a measurement of speed."""
    if entry.job.kind == "speed":
        return {"job": entry.job.to_json(), **_speed()}
    return _train(entry, making, score)


def made_analyses(entry: Entry, making: Making, score: Score) -> dict[str, dict[str, Any]]:
    """Answers such as the analyses of a run give, by name."""
    makers = {"swaps": _swaps, "alignment": _alignment, "case": _case}
    return {name: makers[name](entry, making, score) for name in entry.job.analyses}


def make_grid(
    folder: Path,
    making: Making | None = None,
    *,
    score: Score = default_score,
    is_done: Callable[[Entry], bool] = lambda _: True,
) -> Grid:
    """A grid on disk with made results for the entries that are done."""
    making = making or Making()
    dataset = made_dataset(making)
    scope = Scope(
        pairs=making.pairs,
        survivals=making.survivals,
        seeds=making.seeds,
        settings=making.settings or {},
    )
    entries = [entry for name in making.suites for entry in SUITES[name](dataset, scope)]
    if len(making.seeds) > 1:
        assert entries == list_entries(dataset, scope, making.suites)
    grid = extend_grid(folder, dataset, Source(making.path), entries)
    clips = dict(making.clips or {"train": 589, "valid": 250, "test": 310})
    grid = replace(grid, data={**grid.data, "clips": clips})
    grid.save()
    for placed in grid.placed:
        if is_done(placed.entry):
            run = grid.run_folder(placed.address)
            run.mkdir(parents=True, exist_ok=True)
            seconds = {"seconds": 12.5 + placed.entry.job.config.seed}
            (run / TIMING).write_text(json.dumps(seconds))
            (run / RESULT).write_text(json.dumps(made_result(placed.entry, making, score)))
            seal(run, {})
            for name, found in made_analyses(placed.entry, making, score).items():
                write_sealed(analysis_file(run, name), found)
    return grid


def regression(**changes: Any) -> Making:
    """MOSI as the paper splits it."""
    made = Making(
        task=Regression(-3, 3),
        pairs=(("text", "vision"), ("vision", "text")),
        clips=MOSI,
        path="data/mosi",
        words=WORDS,
    )
    return replace(made, **changes)


def _train(entry: Entry, making: Making, score: Score) -> dict[str, Any]:
    shares = {setting: score(entry, setting) for setting in ("A", "B")}
    is_aligned = entry.job.config.method == "mmalign"
    found = {s: metrics(making.task, share) for s, share in shares.items()}
    return {
        "settings": {
            setting: {
                "best_epoch": epoch,
                "metrics": {"valid": found[setting], "test": found[setting] | {"loss": 0.9}},
            }
            for setting, epoch in (("A", 7), ("B", 8))
        },
        "floor": {"test": metrics(making.task, 0.3)},
        "epochs": 17 + entry.job.config.seed,
        "parameters": {"backbone": 53959, "imputer": 6000 if is_aligned else 0},
    }


def _swaps(entry: Entry, making: Making, score: Score) -> dict[str, Any]:
    share = score(entry, "A") + 0.002 * entry.job.config.seed
    changes = {"uniform": -0.004, "permuted": -0.01, "oracle": 0.012}
    return {name: metrics(making.task, share + change) for name, change in changes.items()}


def _speed() -> dict[str, Any]:
    times = {
        "mmalign": {"fit": 13.0, "impute": 3.7, "solve": 0.9},
        "modal-trans": {"fit": 33.4, "impute": 65.5},
        "modal-trans-uncached": {"fit": 33.1, "impute": 196.2},
        "modal-trans-parallel": {"fit": 33.2, "impute": 8.4},
        "dynamic-window": {"fit": 3.5, "impute": 8.3},
    }
    return {"batch_size": 32, "steps": 24.0, "milliseconds": times}


def _band(sharpness: float) -> np.ndarray:
    lag = np.arange(20)[None] - np.arange(20)[:, None]
    plan = np.exp(-sharpness * np.abs(lag - 1)) * (np.abs(lag) <= 8)
    return plan / plan.sum(1, keepdims=True)


def _alignment(entry: Entry, making: Making, score: Score) -> dict[str, Any]:
    plans = {"solver": _band(0.6).tolist(), "fitter": _band(0.3).tolist()}
    return {"clips": 310, "steps": 20, "window": entry.job.config.window, **plans}


def _case(entry: Entry, making: Making, score: Score) -> dict[str, Any]:
    words = making.words
    steps = len(words) if words else STEPS
    starts = np.cumsum([0.1 + 0.9 * (i % 5 == 2) + 0.05 * (i % 3) for i in range(steps)])
    lines = [
        [i, j, float(0.5 / (1 + abs(i - j)))]
        for i in range(steps)
        for j in range(max(0, i - 4), min(steps, i + 5))
    ]
    return {
        "clip": making.clip_id,
        "words": list(words) if words else None,
        "times": [[s, s + 0.1] for s in starts.tolist()] if words else None,
        "visible_steps": steps,
        "victim_steps": steps,
        "solver": lines,
        "fitter": [[i, j, mass / 2] for i, j, mass in lines],
    }


def job_of(grid: Grid, suite: str, system: str, seed: int) -> tuple[str, Job]:
    """Address and job of the first such entry."""
    return next(
        (placed.address, placed.entry.job)
        for placed in grid.placed
        if (placed.entry.suite, placed.entry.system) == (suite, system)
        and placed.entry.job.config.seed == seed
    )
