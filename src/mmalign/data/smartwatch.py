"""Smartwatch recordings of shoulder exercises, from the PyPI package seglearn (BSD licence).

140 recordings of 10 subjects doing 7 exercises, with an accelerometer and a gyroscope at 50 Hz:
two real modalities, one of which can die.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Float32

from mmalign.data.arrays import read_npy_object
from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.data.validation import validate
from mmalign.errors import DataError, damaged

SUBJECTS: Mapping[str, frozenset[int]] = {
    "train": frozenset({1, 4, 5, 7, 10}),
    "valid": frozenset({2, 8}),
    "test": frozenset({3, 6, 9}),
}
CHANNELS = {"accelerometer": slice(0, 3), "gyroscope": slice(3, 6)}
WINDOW_SAMPLES = 200  # 4 s at 50 Hz
STEPS = 40


def smartwatch(file: Path | None = None) -> Dataset:
    """The smartwatch set: windows of 4 s and 40 steps, split by subject, scaled on train.

    Args:
        file: `watch_dataset.npy`; by default the one inside the installed package seglearn.

    Raises:
        DataError: If seglearn is not installed, or its file is not what it was.
    """
    content = read_npy_object(file or _packaged_file())
    try:
        clips = _cut(content)
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise damaged(f"unexpected content ({error!r})", file=file or _packaged_file()) from error
    mean, scale = _statistics([window for _, window, _ in clips["train"]])
    task = Classification(tuple(map(str, content["y_labels"])))
    splits = {
        name: Split.from_clips(
            [_to_clip(clip_id, (window - mean) / scale, label) for clip_id, window, label in rows],
            list(CHANNELS),
            task,
        )
        for name, rows in clips.items()
    }
    dims = dict.fromkeys(CHANNELS, 3)
    return validate(Dataset(task, dims, splits))


def _packaged_file() -> Path:
    # find_spec of a top-level name locates the package without importing it.
    spec = find_spec("seglearn")
    if spec is None or not spec.submodule_search_locations:
        raise DataError(
            "the smartwatch data comes with the package seglearn, which is not installed",
            fix="Run: pip install 'mmalign[demo]'",
        )
    return Path(spec.submodule_search_locations[0]) / "data" / "watch_dataset.npy"


Window = tuple[str, Float[np.ndarray, "steps channels"], int]


def _cut(content: dict[str, Any]) -> dict[str, list[Window]]:
    """Consecutive windows of every recording, five samples averaged to a step."""
    clips: dict[str, list[Window]] = {name: [] for name in SUBJECTS}
    for index, recording in enumerate(content["X"]):
        subject = int(content["subject"][index])
        split = next(name for name, members in SUBJECTS.items() if subject in members)
        for number in range(len(recording) // WINDOW_SAMPLES):
            samples = recording[number * WINDOW_SAMPLES : (number + 1) * WINDOW_SAMPLES]
            steps = samples.reshape(STEPS, -1, samples.shape[1]).mean(axis=1)
            clip_id = f"subject{subject:02d}-recording{index:03d}-window{number:02d}"
            clips[split].append((clip_id, steps, int(content["y"][index])))
    return clips


def _statistics(
    windows: list[Float[np.ndarray, "steps channels"]],
) -> tuple[Float[np.ndarray, " channels"], Float[np.ndarray, " channels"]]:
    """Mean and standard deviation of each channel over the training windows."""
    steps = np.concatenate(windows)
    return steps.mean(axis=0), steps.std(axis=0)


def _to_clip(clip_id: str, steps: Float[np.ndarray, "steps channels"], label: int) -> Clip:
    scaled: Float32[np.ndarray, "steps channels"] = steps.astype(np.float32)
    sequences = {name: scaled[:, columns] for name, columns in CHANNELS.items()}
    return Clip(clip_id, label, sequences, group=clip_id.split("-")[0])
