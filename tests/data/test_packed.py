"""Clips one after the other are the clips that went in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data.packed import packed


@pytest.fixture
def clips():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(length, 2)).astype(np.float32) for length in (3, 1, 4)]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.data())
def test_clips_come_out_as_they_went_in(lengths, data):
    clips = [np.full((n, 2), row, np.float32) for row, n in enumerate(lengths)]
    together = packed(clips)
    assert len(together) == len(clips)
    assert together.lengths.tolist() == lengths
    assert all(map(np.array_equal, together, clips))
    start, stop = sorted(data.draw(st.integers(0, len(clips))) for _ in range(2))
    assert all(map(np.array_equal, together[start:stop], clips[start:stop]))
    assert len(together[start:stop]) == stop - start


def test_places_count_from_either_end_and_there_are_no_others(clips):
    together = packed(clips)
    assert np.array_equal(together[-1], clips[-1])
    assert np.array_equal(together[np.int64(1)], clips[1])
    for place in (3, -4):
        with pytest.raises(IndexError):
            together[place]


def test_what_is_together_is_not_copied(clips):
    together = packed(clips)
    assert packed(together) is together
    assert np.shares_memory(together[1:].rows, together.rows)


def test_changes_are_differences_within_a_clip(clips):
    together = packed(clips)
    changes = together.with_rows(together.changes())
    for steps, change in zip(clips, changes, strict=True):
        assert np.array_equal(change, np.diff(steps, axis=0, prepend=steps[:1]))
