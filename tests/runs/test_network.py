"""Strong runs, of several members, resume and load to the bit, and see nothing that is hidden."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from mmalign.errors import CorruptArtifactError
from mmalign.predictor.scaling import Scaling
from mmalign.runs.artifact import artifact_of, load_artifact
from mmalign.runs.manifest import read_record, read_saved
from mmalign.runs.result import RESULT
from mmalign.training.config import STRONG
from tests.training.small import poisoned, small_dataset, small_protocol, small_run, weights

NAMED = {**STRONG, "centre": "visible", "differences": "victim", "epochs": 3, "members": 2}
"""The twin's steps are no signal: `auto` would leave them as they are."""


class KilledError(Exception):
    pass


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("strong") / "run"
    small_run(out, **NAMED).execute()
    return out


def test_a_strong_run_cut_after_an_epoch_ends_with_the_same_bits(finished, tmp_path):
    def cut(record, _training) -> None:
        if record["epoch"] == 2:
            raise KilledError

    with pytest.raises(KilledError):
        small_run(tmp_path / "cut", **NAMED).execute(cut)
    small_run(tmp_path / "cut", **NAMED).execute()
    assert weights(tmp_path / "cut") == weights(finished)


def test_a_strong_model_comes_back_as_it_was(finished, tmp_path):
    kept = []
    small_run(tmp_path / "again", **NAMED).execute(lambda _, training: kept.append(training))
    test = small_protocol().apply(small_dataset())["test"]
    loaded = load_artifact(finished).predictor
    assert torch.equal(loaded.outputs(test), kept[-1].select("A").outputs(test))
    assert loaded.model.scalings["visible"] == Scaling(centre=True, own_scale=False)
    assert loaded.model.scalings["victim"] == Scaling(own_scale=False, differences=True)
    card = (finished / "README.md").read_text()
    assert "epoch 3 of 3, the last one" in card
    assert "Answers are the mean of 2 networks." in card
    assert len(loaded.members) == 2
    assert "visible: each clip centred, one scale for all features. victim: one scale" in card


def test_strong_rows_do_not_see_what_is_hidden(finished, tmp_path):
    dataset = small_dataset()
    train = small_protocol().apply(dataset)["train"]
    hidden = {i for i, has in zip(train.ids, train.is_present("victim"), strict=True) if not has}
    blind = poisoned(dataset, "train", hidden, "victim", 1e6)
    small_run(tmp_path / "blind", dataset=blind, **NAMED).execute()
    assert weights(tmp_path / "blind") == weights(finished)


def test_weights_of_too_many_or_too_few_members_are_refused(finished):
    saved = read_saved(finished)
    for members, problem in (
        (1, "is not known"),
        (3, "but 0 tensors"),
        (10**9, "1000000000 members"),
    ):
        config = {**saved.settings["config"], "members": members}
        other = replace(saved, settings={**saved.settings, "config": config})
        with pytest.raises(CorruptArtifactError, match=problem):
            artifact_of(other, finished)


def test_members_are_one_model_of_so_many_parameters(finished, tmp_path):
    small_run(tmp_path / "one", **{**NAMED, "members": 1, "epochs": 1}).execute()
    several, one = (read_record(out, RESULT)["parameters"] for out in (finished, tmp_path / "one"))
    assert several == {name: 2 * count for name, count in one.items()}
