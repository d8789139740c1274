"""Run directories: killed at any instant they resume to the same bits; they never mix."""

import json
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow.parquet as pq
import pytest

from mmalign.data import Masks
from mmalign.errors import CorruptArtifactError, DataError, MMAlignError
from mmalign.runs import pair_training, run
from mmalign.runs.artifact import load_artifact
from mmalign.runs.checkpoint import CHECKPOINT
from mmalign.runs.machine import describe_machine
from mmalign.runs.manifest import load_masks
from mmalign.training.losses import TrainingError
from tests.training.small import (
    poisoned,
    small_dataset,
    small_protocol,
    small_run,
    weights,
)


def ignore(*_: object) -> None:
    """An epoch callback that does nothing."""


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("run") / "whole"
    small_run(out).execute(ignore)
    return out


def test_the_data_is_hashed_once(tmp_path, monkeypatch):
    hashed = Mock(side_effect=pair_training.dataset_hash)
    monkeypatch.setattr(pair_training, "dataset_hash", hashed)
    small_run(tmp_path / "run", epochs=1).execute(ignore)
    assert hashed.call_count == 1
    known = json.loads((tmp_path / "run" / "manifest.json").read_text())["data"]
    assert f"content hash `{known[:16]}`" in (tmp_path / "run" / "README.md").read_text()


class KilledError(Exception):
    pass


@pytest.fixture(scope="module")
def finished_smil(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("run") / "smil"
    small_run(out, method="smil").execute(ignore)
    return out


@pytest.mark.parametrize(
    ("method", "epoch"), [("mmalign", 1), ("mmalign", 2), ("mmalign", 3), ("smil", 1), ("smil", 3)]
)
def test_a_run_cut_after_any_epoch_ends_with_the_same_bits(
    finished, finished_smil, tmp_path, method, epoch
):
    """SMIL keeps centres beside its weights; they go on from where they were."""
    whole = finished_smil if method == "smil" else finished
    out = tmp_path / "cut"

    def cut(record, _training) -> None:
        if record["epoch"] == epoch:
            raise KilledError

    with pytest.raises(KilledError):
        small_run(out, method=method).execute(cut)
    small_run(out, method=method).execute(ignore)
    assert weights(out) == weights(whole)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert lines == [
        json.loads(line) for line in (whole / "metrics.jsonl").read_text().splitlines()
    ]


def test_kills_at_random_instants_lose_nothing(tmp_path, record_property):
    """The child is killed without warning, again and again, until it gets through."""
    kills = killed(tmp_path, 30)
    record_property("figure", f"{kills} kills, every run with the same bits")
    assert kills >= 30


@pytest.mark.nightly
def test_two_thousand_kills_lose_nothing(tmp_path, record_property):
    kills = killed(tmp_path, 2000)
    record_property("figure", f"{kills} kills, every run with the same bits")
    assert kills >= 2000


def killed(folder: Path, wanted: int) -> int:
    """Kill runs until so many kills are survived, each run ending with the same bits."""
    small_run(folder / "warm", epochs=1).execute(ignore)  # compiles what is compiled once
    started = time.monotonic()
    small_run(folder / "whole", epochs=25).execute(ignore)
    seconds = time.monotonic() - started
    chance = random.Random(0)
    kills = 0
    while kills < wanted:
        out = folder / f"killed-{kills}"
        most = min(wanted, kills + 30)
        while not (out / "manifest.json").exists():
            child = os.fork()
            if child == 0:
                try:
                    small_run(out, epochs=25).execute(ignore)
                finally:
                    os._exit(0)
            if kills < most:
                time.sleep(chance.uniform(0, seconds / 8))
                os.kill(child, signal.SIGKILL)
                kills += 1
            os.waitpid(child, 0)
        assert weights(out) == weights(folder / "whole")
        assert [path.name for path in (out / "checkpoint").iterdir()] == ["state.safetensors"]
        assert not [
            path for path in out.iterdir() if path.name.startswith(".") and path.name != ".lock"
        ]
    return kills


def test_a_run_directory_holds_what_it_promises(finished):
    names = {path.name for path in finished.iterdir()}
    assert names >= {
        "config.json",
        "model.safetensors",
        "README.md",
        "manifest.json",
        "metrics.jsonl",
        "result.json",
        "predictions.parquet",
        "masks.json",
        "checkpoint",
    }
    result = json.loads((finished / "result.json").read_text())
    assert result["parameters"]["backbone"] > result["parameters"]["imputer"] > 0
    assert set(result["settings"]) == {"A"}
    found = result["settings"]["A"]
    assert set(found["metrics"]) == {"valid", "test"}
    assert result["diverged"] is None
    table = pq.read_table(finished / "predictions.parquet").to_pydict()
    hits = [
        p == y
        for p, y, s in zip(table["prediction"], table["label"], table["split"], strict=True)
        if s == "test"
    ]
    assert sum(hits) / len(hits) == pytest.approx(found["metrics"]["test"]["accuracy"])
    masks = Masks.load(finished / "masks.json")
    assert masks.protocol == small_protocol()
    assert load_masks(finished) == masks
    assert not any(table["has_victim"])


def test_the_same_seed_gives_the_same_bits_and_another_seed_others(finished, tmp_path):
    small_run(tmp_path / "again").execute(ignore)
    assert weights(tmp_path / "again") == weights(finished)
    small_run(tmp_path / "other", seed=1).execute(ignore)
    assert weights(tmp_path / "other") != weights(finished)


@pytest.mark.parametrize("method", ["mmalign", "smil"])
def test_nothing_sees_the_victim_of_a_missing_clip(finished, finished_smil, tmp_path, method):
    """Victim features of clips that are declared missing become NaN: not a bit changes."""
    whole = finished_smil if method == "smil" else finished
    dataset = small_dataset()
    missing = small_protocol().masks(dataset).missing
    for split, ids in missing.items():
        dataset = poisoned(dataset, split, set(ids), "victim", float("nan"))
    small_run(tmp_path / "nan", dataset=dataset, method=method).execute(ignore)
    assert weights(tmp_path / "nan") == weights(whole)
    first, second = (
        pq.read_table(out / "predictions.parquet") for out in (tmp_path / "nan", whole)
    )
    assert first.equals(second)


def test_the_test_split_has_no_say_in_training(finished, tmp_path):
    dataset = small_dataset()
    dataset = poisoned(dataset, "test", set(dataset["test"].ids), "visible", 9.0)
    small_run(tmp_path / "other-test", dataset=dataset).execute(ignore)
    assert weights(tmp_path / "other-test") == weights(finished)


def test_a_finished_run_is_not_touched(finished):
    before = weights(finished)
    with pytest.raises(MMAlignError, match="this run is finished"):
        small_run(finished).execute(ignore)
    assert weights(finished) == before


def interrupted(out: Path) -> Path:
    def cut(*_: object) -> None:
        raise KilledError

    with pytest.raises(KilledError):
        small_run(out).execute(cut)
    return out


def test_a_changed_config_or_dataset_is_refused_with_the_difference(tmp_path):
    out = interrupted(tmp_path / "run")
    with pytest.raises(MMAlignError, match=r"config\.window was 2, is 3"):
        small_run(out, window=3).execute(ignore)
    dataset = small_dataset()
    changed = poisoned(dataset, "train", {dataset["train"].ids[0]}, "visible", 0.5)
    with pytest.raises(MMAlignError, match=r"holds another run; data was [0-9a-f]{8}…, is"):
        small_run(out, dataset=changed).execute(ignore)
    small_run(out).execute(ignore)


def test_another_machine_is_refused_with_the_difference(tmp_path, monkeypatch):
    out = interrupted(tmp_path / "run")
    here = describe_machine()
    for fact in ("architecture", "processor", "python", "torch", "numba"):
        elsewhere = {**here, fact: "another"}
        monkeypatch.setattr(run, "describe_machine", lambda facts=elsewhere: facts)
        with pytest.raises(MMAlignError, match=rf"holds another run; {fact} was .*, is 'another'"):
            small_run(out).execute(ignore)


def test_a_run_killed_at_birth_can_be_started_again(tmp_path):
    (tmp_path / "run" / "checkpoint").mkdir(parents=True)
    (tmp_path / "run" / ".lock").touch()
    (tmp_path / "run" / ".run.json.k1ll3d__").touch()
    assert small_run(tmp_path / "run").execute(ignore)["epochs"] == 4


def test_a_run_that_diverges_ends_with_its_best_epoch(tmp_path):
    """The imputer's first steps, after the warm-up, are the ones that go wrong."""
    out = tmp_path / "run"
    with pytest.raises(
        TrainingError, match=r"Lower .* that, [12] of 2, is saved in .*run: mmalign"
    ):
        small_run(out, fit_learning_rate=1e38, warm_up=2).execute(ignore)
    result = json.loads((out / "result.json").read_text())
    assert result["epochs"] == 2
    assert "loss is nan" in result["diverged"]
    assert "Training diverged in epoch 3: the fit loss is nan" in (out / "README.md").read_text()
    predictor = load_artifact(out).predictor
    assert load_masks(out).protocol == small_protocol()
    seen = small_protocol().apply(small_dataset())
    assert predictor.evaluate(seen["test"]) == pytest.approx(
        result["settings"]["A"]["metrics"]["test"]
    )
    with pytest.raises(MMAlignError, match="this run is finished"):
        small_run(out, fit_learning_rate=1e38, warm_up=2).execute(ignore)


def test_a_run_that_diverges_at_once_claims_nothing(tmp_path):
    with pytest.raises(TrainingError) as caught:
        small_run(tmp_path / "run", learning_rate=1e38).execute(ignore)
    assert str(caught.value).endswith("look for extreme feature values.")
    assert not (tmp_path / "run" / "manifest.json").exists()
    assert not (tmp_path / "run" / CHECKPOINT).exists()


def test_a_window_that_cannot_reach_is_told_before_anything_is_written(tmp_path):
    dataset = small_dataset()
    train = dataset["train"]
    long = [np.zeros((40, 6), np.float32) for _ in train.ids]
    stretched = replace(train, sequences={**train.sequences, "victim": long})
    dataset = replace(dataset, splits={**dataset.splits, "train": stretched})
    with pytest.raises(DataError, match=r"clip train-\d+: window 2 cannot reach .* --set window="):
        small_run(tmp_path / "run", dataset=dataset).execute(ignore)
    assert not (tmp_path / "run").exists()


def test_epochs_are_all_epochs(tmp_path):
    result = small_run(tmp_path / "run", epochs=5, patience=5).execute(ignore)
    assert result["epochs"] == 5


@pytest.mark.parametrize(
    ("epochs", "warm_up", "warm"), [(1, 1, 0), (2, 1, 1), (3, 9, 2), (2, 0, 0)]
)
def test_the_last_epoch_is_no_warm_up(tmp_path, epochs, warm_up, warm):
    changes = {"epochs": epochs, "warm_up": warm_up, "patience": 9}
    records = []
    small_run(tmp_path / "run", **changes).execute(lambda record, _: records.append(record))
    denoised = [record["epoch"] for record in records if "missing" in record["losses"]]
    assert denoised == list(range(warm + 1, epochs + 1))


def test_patience_starts_after_the_warm_up(tmp_path):
    result = small_run(tmp_path / "run", warm_up=5, patience=2, epochs=20).execute(ignore)
    assert result["epochs"] >= 7


def test_a_foreign_directory_is_refused(tmp_path):
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(MMAlignError, match="not a run directory"):
        small_run(tmp_path).execute(ignore)


def test_a_directory_of_hidden_files_is_refused_and_left_alone(tmp_path):
    (tmp_path / ".env.local").write_text("mine")
    (tmp_path / ".git").mkdir()
    with pytest.raises(MMAlignError, match="not a run directory"):
        small_run(tmp_path).execute(ignore)
    assert {path.name for path in tmp_path.iterdir()} == {".env.local", ".git"}


def test_resuming_removes_the_run_s_own_drafts_only(tmp_path):
    out = interrupted(tmp_path / "run")
    drafts = [out / ".result.json.ab12_xyz", out / "checkpoint" / ".state.safetensors.0123abcd"]
    others = [out / ".dvc.yaml", out / ".result.json.swp", out / "checkpoint" / ".keep.me"]
    for file in (*drafts, *others):
        file.write_text("something")
    small_run(out).execute(ignore)
    assert not any(file.exists() for file in drafts)
    assert all(file.exists() for file in others)


def test_a_run_tells_what_it_resumes(tmp_path):
    told: list[str] = []
    fresh = small_run(tmp_path / "fresh", epochs=1)
    fresh.execute(ignore, told.append)
    assert told == []
    out = interrupted(tmp_path / "run")
    epochs = len((out / "metrics.jsonl").read_text().splitlines())
    small_run(out).execute(ignore, told.append)
    assert told == [f"epoch {epochs}"]


def test_a_busy_directory_is_refused(tmp_path):
    out = tmp_path / "busy"

    def again(*_: object) -> None:
        small_run(out).execute(ignore)

    with pytest.raises(MMAlignError, match="another process is training here"):
        small_run(out).execute(again)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    out = interrupted(tmp_path / "run")
    content = bytearray((out / CHECKPOINT).read_bytes())
    for place in (10, len(content) // 2, len(content) - 5):
        damaged = bytearray(content)
        damaged[place] ^= 1
        (out / CHECKPOINT).write_bytes(damaged)
        with pytest.raises(CorruptArtifactError, match="not those that were written"):
            small_run(out).execute(ignore)
    (out / CHECKPOINT).write_bytes(content[:100])
    with pytest.raises(CorruptArtifactError):
        small_run(out).execute(ignore)


def test_a_damaged_artifact_never_loads(finished, tmp_path):
    import shutil

    readers = {"model.safetensors": load_artifact, "config.json": load_artifact}
    for name, read in (readers | {"masks.json": load_masks}).items():
        copy = tmp_path / name
        shutil.copytree(finished, copy)
        content = bytearray((copy / name).read_bytes())
        for place in range(0, len(content), max(1, len(content) // 50)):
            damaged = bytearray(content)
            damaged[place] ^= 4
            (copy / name).write_bytes(damaged)
            with pytest.raises(CorruptArtifactError, match=name):
                read(copy)
    (copy / "manifest.json").write_text("{}")
    with pytest.raises(CorruptArtifactError, match="not a manifest"):
        load_artifact(copy)
    with pytest.raises(MMAlignError, match="not a finished run"):
        load_artifact(tmp_path / "nowhere")
    (tmp_path / "stopped").mkdir()
    (tmp_path / "stopped" / "run.json").write_text("{}")
    with pytest.raises(MMAlignError, match=r"its training was stopped\. Repeat the command"):
        load_artifact(tmp_path / "stopped")


def test_training_needs_complete_clips_and_known_modalities(tmp_path):
    with pytest.raises(DataError, match="no training clip has the victim"):
        small_run(tmp_path / "a", protocols=(small_protocol(survival=0.01),)).execute(ignore)
    with pytest.raises(DataError, match="no modality 'smell'"):
        small_run(tmp_path / "b", protocols=(replace(small_protocol(), victim="smell"),)).execute(
            ignore
        )
