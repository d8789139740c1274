"""The joint twin: what each subset of modalities can know of the label."""

import itertools

import numpy as np
import pytest

from mmalign.data.joint_twin import JointTwinConfig, joint_twin
from mmalign.errors import ConfigError


def shown_bits(split) -> np.ndarray:
    """Read off a modality's mean step on which side of the middle it stands."""
    columns = []
    for sequences in split.sequences.values():
        means = np.array([steps.mean(axis=0) for steps in sequences])
        direction = np.linalg.svd(means - means.mean(axis=0))[2][0]
        columns.append(means @ direction > 0)
    return np.array(columns)


@pytest.mark.parametrize("modalities", [2, 3, 4])
def test_each_subset_knows_its_share_of_the_label(modalities):
    twin = joint_twin(JointTwinConfig(modalities=modalities, clips=(160, 8, 8), noise=0.05))
    train, classes = twin["train"], len(twin.task.classes)
    bits = shown_bits(train)
    for count in range(1, modalities + 1):
        for subset in itertools.combinations(range(modalities), count):
            seen = bits[list(subset)]
            best = 0  # of all rules that look at these bits alone
            for pattern in np.unique(seen, axis=1).T:
                labels = train.labels[(seen == pattern[:, None]).all(axis=0)]
                best += np.bincount(labels, minlength=classes).max()
            assert best / len(train) == 2 ** (count - 1) / classes


def test_the_same_config_gives_the_same_clips_and_another_seed_others():
    first, again, other = (
        joint_twin(JointTwinConfig(clips=(8, 1, 1), seed=seed)) for seed in (0, 0, 1)
    )
    pairs = zip(first["train"].sequences["m2"], again["train"].sequences["m2"], strict=True)
    assert all(np.array_equal(a, b) for a, b in pairs)
    assert not np.array_equal(
        first["train"].sequences["m2"][0][:5], other["train"].sequences["m2"][0][:5]
    )


def test_sizes_that_make_no_sense_are_refused_all_at_once():
    with pytest.raises(ConfigError) as caught:
        JointTwinConfig(modalities=1, clips=(0, 1, 1), shortest=3, longest=2)
    assert len(caught.value.problems) == 3
