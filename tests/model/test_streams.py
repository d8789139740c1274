"""Batches as tensors: patterns, rows and what is taken away."""

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data import Batches, Clip, Regression, Split
from mmalign.data.batching import Batch
from mmalign.model.streams import Streams, to_streams

NAMES = ("a", "b", "c")


def make_streams(lengths: list[list[int]]) -> Streams:
    """Features that tell clip, modality and step; zeros after the end."""
    features, counts = {}, {}
    for place, name in enumerate(NAMES):
        steps = [row[place] for row in lengths]
        values = np.zeros((len(steps), max(steps), 1), np.float32)
        for clip, length in enumerate(steps):
            values[clip, :length, 0] = 100 * clip + 10 * place + np.arange(length) + 1
        features[name], counts[name] = values, np.array(steps)
    ids = tuple(f"clip{number}" for number in range(len(lengths)))
    return to_streams(Batch(ids, np.arange(len(ids)), features, counts), NAMES)


LENGTHS = st.lists(
    st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any), min_size=1, max_size=6
)


@settings(max_examples=30)
@given(LENGTHS)
def test_patterns_part_the_clips_by_what_they_have_complete_ones_first(lengths):
    streams = make_streams(lengths)
    seen = torch.zeros(len(streams), dtype=torch.long)
    patterns = list(streams.patterns())
    for names, rows in patterns:
        seen += rows
        for row in rows.nonzero()[:, 0].tolist():
            assert names == tuple(
                n for n, length in zip(NAMES, lengths[row], strict=True) if length
            )
    assert (seen == 1).all()
    assert [names for names, _ in patterns][1:].count(NAMES) == 0


@settings(max_examples=30)
@given(LENGTHS, st.data())
def test_rows_keep_their_features_and_no_padding_that_nobody_needs(lengths, data):
    streams = make_streams(lengths)
    chosen = torch.tensor(
        data.draw(st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths)))
    )
    rows = streams.rows(chosen)
    assert rows.ids == tuple(i for i, c in zip(streams.ids, chosen.tolist(), strict=True) if c)
    assert torch.equal(rows.labels, streams.labels[chosen])
    for name in NAMES:
        longest = int(rows.lengths[name].max()) if len(rows) else 0
        assert rows.features[name].shape[1] == longest
        assert torch.equal(rows.features[name], streams.features[name][chosen][:, :longest])


def test_what_is_taken_away_is_gone():
    streams = make_streams([[2, 3, 1], [1, 0, 2]]).without(["b"])
    assert streams.lengths["b"].tolist() == [0, 0]
    assert streams.features["b"].numel() == 0
    assert streams.lengths["a"].tolist() == [2, 1]


def test_moving_changes_floats_only():
    streams = make_streams([[2, 3, 1]]).to(torch.float64)
    assert streams.features["a"].dtype == torch.float64
    assert streams.lengths["a"].dtype == torch.int64
    assert streams.labels.dtype == torch.int64


def test_gaps_are_told_and_not_taken_for_zeros():
    steps = np.ones((2, 1), np.float32)
    clip = Clip("a", 0.0, {"x": steps, "y": steps}, observed={"y": np.array([True, False])})
    whole = Clip("b", 0.0, {"x": steps, "y": steps})
    split = Split.from_clips([clip, whole], ["x", "y"], Regression())
    (batch,) = Batches(split, {"x": 1, "y": 1}).in_order()
    streams = to_streams(batch, ("x", "y"))
    assert streams.lengths["y"].tolist() == [2, 2]
    assert {m: o.tolist() for m, o in streams.observed.items()} == {
        "y": [[True, False], [True, True]]
    }
    (batch,) = Batches(split.select([1]), {"x": 1, "y": 1}).in_order()
    assert to_streams(batch, ("x", "y")).observed == {}
