"""Clips compare as objects, whatever arrays they hold, and lose modalities that they have."""

import numpy as np
import pytest
from jaxtyping import config

from mmalign.data.clip import Clip
from mmalign.data.split import Split
from mmalign.data.task import Classification
from mmalign.errors import DataError


def test_clips_are_equal_if_they_are_the_same():
    one, other = (Clip("a", 1, {"text": np.zeros((3, 2), np.float32)}) for _ in range(2))
    assert one in [one]
    assert one != other
    assert [other, one].index(one) == 1


def test_a_modality_that_is_not_there_is_named_with_those_that_are():
    clips = [Clip("a", 1, {"text": np.zeros((3, 2), np.float32)})]
    split = Split.from_clips(clips, ["text"], Classification(("no", "yes")))
    message = r"no modality 'txt'\. Did you mean 'text'\? There are text\."
    with pytest.raises(DataError, match=message):
        split.without("txt", split.ids)


@pytest.mark.parametrize("sequences", [np.zeros((3, 2)), [np.zeros((3, 2))], None])
def test_sequences_without_names_are_refused_where_the_clip_is_made(sequences):
    config.update("jaxtyping_disable", True)  # as where nobody checks types
    try:
        with pytest.raises(DataError, match=r"clip a: its sequences are not a dict but .*Name"):
            Clip("a", "walk", sequences)
    finally:
        config.update("jaxtyping_disable", False)
