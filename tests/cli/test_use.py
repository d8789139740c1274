"""A run of experts, trained and used as a stranger would: any modality may be missing."""

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mmalign.data import Classification, write_native
from tests.cli.many import mmalign_many
from tests.experts.made import NAMES, made_dataset


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "made"
    write_native(made_dataset(), path)
    return path


@pytest.fixture(scope="module")
def trained(data, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    train = ["train", data, "--seed", "4", "--set", "epochs=1", "--out", out]
    return out, *mmalign_many([train, train])


@pytest.fixture(scope="module")
def run(trained) -> Path:
    return trained[0]


def test_training_needs_no_options_and_says_what_every_subset_scores(trained):
    run, done, again = trained
    assert done.returncode == 0, done.stderr
    assert "voice: 16 clips, skill 0." in done.stderr
    assert "(3 of 3)" in done.stderr
    for row in ("pose + wrist", "voice", "floor"):
        assert row in done.stdout
    assert json.loads((run / "run.json").read_text())["config"]["seed"] == 4
    assert again.returncode == 0
    assert "already done" in again.stderr


def test_predictions_name_the_modalities_that_were_used(run, data, tmp_path):
    table, few = tmp_path / "all.parquet", tmp_path / "few.csv"
    commands = [
        ["predict", run, data, "--out", table],
        ["predict", run, data, "--out", few, "--without", "pose, voice"],
    ]
    whole, without = mmalign_many(commands)
    assert whole.returncode == 0, whole.stderr
    rows = pq.read_table(table).to_pylist()
    assert len(rows) == 45
    for row in rows:
        assert row["used"] == "+".join(n for n in NAMES if row[f"has_{n}"])
    # Every third training clip lacks its wrist, and then has nothing left.
    assert without.returncode == 0, without.stderr
    assert "note: leaving out 8 clips of train with none of pose, wrist, voice" in without.stderr
    with few.open() as stream:
        assert {row["used"] for row in csv.DictReader(stream)} == {"wrist"}


def test_clips_that_had_only_what_is_taken_away_are_left_out_of_the_score(run, data):
    (done,) = mmalign_many([["evaluate", run, data, "--without", "pose", "--without", "voice"]])
    assert done.returncode == 0, done.stderr
    assert "8 clips of test, 0 with pose, 8 with wrist, 0 with voice" in done.stdout
    assert "leaving out 4 clips of test" in done.stderr


def test_a_file_may_lack_a_modality_of_the_model_altogether(run, tmp_path):
    whole = made_dataset()
    write_native(whole.only(["pose", "wrist"]), tmp_path / "two")
    explain = ["explain", run, tmp_path / "two", "--clip", "person1-1-train"]
    commands = [[*explain, "--out", tmp_path / "why.png"]]
    commands += [["evaluate", run, tmp_path / "two", "--without", "voice"]]
    told, scored = mmalign_many(commands)
    assert told.returncode == 0, told.stderr
    assert "it lacks wrist, voice" in told.stdout
    assert scored.returncode == 0, scored.stderr


def test_one_modality_may_be_taken_away_from_all(run, data, tmp_path):
    few = tmp_path / "few.csv"
    (done,) = mmalign_many([["predict", run, data, "--out", few, "--without", "voice"]])
    assert done.returncode == 0, done.stderr
    with few.open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["has_voice"] for row in rows} == {"False"}
    assert {row["used"] for row in rows} == {"pose", "wrist", "pose+wrist"}


def test_a_run_is_evaluated_beside_the_floor(run, data):
    whole, valid = mmalign_many(
        [
            ["evaluate", run, data],
            ["evaluate", run, data, "--split=valid", "--without", "pose", "--without", "wrist"],
        ]
    )
    assert whole.returncode == 0, whole.stderr
    assert "12 clips of test, 8 with pose, 8 with wrist, 8 with voice" in whole.stdout
    found = json.loads((run / "result.json").read_text())["settings"]["as-is"]["metrics"]["test"]
    assert f"{found['accuracy']:.3f}" in whole.stdout
    assert "9 clips of valid, 0 with pose, 0 with wrist, 9 with voice" in valid.stdout
    assert "floor" in valid.stdout


def test_an_explanation_says_what_each_modality_says(run, data, tmp_path):
    explain = ["explain", run, data, "--clip", "person1-1-train", "--out", tmp_path / "why.png"]
    done, alone = mmalign_many([explain, [*explain, "--without", "pose"]])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "why.png").read_bytes()[:4] == b"\x89PNG"
    assert "; its label is b" in done.stdout
    assert "pose: evidence" in done.stdout
    assert "voice: evidence" in done.stdout
    assert re.search(r"; its label is b; it lacks wrist$", done.stdout.splitlines()[0])
    assert "wrist: evidence" not in done.stdout
    assert re.search(r"voice: evidence [+-][\d.]+; alone . \(0\.\d+\); without it . ", done.stdout)
    assert "without it nothing is left" in alone.stdout


OF_CLIP = ["{run}", "{data}", "--clip", "person1-1-train"]
MISTAKES = [
    (["predict", "{run}", "{data}", "--without", "smell"], "no modality 'smell'"),
    (["evaluate", "{run}", "{data}", "--without", "pose,smell"], "no modality 'smell'"),
    (["predict", "{run}", "{data}", "--without", "pose,wrist,voice"], "leaves none of the run's"),
    (["explain", "{run}", "{data}", "--clip", "x"], "no clip 'x'"),
    (["explain", *OF_CLIP, "--out", "{new}/a.png", "--source", "pose"], "experts do not align"),
    (["evaluate", "{run}", "{data}", "--device", "cuda"], "experts compute on the CPU"),
    (["train", "{data}", "--out", "{new}", "--modalities", "pose,smell"], "no modality 'smell'"),
    (["train", "{data}", "--out", "{new}", "--set", "window=3"], "belongs to the paper's methods"),
    (["train", "{data}", "--out", "{new}", "--set", "epoch=3"], "did you mean 'epochs'"),
    (["train", "{data}", "--out", "{new}", "--visible", "pose"], "both --visible and --victim"),
    (["train", "{data}", "--out", "{new}", "--method", "mmalgn"], "did you mean 'mmalign'"),
    (["train", "{data}", "--out", "{new}", "--setting", "B"], "needs --visible and --victim"),
    (["train", "{data}", "--out", "{new}", "--tensorboard"], "remove the option"),
    (["train", "{data}", "--out", "{new}", "--improved"], "belongs to the paper's methods"),
    (["train", "{data}", "--out", "{new}", "--strong"], "belongs to the paper's methods"),
    (["train", "{data}", "--out", "{new}", "--device", "abacus"], "experts compute on the CPU"),
]


def test_mistakes_are_one_line_and_exit_2(run, data, tmp_path):
    places = {"run": run, "data": data, "new": tmp_path / "new"}
    lines = [[word.format(**places) for word in words] for words, _ in MISTAKES]
    for done, (_, message) in zip(mmalign_many(lines), MISTAKES, strict=True):
        assert done.returncode == 2, done
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "new").exists()


def test_experts_take_the_paper_s_protocol(data, tmp_path):
    pair = ["--visible", "pose", "--victim", "wrist", "--survival", "0.5", "--setting", "B"]
    commands = [
        ["train", data, *pair, "--method", "experts", "--set", "epochs=1", "--out", tmp_path / "a"],
    ]
    (refused,) = mmalign_many(commands)
    assert refused.returncode == 2  # some clips lack their pose
    assert "the visible modality is missing" in refused.stderr


def test_rates_take_modalities_away_and_evaluation_knows(data, tmp_path):
    out = tmp_path / "run"
    rates = ["--survival", "pose=0.5,wrist=0.7,voice=0.2", "--set", "epochs=1"]
    done, masked, as_is = mmalign_many(
        [
            ["train", data, *rates, "--out", out],
            ["evaluate", out, data],
            ["evaluate", out, data, "--as-is"],
        ]
    )
    assert done.returncode == 0, done.stderr
    assert "pose: 12 clips" in done.stderr  # half of 24
    assert "under the masks of the run" in masked.stdout
    assert "12 clips of test, 6 with pose, 8 with wrist, 2 with voice" in masked.stdout
    assert "12 clips of test, 8 with pose, 8 with wrist, 8 with voice" in as_is.stdout
    result = json.loads((out / "result.json").read_text())
    assert result["protocol"]["survival"] == {"pose": 0.5, "wrist": 0.7, "voice": 0.2}


def test_scores_and_methods_are_printed_as_json(run, data):
    scored, listed = mmalign_many([["evaluate", run, data, "--json"], ["methods", "--json"]])
    found = json.loads(scored.stdout)
    assert (found["split"], found["clips"]) == ("test", 12)
    assert 0 <= found["run"]["accuracy"] <= 1
    assert found["floor"].keys() <= found["run"].keys() | {"ece"}
    assert {"method", "parameters", "cost"} <= json.loads(listed.stdout)[0].keys()


def test_one_split_is_predicted_to_the_screen(run, data):
    (done,) = mmalign_many([["predict", run, data, "--split", "test", "--out", "-"]])
    rows = list(csv.DictReader(done.stdout.splitlines()))
    assert len(rows) == 12
    assert {row["split"] for row in rows} == {"test"}
    (wrong,) = mmalign_many([["predict", run, data, "--split", "tset", "--out", "-"]])
    assert "there is no tset split. Choose --split train or --split valid or" in wrong.stderr


def test_chosen_modalities_leave_out_clips_that_have_none_and_say_so(data, tmp_path):
    out = tmp_path / "one"
    train = ["train", data, "--modalities", "pose", "--set", "epochs=1", "--out", out]
    done, scored, unread = mmalign_many(
        [train, ["evaluate", out, data], ["evaluate", out, data, "--without", "wrist"]]
    )
    assert done.returncode == scored.returncode == 0, done.stderr
    assert "note: leaving out 8 clips of train with none of pose" in done.stderr
    assert "8 clips of test, 8 with pose" in scored.stdout
    assert unread.returncode == 2
    assert "the run does not use 'wrist'" in unread.stderr


def test_a_demo_does_not_write_beside_other_files(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    (done,) = mmalign_many([["demo", "--out", tmp_path]])
    assert done.returncode == 2
    assert "not a directory of the demo (it holds thesis.tex)" in done.stderr


def test_a_run_becomes_an_onnx_file(run, tmp_path):
    (done,) = mmalign_many([["export", run, "--to", "onnx", "--out", tmp_path / "model.onnx"]])
    assert done.returncode == 0, done.stderr
    assert "largest difference from the run" in done.stdout
    assert (tmp_path / "model.onnx").stat().st_size > 1000


def test_other_data_is_refused_by_what_differs(run, tmp_path):
    whole = made_dataset()
    named = {"pose": "ankle", "wrist": "sound", "voice": "light"}
    renamed = {
        name: replace(split, sequences={named[n]: c for n, c in split.sequences.items()})
        for name, split in whole.splits.items()
    }
    others = replace(whole, dims={named[n]: dim for n, dim in whole.dims.items()}, splits=renamed)
    write_native(others, tmp_path / "others")
    classes = replace(whole, task=Classification(("b", "c", "d")))
    write_native(classes, tmp_path / "classes")
    asked = [[command, run, tmp_path / "others"] for command in ("evaluate", "predict")]
    asked += [["evaluate", run, tmp_path / "classes"]]
    asked += [["predict", run, tmp_path / "classes", "--out", tmp_path / "found.csv"]]
    evaluated, predicted, labelled, told = mmalign_many(asked)
    for answer, place in ((evaluated, "others"), (predicted, "others"), (labelled, "classes")):
        assert answer.returncode == 2
        assert answer.stderr.startswith(f"error: file {tmp_path / place}: these clips are not what")
    assert "it has ankle [4], sound [3], light [2], the model reads pose [4]" in predicted.stderr
    assert "its labels d are unknown to the model" in labelled.stderr
    assert told.returncode == 0  # labels do not matter to predictions
