"""NaN and infinity in clips: refused, or cleaned alike in training and prediction."""

from dataclasses import replace

import numpy as np
import pytest

import mmalign
from mmalign.errors import ConfigError, DataError
from tests.experts.made import made_clips
from tests.training.joint import TINY, whole_twin

WHOLE = made_clips(24, seed=0)


def torn(clips, value=np.nan):
    """The first modality of every other clip has a bad step."""
    name = next(iter(clips[0].sequences))

    def of(row, clip):
        steps = clip.sequences[name].copy()
        steps[1, 0] = value if row % 2 else steps[1, 0]
        return replace(clip, sequences={**clip.sequences, name: steps})

    return [of(row, clip) for row, clip in enumerate(clips)]


def observed(clips):
    """The same clips, told which steps are there."""
    name = next(iter(clips[0].sequences))
    there = [np.isfinite(clip.sequences[name]).all(axis=1) for clip in clips]
    return [replace(c, observed={name: o}) for c, o in zip(clips, there, strict=True)]


KINDS = {
    "experts": ({"epochs": 1}, WHOLE),
    "network": ({"method": "mmalign", **TINY}, list(whole_twin()["train"])),
    "pair": ({"visible": "m1", "victim": "m2", **TINY}, list(whole_twin()["train"])),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_step_is_refused_or_a_gap_in_fit_and_predict(kind, tmp_path):
    settings, clips = KINDS[kind]
    bad = torn(clips)
    with pytest.raises(DataError, match=f"clip {bad[1].id}, modality .*step 1, feature 0: non-fin"):
        mmalign.MMAlign(**settings).fit(bad)
    model = mmalign.MMAlign(non_finite="gap", **settings).fit(bad)
    same = mmalign.MMAlign(**settings).fit(observed(bad))
    answers = (model.answers(bad), same.answers(observed(bad)))
    np.testing.assert_array_equal(*answers)
    model.save(tmp_path / "saved")
    back = mmalign.load(tmp_path / "saved")
    assert back.get_params()["non_finite"] == "gap"
    np.testing.assert_array_equal(back.answers(bad), answers[0])
    same.save(tmp_path / "same")
    assert mmalign.load(tmp_path / "same").non_finite == "reject"


def test_zero_puts_zeros_there():
    name = "pose"
    bad = torn(WHOLE, np.inf)
    zeros = [
        replace(c, sequences={**c.sequences, name: np.nan_to_num(c.sequences[name], posinf=0)})
        for c in bad
    ]
    model = mmalign.MMAlign(non_finite="zero", epochs=1).fit(bad)
    expected = mmalign.MMAlign(epochs=1).fit(zeros).predict_proba(zeros)
    np.testing.assert_array_equal(model.predict_proba(bad), expected)


def test_what_nothing_is_left_of_is_refused_and_so_is_another_way():
    empty = [*WHOLE, replace(WHOLE[0], id="empty", sequences={"pose": np.full((4, 4), np.nan)})]
    with pytest.raises(DataError, match="clip empty: the clip has none of the model's"):
        mmalign.MMAlign(non_finite="gap", epochs=1).fit(empty)
    for settings, _ in KINDS.values():
        with pytest.raises(ConfigError, match="unknown non_finite 'gaps'; did you mean 'gap'"):
            mmalign.MMAlign(non_finite="gaps", **settings)
