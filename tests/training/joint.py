"""A joint twin with holes, and models of it that train in a fraction of a second."""

import itertools

import numpy as np
import torch

from mmalign.data import Dataset
from mmalign.data.joint_twin import JointTwinConfig, joint_twin
from mmalign.predictor.predictor import Predictor
from mmalign.training.loop import Training
from mmalign.training.methods import configure

TINY = {"dim": 4, "heads": 1, "window": 3, "batch_size": 24, "epochs": 1, "warm_up": 0}


def whole_twin(modalities: int = 3) -> Dataset:
    return joint_twin(
        JointTwinConfig(modalities=modalities, clips=(16, 3, 7), shortest=3, longest=4, dim=3)
    )


def hidden_ids(dataset: Dataset) -> dict[str, dict[str, set[str]]]:
    """By split and modality the clips that lose it: patterns take turns, the complete one too."""
    names = dataset.modalities
    subsets = [s for n in range(len(names), 0, -1) for s in itertools.combinations(names, n)]
    hidden = {}
    for split, part in dataset.splits.items():
        kept = dict(zip(part.ids, itertools.cycle(subsets), strict=False))
        hidden[split] = {
            name: {clip_id for clip_id, subset in kept.items() if name not in subset}
            for name in names
        }
    return hidden


def with_holes(dataset: Dataset) -> Dataset:
    splits = dict(dataset.splits)
    for split, lost in hidden_ids(dataset).items():
        for name, ids in lost.items():
            splits[split] = splits[split].without(name, ids)
    return Dataset(dataset.task, dataset.dims, splits)


def poisoned_holes(dataset: Dataset) -> Dataset:
    """The dataset with NaN in everything that `with_holes` takes away."""
    splits = {}
    for split, lost in hidden_ids(dataset).items():
        part = dataset.splits[split]
        columns = {
            name: [
                np.full_like(steps, np.nan) if clip_id in lost[name] else steps
                for clip_id, steps in zip(part.ids, column, strict=True)
            ]
            for name, column in part.sequences.items()
        }
        splits[split] = type(part)(part.ids, part.labels, columns)
    return Dataset(dataset.task, dataset.dims, splits)


def trained(dataset: Dataset, modalities: tuple[str, ...] | None = None, **settings) -> Predictor:
    torch.set_num_threads(1)
    training = Training(
        dataset,
        configure({**TINY, **settings}),
        modalities=modalities or dataset.modalities,
        validations={"valid": dataset["valid"]},
    )
    training.run()
    return training.select("valid")


def restless(model):
    """The model with weights that make its answers differ, also between directions."""
    network, seed = model.fitted.model, torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weights in (*network.parameters(), *network.buffers()):
            if weights.ndim:
                weights.add_(0.3 * torch.randn(weights.shape, generator=seed).abs())
    return model
