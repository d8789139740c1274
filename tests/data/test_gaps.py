"""Gaps: unobserved steps become NaN at intake, stay known, and leave batches as zeros."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mmalign.data import Batches, Clip, Regression, Split
from mmalign.data.moments import moments
from mmalign.data.non_finite import require_finite
from mmalign.errors import DataError

DIMS = {"wrist": 3, "pose": 2}


@st.composite
def gapped_clips(draw, clip_id="a"):
    """A clip with `observed` for some modalities, and nonsense where nothing was observed."""
    sequences, observed = {}, {}
    for name, dim in DIMS.items():
        steps = draw(st.integers(1, 6))
        sequences[name] = np.arange(1.0, steps * dim + 1, dtype=np.float32).reshape(steps, dim)
        if name == "wrist" or draw(st.booleans()):
            is_there = np.array(draw(st.lists(st.booleans(), min_size=steps, max_size=steps)))
            observed[name] = is_there
            sequences[name][~is_there] = draw(st.sampled_from([0.0, 1e30, np.nan, np.inf]))
    return Clip(clip_id, 0.0, sequences, observed=observed)


CLIPS = st.lists(gapped_clips(), min_size=1, max_size=7).map(
    lambda clips: [replace(clip, id=f"c{n}") for n, clip in enumerate(clips)]
)


def split_of(clips):
    return Split.from_clips(clips, list(DIMS), Regression())


@given(CLIPS)
def test_unobserved_steps_are_rows_of_nan_and_a_sequence_of_nothing_else_is_missing(clips):
    split = split_of(clips)
    require_finite(split)
    for name in DIMS:
        for clip, steps, found in zip(
            clips, split.sequences[name], split.observed(name), strict=True
        ):
            wanted = clip.observed.get(name, np.ones(len(clip.sequences[name]), bool))
            if not wanted.any():
                assert steps is None
                assert found is None
                continue
            assert np.array_equal(found, wanted)
            assert np.isnan(steps[~wanted]).all()
            assert np.array_equal(steps[wanted], clip.sequences[name][wanted])


@given(CLIPS, st.integers(1, 4))
def test_a_batch_holds_what_a_plain_loop_puts_there(clips, batch_size):
    split = split_of(clips)
    for batch in Batches(split, DIMS, batch_size=batch_size).epoch(0):
        assert set(batch.observed) == split.gapped
        for name in split.gapped:
            features, observed = batch.features[name], batch.observed[name]
            assert np.isfinite(features).all()
            for row, clip_id in enumerate(batch.ids):
                steps = split.sequences[name][split.ids.index(clip_id)]
                for step in range(features.shape[1]):
                    there = steps is not None and step < len(steps)
                    there = there and not np.isnan(steps[step]).any()
                    assert observed[row, step] == there
                    assert np.array_equal(
                        features[row, step], steps[step] if there else [0] * DIMS[name]
                    )


@given(CLIPS)
def test_clips_of_a_split_make_the_same_split_again(clips):
    split = split_of(clips)
    again = split_of(list(split))
    for name in DIMS:
        for steps, other in zip(split.sequences[name], again.sequences[name], strict=True):
            assert (steps is None) == (other is None)
            assert steps is None or steps.tobytes() == other.tobytes()


def test_choosing_clips_and_modalities_keeps_what_is_known():
    rows = [
        Clip(
            f"c{n}",
            0.0,
            {"wrist": np.ones((2, 3)), "pose": np.ones((2, 2))},
            group=f"g{n % 2}",
            observed={"wrist": np.array([True, n > 1])},
        )
        for n in range(4)
    ]
    split = split_of(rows).checked_finite()
    assert split.gapped == {"wrist"}
    assert split.groups == ("g0", "g1", "g0", "g1")
    few = split.select([3, 0])
    assert (few.groups, few.gapped, few.is_finite) == (("g1", "g0"), {"wrist"}, True)
    assert split.only(["pose"]).gapped == frozenset()
    assert split.without("wrist", {"c0"}).gapped == {"wrist"}
    plain = split.only(["pose"])
    both = Split.joined([few, replace(few, gapped=frozenset())])
    assert both.gapped == {"wrist"}
    assert both.groups == ("g1", "g0", "g1", "g0")
    assert Split.joined([few, replace(few, groups=None)]).groups is None
    assert plain[1].group == "g1"
    assert plain[1].observed == {}


def test_no_cost_where_there_are_no_gaps():
    split = split_of([Clip("a", 0.0, {"wrist": np.ones((2, 3)), "pose": np.ones((2, 2))})])
    assert next(Batches(split, DIMS).in_order()).observed == {}
    assert [observed.tolist() for observed in split.observed("wrist")] == [[True, True]]
    assert split.gapped == frozenset()


def test_moments_are_those_of_the_observed_steps():
    steps = np.array([[1, 2], [np.nan, np.nan], [3, 6]], np.float32)
    found = moments([steps, None, np.full((2, 2), np.nan, np.float32)])
    assert found.mean.tolist() == [2, 4]
    assert found.variance.tolist() == [1, 4]


@pytest.mark.parametrize(
    "observed", [np.array([True]), np.array([1, 0]), np.array([[True], [False]])]
)
def test_observed_that_does_not_fit_is_refused(observed):
    clip = Clip("a", 0.0, {"wrist": np.ones((2, 3))}, observed={"wrist": observed})
    with pytest.raises(DataError, match=r"clip a, modality wrist: observed is .* per step"):
        split_of([clip])


def test_a_group_for_some_clips_only_is_refused():
    one, other = (
        Clip(name, 0.0, {"wrist": np.ones((2, 3))}, group=g)
        for name, g in (("a", "p"), ("b", None))
    )
    with pytest.raises(DataError, match="clip b: no group, though other clips have one"):
        split_of([one, other])


def test_other_faults_of_a_modality_with_gaps_are_still_found():
    steps = np.array([[1, np.nan, 1], [np.nan] * 3], np.float32)
    split = split_of(
        [Clip("a", 0.0, {"wrist": steps}, observed={"wrist": np.array([True, False])})]
    )
    with pytest.raises(DataError, match="step 0, feature 1: non-finite"):
        require_finite(split)


def test_observed_of_an_unknown_modality_is_refused():
    clip = Clip("a", 0.0, {"wrist": np.ones((2, 3))}, observed={"wirst": np.ones(2, bool)})
    with pytest.raises(DataError, match=r"clip a: observed names 'wirst'.* The clip has wrist"):
        split_of([clip])
