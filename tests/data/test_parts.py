"""Taking a modality apart: the parts side by side are the whole, and the rest is untouched."""

import numpy as np
import pytest

from mmalign.data.dataset import Dataset
from mmalign.data.parts import parted
from mmalign.data.split import Split
from mmalign.data.task import Regression
from mmalign.errors import DataError

PARTS = {"inertial": {"accelerometer": [0, 3], "gyroscope": [3, 6]}}


def make_dataset() -> Dataset:
    rng = np.random.default_rng(0)
    gap = rng.normal(size=(5, 6)).astype(np.float32)
    gap[2] = np.nan
    inertial = [gap, None, rng.normal(size=(3, 6)).astype(np.float32)]
    skeleton = [rng.normal(size=(4, 2)).astype(np.float32) for _ in range(3)]
    split = Split(
        ids=("a", "b", "c"),
        labels=np.zeros(3, np.float32),
        sequences={"inertial": inertial, "skeleton": skeleton},
        groups=("p", "p", "q"),
        gapped=frozenset({"inertial"}),
    )
    return Dataset(task=Regression(), dims={"inertial": 6, "skeleton": 2}, splits={"train": split})


def test_the_parts_side_by_side_are_the_whole():
    dataset = make_dataset()
    before, after = dataset["train"], parted(dataset, PARTS)["train"]
    assert after.modalities == ("accelerometer", "gyroscope", "skeleton")
    assert after.gapped == {"accelerometer", "gyroscope"}
    assert after.groups == before.groups
    assert after.sequences["accelerometer"][1] is None
    for row in (0, 2):
        parts = [after.sequences[name][row] for name in ("accelerometer", "gyroscope")]
        np.testing.assert_array_equal(np.hstack(parts), before.sequences["inertial"][row])
    np.testing.assert_array_equal(after.sequences["skeleton"][0], before.sequences["skeleton"][0])


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"inertia": {"x": [0, 1]}}, "there is no modality 'inertia'"),
        ({"inertial": {"x": [0, 7]}}, "'x' asks for features 0 to 7 of 6"),
        ({"inertial": {"x": [3, 3]}}, "'x' asks for features 3 to 3 of 6"),
    ],
)
def test_what_is_not_there_is_refused(parts, message):
    with pytest.raises(DataError, match=message):
        parted(make_dataset(), parts)
