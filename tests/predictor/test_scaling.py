"""What `auto` sees in the features of a modality."""

import numpy as np
import pytest

from mmalign.data import Split
from mmalign.errors import ConfigError
from mmalign.predictor.scaling import AS_PRINTED, Scaling, ScalingConfig, has_many_units

RANDOM = np.random.default_rng(0)
SIGNAL = [RANDOM.standard_normal((30, 4)).cumsum(axis=0).astype(np.float32) for _ in range(8)]
WORDS = [RANDOM.standard_normal((n, 4)).astype(np.float32) for n in (1, 9, 12, 20)] * 2
UNITS = [steps * np.float32([1, 1, 300, 300]) for steps in SIGNAL]


def chosen(**wanted) -> dict[str, Scaling]:
    columns = {"signal": [*SIGNAL[:7], None], "words": WORDS, "units": UNITS}
    split = Split(tuple("abcdefgh"), None, columns)
    config = ScalingConfig(**({"centre": "none", "scale": "own", "differences": "none"} | wanted))
    return config.choose(split, tuple(columns))


def test_the_defaults_are_as_printed():
    assert set(chosen().values()) == {AS_PRINTED}


def test_auto_centres_signals_and_leaves_words_alone():
    found = chosen(centre="auto", scale="auto", differences="auto")
    assert found == {
        "signal": Scaling(centre=True, own_scale=False, differences=True),
        "words": Scaling(centre=False, own_scale=False, differences=False),
        "units": Scaling(centre=True, own_scale=True, differences=True),
    }


def test_modalities_can_be_named():
    found = chosen(centre="words, units", differences="signal")
    assert [found[name].centre for name in found] == [False, True, True]
    assert [found[name].differences for name in found] == [True, False, False]
    with pytest.raises(ConfigError, match=r"centre names 'signl'.*did you mean 'signal'"):
        chosen(centre="signl")


def test_gaps_and_constant_or_absent_features_decide_nothing():
    gapped = [np.where(np.arange(30)[:, None] % 7 == 3, np.nan, s) for s in SIGNAL]
    gapped = [steps.astype(np.float32) for steps in gapped]
    split = Split(tuple("abcdefgh"), None, {"a": gapped}, gapped=frozenset("a"))
    config = ScalingConfig(centre="auto", scale="auto", differences="none")
    assert config.choose(split, ["a"])["a"] == Scaling(centre=True, own_scale=False)
    flat = [steps * np.float32([1, 1, 1, 0]) for steps in SIGNAL]
    assert not has_many_units(flat)
    assert not has_many_units([None])
    assert not has_many_units([np.ones((3, 2), np.float32)])
