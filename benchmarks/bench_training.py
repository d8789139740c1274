"""A training step, and a whole run of MOSI's size: milliseconds a batch on one core.

Then the compiled GRU beside torch's, and what an epoch of every method takes beside one of
zero-fill, at 50 % survival: the costs that `mmalign methods` lists.

Run: python benchmarks/bench_training.py
Bars: one MOSI run (40 epochs, survival 10 %) takes at most 4 minutes on one core.
"""

import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from mmalign.data import Dataset, Protocol, Regression, Split
from mmalign.data.batching import Batches
from mmalign.imputers import Direction
from mmalign.model.gru import gru_states
from mmalign.model.streams import to_streams
from mmalign.training.config import IMPROVED, Config
from mmalign.training.denoise import DenoisingTraining, make_optimizers
from mmalign.training.methods import METHODS, build_model, configure, seen_by

DIMS = {"text": 300, "visual": 47}
CLIPS = {"train": 1284, "valid": 229, "test": 686}
MEAN_STEPS = 12


def make_dataset() -> Dataset:
    """Random features of MOSI's size and lengths."""
    random = np.random.default_rng(0)
    splits = {}
    for name, clips in CLIPS.items():
        lengths = np.clip(random.gamma(2.0, MEAN_STEPS / 2, clips).round().astype(int), 1, 104)
        columns = {
            m: [random.standard_normal((n, d), dtype=np.float32) for n in lengths]
            for m, d in DIMS.items()
        }
        ids = tuple(f"{name}{n}" for n in range(clips))
        splits[name] = Split(ids, random.uniform(-3, 3, clips).astype(np.float32), columns)
    return Dataset(Regression(-3, 3), DIMS, splits)


def cpu_milliseconds(work, batches: list) -> float:
    """Median over rounds of the mean time a batch."""
    rounds = []
    for _ in range(5):
        started = time.process_time()
        work(batches)
        rounds.append((time.process_time() - started) / len(batches) * 1e3)
    return statistics.median(rounds)


def main() -> None:
    torch.set_num_threads(1)
    dataset = make_dataset()
    half = Protocol(visible="text", victim="visual", survival=0.5).apply(dataset)["train"]
    is_complete = half.is_present("visual")
    complete, missing = (
        [to_streams(b, tuple(DIMS)) for b in Batches(half.select(np.flatnonzero(c)), DIMS).epoch(0)]
        for c in (is_complete, ~is_complete)
    )
    systems = {
        "zero-fill": {"method": "zero-fill"},
        "MM-Align": {},
        "MM-Align, improved": dict(IMPROVED),
    }
    for name, settings in systems.items():
        on_complete, on_missing = measure(Config(**settings), dataset, complete, missing)
        # 10 % of the 40 batches of an epoch are complete.
        run = 40 * (4 * on_complete + 36 * on_missing) / 1e3
        print(
            f"{name:20} {on_complete:5.1f} ms a complete batch, {on_missing:5.1f} ms a missing "
            f"one; 40 epochs of training {run:3.0f} s (bar 240 s)"
        )
    for time_steps in (12, 50, 180):
        print(compare_grus(time_steps))
    for name, cost in relative_costs(dataset).items():
        print(f"{name:20} {cost:4.1f}x an epoch of zero-fill (listed: {METHODS[name].cost:.1f}x)")


def compare_grus(time_steps: int) -> str:
    """Forward and backward through 32 sequences, compiled and by torch, in turns."""
    gru = nn.GRU(32, 32, batch_first=True)
    steps = torch.randn(32, time_steps, 32, requires_grad=True)
    contenders = {"compiled": lambda: gru_states(gru, steps), "torch": lambda: gru(steps)[0]}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(21):
        for name, run in contenders.items():
            started = time.process_time()
            torch.autograd.grad(run().sum(), [steps, *gru.parameters()])
            seconds[name].append(time.process_time() - started)
    ours, theirs = (1e3 * statistics.median(times) for times in seconds.values())
    return f"GRU, {time_steps:3} steps: {ours:.2f} ms, torch {theirs:.2f} ms, {theirs / ours:.1f}x"


def relative_costs(dataset: Dataset) -> dict[str, float]:
    """CPU time of an epoch, zero-fill being 1; methods take turns, so that noise hits all alike."""
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    epochs = {name: epoch_of(name, dataset) for name in METHODS}
    for _ in range(4):
        for name, run_epoch in epochs.items():
            started = time.process_time()
            run_epoch()
            seconds[name].append(time.process_time() - started)
    medians = {name: statistics.median(times[1:]) for name, times in seconds.items()}
    return {name: median / medians["zero-fill"] for name, median in medians.items()}


def epoch_of(name: str, dataset: Dataset) -> Callable[[], None]:
    """An epoch of denoising training as the method sees the data."""
    method, config = METHODS[name], configure({"method": name})
    masks = Protocol(visible="text", victim="visual", survival=0.5).masks(dataset)
    seen = seen_by(method, dataset, masks)
    train, is_complete = seen["train"], seen["train"].is_present("visual")
    complete, missing = (
        [
            to_streams(b, tuple(DIMS))
            for b in Batches(train.select(np.flatnonzero(c)), seen.dims).epoch(0)
        ]
        for c in (is_complete, ~is_complete)
    )
    torch.manual_seed(0)
    model = build_model(config, dataset.task, seen.dims, [Direction("text", "visual")])
    optimizers = make_optimizers(model, config)
    algorithm = DenoisingTraining(model, optimizers, config, missing_loss=method.missing_loss)
    return lambda: algorithm.epoch(complete, missing)


def measure(config: Config, dataset: Dataset, complete: list, missing: list) -> tuple[float, float]:
    """Milliseconds a complete and a missing batch, optimiser steps included."""
    torch.manual_seed(0)
    model = build_model(config, dataset.task, DIMS, [Direction("text", "visual")])
    algorithm = DenoisingTraining(model, make_optimizers(model, config), config)
    algorithm.epoch(complete[:2], missing[:2])
    return (
        cpu_milliseconds(lambda batches: algorithm.epoch(batches, []), complete),
        cpu_milliseconds(lambda batches: algorithm.epoch([], batches), missing),
    )


if __name__ == "__main__":
    main()
