"""Experts as a run: the same directory, the same manners, for every subset of modalities."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import mmalign
from mmalign.data import Dataset, Protocol
from mmalign.errors import CorruptArtifactError, DataError, MMAlignError
from mmalign.evaluation.floors import constant_floor
from mmalign.runs.artifact import load_artifact
from mmalign.runs.checkpoint import CHECKPOINT
from mmalign.runs.experts_training import ExpertsTraining
from mmalign.runs.manifest import load_masks
from mmalign.runs.run import Run
from tests.experts.made import DIMS, NAMES, TASK, made_clips, made_dataset, only, with_holes
from tests.training.small import weights


def made_run(out: Path, dataset: Dataset | None = None, **changes) -> Run:
    dataset = made_dataset() if dataset is None else dataset
    return Run(ExpertsTraining(**({"dataset": dataset, "epochs": 1} | changes)), out)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("run") / "whole"
    made_run(out).execute()
    return out


def test_members_of_experts_are_part_of_the_run(tmp_path):
    run = made_run(tmp_path / "run", members=2)
    run.execute()
    assert mmalign.load(tmp_path / "run").get_params()["members"] == 2
    with pytest.raises(MMAlignError, match="members"):
        made_run(tmp_path / "run", members=3).execute()


class KilledError(Exception):
    pass


def cut_after(number: int, out: Path) -> None:
    def cut(record, modalities) -> None:
        if modalities.index(record["modality"]) == number:
            raise KilledError

    with pytest.raises(KilledError):
        made_run(out).execute(cut)


@pytest.mark.parametrize("number", [0, 2])
def test_a_run_cut_after_any_modality_ends_with_the_same_bits(finished, tmp_path, number):
    out = tmp_path / "cut"
    cut_after(number, out)
    learned = []
    made_run(out).execute(lambda record, _: learned.append(record["modality"]))
    assert learned == list(NAMES[number + 1 :])  # the others are remembered
    assert weights(out) == weights(finished)
    for name in ("result.json", "metrics.jsonl", "README.md", "config.json"):
        assert (out / name).read_bytes() == (finished / name).read_bytes()
    assert pq.read_table(out / "predictions.parquet").equals(
        pq.read_table(finished / "predictions.parquet")
    )


def test_a_run_directory_holds_what_it_promises(finished):
    names = {path.name for path in finished.iterdir()} - {".lock"}
    assert names == {
        "run.json",
        "config.json",
        "model.safetensors",
        "README.md",
        "manifest.json",
        "metrics.jsonl",
        "result.json",
        "predictions.parquet",
        "timing.json",
        "checkpoint",
    }
    card = (finished / "README.md").read_text()
    assert "Data: train 24 clips, valid 9 clips, test 12 clips; content hash `" in card
    assert "Protocol: none, modalities are missing as they were recorded." in card
    assert "Limits: " in card
    assert all(f"| {name} | {dim} | a " in card for name, dim in DIMS.items())
    assert load_masks(finished) is None
    with pytest.raises(MMAlignError, match="of experts, which do not align"):
        load_artifact(finished)


def test_the_result_says_what_each_subset_scores_beside_its_floor(finished):
    result = json.loads((finished / "result.json").read_text())
    model = mmalign.load(finished)
    data = made_dataset()
    found = result["settings"]["as-is"]["metrics"]
    for split in ("valid", "test"):
        assert {n: found[split][n] for n in found[split] if n != "ece"} == model.metrics(
            data[split]
        )
        assert 0 <= found[split]["ece"] <= 1
    assert len(result["subsets"]) == 7
    both = next(s for s in result["subsets"] if s["modalities"] == ["pose", "wrist"])
    having = [c for c in with_holes(made_clips(12, seed=2)) if c.sequences["voice"] is None]
    assert both["test"]["clips"] == len(having) == 4
    expected = model.metrics(only(having, "pose", "wrist"))
    assert {n: v for n, v in both["test"]["metrics"].items() if n != "ece"} == expected
    errors = both["test"]["errors"]
    assert 1 - np.mean(errors) == pytest.approx(expected["accuracy"])
    assert len(errors) == len(having)
    labels = np.array(["abc".index(clip.label) for clip in having])
    assert both["test"]["floor"] == constant_floor(TASK, data["train"].labels, labels)
    alone = next(s for s in result["subsets"] if s["modalities"] == list(NAMES))
    assert "test" not in alone  # no test clip has all three
    assert alone["valid"]["clips"] == 9
    bins = result["settings"]["as-is"]["reliability"]["test"]
    assert sum(one["clips"] for one in bins) == 12
    assert sum(one["clips"] for one in both["test"]["reliability"]) == len(having)
    assert set(result["modalities"]["pose"]) == {"sense", "clips", "skill", "weight"}


def test_predictions_say_which_modalities_were_used(finished):
    rows = pq.read_table(finished / "predictions.parquet").to_pylist()
    assert len(rows) == 21
    for row in rows:
        has = [name for name in NAMES if row[f"has_{name}"]]
        assert row["used"] == "+".join(has)
        assert len(has) == (3 if row["split"] == "valid" else 2)
        shares = [row[f"probability/{name}"] for name in "abc"]
        assert sum(shares) == pytest.approx(1)
        assert row["prediction"] == "abc"[int(np.argmax(shares))]


def test_a_finished_a_foreign_and_a_changed_run_are_refused(finished, tmp_path):
    with pytest.raises(MMAlignError, match="this run is finished"):
        made_run(finished).execute()
    out = tmp_path / "run"
    cut_after(0, out)
    with pytest.raises(MMAlignError, match=r"config\.seed was 0, is 1"):
        made_run(out, seed=1).execute()
    with pytest.raises(MMAlignError, match=r"holds another run; config\.modalities was"):
        made_run(out, modalities=("pose", "wrist")).execute()
    fewer = made_dataset(train=made_clips(24, seed=5))
    with pytest.raises(MMAlignError, match=r"holds another run; data was [0-9a-f]{8}…, is"):
        made_run(out, fewer).execute()
    content = bytearray((out / CHECKPOINT).read_bytes())
    content[len(content) // 2] ^= 1
    (out / CHECKPOINT).write_bytes(content)
    with pytest.raises(CorruptArtifactError, match="not those that were written"):
        made_run(out).execute()


def test_data_that_cannot_be_learned_is_told_before_anything_is_written(tmp_path):
    bare = [replace(c, sequences={}) for c in made_clips(2, seed=3)]
    rare = [*only(made_clips(8, seed=0), "pose", "wrist"), made_clips(9, seed=0)[8]]
    nameless = [replace(c, label=None) for c in made_clips(4, seed=3)]
    for data, changes, message in (
        (made_dataset(test=bare), {}, "split test, clip .*: the clip has none of the modalities"),
        (made_dataset(train=rare), {}, "split train, modality voice: fewer than two"),
        (made_dataset(), {"modalities": ("smell",)}, "no modality 'smell'"),
        (made_dataset(), {"modalities": ("pose",)}, "split train, clip .*: the clip has none"),
        (made_dataset(train=nameless), {}, "training needs labels"),
        (made_dataset(train=None), {}, "no train split"),
    ):
        with pytest.raises(DataError, match=message):
            made_run(tmp_path / "run", data, **changes).execute()
    assert not (tmp_path / "run").exists()


def test_data_may_lack_valid_and_test(tmp_path):
    result = made_run(tmp_path / "run", made_dataset(valid=None, test=None)).execute()
    assert result["settings"]["as-is"]["metrics"] == {}
    assert mmalign.load(tmp_path / "run").predict(made_clips(3, seed=9)).shape == (3,)


def test_protocols_take_modalities_away_and_each_setting_is_scored(tmp_path):
    data = made_dataset(train=made_clips(24, seed=0), test=made_clips(12, seed=2))
    protocol = Protocol(visible="pose", victim="wrist", survival=0.5)
    protocols = {s: replace(protocol, setting=s) for s in "AB"}
    out = tmp_path / "run"
    result = made_run(out, data, modalities=("pose", "wrist"), protocols=protocols).execute()
    assert list(result["settings"]) == ["A", "B"]
    assert load_masks(out).protocol == protocol
    model = mmalign.load(out)
    for setting, found in result["settings"].items():
        test = protocols[setting].apply(data)["test"]
        assert found["metrics"]["test"]["accuracy"] == model.metrics(test)["accuracy"]
    assert result["modalities"]["wrist"]["clips"] == 12
    hidden = {c.id for c in data["train"]} & set(load_masks(out).missing["train"])
    poisoned = [
        replace(c, sequences={**c.sequences, "wrist": c.sequences["wrist"] * np.float32("nan")})
        if f"{c.id}-train" in hidden
        else c
        for c in made_clips(24, seed=0)
    ]
    again = made_dataset(train=poisoned, test=made_clips(12, seed=2))
    other = made_run(tmp_path / "nan", again, modalities=("pose", "wrist"), protocols=protocols)
    other.execute()
    assert weights(tmp_path / "nan") == weights(out)
