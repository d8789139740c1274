"""Clips with holes that any class may have."""

from dataclasses import replace

from mmalign.data import Dataset
from mmalign.data.split_names import SPLITS
from tests.experts.made import NAMES, made_clips, made_dataset


def with_holes(clips):
    """Every clip lacks one modality; each class lacks all of them by turns."""
    return [
        replace(clip, sequences={**clip.sequences, NAMES[(row + row // 3) % 3]: None})
        for row, clip in enumerate(clips)
    ]


def holed() -> Dataset:
    clips = {name: with_holes(made_clips(36, seed=seed)) for seed, name in enumerate(SPLITS)}
    return made_dataset(**clips)
