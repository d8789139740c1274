"""A MOSEI-sized set: how long it takes to open, and an epoch of batches against a bare copy.

Run: python benchmarks/bench_data.py [--clips N]
Bars: opens in under 1 s; an epoch takes at most 1.3 times a numpy copy of the same bytes.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from mmalign.data import Batches, Classification, Dataset, Split, load_dataset, write_native

DIMS = {"text": 300, "vision": 35, "audio": 74}
MEAN_STEPS = 22
REPEATS = 7


def make_dataset(clips: int) -> Dataset:
    """Random features of MOSEI's size and lengths."""
    random = np.random.default_rng(0)
    lengths = np.clip(random.gamma(2.2, MEAN_STEPS / 2.2, clips).round().astype(int), 1, 200)
    sequences = {}
    for name, dim in DIMS.items():
        flat = random.standard_normal((int(lengths.sum()), dim), dtype=np.float32)
        sequences[name] = np.split(flat, np.cumsum(lengths)[:-1])
    split = Split(
        tuple(f"clip{n:06d}" for n in range(clips)), random.integers(0, 2, clips), sequences
    )
    return Dataset(Classification(("a", "b")), DIMS, {"train": split})


def copy_all(arrays: list[np.ndarray]) -> None:
    """The bare copy: the same bytes, one fresh array a modality."""
    for array in arrays:
        array.copy()


def copy_warm(arrays: list[np.ndarray], warm: list[np.ndarray]) -> None:
    """The same copy into memory that is there already: no page faults."""
    for array, target in zip(arrays, warm, strict=True):
        np.copyto(target, array)


def copy_blocks(arrays: list[np.ndarray]) -> None:
    """The hardware's limit: the same bytes in order, into one block that stays in the cache."""
    for array in arrays:
        for start in range(0, len(array), 32 * MEAN_STEPS):
            array[start : start + 32 * MEAN_STEPS].copy()


def iterate(batches: Batches, epoch: int) -> None:
    for _ in batches.epoch(epoch):
        pass


def cpu_seconds(work, *arguments) -> float:
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=int, default=23_000)
    clips = parser.parse_args().clips
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mosei-sized"
        write_native(make_dataset(clips), path)
        size = sum(file.stat().st_size for file in path.iterdir())
        opening = []
        for _ in range(REPEATS):
            started = time.perf_counter()
            dataset = load_dataset(path)
            opening.append(time.perf_counter() - started)
        split = dataset["train"]
        bare = [np.concatenate(column) for column in split.sequences.values()]
        batches = Batches(split, dataset.dims, batch_size=32)
        first = cpu_seconds(iterate, Batches(load_dataset(path)["train"], dataset.dims), 0)
        warm = [np.ones_like(array) for array in bare]
        copies, epochs, warms, limits = [], [], [], []
        for repeat in range(REPEATS):
            copies.append(cpu_seconds(copy_all, bare))
            warms.append(cpu_seconds(copy_warm, bare, warm))
            limits.append(cpu_seconds(copy_blocks, bare))
            epochs.append(cpu_seconds(iterate, batches, repeat))
    copy, epoch = statistics.median(copies), statistics.median(epochs)
    print(f"{clips} clips, {size / 1e6:.0f} MB")
    print(f"open:  {statistics.median(opening):.3f} s (worst {max(opening):.3f}; bar 1 s)")
    print(f"copy:  {copy:.3f} s CPU, bare numpy copy of the same bytes")
    print(f"epoch: {epoch:.3f} s CPU, batches of 32: {epoch / copy:.2f}x the copy (bar 1.3x)")
    best = min(epochs) / min(copies)
    print(f"       {best:.2f}x comparing the best of {REPEATS} (fresh pages vary most in the copy)")
    print(
        f"warm:  {statistics.median(warms):.3f} s CPU, the copy into memory that is there already"
    )
    print(f"limit: {statistics.median(limits):.3f} s CPU, copying in order within the cache")
    print(f"first epoch after opening: {first:.3f} s CPU, {first / copy:.2f}x the copy")


if __name__ == "__main__":
    main()
