"""Computational sequences: for each video, rows of features or words with their intervals."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from mmalign.allowance import NAME_CHARACTERS, memory_allowed, seconds_allowed
from mmalign.data.pickles import map_file
from mmalign.data.readers.csd import worker
from mmalign.data.readers.csd.alignment import Intervals
from mmalign.errors import DataError, damaged

ADDRESS_BYTES = 2 << 30
"""What Python, numpy and HDF5 map before they read a byte; most of it is never touched."""


@dataclass(frozen=True)
class ComputationalSequence:
    """One .csd file: rows of all videos one after the other, and the interval of each row."""

    file: Path
    root: str
    rows: Mapping[str, slice]
    intervals: Intervals

    def rows_of(self, entry: str) -> slice:
        """Rows of an entry; `video[3]` falls back on its video."""
        empty = slice(0, 0)
        return self.rows.get(entry, self.rows.get(entry.split("[")[0], empty))

    @property
    def name(self) -> str:
        """Names of root and file, which tell its role."""
        return f"{self.root} {self.file.stem}"


@dataclass(frozen=True)
class FeatureSequence(ComputationalSequence):
    """Rows of numbers."""

    features: Float32[np.ndarray, "_ _"]

    @property
    def dim(self) -> int:
        """Numbers per row."""
        return int(self.features.shape[1])


@dataclass(frozen=True)
class WordSequence(ComputationalSequence):
    """Rows of one word each."""

    words: Sequence[str]


def read_sequences(files: Sequence[Path]) -> list[ComputationalSequence]:
    """Read .csd files in a process of its own, with limits on its memory, output and time.

    Raises:
        DataError: If h5py is not installed, or a file is damaged or not such a file.
    """
    sizes = [len(map_file(file)) for file in files]
    with tempfile.TemporaryDirectory(prefix="mmalign-csd-") as folder:
        out = Path(folder)
        run_worker(files, out, total_bytes=sum(sizes))
        # What is mapped stays readable after the folder is gone.
        return [_load(file, out, number) for number, file in enumerate(files)]


def run_worker(files: Sequence[Path], out: Path, *, total_bytes: int) -> None:
    """Let the worker copy the files' arrays into a folder.

    Raises:
        DataError: If it refuses a file, crashes, or does not end in time.
    """
    limits = limits_for(total_bytes)
    seconds = limits[-1]
    arguments = [str(out), *map(str, limits), *(str(file.resolve()) for file in files)]
    environment = {
        **os.environ,
        "OPENBLAS_NUM_THREADS": "1",
        # A file can name a compression plugin, and HDF5 would load it as a shared library.
        "HDF5_PLUGIN_PRELOAD": "::",
        "HDF5_USE_FILE_LOCKING": "FALSE",
    }
    try:
        done = subprocess.run(  # noqa: S603 - our own script, no shell
            [sys.executable, "-I", worker.__file__, *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise damaged(f"reading HDF5 took more than {seconds} s", file=files[0]) from error
    if done.returncode != 0:
        raise refusal(done.returncode, done.stdout, files)


def limits_for(total_bytes: int) -> tuple[int, int, int]:
    """Bytes of memory, bytes of each output file, and seconds that the worker may take."""
    memory = memory_allowed(total_bytes)
    return ADDRESS_BYTES + memory, memory, seconds_allowed(total_bytes)


def refusal(code: int, told: bytes, files: Sequence[Path]) -> DataError:
    """Make the error for a worker that failed, from its answer or its exit status."""
    try:
        answer = json.loads(told)
        problem, file = str(answer["problem"]), files[int(answer["number"])]
    except (ValueError, LookupError, TypeError):
        problem, file = f"the HDF5 library crashed on it (status {code})", files[0]
    if problem == "no h5py":
        return DataError(
            "reading .csd files needs h5py", file=file, fix="Run: pip install 'mmalign[csd]'"
        )
    return damaged(problem, file=file)


def _load(file: Path, out: Path, number: int) -> ComputationalSequence:
    described: dict[str, Any] = json.loads((out / f"{number}.json").read_text())
    if len(described["root"]) > NAME_CHARACTERS:  # it is searched for words that tell its role
        raise damaged("the name of its root group is too long", file=file)
    stops = np.cumsum(described["counts"]).tolist()
    starts = [0, *stops[:-1]]
    rows = {k: slice(a, b) for k, a, b in zip(described["keys"], starts, stops, strict=True)}
    intervals = np.frombuffer(map_file(out / f"{number}.intervals"), "<f8").reshape(-1, 2)
    content = map_file(out / f"{number}.features")
    if described["kind"] == "text":
        words = bytes(content).decode("utf-8", "replace").split("\n")[:-1]
        return WordSequence(file, described["root"], rows, intervals, words)
    features = np.frombuffer(content, "<f4").reshape(stops[-1], described["kind"])
    return FeatureSequence(file, described["root"], rows, intervals, features)
