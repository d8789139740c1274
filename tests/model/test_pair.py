"""A batch as tensors."""

import numpy as np
import pytest

from mmalign.data import Batches, Clip, Regression, Split
from mmalign.errors import DataError
from mmalign.model.pair import to_pair


def test_gaps_are_refused_rather_than_taken_for_zeros():
    steps = np.ones((2, 1), np.float32)
    clip = Clip("a", 0.0, {"x": steps, "y": steps}, observed={"y": np.array([True, False])})
    split = Split.from_clips([clip], ["x", "y"], Regression())
    (batch,) = Batches(split, {"x": 1, "y": 1}).in_order()
    with pytest.raises(DataError, match="modality y: steps are missing inside sequences"):
        to_pair(batch, "x", "y")
    (whole,) = Batches(split.only(["x"]), {"x": 1}).in_order()
    assert to_pair(whole, "x", "x").visible_lengths.tolist() == [2]
