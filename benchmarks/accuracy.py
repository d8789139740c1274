"""Accuracy on real data: every system, pair, survival rate and seed; settings A and B together.

Run: python benchmarks/accuracy.py [--data DIR] [--jobs N] [--only TEXT] [--report]

Each run appends one line to benchmarks/results/accuracy.jsonl; runs that are there are not done
again, so it can be stopped at any time. Settings A and B share a training run and are selected
separately, on validation clips; the test split is read once, after training. `--report` prints the
tables of docs/results.md from the file. The smartwatch data needs no files; UTD-MHAD and MOSI are
read from DIR (default ../shared/data) and left out, with a word, where they are absent.
"""

import argparse
import hashlib
import itertools
import json
import multiprocessing
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from accuracy_report import report
from mmalign.data import Dataset, load_dataset, smartwatch, split_by
from mmalign.data.split import Split
from mmalign.evaluation.floors import constant_floor
from mmalign.training.config import Config
from mmalign.training.settings import train_both_settings

FILE = Path(__file__).parent / "results" / "accuracy.jsonl"
SEEDS = range(6)
SURVIVALS = (0.1, 0.5)
SYSTEMS = {
    "unimodal (LB)": {"method": "lb"},
    "zero-fill": {"method": "zero-fill"},
    "uniform window": {"method": "uniform-window"},
    "MM-Align as printed": {"method": "mmalign"},
    "+ both passes": {"method": "mmalign", "both_passes": True},
    "+ step contrast": {"method": "mmalign", "step_contrast_weight": 1.0},
    "+ both": {"method": "mmalign", "both_passes": True, "step_contrast_weight": 1.0},
    "both modalities (UB)": {"method": "ub"},
}
PAIRS = {
    "smartwatch": [("accelerometer", "gyroscope"), ("gyroscope", "accelerometer")],
    "utd-mhad, 32 steps": [("inertial", "skeleton"), ("skeleton", "inertial")],
    "mosi": [("text", "visual"), ("visual", "text")],
    "utd-mhad, own lengths": [("inertial", "skeleton"), ("skeleton", "inertial")],
}
VALID_VIDEOS = 10


@dataclass(frozen=True)
class Cell:
    """One training run."""

    data: str
    visible: str
    victim: str
    survival: float
    system: str
    seed: int

    @property
    def key(self) -> str:
        """Address of the run: what it trains, on what, with which settings."""
        content = json.dumps([*vars(self).values(), SYSTEMS[self.system]])
        return hashlib.sha256(content.encode()).hexdigest()[:16]


def resampled(dataset: Dataset, steps: int) -> Dataset:
    """Every sequence averaged to the same number of steps."""

    def squeeze(sequence: np.ndarray) -> np.ndarray:
        edges = np.linspace(0, len(sequence), steps + 1)
        rows = [
            sequence[int(a) : max(int(a) + 1, int(np.ceil(b)))].mean(0)
            for a, b in itertools.pairwise(edges)
        ]
        return np.stack(rows).astype(np.float32)

    def change(split: Split) -> Split:
        columns = {name: [squeeze(s) for s in column] for name, column in split.sequences.items()}
        return replace(split, sequences=columns)

    return replace(dataset, splits={name: change(split) for name, split in dataset.splits.items()})


def load_utd(folder: Path) -> Dataset:
    """Test on subject 7, validate on trial 4 of the others."""

    def choose(clip_id: str) -> str:
        return "test" if "subject7" in clip_id else "valid" if "trial4" in clip_id else "train"

    return split_by(load_dataset(folder / "utd_mhad"), choose)


def load_mosi(folder: Path) -> Dataset:
    """The dev videos are the test split; the last ten training videos validate."""
    dataset = load_dataset(folder / "mosi")
    dev = set(dataset["valid"].ids)
    videos = sorted({clip_id.split("[")[0] for clip_id in dataset["train"].ids})
    validating = set(videos[-VALID_VIDEOS:])

    def choose(clip_id: str) -> str:
        if clip_id in dev:
            return "test"
        return "valid" if clip_id.split("[")[0] in validating else "train"

    return split_by(dataset, choose)


def load(name: str, folder: Path) -> Dataset | None:
    """The dataset, or None where its files are absent."""
    if name == "smartwatch":
        return smartwatch()
    if not folder.is_dir():
        return None
    if name == "mosi":
        return load_mosi(folder)
    utd = load_utd(folder)
    return resampled(utd, 32) if "32" in name else utd


DATASETS: dict[str, Dataset | None] = {}


def train(cell: Cell) -> dict:
    """Train one cell, select for settings A and B, score both on test."""
    torch.set_num_threads(1)
    started = time.process_time()
    done = train_both_settings(
        DATASETS[cell.data],
        Config(seed=cell.seed, **SYSTEMS[cell.system]),
        visible=cell.visible,
        victim=cell.victim,
        survival=cell.survival,
    )
    return {
        "key": cell.key,
        **vars(cell),
        "scores": {
            setting: {name: value for name, value in chosen.test.items() if "/" not in name}
            for setting, chosen in done.selected.items()
        },
        "epochs": len(done.history),
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def all_cells() -> list[Cell]:
    """Every run; bounds do not depend on the survival rate and are trained once."""
    cells = []
    for data, pairs in PAIRS.items():
        for visible, victim in pairs:
            for survival in SURVIVALS:
                for system, settings in SYSTEMS.items():
                    is_bound = settings["method"] in ("lb", "ub")
                    if not is_bound or survival == SURVIVALS[0]:
                        cells += [Cell(data, visible, victim, survival, system, s) for s in SEEDS]
    return sorted(cells, key=lambda c: (list(PAIRS).index(c.data), c.seed))


def read_results() -> dict[str, dict]:
    if not FILE.exists():
        return {}
    return {row["key"]: row for row in map(json.loads, FILE.read_text().splitlines())}


def constants(names: set[str], folder: Path) -> dict[str, float]:
    """What the training majority or mean scores on the test split of each dataset."""
    scores = {}
    for name in names:
        dataset = load(name, folder)
        if dataset is not None:
            floor = constant_floor(dataset.task, dataset["train"].labels, dataset["test"].labels)
            scores[name] = floor["mae"] if "mae" in floor else floor["accuracy"]
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    root = Path(__file__).resolve().parents[2]
    parser.add_argument("--data", type=Path, default=root / "shared" / "data")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="run only cells whose description holds this")
    parser.add_argument("--report", action="store_true")
    options = parser.parse_args()
    if options.report:
        rows = list(read_results().values())
        print(report(rows, list(SYSTEMS), constants({row["data"] for row in rows}, options.data)))
        return
    done = read_results()
    wanted = [c for c in all_cells() if c.key not in done and options.only in str(c)]
    for name in {cell.data for cell in wanted}:
        DATASETS[name] = load(name, options.data)
        if DATASETS[name] is None:
            print(f"{name} is left out: there is no {options.data}")
    wanted = [cell for cell in wanted if DATASETS[cell.data] is not None]
    started = time.monotonic()
    FILE.parent.mkdir(exist_ok=True)
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool, FILE.open("a") as file:
        for number, row in enumerate(pool.imap_unordered(train, wanted), start=1):
            file.write(json.dumps(row) + "\n")
            file.flush()
            left = (time.monotonic() - started) / number * (len(wanted) - number)
            print(
                f"{number}/{len(wanted)} {row['data']} {row['system']}, {left / 60:.0f} min left",
                flush=True,
            )


if __name__ == "__main__":
    main()
