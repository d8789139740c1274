"""A network on any number of modalities as a run: the paper's directory, the experts' manners."""

import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow.parquet as pq
import pytest

import mmalign
from mmalign.data import Dataset, SubsetProtocol
from mmalign.errors import DataError, MMAlignError
from mmalign.estimator.network import NetworkMMAlign
from mmalign.evaluation.floors import constant_floor
from mmalign.runs import network_training
from mmalign.runs.manifest import load_masks
from mmalign.runs.network_training import NetworkTraining
from mmalign.runs.run import BrokenOffError, Run
from mmalign.training.methods import configure
from tests.training.joint import TINY, poisoned_holes, whole_twin, with_holes
from tests.training.small import weights

WHOLE = whole_twin()
HOLES = with_holes(WHOLE)


def made_run(out: Path, dataset: Dataset = HOLES, **changes) -> Run:
    ways = {k: changes.pop(k) for k in ("modalities", "protocols") if k in changes}
    config = configure({**TINY, **changes})
    return Run(NetworkTraining(dataset=dataset, config=config, **ways), out)


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("run") / "whole"
    made_run(out, epochs=2).execute()
    return out


def test_the_data_is_hashed_once(tmp_path, monkeypatch):
    hashed = Mock(side_effect=network_training.dataset_hash)
    monkeypatch.setattr(network_training, "dataset_hash", hashed)
    made_run(tmp_path / "run", epochs=1).execute()
    assert hashed.call_count == 1
    known = json.loads((tmp_path / "run" / "manifest.json").read_text())["data"]
    assert f"content hash `{known[:16]}`" in (tmp_path / "run" / "README.md").read_text()


class KilledError(Exception):
    pass


def test_a_run_that_was_cut_ends_with_the_same_bits(finished, tmp_path):
    def cut(*_) -> None:
        raise KilledError

    out = tmp_path / "cut"
    with pytest.raises(KilledError):
        made_run(out, epochs=2).execute(cut)
    with pytest.raises(MMAlignError, match=r"holds another run; config\.modalities was"):
        made_run(out, epochs=2, modalities=("m3", "m1", "m2")).execute()
    epochs = []
    made_run(out, epochs=2).execute(lambda record, _: epochs.append(record["epoch"]))
    assert epochs == [2]  # the first is remembered
    assert weights(out) == weights(finished)
    for name in ("result.json", "metrics.jsonl", "README.md", "config.json"):
        assert (out / name).read_bytes() == (finished / name).read_bytes()
    ours, theirs = (pq.read_table(f / "predictions.parquet") for f in (out, finished))
    assert ours.equals(theirs)


def test_a_run_is_what_the_estimator_fits(finished):
    fitted = mmalign.MMAlign(method="mmalign", **{**TINY, "epochs": 2}).fit(HOLES)
    loaded = mmalign.load(finished)
    assert isinstance(loaded, NetworkMMAlign)
    assert loaded.config == fitted.config
    expected = fitted.predict_proba(HOLES["test"])
    np.testing.assert_array_equal(loaded.predict_proba(HOLES["test"]), expected)


def test_the_result_says_what_each_subset_scores_beside_its_floor(finished):
    result = json.loads((finished / "result.json").read_text())
    model = mmalign.load(finished)
    assert result["settings"]["as-is"]["metrics"]["test"] == model.metrics(HOLES["test"])
    assert (result["protocol"], result["diverged"], result["epochs"]) == (None, None, 2)
    assert len(result["subsets"]) == 7
    found = next(s["test"] for s in result["subsets"] if s["modalities"] == ["m1", "m3"])
    having = HOLES["test"].is_present("m1") & HOLES["test"].is_present("m3")
    clips = HOLES["test"].select(np.flatnonzero(having)).only(["m1", "m3"])
    assert found["clips"] == len(clips) > 0
    assert found["metrics"] == model.metrics(clips)
    floor = constant_floor(HOLES.task, HOLES["train"].labels, clips.labels)
    assert found["floor"] == floor
    card = (finished / "README.md").read_text()
    assert "# mmalign: m1, m2, m3, any of which may be missing" in card
    assert "Setting as-is, epoch" in card
    assert "- m1 + m3, test: " in card


def test_predictions_say_which_modalities_were_used(finished):
    rows = pq.read_table(finished / "predictions.parquet").to_pylist()
    assert len(rows) == len(HOLES["valid"]) + len(HOLES["test"])
    for row in rows:
        assert row["used"] == "+".join(n for n in HOLES.modalities if row[f"has_{n}"])
    assert load_masks(finished) is None


def test_any_modality_may_be_missing_even_if_training_clips_lack_but_one(tmp_path):
    """Two modalities and one direction would be the paper's pair, which needs its first."""
    two = WHOLE.only(["m1", "m2"])
    protocols = {"subsets": SubsetProtocol(survival={"m2": 0.5})}
    result = made_run(tmp_path / "run", two, protocols=protocols).execute()
    assert list(result["settings"]) == ["subsets"]
    assert result["protocol"]["survival"] == {"m2": 0.5}
    masks = load_masks(tmp_path / "run")
    model = mmalign.load(tmp_path / "run")
    assert model.needs == ()
    assert model.predict(two["test"].without("m1", two["test"].ids)).shape == (7,)
    seen = masks.apply(two)["test"]
    assert result["settings"]["subsets"]["metrics"]["test"] == model.metrics(seen)


@pytest.mark.parametrize("method", ["lb", "ub"])
def test_a_bound_is_the_dedicated_network_of_its_modalities(tmp_path, method):
    made_run(tmp_path / "holes", modalities=("m2",), method=method).execute()
    splits = {
        name: split.select(np.flatnonzero(split.is_present("m2")))
        for name, split in HOLES.splits.items()
    }
    result = made_run(
        tmp_path / "having", replace(HOLES, splits=splits), modalities=("m2",), method=method
    ).execute()
    assert weights(tmp_path / "holes") == weights(tmp_path / "having")
    assert [found["modalities"] for found in result["subsets"]] == [["m2"]]
    assert "# " + method + ": m2 alone" in (tmp_path / "holes" / "README.md").read_text()
    with pytest.raises(DataError, match="none of m2 is there"):
        mmalign.load(tmp_path / "holes").predict({"m1": np.zeros((3, 3))})


def test_what_a_protocol_hides_changes_no_bit(tmp_path):
    protocols = {"subsets": SubsetProtocol(survival={"m1": 0.5, "m3": 0.5})}
    ways = {"protocols": protocols, "method": "zero-fill"}
    made_run(tmp_path / "whole", WHOLE, **ways).execute()
    lost = load_masks(tmp_path / "whole").missing
    splits = {}
    for name, split in WHOLE.splits.items():
        columns = {
            m: [
                np.full_like(steps, np.nan) if clip_id in lost[name][m] else steps
                for clip_id, steps in zip(split.ids, column, strict=True)
            ]
            for m, column in split.sequences.items()
        }
        splits[name] = replace(split, sequences=columns)
    made_run(tmp_path / "nan", replace(WHOLE, splits=splits), **ways).execute()
    assert weights(tmp_path / "nan") == weights(tmp_path / "whole")


def test_a_run_that_diverges_keeps_its_best_epoch(tmp_path):
    broken = made_run(tmp_path / "run", epochs=3, fit_learning_rate=1e38, warm_up=1)
    with pytest.raises(BrokenOffError, match="The best epoch before that, 1 of 1, is saved"):
        broken.execute()
    assert "Training diverged in epoch 2" in (tmp_path / "run" / "README.md").read_text()
    assert mmalign.load(tmp_path / "run").predict(HOLES["test"]).shape == (7,)


def test_data_that_cannot_be_learned_is_told_before_anything_is_written(tmp_path):
    bare = HOLES["test"]
    for name in HOLES.modalities:
        bare = bare.without(name, {bare.ids[2]})
    lost = HOLES["valid"].without("m1", HOLES["valid"].ids)
    for changed, options, message in (
        ({"test": bare}, {}, "split test, clip test-00002: none of m1, m2, m3 is there"),
        ({"valid": lost}, {"method": "lb"}, "split valid: no clip has all of m1, m2, m3"),
        ({"valid": replace(HOLES["valid"], labels=None)}, {}, "split valid: training needs labels"),
        ({}, {"modalities": ("smell",)}, "no modality 'smell'"),
        ({}, {"protocols": {"s": SubsetProtocol(survival={"smell": 0.5})}}, "no modality 'smell'"),
        ({"train": poisoned_holes(WHOLE)["train"]}, {}, "split train, clip .*non-finite"),
    ):
        data = replace(HOLES, splits={**HOLES.splits, **changed})
        with pytest.raises(DataError, match=message):
            made_run(tmp_path / "run", data, **options).execute()
    assert not (tmp_path / "run").exists()
