"""The paper's rows as printed and strong, and what each option of the strong recipe is worth.

Run: python benchmarks/strong.py [--data DIR] [--seeds N] [--rows a,b,…] [--visible a,b,…]
     [--options] [--out FILE]

UTD-MHAD at 32 steps: training, validation and test never share a person; a fold tests one subject,
validates on another, and learns from the rest. The smartwatch has its built-in split by people.
Half of the training clips keep the victim. With --options, each option is also switched on alone,
on top of the rows as printed, and left out of the strong recipe alone. Every finished run is one
line of FILE; the same command goes on where it was stopped, and ends with the tables. A cell is the
mean over folds, and then over seeds with their standard deviation.
"""

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from mmalign.data import Dataset, load_dataset, smartwatch, split_by
from mmalign.data.missingness import SETTINGS, PairProtocol
from mmalign.data.resampling import resampled
from mmalign.evaluation.significance import paired_difference
from mmalign.runs.pair_training import PairTraining
from mmalign.runs.run import Run
from mmalign.training.config import STRONG
from mmalign.training.methods import configure

VALIDATES = {"subject7": "subject5", "subject1": "subject3"}
"""Tested subject of UTD-MHAD, and the one that validates."""

WATCH = "smartwatch"
VICTIMS = {
    "skeleton": "inertial",
    "inertial": "skeleton",
    "accelerometer": "gyroscope",
    "gyroscope": "accelerometer",
}
ROWS = ("lb", "zero-fill", "mmalign")
OPTIONS = {
    "centring and scale": ("centre", "scale"),
    "differences": ("differences",),
    "pre-norm": ("norm",),
    "pooling": ("pool",),
    "cosine": ("schedule",),
    "averaged weights": ("average",),
    "last epoch": ("keep",),
}
"""What is switched on and off together."""

MEMBERS = {"members": 3}
TWICE = {"as printed": {}, "strong": STRONG}
ALONE = {f"+ {name}": {key: STRONG[key] for key in keys} for name, keys in OPTIONS.items()}
WITHOUT = {
    f"- {name}": {key: value for key, value in STRONG.items() if key not in keys}
    for name, keys in OPTIONS.items()
}
WITH_MEMBERS = {"+ three members": MEMBERS, "strong + three members": {**STRONG, **MEMBERS}}
RECIPES = {**TWICE, **ALONE, **WITHOUT, **WITH_MEMBERS}
SURVIVAL = 0.5

Cell = tuple[str, str, str, str, int]
"""Fold, visible modality, method, recipe, seed."""

Row = tuple[str, str, str]
"""Visible modality, method, recipe."""


def folds_of(visible: str) -> tuple[str, ...]:
    return tuple(VALIDATES) if visible in ("skeleton", "inertial") else (WATCH,)


def cells(visible: str, seeds: int, rows: list[str], recipes: list[str]) -> Iterator[Cell]:
    for seed, recipe in itertools.product(range(seeds), recipes):
        for fold, method in itertools.product(folds_of(visible), rows):
            yield fold, visible, method, recipe, seed


@cache
def dataset_of(fold: str, folder: Path) -> Dataset:
    if fold == WATCH:
        return smartwatch()
    parts = {fold: "test", VALIDATES[fold]: "valid"}
    whole = resampled(load_dataset(folder), 32)
    return split_by(whole, lambda clip_id: parts.get(clip_id.split("-")[1], "train"))


def run(dataset: Dataset, cell: Cell) -> dict:
    _, visible, method, recipe, seed = cell
    config = configure({"method": method, "seed": seed, **RECIPES[recipe]})
    protocol = PairProtocol(
        visible=visible, victim=VICTIMS[visible], survival=SURVIVAL, seed=seed
    )  # fmt: skip
    protocols = tuple(replace(protocol, setting=setting) for setting in SETTINGS)
    started = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        training = PairTraining(dataset=dataset, protocols=protocols, config=config)
        found = Run(training, Path(folder) / "run").execute()["settings"]
    scores = {
        split: {s: 100 * found[s]["metrics"][split]["accuracy"] for s in SETTINGS}
        for split in ("valid", "test")
    }
    return {"cell": cell, **scores, "seconds": time.process_time() - started}


def finished(file: Path) -> dict[Cell, dict]:
    lines = file.read_text().splitlines() if file.exists() else []
    return {tuple(found["cell"]): found for found in map(json.loads, lines)}


def seed_means(found: dict[Cell, dict], row: Row, split: str, setting: str) -> dict[int, float]:
    """Mean over folds, seed by seed, where every fold is finished."""
    seeds = sorted({cell[4] for cell in found if cell[1:4] == row})
    wanted = {seed: [(fold, *row, seed) for fold in folds_of(row[0])] for seed in seeds}
    return {
        seed: float(np.mean([found[cell][split][setting] for cell in folds]))
        for seed, folds in wanted.items()
        if all(cell in found for cell in folds)
    }


def mean_cell(means: list[float]) -> str:
    if not means:
        return "-"
    spread = f" ± {np.std(means, ddof=1):.1f}" if len(means) > 1 else ""
    return f"{np.mean(means):.1f}{spread}"


def print_twice(found: dict[Cell, dict], visible: str, rows: list[str]) -> None:
    for split in ("test", "valid"):
        print(f"\n{split}, {visible} visible | A as printed | B | A strong | B | seeds")
        for method in rows:
            columns = [
                list(seed_means(found, (visible, method, recipe), split, setting).values())
                for recipe, setting in itertools.product(TWICE, SETTINGS)
            ]
            print(" | ".join([method, *map(mean_cell, columns), str(min(map(len, columns)))]))


def difference(first: dict[int, float], second: dict[int, float]) -> str:
    """Mean difference over the seeds of both, with its 95 % interval; nothing without any."""
    seeds = sorted(first.keys() & second.keys())
    if not seeds:
        return "-"
    pairs = [[means[seed] for seed in seeds] for means in (first, second)]
    if len(seeds) == 1:
        return f"{pairs[0][0] - pairs[1][0]:+.1f}"
    gain = paired_difference(*pairs)
    return f"{gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"


def print_differences(found: dict[Cell, dict], visible: str, rows: list[str]) -> None:
    """Pairs of rows on test clips, with the 95 % interval over seeds."""
    for setting in SETTINGS:
        scores = {
            (method, recipe): seed_means(found, (visible, method, recipe), "test", setting)
            for method, recipe in itertools.product(rows, TWICE)
        }
        wanted = [((m, "strong"), (m, "as printed")) for m in rows]
        wanted += [
            ((a, recipe), (b, recipe))
            for recipe, (b, a) in itertools.product(TWICE, itertools.combinations(rows, 2))
        ]
        for first, second in wanted:
            names = f"{', '.join(first)} - {', '.join(second)}"
            gain = difference(scores[first], scores[second])
            print(f"{visible} visible, {setting}: {names}: {gain}")


def over_rows(found: dict[Cell, dict], visible: str, rows: list[str], recipe: str) -> dict:
    """Mean over rows and settings, seed by seed, where every row is finished."""
    scores = [
        seed_means(found, (visible, method, recipe), "test", setting)
        for method, setting in itertools.product(rows, SETTINGS)
    ]
    seeds = set.intersection(*(set(means) for means in scores))
    return {seed: float(np.mean([means[seed] for means in scores])) for seed in seeds}


def print_options(found: dict[Cell, dict], visible: str, rows: list[str]) -> None:
    """What each option alone adds to the printed rows, and what the strong ones lose without it."""
    for title, base, recipes in (
        ("as printed", "as printed", [*ALONE, "+ three members"]),
        ("strong", "strong", [*WITHOUT, "strong + three members"]),
    ):
        columns = " | ".join(f"{method} {s}" for method, s in itertools.product(rows, SETTINGS))
        print(f"\n{visible} visible, less {title} | {columns} | all of them | seeds")
        for recipe in recipes:
            gains = [
                difference(
                    seed_means(found, (visible, method, recipe), "test", setting),
                    seed_means(found, (visible, method, base), "test", setting),
                ).split(" [")[0]
                for method, setting in itertools.product(rows, SETTINGS)
            ]
            ours, theirs = (over_rows(found, visible, rows, name) for name in (recipe, base))
            seeds = len(ours.keys() & theirs.keys())
            print(" | ".join([recipe, *gains, difference(ours, theirs), str(seeds)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--data", type=Path, default=root / "shared" / "data" / "utd_mhad")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", default=",".join(ROWS), help="methods, a,b,…")
    parser.add_argument("--visible", default="skeleton,inertial", help="modalities, a,b,…")
    parser.add_argument("--options", action="store_true", help="each option alone, and left out")
    parser.add_argument("--out", type=Path, default=Path("strong.jsonl"))
    options = parser.parse_args()
    rows, recipes = options.rows.split(","), list(RECIPES if options.options else TWICE)
    torch.set_num_threads(1)
    found = finished(options.out)
    for visible in options.visible.split(","):
        for cell in cells(visible, options.seeds, rows, recipes):
            if cell not in found:
                found[cell] = run(dataset_of(cell[0], options.data), cell)
                with options.out.open("a") as stream:
                    stream.write(json.dumps(found[cell]) + "\n")
                print(cell, found[cell]["test"], f"{found[cell]['seconds']:.0f} s", flush=True)
        print_twice(found, visible, rows)
        print_differences(found, visible, rows)
        if options.options:
            print_options(found, visible, rows)


if __name__ == "__main__":
    main()
