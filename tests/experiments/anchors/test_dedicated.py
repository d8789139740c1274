"""A model for each set of modalities."""

import numpy as np

from mmalign.experiments.anchors.dedicated import Dedicated
from mmalign.training.config import Config
from tests.experiments.anchors.made import holed
from tests.experts.made import made_clips, made_dataset


class Counting:
    """Fits models that say how many modalities they have, and remembers what these are."""

    def __init__(self) -> None:
        self.seen: list[tuple[tuple[str, ...], int]] = []

    def __call__(self, dataset, config):
        train = dataset["train"]
        self.seen.append((train.modalities, len(train)))
        return lambda split: np.full(len(split), len(train.modalities) - 1, train.labels.dtype)


def test_each_clip_is_answered_for_by_the_model_of_just_what_it_has():
    fit = Counting()
    dataset = holed()
    answers = Dedicated(fit, dataset, Config()).predict(dataset["test"])
    assert answers.tolist() == [1] * 36  # every clip lacks one of three
    assert sorted(names for names, _ in fit.seen) == [
        ("pose", "voice"),
        ("pose", "wrist"),
        ("wrist", "voice"),
    ]
    assert {clips for _, clips in fit.seen} == {12}  # those of 36 that have both


def test_where_no_training_clip_has_a_pattern_the_majority_is_said():
    dataset = made_dataset(valid=made_clips(6, seed=1))
    answers = Dedicated(Counting(), dataset, Config()).predict(
        dataset["valid"]
    )  # all three: none in training
    majority = np.bincount(dataset["train"].labels).argmax()
    assert answers.tolist() == [majority] * 6
