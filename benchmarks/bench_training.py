"""A training step, and a whole run of MOSI's size: milliseconds a batch on one core.

Then the compiled GRU beside torch's, and what an epoch of every method takes beside one of
zero-fill, at 50 % survival: the costs that `mmalign methods` lists.

Run: python benchmarks/bench_training.py
Bars: one MOSI run (40 epochs, survival 10 %) takes at most 4 minutes on one core.
"""

import argparse
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from mmalign.data import Dataset, Protocol
from mmalign.data.batching import Batches
from mmalign.imputers import Direction
from mmalign.model.gru import gru_states
from mmalign.model.streams import to_streams
from mmalign.training.config import IMPROVED, Config
from mmalign.training.denoise import DenoisingTraining, make_optimizers
from mmalign.training.methods import METHODS, build_model, configure, seen_by
from mosi_like import DIMS, mosi_like
from turns import take_turns


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    torch.set_num_threads(1)
    dataset = mosi_like()
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
    times = take_turns(
        {
            name: lambda run=run: torch.autograd.grad(run().sum(), [steps, *gru.parameters()])
            for name, run in contenders.items()
        },
        rounds=20,
    )
    ours, theirs = (1e3 * taken.median for taken in times.values())
    return f"GRU, {time_steps:3} steps: {ours:.2f} ms, torch {theirs:.2f} ms, {theirs / ours:.1f}x"


def relative_costs(dataset: Dataset) -> dict[str, float]:
    """CPU time of an epoch, zero-fill being 1; methods take turns, so that noise hits all alike."""
    times = take_turns({name: epoch_of(name, dataset) for name in METHODS}, rounds=3)
    return {name: taken.median / times["zero-fill"].median for name, taken in times.items()}


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
    work = {
        "complete": lambda: algorithm.epoch(complete, []),
        "missing": lambda: algorithm.epoch([], missing),
    }
    times = take_turns(work, rounds=5)
    on_complete, on_missing = (1e3 * taken.median for taken in times.values())
    return on_complete / len(complete), on_missing / len(missing)


if __name__ == "__main__":
    main()
