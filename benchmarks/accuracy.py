"""Accuracy on real data: every system, pair, survival rate and seed; settings A and B together.

Run: python benchmarks/accuracy.py [--data DIR] [--jobs N] [--only TEXT] [--report FILE]

First every system chooses its learning rate on validation clips, with the same budget (both rates
of the paper's grid, two seeds that the tables do not use): benchmarks/results/tuning.jsonl. Then
each run appends one line to benchmarks/results/accuracy.jsonl; runs that are there are not done
again, so it can be stopped at any time. Settings A and B share a training run and are selected
separately, on validation clips; the test split is read once, after training. `--report
docs/results.md` writes the tables of that page anew, below its MARK. The smartwatch data needs no
files; UTD-MHAD and MOSI are read from DIR (default ../shared/data) and left out, with a word, where
they are absent.
"""

import argparse
import hashlib
import itertools
import json
import multiprocessing
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from accuracy_report import cost_table, report, tuning_table
from mmalign.data import Dataset, load_dataset, smartwatch, split_by
from mmalign.data.split import Split
from mmalign.evaluation.floors import constant_floor
from mmalign.model.backbone import count_parameters
from mmalign.training.config import Config
from mmalign.training.selection import selection_score
from mmalign.training.settings import train_both_settings

FILE = Path(__file__).parent / "results" / "accuracy.jsonl"
TUNING_FILE = FILE.with_name("tuning.jsonl")
SEEDS = range(6)
TUNING_SEEDS = (100, 101)
TUNING_SURVIVAL = 0.5
LEARNING_RATES = (1e-3, 2e-3)
SURVIVALS = (0.1, 0.5)
SYSTEMS = {
    "unimodal (LB)": {"method": "lb"},
    "LB, complete split only": {"method": "lb-complete"},
    "zero-fill": {"method": "zero-fill"},
    "zero-fill + both": {"method": "zero-fill", "both_passes": True, "step_contrast_weight": 1.0},
    "zero-fill + both passes, gate": {"method": "zero-fill", "both_passes": True, "gate": True},
    "mean-fill": {"method": "mean-fill"},
    "copy": {"method": "copy"},
    "uniform window": {"method": "uniform-window"},
    "random plan": {"method": "random-plan"},
    "MFM": {"method": "mfm"},
    "SMIL": {"method": "smil"},
    "Modal-Trans": {"method": "modal-trans-parallel"},
    "MM-Align as printed": {"method": "mmalign"},
    "+ both passes": {"method": "mmalign", "both_passes": True},
    "+ step contrast": {"method": "mmalign", "step_contrast_weight": 1.0},
    "+ both": {"method": "mmalign", "both_passes": True, "step_contrast_weight": 1.0},
    "dynamic window": {"method": "dynamic-window", "both_passes": True, "gate": True},
    "both modalities (UB)": {"method": "ub"},
}
PAIRS = {
    "smartwatch": [("accelerometer", "gyroscope"), ("gyroscope", "accelerometer")],
    "utd-mhad, 32 steps": [("inertial", "skeleton"), ("skeleton", "inertial")],
    "mosi": [
        ("text", "visual"),
        ("visual", "text"),
        ("text", "acoustic"),
        ("acoustic", "text"),
        ("visual", "acoustic"),
        ("acoustic", "visual"),
    ],
    "utd-mhad, own lengths": [("inertial", "skeleton"), ("skeleton", "inertial")],
}
VALID_VIDEOS = 10
MARK = "<!-- below: python benchmarks/accuracy.py --report docs/results.md -->"


RESAMPLED, OWN_LENGTHS = "utd-mhad, 32 steps", "utd-mhad, own lengths"
MAIN_MOSI = (("text", "visual"), ("visual", "text"))
BOUNDS = ("unimodal (LB)", "both modalities (UB)")
SWITCHES = ("+ both passes", "+ step contrast")
# What switches do without an imputer: beside "+ both" and the dynamic window, which have them on.
CONTROLS = ("zero-fill + both", "zero-fill + both passes, gate")
ABLATION = (*BOUNDS, "zero-fill", "uniform window", "MM-Align as printed", *SWITCHES, "+ both")
COMPARISON = (*BOUNDS, "zero-fill", "MFM", "SMIL", "Modal-Trans", "MM-Align as printed", "+ both")


@dataclass(frozen=True)
class Cell:
    """One training run."""

    data: str
    visible: str
    victim: str
    survival: float
    system: str
    seed: int
    learning_rate: float = Config.learning_rate

    @property
    def settings(self) -> dict:
        """What differs from the defaults."""
        own = SYSTEMS[self.system]
        if self.learning_rate == Config.learning_rate:
            return own
        return {**own, "learning_rate": self.learning_rate}

    @property
    def key(self) -> str:
        """Address of the run: what it trains, on what, with which settings."""
        place = [self.data, self.visible, self.victim, self.survival, self.system, self.seed]
        content = json.dumps([*place, self.settings])
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
        Config(seed=cell.seed, **cell.settings),
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
        "valid_score": {
            s: selection_score(DATASETS[cell.data].task, chosen.valid)[0]
            for s, chosen in done.selected.items()
        },
        "epochs": len(done.history),
        "parameters": {
            "backbone": count_parameters(done.predictor.model.backbone),
            "imputer": count_parameters(done.predictor.model.imputer),
        },
        "cpu_seconds": round(time.process_time() - started, 1),
    }


def tuning_cells() -> list[Cell]:
    """The first pair of each dataset, every system, both rates of the paper's grid."""
    cells = []
    for data, pairs in PAIRS.items():
        if data != OWN_LENGTHS:
            cells += [
                Cell(data, *pairs[0], TUNING_SURVIVAL, system, seed, rate)
                for system in SYSTEMS
                for seed in TUNING_SEEDS
                for rate in LEARNING_RATES
            ]
    return cells


def choose_rates(rows: Iterable[dict]) -> dict[tuple[str, str], float]:
    """The rate of each dataset and system with the best mean validation score over A and B."""
    scores: dict[tuple[str, str, float], list[float]] = defaultdict(list)
    for row in rows:
        place = row["data"], row["system"], row["learning_rate"]
        scores[place] += row["valid_score"].values()
    rates = {}
    for data, system, rate in sorted(scores, key=lambda place: np.mean(scores[place])):
        rates[data, system] = rate
    return rates


def is_in_tables(data: str, pair: tuple[str, str], survival: float, system: str) -> bool:
    """Which cells are run; docs/results.md names those that are left out."""
    if system in BOUNDS and survival != SURVIVALS[0]:
        return False  # they do not depend on the survival rate
    if data == OWN_LENGTHS:
        return system in (*ABLATION, CONTROLS[0])  # four times as long as the other runs
    if data == "mosi" and pair not in MAIN_MOSI:
        return survival == SURVIVALS[0] and system in (*COMPARISON, "dynamic window")
    return True


def urgency(cell: Cell) -> tuple[int, int]:
    """What runs first: the data that can be run soonest, switches and long runs last."""
    if cell.data == OWN_LENGTHS:
        return 5, cell.seed
    if cell.system in (*SWITCHES, *CONTROLS) and cell.data != "mosi":
        return 4, cell.seed
    if cell.data == "mosi" and (cell.visible, cell.victim) in MAIN_MOSI and cell.system in ABLATION:
        return 0, cell.seed
    return 1 + list(PAIRS).index(cell.data), cell.seed


def all_cells(rates: dict[tuple[str, str], float]) -> list[Cell]:
    """Every run of the tables."""
    cells = []
    for data, pairs in PAIRS.items():
        tuned_on = RESAMPLED if data == OWN_LENGTHS else data
        for pair, survival, system in itertools.product(pairs, SURVIVALS, SYSTEMS):
            rate = rates.get((tuned_on, system))
            if rate is not None and is_in_tables(data, pair, survival, system):
                seeds = SEEDS if system in (*ABLATION, *CONTROLS) else SEEDS[:-1]
                cells += [Cell(data, *pair, survival, system, seed, rate) for seed in seeds]
    return sorted(cells, key=urgency)


def read_rows(file: Path) -> dict[str, dict]:
    if not file.exists():
        return {}
    return {row["key"]: row for row in map(json.loads, file.read_text().splitlines())}


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
    parser.add_argument("--report", type=Path, help="write tables into this page, run nothing")
    options = parser.parse_args()
    if options.report is None:
        run([c for c in tuning_cells() if options.only in str(c)], TUNING_FILE, options)
    cells = all_cells(choose_rates(read_rows(TUNING_FILE).values()))
    if options.report is not None:
        known = {cell.key for cell in cells}
        rows = [row for row in read_rows(FILE).values() if row["key"] in known]
        write_tables(options.report, rows, options.data)
    else:
        run([c for c in cells if options.only in str(c)], FILE, options)


def write_tables(page: Path, rows: list[dict], folder: Path) -> None:
    """Replaces what stands below the page's mark."""
    order = {place: number for number, place in enumerate(table_places())}
    rows = sorted(rows, key=lambda r: order[r["data"], r["visible"], r["victim"]])
    prose, _, _ = page.read_text(encoding="utf-8").partition(MARK)
    tables = [
        "### Learning rates\n" + tuning_table(read_rows(TUNING_FILE).values(), list(SYSTEMS)),
        "### Cost\n" + cost_table(rows, list(SYSTEMS)),
        report(rows, list(SYSTEMS), constants({row["data"] for row in rows}, folder)),
    ]
    page.write_text(f"{prose}{MARK}\n\n" + "\n\n".join(tables) + "\n", encoding="utf-8")


def table_places() -> list[tuple[str, str, str]]:
    """Data and pair of every table, in the order of the page."""
    return [(data, *pair) for data, pairs in PAIRS.items() for pair in pairs]


def run(cells: list[Cell], file: Path, options: argparse.Namespace) -> None:
    """Train the cells that the file does not hold yet."""
    done = read_rows(file)
    wanted = [cell for cell in cells if cell.key not in done]
    for name in {cell.data for cell in wanted} - set(DATASETS):
        DATASETS[name] = load(name, options.data)
        if DATASETS[name] is None:
            print(f"{name} is left out: there is no {options.data}")
    wanted = [cell for cell in wanted if DATASETS[cell.data] is not None]
    started = time.monotonic()
    file.parent.mkdir(exist_ok=True)
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool, file.open("a") as sink:
        for number, row in enumerate(pool.imap_unordered(train, wanted), start=1):
            sink.write(json.dumps(row) + "\n")
            sink.flush()
            left = (time.monotonic() - started) / number * (len(wanted) - number)
            print(
                f"{number}/{len(wanted)} {row['data']} {row['system']}, {left / 60:.0f} min left",
                flush=True,
            )


if __name__ == "__main__":
    main()
