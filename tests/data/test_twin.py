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
    window=st.integers(0, 5),
    symbols=st.sampled_from([20, 32]),
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


def share_told_by_one_direction(modality: str, plainness: float) -> float:
    """How often the best single direction of a first step tells the kind of the label."""
    config = TwinConfig(clips=(400, 1, 1), window=0, plainness=plainness)
    train = synthetic_twin(config).dataset["train"]
    first = np.stack([steps[0] for steps in train.sequences[modality]]).astype(np.float64)
    is_high = train.labels >= 2
    weights = np.linalg.lstsq(first - first.mean(0), is_high - is_high.mean(), rcond=None)[0]
    return float((((first - first.mean(0)) @ weights > 0) == is_high).mean())


def test_plainness_shows_the_kind_on_the_victim_s_side_only():
    assert share_told_by_one_direction("victim", 3.0) == 1.0
    assert share_told_by_one_direction("victim", 0.0) < 0.97
    assert share_told_by_one_direction("visible", 3.0) < 0.97


def decode(steps: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The nearest code of every step."""
    return np.linalg.norm(steps[:, None] - codes[None], axis=-1).argmin(axis=1)


def victim_codes(twin) -> np.ndarray:
    """Without noise every step shows its symbol exactly: the distinct steps are the codebook."""
    steps = np.concatenate(twin.dataset["train"].sequences["victim"])
    return np.unique(steps, axis=0)


def test_aligned_steps_show_the_same_symbol():
    """The visible step minus the code of its lag depends on the victim's symbol alone."""
    twin = synthetic_twin(TwinConfig(clips=(300, 1, 1), noise=0.0))
    codes = victim_codes(twin)
    assert len(codes) == 32
    seen: dict[tuple[int, int], list[np.ndarray]] = {}
    for clip in twin.dataset["train"]:
        truth = twin.alignment[clip.id]
        symbols = decode(clip.sequences["victim"], codes)[truth]
        lags = truth - np.arange(len(truth))
        for symbol, lag, step in zip(symbols, lags, clip.sequences["visible"], strict=True):
            seen.setdefault((int(symbol), int(lag)), []).append(step)
    spread = [
        np.median(np.abs(np.array(steps) - np.median(steps, axis=0))) for steps in seen.values()
    ]
    assert len(seen) > 150
    assert max(spread) < 1e-6


def test_lags_vary_in_time_and_between_clips():
    twin = synthetic_twin()
    lags = [
        twin.alignment[clip.id] - np.arange(len(twin.alignment[clip.id]))
        for clip in twin.dataset["test"]
    ]
    assert np.mean([len(set(lag)) > 2 for lag in lags]) > 0.9
    assert set(np.concatenate(lags)) == {-3, -2, -1, 0, 1, 2, 3}


def test_the_label_needs_both_modalities():
    """The victim's first symbol tells the kind, and nothing of the flag; and the reverse."""
    twin = synthetic_twin(TwinConfig(noise=0.0, clips=(2000, 1, 1)))
    codes = victim_codes(twin)
    labels = twin.dataset["train"].labels
    assert np.abs(np.bincount(labels) / len(labels) - 0.25).max() < 0.04
    first = np.array([decode(s[:1], codes)[0] for s in twin.dataset["train"].sequences["victim"]])
    for symbol in range(32):
        chosen = labels[first == symbol]
        assert len(set(chosen // 2)) == 1
        assert 0.2 < (chosen % 2).mean() < 0.8
    moved = [s[0].tobytes() for s in twin.dataset["train"].sequences["visible"]]
    told = {}
    for step, label, clip_id in zip(moved, labels, twin.dataset["train"].ids, strict=True):
        if twin.alignment[clip_id][0] != 0:
            told.setdefault(step, []).append(label // 2)
    shares = [np.mean(kinds) for kinds in told.values() if len(kinds) >= 12]
    assert len(shares) > 20
    assert 0.3 < np.mean(shares) < 0.7
    assert np.mean([0.1 < share < 0.9 for share in shares]) > 0.9


def test_the_same_config_gives_the_same_bytes():
    first, second = (synthetic_twin(TwinConfig(clips=(3, 1, 1))) for _ in range(2))
    for one, other in zip(first.dataset["train"], second.dataset["train"], strict=True):
        assert one.sequences["victim"].tobytes() == other.sequences["victim"].tobytes()


@pytest.mark.parametrize(
    "changes",
    [
        {"clips": (0, 1, 1)},
        {"shortest": 5, "longest": 4},
        {"window": -1},
        {"symbols": 25},
        {"symbols": 8},
        {"dim": 1},
    ],
)
def test_nonsense_is_refused(changes):
    with pytest.raises(ConfigError):
        TwinConfig(**changes)
