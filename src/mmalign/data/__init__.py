"""Clips, datasets, readers, missingness and batches."""

from mmalign.data.batching import Batch, Batches, batches
from mmalign.data.building import dataset_from
from mmalign.data.clip import Clip
from mmalign.data.dataset import Dataset
from mmalign.data.frames import clips_from_frames, clips_from_rows
from mmalign.data.loading import load_dataset, open_dataset
from mmalign.data.missingness import (
    GapProtocol,
    Masks,
    PairProtocol,
    PatternProtocol,
    Protocol,
    RandomMissing,
    SubsetProtocol,
)
from mmalign.data.native import write_native
from mmalign.data.smartwatch import smartwatch
from mmalign.data.split import Split
from mmalign.data.splitting import random_split, split_by, split_by_group
from mmalign.data.task import Classification, Regression, Task
from mmalign.data.twin import Twin, TwinConfig, synthetic_twin

__all__ = [
    "Batch",
    "Batches",
    "Classification",
    "Clip",
    "Dataset",
    "GapProtocol",
    "Masks",
    "PairProtocol",
    "PatternProtocol",
    "Protocol",
    "RandomMissing",
    "Regression",
    "Split",
    "SubsetProtocol",
    "Task",
    "Twin",
    "TwinConfig",
    "batches",
    "clips_from_frames",
    "clips_from_rows",
    "dataset_from",
    "load_dataset",
    "open_dataset",
    "random_split",
    "smartwatch",
    "split_by",
    "split_by_group",
    "synthetic_twin",
    "write_native",
]
