"""Clips of three modalities, made up: two show the label, one is noise."""

from dataclasses import replace

import numpy as np

from mmalign.data import Classification, Dataset
from mmalign.data.clip import Clip
from mmalign.data.split import Split

NAMES = ("pose", "wrist", "voice")
TASK = Classification(("a", "b", "c"))
DIMS = {"pose": 4, "wrist": 3, "voice": 2}


def made_clips(count: int, *, seed: int, numbers: bool = False) -> list[Clip]:
    """Each modality shows the label as a pace, in steps of its own; the voice is noise."""
    rng = np.random.default_rng(seed)
    clips = []
    for row in range(count):
        kind = row % 3
        label = float(kind) + 0.1 * float(rng.normal()) if numbers else "abc"[kind]

        def wave(length: int, width: int, kind: int = kind) -> np.ndarray:
            phases = rng.uniform(0, 6, width)
            noise = 0.3 * rng.normal(size=(length, width))
            steps = np.sin(np.arange(length)[:, None] * (0.4 + 0.3 * kind) + phases) + noise
            return steps.astype(np.float32)

        sequences = {
            "pose": wave(18, 4),
            "wrist": wave(25 + row % 4, 3),
            "voice": rng.normal(size=(10, 2)).astype(np.float32),
        }
        clips.append(Clip(f"person{row % 5}-{row}", label, sequences))
    return clips


def with_holes(clips: list[Clip]) -> list[Clip]:
    """Every clip lacks one modality, by turns."""
    return [
        replace(clip, sequences={**clip.sequences, NAMES[row % 3]: None})
        for row, clip in enumerate(clips)
    ]


def only(clips: list[Clip], *names: str) -> list[Clip]:
    """The clips with these modalities alone."""
    return [
        replace(c, sequences={n: s for n, s in c.sequences.items() if n in names}) for c in clips
    ]


def made_dataset(**splits) -> Dataset:
    """A dataset with holes in train and test; other clips, or None, replace a split."""
    chosen = {
        "train": with_holes(made_clips(24, seed=0)),
        "valid": made_clips(9, seed=1),
        "test": with_holes(made_clips(12, seed=2)),
    } | splits
    made = {
        name: Split.from_clips(
            [replace(clip, id=f"{clip.id}-{name}") for clip in clips], list(NAMES), TASK
        )
        for name, clips in chosen.items()
        if clips is not None
    }
    return Dataset(TASK, DIMS, made)
