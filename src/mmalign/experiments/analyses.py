"""What a grid asks of a trained run beside its scores."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mmalign.data.dataset import Dataset
from mmalign.experiments.plan_study import choose_clip, mean_plans, take_apart
from mmalign.experiments.plan_swaps import SWAPS, swapped_scores
from mmalign.runs.artifact import Artifact

Analysis = Callable[[Artifact, Dataset], dict[str, Any]]


def swaps(trained: Artifact, dataset: Dataset) -> dict[str, Any]:
    """What other plans score in setting A, by name of the swap."""
    test, predictor = dataset["test"], trained.predictor
    complete = test.select(np.flatnonzero(test.is_present(predictor.victim)))
    if len(complete) == 0:
        return {}
    return {name: swapped_scores(predictor, complete, swap) for name, swap in SWAPS.items()}


def alignment(trained: Artifact, dataset: Dataset) -> dict[str, Any]:
    """Mean plans over the complete test clips."""
    return mean_plans(trained.predictor, trained.config, dataset["test"])


def case(trained: Artifact, dataset: Dataset) -> dict[str, Any]:
    """The plans of one clip of the test split."""
    predictor = trained.predictor
    clip = choose_clip(dataset["test"], predictor.visible, predictor.victim)
    return take_apart(predictor, dataset, clip)


ANALYSES: Mapping[str, Analysis] = {"swaps": swaps, "alignment": alignment, "case": case}
