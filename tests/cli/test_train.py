"""`mmalign train`, `evaluate`, `predict` and `explain`, run as a stranger would."""

import csv
import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from mmalign.data import load_dataset, write_native
from tests.cli.many import mmalign_many
from tests.cli.test_data import mmalign
from tests.data.readers.conftest import misa_rows, write_misa
from tests.forked import Forked
from tests.training.small import poisoned, small_dataset

FLAGS = ["--visible", "visible", "--victim", "victim", "--survival", "0.5"]
SETTINGS = ["dim=8", "heads=2", "window=2", "epochs=2", "batch_size=16"]
SMALL = [word for setting in SETTINGS for word in ("--set", setting)]


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "twin"
    write_native(small_dataset(), path)
    return path


@pytest.fixture(scope="module")
def run(data, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    done = mmalign("train", data, *FLAGS, *SMALL, "--out", out, "--improved", "--tensorboard")
    assert done.returncode == 0, done.stderr
    assert "epoch 1 (warm-up): valid A accuracy" in done.stderr
    assert "floor, test" in done.stdout
    return out


def test_a_run_can_be_evaluated(run, data):
    result = json.loads((run / "result.json").read_text())
    found = result["settings"]["A"]["metrics"]["test"]
    assert found["accuracy"] is not None
    (done,) = mmalign_many([["evaluate", run, data]])
    assert done.returncode == 0, done.stderr
    assert "under the masks of the run" in done.stdout
    assert "16 clips of test, 0 with victim" in done.stdout
    assert f"{found['accuracy']:.3f}" in done.stdout
    assert "floor" in done.stdout


def test_other_data_of_the_same_ids_is_scored_as_it_is(run, data, tmp_path):
    other = poisoned(small_dataset(), "train", {"train-00000"}, "visible", 0.5)
    write_native(other, tmp_path / "other")
    write_native(small_dataset().only(["visible"]), tmp_path / "alone")
    own, foreign, alone, chosen = mmalign_many(
        [
            ["evaluate", run, data],
            ["evaluate", run, tmp_path / "other"],
            ["evaluate", run, tmp_path / "alone"],
            ["evaluate", run, data, "--as-is"],
        ]
    )
    assert "16 clips of test, 0 with victim" in own.stdout
    assert "not the data that the run was trained on: scored without" in foreign.stdout
    assert "16 clips of test, 16 with victim" in foreign.stdout
    assert "not the data that the run was trained on" in alone.stdout
    assert chosen.stdout.startswith("16 clips of test, 16 with victim")


@pytest.mark.parametrize("ending", ["parquet", "CSV", "jsonl"])
def test_predictions_in_every_format(run, data, tmp_path, ending):
    out = tmp_path / f"predictions.{ending}"
    (done,) = mmalign_many([["predict", run, data, "--out", out]])
    assert done.returncode == 0, done.stderr
    if ending == "parquet":
        rows = pq.read_table(out).to_pylist()
    elif ending == "CSV":
        rows = list(csv.DictReader(out.open()))
    else:
        rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(rows) == 80
    assert {row["split"] for row in rows} == {"train", "valid", "test"}
    assert {row["prediction"] for row in rows} <= {"low", "low, flagged", "high", "high, flagged"}
    assert all(str(row["has_victim"]) == "True" for row in rows)


ON_A_TERMINAL = """
import sys
from mmalign import progress
from mmalign.cli.main import app
progress.DELAY_SECONDS = 0.0
sys.stderr.isatty = lambda: True
run, data, out = sys.argv[1:]
app(["predict", run, data, "--out", out], standalone_mode=False)
sys.stderr.write("AND")
app(["evaluate", run, data], standalone_mode=False)
"""


def test_predicting_and_evaluating_show_a_bar_on_a_terminal(run, data, tmp_path):
    done = Forked(ON_A_TERMINAL, [run, data, tmp_path / "p.csv"], env={"TERM": "xterm"}).done()
    assert done.returncode == 0, done.stderr
    assert all("predicting" in shown for shown in done.stderr.split("AND"))
    assert "\x1b" not in done.stdout


def test_data_without_the_victim_and_without_labels(run, tmp_path):
    dataset = small_dataset().only(["visible"])
    bare = {**dataset.splits, "test": replace(dataset["test"], labels=None)}
    write_native(replace(dataset, splits=bare), tmp_path / "bare")
    (done,) = mmalign_many([["predict", run, tmp_path / "bare", "--out", tmp_path / "p.csv"]])
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader((tmp_path / "p.csv").open()))
    assert {row["has_victim"] for row in rows} == {"False"}
    assert {row["label"] for row in rows if row["split"] == "test"} == {""}


def test_an_explanation_is_a_picture(run, data, tmp_path):
    command = ["explain", run, data, "--clip", "test-00001", "--out", tmp_path / "plan.png"]
    (done,) = mmalign_many([command])
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"


def test_an_explanation_takes_labels_and_vectors_as_training_does(tmp_path):
    """Text that is stored as words only is not there without its vectors."""
    (tmp_path / "words").mkdir()
    words = write_misa(tmp_path / "words")
    vectors = (words / "glove5.npz").rename(tmp_path / "vectors.npz")
    clip = misa_rows("test")[2][-1]
    pair = ["--visible", "text", "--victim", "visual", "--survival", "0.5"]
    train = ["train", words, "--vectors", vectors, *pair, *SMALL, "--out", tmp_path / "run"]
    explain = ["explain", tmp_path / "run", words, "--clip", clip, "--out", tmp_path / "p.png"]
    trained, blind, mislabelled, explained = mmalign_many(
        [
            train,
            explain,
            [*explain, "--vectors", vectors, "--label", "joy"],
            [*explain, "--vectors", vectors],
        ]
    )
    assert trained.returncode == 0, trained.stderr
    assert "no modality 'text'" in blind.stderr
    assert "'joy'" in mislabelled.stderr
    assert explained.returncode == 0, explained.stderr
    assert (tmp_path / "p.png").exists()


def test_every_use_of_a_run_takes_a_device(run, data, tmp_path):
    uses = [
        ["evaluate", run, data],
        ["predict", run, data, "--out", tmp_path / "p.csv"],
        ["explain", run, data, "--clip", "test-00001", "--out", tmp_path / "p.png"],
    ]
    answers = mmalign_many([[*use, "--device", name] for use in uses for name in ("cpu", "abacus")])
    for here, nowhere in zip(answers[::2], answers[1::2], strict=True):
        assert here.returncode == 0, here.stderr
        assert nowhere.returncode == 2, nowhere
        assert "device 'abacus' cannot be used here" in nowhere.stderr


def test_tensorboard_events_are_written(run):
    assert list((run / "tensorboard").iterdir())


TRAIN_MISTAKES = [
    (["--victim", "smell"], "no modality 'smell'"),
    (["--survival", "1.5"], "survival must be in (0, 1], got 1.5"),
    (["--setting", "C"], "setting must be A or B"),
    (["--method", "mmalgn"], "did you mean 'mmalign'"),
    (["--set", "windw=3"], "did you mean 'window'"),
    (["--set", "window=wide"], "window must be of type int, got 'wide'"),
    (["--set", "window"], "write it as name=value"),
    (["--config", "nowhere.toml"], "nowhere.toml"),
    (["--device", "abacus"], "device 'abacus'"),
    (["--set", "learning_rate=inf"], "learning_rate must be > 0 and finite"),
    (["--seed", "100000000000000000"], "seed must be below 2**32"),
]


def test_mistakes_in_training_are_one_line_and_exit_2(data, tmp_path):
    start = ["train", data, *FLAGS, *SMALL, "--out", tmp_path / "run"]
    answers = mmalign_many([[*start, *arguments] for arguments, _ in TRAIN_MISTAKES])
    for done, (_, message) in zip(answers, TRAIN_MISTAKES, strict=True):
        assert done.returncode == 2, done
        assert message in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_experts_read_a_modality_as_they_are_told(data, tmp_path):
    told = ["--set", "senses.victim.centre=false", "--set", "senses.victim.smooth=false"]
    done = mmalign("train", data, "--out", tmp_path / "run", "--set", "epochs=1", *told)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "run" / "result.json").read_text())
    sense = found["modalities"]["victim"]["sense"]
    assert (sense["centre"], sense["smooth"]) == (False, False)
    identity = json.loads((tmp_path / "run" / "run.json").read_text())
    assert identity["config"]["senses"] == {"victim": {"centre": False, "smooth": False}}


def test_settings_of_experts_that_are_no_numbers_are_refused(data, tmp_path):
    (done,) = mmalign_many([["train", data, "--set", "epochs=few", "--out", tmp_path / "run"]])
    assert done.returncode == 2
    assert done.stderr == "error: epochs must be an integer >= 1, got 'few'\n"


def test_flags_in_a_file_and_a_split_that_is_not_there_have_a_way_out(data, tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('visible = "text"\nsurvival = 0.1\nwindow = 2\n')
    dataset = small_dataset()
    bare = tmp_path / "bare"
    write_native(replace(dataset, splits={"train": dataset["train"]}), bare)
    out = ["--out", tmp_path / "run"]
    lines = [
        ["train", data, *FLAGS, "--config", file, *out],
        ["bench", data, "--suite", "main", "--config", file, *out],
        ["train", bare, *FLAGS, *SMALL, *out],
    ]
    in_train, in_bench, no_valid = mmalign_many(lines)
    assert "visible is a flag, not a setting; give --visible" in in_train.stderr
    assert "survival is a flag, not a setting; give --survival" in in_train.stderr
    assert "survival is a flag, not a setting; give --survival" in in_bench.stderr
    assert "there is no valid split, only train. " in no_valid.stderr
    assert all(done.returncode == 2 for done in (in_train, in_bench, no_valid))
    way_out = no_valid.stderr.split("split it: mmalign ")[1].split("; then train on dealt")[0]
    words = [sys.executable, "-m", "mmalign", *shlex.split(way_out)]
    subprocess.run(words, cwd=tmp_path, check=True)
    assert {"train", "valid"} <= set(load_dataset(tmp_path / "dealt").splits)


def test_settings_come_from_a_file_and_flags_win(data, tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('method = "zero-fill"\nepochs = 1\nseed = 3\ndim = 8\nheads = 2\n')
    flags = ["--config", file, "--seed", "4", "--out", tmp_path / "run"]
    (done,) = mmalign_many([["train", data, *FLAGS, *flags]])
    assert done.returncode == 0, done.stderr
    config = json.loads((tmp_path / "run" / "config.json").read_text())["config"]
    assert (config["method"], config["epochs"], config["seed"]) == ("zero-fill", 1, 4)


USE_MISTAKES = [
    (["evaluate", "{run}", "{data}", "--without", "visible"], "needs its visible modality"),
    (["evaluate", "{run}", "{data}", "--without", "smell"], "no modality 'smell'"),
    (["evaluate", "{run}", "{data}", "--split", "dev"], "no dev split"),
    (["predict", "{run}", "{data}", "--out", "p.xls"], "the ending must be one of"),
    (["predict", "nowhere", "{data}"], "not a finished run"),
    (["predict", "{run}", "{data}", "--out", "/proc/x/p.csv"], "/proc/x"),
    (
        ["explain", "{run}", "{data}", "--clip", "test-00001", "--out", "p.xyz"],
        "not the name of a picture",
    ),
    (["explain", "{run}", "{data}", "--clip", "x"], "no clip 'x'. Ids look like train-00000"),
]


def test_mistakes_in_use_are_one_line_and_exit_2(run, data):
    places = {"run": run, "data": data}
    lines = [[word.format(**places) for word in words] for words, _ in USE_MISTAKES]
    for done, (_, message) in zip(mmalign_many(lines), USE_MISTAKES, strict=True):
        assert done.returncode == 2, done
        assert message in done.stderr


def test_a_clip_that_overflows_is_named(run, tmp_path):
    dataset = poisoned(small_dataset(), "test", {"test-00005"}, "visible", 1e30)
    write_native(dataset, tmp_path / "huge")
    commands = [
        ["evaluate", run, tmp_path / "huge"],
        ["predict", run, tmp_path / "huge", "--out", tmp_path / "p.jsonl"],
    ]
    for done in mmalign_many(commands):
        assert done.returncode == 2, done
        assert "clip test-00005: the model's output is not finite" in done.stderr
    assert not (tmp_path / "p.jsonl").exists()


def test_masks_that_were_changed_are_refused(run, data, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    masks = tmp_path / "run" / "masks.json"
    masks.write_bytes(masks.read_bytes().replace(b"test-00001", b"test-00002"))
    (done,) = mmalign_many([["evaluate", tmp_path / "run", data]])
    assert done.returncode == 2, done
    assert "masks.json: its bytes are not those that were written" in done.stderr


def test_what_a_diverged_run_saved_can_be_used(data, tmp_path):
    train = ["train", data, *FLAGS, *SMALL]
    late, evaluated, early = mmalign_many(
        [
            [*train, "--set", "fit_learning_rate=1e38", "--out", tmp_path / "late"],
            ["evaluate", tmp_path / "late", data],
            [*train, "--set", "learning_rate=1e38", "--out", tmp_path / "early"],
        ]
    )
    assert late.returncode == 2, late
    assert f"is saved in {tmp_path / 'late'}" in late.stderr
    assert evaluated.returncode == 0, evaluated.stderr
    assert "under the masks of the run" in evaluated.stdout
    assert early.returncode == 2, early
    assert "saved" not in early.stderr


def mmalign_twice(*words: object) -> subprocess.CompletedProcess:
    """The command in two processes that train together."""
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone"]
    return subprocess.run(
        [sys.executable, *torchrun, "-m", "mmalign.cli.main", *map(str, words)],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.nightly  # .ci/run asks for it by name
@pytest.mark.parametrize(("method", "tolerance"), [("zero-fill", 1e-3), ("mmalign", 1e-2)])
def test_two_processes_train_like_one(data, tmp_path, method, tolerance):
    """Without dropout, averaged gradients of half batches are the gradients of whole ones.

    MM-Align's fit loss is pooled over the entries of a batch, of which its halves have not alike.
    """
    plain = ["--method", method, "--set", "dropout=0.0", "--set", "contrastive_weight=0.0"]
    train = ["train", data, *FLAGS, *SMALL, *plain, "--set", "epochs=4", "--out"]
    double = mmalign_twice(*train, tmp_path / "two")
    assert double.returncode == 0, double.stderr
    single = mmalign(*train, tmp_path / "one")
    assert single.returncode == 0, single.stderr
    losses = [
        json.loads((tmp_path / name / "metrics.jsonl").read_text().splitlines()[-1])["valid"]["A"]
        for name in ("two", "one")
    ]
    assert losses[0]["loss"] == pytest.approx(losses[1]["loss"], rel=tolerance)
    assert json.loads((tmp_path / "two" / "manifest.json").read_text())["processes"] == 2


@pytest.mark.nightly
def test_two_processes_agree_on_smil_s_centres(data, tmp_path):
    """Its noise differs between processes, its centres start from the same steps."""
    out = tmp_path / "two"
    done = mmalign_twice("train", data, *FLAGS, *SMALL, "--method", "smil", "--out", out)
    assert done.returncode == 0, done.stderr
    state = load_file(out / "model.safetensors")
    assert state["imputer.centres"].any()
    assert mmalign("evaluate", out, data).returncode == 0
