"""A network on data as it is, trained and used as a stranger would."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmalign.data import write_native
from tests.cli.many import mmalign_many
from tests.training.joint import TINY, whole_twin, with_holes

WHOLE = whole_twin()
SMALL = [word for name, value in TINY.items() for word in ("--set", f"{name}={value}")]
NETWORK = ["--method", "mmalign", *SMALL, "--set", "members=2"]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "joint"
    write_native(with_holes(WHOLE), path)
    write_native(WHOLE, path.parent / "whole")
    return path


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    (done,) = mmalign_many([["train", data, *NETWORK, "--out", out]])
    return out, done


def test_training_says_what_every_subset_scores(trained):
    run, done = trained
    assert done.returncode == 0, done.stderr
    assert "epoch 1: valid as-is accuracy" in done.stderr
    for row in ("m1 + m3", "m2", "floor"):
        assert row in done.stdout
    assert json.loads((run / "run.json").read_text())["config"]["modalities"] == ["m1", "m2", "m3"]


def test_the_run_predicts_without_modalities_is_scored_and_explains(trained, data, tmp_path):
    run, whole = trained[0], data.parent / "whole"
    table, picture = tmp_path / "p.parquet", tmp_path / "plan.png"
    explain = ["explain", run, whole, "--clip", "test-00001", "--out", picture]
    predicted, evaluated, explained, unnamed = mmalign_many(
        [
            ["predict", run, whole, "--without", "m1,m3", "--out", table],
            ["evaluate", run, data],
            [*explain, "--source", "m1", "--target", "m2"],
            explain,
        ]
    )
    assert predicted.returncode == 0, predicted.stderr
    rows = pq.read_table(table).to_pylist()
    assert {(row["used"], row["has_m1"], row["has_m2"]) for row in rows} == {("m2", False, True)}
    assert len(rows) == 26
    result = json.loads((run / "result.json").read_text())
    accuracy = result["settings"]["as-is"]["metrics"]["test"]["accuracy"]
    assert evaluated.returncode == 0, evaluated.stderr
    assert f"{accuracy:.3f}" in evaluated.stdout
    assert explained.returncode == 0, explained.stderr
    assert "its label is" in explained.stdout
    assert {f"without {m}:" in explained.stdout for m in ("m1", "m2", "m3")} == {True}
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert unnamed.returncode == 2
    assert "give both source and target; this model aligns m2 to m1" in unnamed.stderr


def test_rates_take_modalities_away_and_evaluation_knows(data, tmp_path):
    whole, out, alone = data.parent / "whole", tmp_path / "run", tmp_path / "alone"
    network = ["--method", "copy", *SMALL]
    done, masked, dedicated, unaligned = mmalign_many(
        [
            ["train", whole, *network, "--survival", "m1=0.5,m3=0.5", "--out", out],
            ["evaluate", out, whole],
            ["train", data, "--method", "lb", *SMALL, "--modalities", "m2", "--out", alone],
            ["explain", alone, whole, "--clip", "test-00001", "--out", tmp_path / "p.png"],
        ]
    )
    assert done.returncode == 0, done.stderr
    assert "under the masks of the run" in masked.stdout
    assert "7 clips of test, 3 with m1, 7 with m2, 3 with m3" in masked.stdout
    assert dedicated.returncode == 0, dedicated.stderr
    assert json.loads((alone / "config.json").read_text())["modalities"] == ["m2"]
    assert unaligned.returncode == 2
    assert "method 'lb' does not align modalities" in unaligned.stderr


MISTAKES = [
    (["--modalities", "m1,smell"], "no modality 'smell'"),
    (["--survival", "smell=0.5"], "no modality 'smell'"),
    (["--survival", "0.5"], "not of the form modality=rate"),
    (["--set", "windw=3"], "did you mean 'window'"),
    (["--setting", "B"], "needs --visible and --victim"),
    (["--device", "abacus"], "device 'abacus'"),
]


def test_mistakes_are_one_line_and_exit_2(trained, data, tmp_path):
    start = ["train", data, *NETWORK, "--out", tmp_path / "new"]
    lines = [[*start, *words] for words, _ in MISTAKES]
    lines.append(["predict", trained[0], data, "--without", "smell"])
    messages = [message for _, message in MISTAKES] + ["no modality 'smell'"]
    for done, message in zip(mmalign_many(lines), messages, strict=True):
        assert done.returncode == 2, done
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "new").exists()
