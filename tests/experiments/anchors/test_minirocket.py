"""MiniRocket + ridge: what it is given, and what a run of it leaves."""

from dataclasses import replace

import numpy as np
import pytest

from mmalign.data import Dataset, Regression
from mmalign.data.split import Split
from mmalign.data.split_names import SPLITS
from mmalign.errors import ConfigError
from mmalign.experiments.anchors import minirocket, training
from mmalign.experiments.anchors.minirocket import common_length, panel
from mmalign.experiments.anchors.training import Anchors, AnchorTraining
from mmalign.runs.run import Run
from tests.experts.made import NAMES, TASK, made_clips, made_dataset

CLIPS = made_clips(12, seed=0)


def with_holes(clips):
    """Every clip lacks one modality; each class lacks all of them by turns."""
    return [
        replace(clip, sequences={**clip.sequences, NAMES[(row + row // 3) % 3]: None})
        for row, clip in enumerate(clips)
    ]


def holed() -> Dataset:
    clips = {name: with_holes(made_clips(36, seed=seed)) for seed, name in enumerate(SPLITS)}
    return made_dataset(**clips)


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


def constant_anchors(monkeypatch) -> list[tuple[tuple[str, ...], int]]:
    """Anchors that say how many modalities they have; returns what they were trained on."""
    seen = []

    def fit(train, task, *, seed):
        seen.append((train.modalities, len(train)))
        return lambda split: np.full(len(split), len(train.modalities) - 1, train.labels.dtype)

    monkeypatch.setattr(training, "fit_minirocket", fit)
    return seen


def test_each_clip_is_answered_for_by_the_anchor_of_just_what_it_has(monkeypatch):
    seen = constant_anchors(monkeypatch)
    dataset = holed()
    answers = Anchors(dataset, seed=0).predict(dataset["test"])
    assert answers.tolist() == [1] * 36  # every clip lacks one of three
    assert sorted(names for names, _ in seen) == [
        ("pose", "voice"),
        ("pose", "wrist"),
        ("wrist", "voice"),
    ]
    assert {clips for _, clips in seen} == {12}  # those of 36 that have both


def test_where_no_training_clip_has_a_pattern_the_majority_is_said(monkeypatch):
    constant_anchors(monkeypatch)
    dataset = made_dataset(valid=made_clips(6, seed=1))
    answers = Anchors(dataset, seed=0).predict(dataset["valid"])  # all three: none in training
    majority = np.bincount(dataset["train"].labels).argmax()
    assert answers.tolist() == [majority] * 6


def test_a_run_leaves_a_result_with_every_subset(tmp_path):
    pytest.importorskip("sktime")
    dataset = holed()
    trainee = AnchorTraining(dataset=dataset, modalities=("pose", "wrist"))
    result = Run(trainee, tmp_path / "run").execute()
    assert result["method"] == "minirocket"
    found = {tuple(one["modalities"]): one["test"] for one in result["subsets"]}
    assert list(found) == [("pose",), ("wrist",), ("pose", "wrist")]
    for one in found.values():
        assert one["metrics"]["accuracy"] > one["floor"]["accuracy"]
    assert (tmp_path / "run" / "manifest.json").exists()


def test_numbers_are_answered_with_numbers():
    pytest.importorskip("sktime")
    task = Regression(-3, 3)
    splits = {
        name: Split.from_clips(made_clips(18, seed=seed, numbers=True), ["pose"], task)
        for seed, name in enumerate(("train", "valid"))
    }
    dataset = Dataset(task, {"pose": 4}, splits)
    answers = Anchors(dataset, seed=0).predict(dataset["valid"])
    labels = dataset["valid"].labels
    assert answers.dtype == labels.dtype
    assert np.abs(answers - labels).mean() < np.abs(labels - labels.mean()).mean()


def test_what_it_needs_is_said(monkeypatch):
    monkeypatch.setattr(minirocket, "find_spec", lambda name: None)
    trainee = AnchorTraining(dataset=made_dataset(), modalities=NAMES)
    with pytest.raises(ConfigError, match=r"pip install 'mmalign\[anchors\]'"):
        trainee.check()
