"""The hash of a dataset's content: two runs are comparable if they saw the same bytes."""

import hashlib

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.data.task import task_to_json


def dataset_hash(dataset: Dataset) -> str:
    """SHA-256 over task, ids, labels and features, independent of the file format."""
    task = {name: value for name, value in task_to_json(dataset.task).items() if name != "given"}
    digest = hashlib.sha256(repr(task).encode())
    for name in sorted(dataset.splits):
        split = dataset.splits[name]
        digest.update(f"split {name} {len(split)}".encode())
        digest.update("\0".join(split.ids).encode())
        if split.labels is not None:
            digest.update(np.ascontiguousarray(split.labels).data)
        for modality in dataset.dims:
            digest.update(f"modality {modality} {dataset.dims[modality]}".encode())
            digest.update(split.lengths(modality).data)
            for steps in split.sequences[modality]:
                if steps is not None:
                    digest.update(np.ascontiguousarray(steps).data)
    return digest.hexdigest()
