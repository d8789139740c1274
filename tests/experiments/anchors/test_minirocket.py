"""MiniRocket + ridge: what it is given, and what it answers."""

from dataclasses import replace

import numpy as np
import pytest

from mmalign.data import Dataset, Regression
from mmalign.data.split import Split
from mmalign.errors import ConfigError
from mmalign.experiments.anchors import minirocket
from mmalign.experiments.anchors.minirocket import common_length, fit_minirocket, panel
from mmalign.training.config import Config
from tests.experts.made import TASK, made_clips

CLIPS = made_clips(12, seed=0)


def test_modalities_are_channels_at_the_median_length_and_gaps_are_bridged():
    split = Split.from_clips(CLIPS, ["pose", "wrist"], TASK)
    lengths = [len(s) for clip in CLIPS for n in ("pose", "wrist") for s in [clip.sequences[n]]]
    steps = common_length(split)
    assert steps == int(np.median(lengths))
    made = panel(split, 18)
    assert made.shape == (12, 4 + 3, 18)
    assert np.array_equal(made[3, :4].T.astype(np.float32), CLIPS[3].sequences["pose"])
    gapped = CLIPS[0].sequences["pose"].copy()
    gapped[5] = np.nan
    torn = replace(CLIPS[0], sequences={"pose": gapped})
    bridged = panel(Split.from_clips([torn], ["pose"], TASK), 18)[0].T
    assert np.allclose(bridged[5], (gapped[4] + gapped[6]) / 2)


def test_what_is_too_short_for_its_kernels_is_stretched():
    assert common_length(Split.from_clips(CLIPS, ["voice"], TASK).only(["voice"])) == 10
    short = [replace(c, sequences={"voice": c.sequences["voice"][:3]}) for c in CLIPS]
    split = Split.from_clips(short, ["voice"], TASK)
    assert panel(split, common_length(split)).shape == (12, 2, minirocket.SHORTEST)


def test_numbers_are_answered_with_numbers():
    pytest.importorskip("sktime")
    task = Regression(-3, 3)
    splits = {
        name: Split.from_clips(made_clips(18, seed=seed, numbers=True), ["pose"], task)
        for seed, name in enumerate(("train", "valid"))
    }
    dataset = Dataset(task, {"pose": 4}, splits)
    answers = fit_minirocket(dataset, Config())(dataset["valid"])
    labels = dataset["valid"].labels
    assert answers.dtype == labels.dtype
    assert np.abs(answers - labels).mean() < np.abs(labels - labels.mean()).mean()


def test_what_it_needs_is_said(monkeypatch):
    monkeypatch.setattr(minirocket, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"pip install 'mmalign\[anchors\]'"):
        minirocket.require_installed()
