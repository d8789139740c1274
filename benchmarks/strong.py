"""The paper's rows twice: as printed, and with the strong inputs, layers and recipe.

Run: python benchmarks/strong.py [--data DIR] [--seeds N] [--rows a,b,…] [--out FILE]

UTD-MHAD at 32 steps. Training, validation and test never share a person: a fold tests one subject,
validates on another, and learns from the rest. Half of the training clips keep the victim. Every
finished run is one line of FILE; the same command goes on where it was stopped, and ends with the
table. A cell is the mean over folds, and then over seeds with their standard deviation.
"""

import argparse
import itertools
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from mmalign.data import Dataset, load_dataset, split_by
from mmalign.data.missingness import SETTINGS, PairProtocol
from mmalign.data.resampling import resampled
from mmalign.evaluation.significance import paired_difference
from mmalign.runs.pair_training import PairTraining
from mmalign.runs.run import Run
from mmalign.training.config import STRONG
from mmalign.training.methods import configure

FOLDS = {"subject7": "subject5", "subject1": "subject3"}
"""Tested subject, and the one that validates."""

PAIRS = (("skeleton", "inertial"), ("inertial", "skeleton"))
ROWS = ("lb", "zero-fill", "mmalign")
RECIPES = {"as printed": {}, "strong": STRONG}
SURVIVAL = 0.5

Cell = tuple[str, str, str, str, int]
"""Tested subject, visible modality, method, recipe, seed."""


def cells(seeds: int, rows: list[str]) -> Iterator[Cell]:
    for seed, (visible, _), test in itertools.product(range(seeds), PAIRS, FOLDS):
        for method, recipe in itertools.product(rows, RECIPES):
            yield test, visible, method, recipe, seed


def fold(dataset: Dataset, test: str) -> Dataset:
    parts = {test: "test", FOLDS[test]: "valid"}
    return split_by(dataset, lambda clip_id: parts.get(clip_id.split("-")[1], "train"))


def run(dataset: Dataset, cell: Cell) -> dict:
    _, visible, method, recipe, seed = cell
    victim = dict(PAIRS)[visible]
    config = configure({"method": method, "seed": seed, **RECIPES[recipe]})
    protocol = PairProtocol(visible=visible, victim=victim, survival=SURVIVAL, seed=seed)
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


Row = tuple[str, str, str]
"""Visible modality, method, recipe."""


def seed_means(found: dict[Cell, dict], row: Row, split: str, setting: str) -> dict[int, float]:
    """Mean over folds, seed by seed, where every fold is finished."""
    wanted = {cell[4]: [(test, *row, cell[4]) for test in FOLDS] for cell in sorted(found)}
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


def print_table(found: dict[Cell, dict], rows: list[str]) -> None:
    for split, (visible, _) in itertools.product(("test", "valid"), PAIRS):
        print(f"\n{split}, {visible} visible | A as printed | B | A strong | B | seeds")
        for method in rows:
            columns = [
                list(seed_means(found, (visible, method, recipe), split, setting).values())
                for recipe, setting in itertools.product(RECIPES, SETTINGS)
            ]
            print(" | ".join([method, *map(mean_cell, columns), str(min(map(len, columns)))]))


def print_differences(found: dict[Cell, dict], rows: list[str]) -> None:
    """Pairs of rows on test clips, with the 95 % interval over seeds."""
    for (visible, _), setting in itertools.product(PAIRS, SETTINGS):
        scores = {
            (method, recipe): seed_means(found, (visible, method, recipe), "test", setting)
            for method, recipe in itertools.product(rows, RECIPES)
        }
        wanted = [((m, "strong"), (m, "as printed")) for m in rows]
        wanted += [
            ((a, recipe), (b, recipe))
            for recipe, (b, a) in itertools.product(RECIPES, itertools.combinations(rows, 2))
        ]
        for first, second in wanted:
            seeds = sorted(scores[first].keys() & scores[second].keys())
            if len(seeds) > 1:
                ours, theirs = ([scores[row][seed] for seed in seeds] for row in (first, second))
                gain = paired_difference(ours, theirs)
                names = f"{', '.join(first)} - {', '.join(second)}"
                interval = f"{gain.mean:+.1f} [{gain.low:+.1f}, {gain.high:+.1f}]"
                print(f"{visible} visible, {setting}: {names}: {interval}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--data", type=Path, default=root / "shared" / "data" / "utd_mhad")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", default=",".join(ROWS), help="methods, a,b,…")
    parser.add_argument("--out", type=Path, default=Path("strong.jsonl"))
    options = parser.parse_args()
    rows = options.rows.split(",")
    torch.set_num_threads(1)
    dataset = resampled(load_dataset(options.data), 32)
    folds = {test: fold(dataset, test) for test in FOLDS}
    found = finished(options.out)
    for cell in cells(options.seeds, rows):
        if cell not in found:
            found[cell] = run(folds[cell[0]], cell)
            with options.out.open("a") as stream:
                stream.write(json.dumps(found[cell]) + "\n")
            print(cell, found[cell]["test"], f"{found[cell]['seconds']:.0f} s", flush=True)
    print_table(found, rows)
    print_differences(found, rows)


if __name__ == "__main__":
    main()
