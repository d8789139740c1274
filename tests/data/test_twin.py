"""The synthetic twin: a known alignment, and a label that needs both modalities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mmalign.data import TwinConfig, synthetic_twin
from mmalign.errors import ConfigError

configs = st.builds(
    TwinConfig,
    clips=st.just((5, 2, 2)),
    shortest=st.integers(1, 10),
    longest=st.integers(10, 20),
    window=st.integers(1, 5),
    symbols=st.sampled_from([4, 8]),
    seed=st.integers(0, 99),
)


@settings(max_examples=30)
@given(configs)
def test_the_alignment_is_a_permutation_inside_the_window(config):
    twin = synthetic_twin(config)
    for split in twin.dataset.splits.values():
        for clip in split:
            truth = twin.alignment[clip.id]
            steps = np.arange(len(truth))
            assert len(truth) == len(clip.sequences["visible"]) == len(clip.sequences["victim"])
            assert sorted(truth) == list(steps)
            assert np.abs(truth - steps).max() <= config.window


def test_aligned_steps_show_the_same_symbol():
    """Steps that share a symbol look alike: so each visible cluster maps to one victim cluster."""
    twin = synthetic_twin(TwinConfig(clips=(60, 1, 1), noise=0.0, window=1, symbols=4))
    pairs = {}
    for clip in twin.dataset["train"]:
        truth = twin.alignment[clip.id]
        for step, target in enumerate(truth):
            seen = clip.sequences["visible"][step].round(3).tobytes()
            shown = clip.sequences["victim"][target].round(3).tobytes()
            pairs.setdefault(seen, set()).add(shown)
    assert all(len(shown) == 1 for shown in pairs.values())
    assert len({next(iter(shown)) for shown in pairs.values()}) == 4


def test_lags_vary_in_time_and_between_clips():
    twin = synthetic_twin()
    lags = [
        twin.alignment[clip.id] - np.arange(len(twin.alignment[clip.id]))
        for clip in twin.dataset["test"]
    ]
    assert np.mean([len(set(lag)) > 2 for lag in lags]) > 0.9
    assert set(np.concatenate(lags)) == {-3, -2, -1, 0, 1, 2, 3}


def test_the_label_needs_both_modalities():
    """Knowing the mark and the victim's symbols gives the label; either alone is a coin."""
    config = TwinConfig(noise=0.0, symbols=4, clips=(2000, 1, 1))
    twin = synthetic_twin(config)
    clips = list(twin.dataset["train"])
    labels = np.array([clip.label for clip in clips])
    assert abs(labels.mean() - 0.5) < 0.05
    marked = [int(np.linalg.norm(c.sequences["visible"], axis=1).argmax()) for c in clips]
    symbols = {}
    for clip, mark in zip(clips, marked, strict=True):
        symbols.setdefault(clip.sequences["victim"][mark].tobytes(), []).append(clip.label)
    told = [np.mean(seen) for seen in symbols.values() if len(seen) > 20]
    assert len(told) == 4
    assert all(share < 0.1 or share > 0.9 for share in told)
    at_mark = {}
    for clip, mark in zip(clips, marked, strict=True):
        if twin.alignment[clip.id][mark] != mark:
            at_mark.setdefault(clip.sequences["visible"][mark].tobytes(), []).append(clip.label)
    untold = [np.mean(seen) for seen in at_mark.values() if len(seen) > 40]
    assert len(untold) > 3
    assert all(0.25 < share < 0.75 for share in untold)


def test_the_same_config_gives_the_same_bytes():
    first, second = (synthetic_twin(TwinConfig(clips=(3, 1, 1))) for _ in range(2))
    for one, other in zip(first.dataset["train"], second.dataset["train"], strict=True):
        assert one.sequences["victim"].tobytes() == other.sequences["victim"].tobytes()


@pytest.mark.parametrize(
    "changes",
    [
        {"clips": (0, 1, 1)},
        {"shortest": 5, "longest": 4},
        {"window": 0},
        {"symbols": 5},
        {"dim": 1},
    ],
)
def test_nonsense_is_refused(changes):
    with pytest.raises(ConfigError):
        TwinConfig(**changes)
