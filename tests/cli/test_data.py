"""`mmalign data` and `mmalign demo`, run as a stranger would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mmalign.data import load_dataset, write_native
from mmalign.version import __version__
from tests.cli.many import mmalign_many
from tests.data.datasets import assert_same_dataset, small_dataset


def mmalign(*arguments: object) -> subprocess.CompletedProcess[str]:
    """One command, in the process that answers."""
    return mmalign_many([arguments])[0]


@pytest.fixture
def native(tmp_path: Path) -> Path:
    write_native(small_dataset(), tmp_path / "native")
    return tmp_path / "native"


def test_help_needs_neither_torch_nor_numpy():
    code = (
        "import sys\nsys.argv = ['mmalign', '--help']\n"
        "from mmalign.cli.main import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'numpy', 'pyarrow', 'matplotlib', 'optuna'} & set(sys.modules)\n"
        "sys.exit(f'imported {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "demo" in done.stdout


def test_version():
    assert mmalign("--version").stdout.strip() == f"mmalign {__version__}"


def test_inspect_shows_tables_and_json(native):
    shown = mmalign("data", "inspect", native)
    assert shown.returncode == 0, shown.stderr
    for word in ("train", "text", "audio", "17%", "floor: always the training mean", "mae"):
        assert word in shown.stdout
    description = json.loads(mmalign("data", "inspect", native, "--json").stdout)
    assert description["splits"]["train"]["modalities"]["audio"]["missing"] == 1


def test_convert_keeps_everything(native, tmp_path):
    done = mmalign("data", "convert", native, tmp_path / "copy")
    assert done.returncode == 0, done.stderr
    assert "train 6, valid 3, test 3 clips; text 4, audio 2 dims" in done.stdout
    assert_same_dataset(load_dataset(native), load_dataset(tmp_path / "copy"))


def rewrite(folder: Path, file: str, change) -> None:
    """Change one file's table as a careless script would, metadata kept."""
    table = pq.read_table(folder / file)
    pq.write_table(change(table).replace_schema_metadata(table.schema.metadata), folder / file)


def with_column(name: str, values: list, kind=None):
    def change(table: pa.Table) -> pa.Table:
        column = pa.array(values, kind or table.schema.field(name).type)
        return table.set_column(table.schema.get_field_index(name), name, column)

    return change


def steps_with(value: float) -> list:
    audio = [[[0.0, 0.0]]] * 6
    return [*audio[:2], [[0.0, 0.0], [0.0, value]], *audio[3:]]


def ragged_type() -> pa.DataType:
    return pa.list_(pa.list_(pa.float32()))


BAD = {
    "truncated": (
        lambda folder: (folder / "train-00000.parquet").write_bytes(
            (folder / "train-00000.parquet").read_bytes()[:-100]
        ),
        ["train-00000.parquet", "not a readable Parquet file", "convert it again"],
    ),
    "empty split": (
        lambda folder: rewrite(folder, "test-00000.parquet", lambda table: table.slice(0, 0)),
        ["split test", "the split is empty"],
    ),
    "duplicate id": (
        lambda folder: rewrite(
            folder, "train-00000.parquet", with_column("id", ["a", "b", "c", "a", "e", "f"])
        ),
        ["split train", "clip a", "appears twice"],
    ),
    "length zero": (
        lambda folder: rewrite(
            folder, "train-00000.parquet", with_column("audio", [[], *[[[0.0, 0.0]]] * 5])
        ),
        ["clip train0", "modality audio", "no steps"],
    ),
    "dims change": (
        lambda folder: rewrite(
            folder,
            "train-00000.parquet",
            with_column("audio", [[[0.0]], *[[[0.0, 0.0]]] * 5], ragged_type()),
        ),
        ["train-00000.parquet", "modality audio", "different dims"],
    ),
    "nan": (
        lambda folder: rewrite(
            folder, "train-00000.parquet", with_column("audio", steps_with(float("nan")))
        ),
        ["clip train2", "modality audio", "step 1", "feature 1", "--non-finite zero"],
    ),
    "infinity": (
        lambda folder: rewrite(
            folder, "train-00000.parquet", with_column("audio", steps_with(float("-inf")))
        ),
        ["clip train2", "modality audio", "step 1", "feature 1", "--non-finite zero"],
    ),
    "label out of range": (
        lambda folder: rewrite(
            folder, "train-00000.parquet", with_column("label", [0, 0, 0, 7, 0, 0])
        ),
        ["split train", "clip train3", "label 7.0 is outside -3..3"],
    ),
    "no id": (
        lambda folder: rewrite(
            folder, "train-00000.parquet", lambda table: table.drop_columns(["id"])
        ),
        ["train-00000.parquet", "no column 'id'"],
    ),
    "no splits": (
        lambda folder: [file.unlink() for file in folder.iterdir()],
        ["a directory without splits", "train-00000.parquet"],
    ),
}


def test_bad_input_gets_one_clear_error_and_no_output(tmp_path):
    lines = []
    for fault, (spoil, _) in BAD.items():
        write_native(small_dataset(), tmp_path / fault / "native")
        spoil(tmp_path / fault / "native")
        lines.append(["data", "convert", tmp_path / fault / "native", tmp_path / fault / "out"])
    for done, (fault, (_, words)) in zip(mmalign_many(lines), BAD.items(), strict=True):
        assert done.returncode == 2, done
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
        for word in (*words, "native"):
            assert word in done.stderr
        assert [path.name for path in (tmp_path / fault).iterdir()] == ["native"]


def test_a_path_that_does_not_exist():
    done = mmalign("data", "inspect", "nowhere")
    assert done.returncode == 2
    assert (
        done.stderr == "error: file nowhere: there is no such file or directory. Check the path.\n"
    )


@pytest.mark.parametrize(("policy", "verb"), [("zero", "set to zero"), ("clip", "clipped")])
def test_non_finite_values_are_cleaned_and_counted(policy, verb, native, tmp_path):
    BAD["infinity"][0](native)
    shown = mmalign("data", "inspect", native)
    assert shown.returncode == 0, shown.stderr
    assert "1 non-finite value in 1 clip," in " ".join(shown.stdout.split())
    done = mmalign("data", "convert", native, tmp_path / "out", "--non-finite", policy)
    assert f"1 non-finite value of audio {verb}" in done.stdout
    dataset = load_dataset(tmp_path / "out")
    assert all(
        np.isfinite(steps).all()
        for split in dataset.splits.values()
        for steps in split.sequences["audio"]
        if steps is not None
    )
    assert any(verb in note for note in dataset.notes)


def test_steps_with_non_finite_values_become_gaps_that_inspect_counts(native, tmp_path):
    BAD["infinity"][0](native)
    done = mmalign("data", "convert", native, tmp_path / "out", "--non-finite", "gap")
    assert "note: 1 non-finite step of audio taken as gaps" in done.stdout
    shown = mmalign("data", "inspect", tmp_path / "out")
    assert "1 audio step is missing in 1 clip" in " ".join(shown.stdout.split())
    assert "non-finite values" not in shown.stdout


def test_an_existing_output_is_refused(native):
    done = mmalign("data", "convert", native, native)
    assert done.returncode == 2
    assert "exists already" in done.stderr


def test_unknown_policy_is_a_usage_error(native, tmp_path):
    assert (
        mmalign("data", "convert", native, tmp_path / "o", "--non-finite", "hope").returncode == 2
    )


NO_SKTIME = """
import sys
from tests.conftest import forbidden
sys.modules["sktime"] = None
import mmalign.data
from mmalign.cli.main import main
module = sys.modules["mmalign.data.smartwatch"]
cut = module._cut
module._cut = lambda content: {name: rows[::4] for name, rows in cut(content).items()}
main()
sys.exit(f"executed: {forbidden}" if forbidden else 0)
"""
"""With a quarter of the windows, as nothing here depends on scores; under the audit hook."""


def test_demo_trains_draws_and_reports_also_without_sktime(tmp_path):
    words = "demo", "--out", f"{tmp_path}", "--epochs", "1", "--seeds", "2"
    done = subprocess.run(
        [sys.executable, "-c", NO_SKTIME, *words],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
        env=os.environ | {"COLUMNS": "100"},
    )
    assert done.returncode == 0, done.stderr
    assert "skipping MiniRocket; to include it: pip install 'mmalign[anchors]'" in done.stderr
    for row in ("majority class", "LB", "experts", "constant"):
        assert row in done.stdout
    assert "MM-Align" not in done.stdout  # which method to take, and no other question
    assert "accelerometer + gyroscope" in done.stdout
    assert re.search(r"on\s+\d\s+of\s+3\s+subsets", done.stdout)
    for name in ("clips.png", "which.png"):
        assert (tmp_path / name).read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "model" / "model.safetensors").exists()
    assert f"report: {tmp_path}/report/report.html" in done.stdout.replace("\n", "")
    served = f"serve {tmp_path}/model --examples smartwatch"
    assert served in done.stdout.replace("\n", "")
    assert (tmp_path / "report" / "figures" / "answer-1.svg").exists()
    page = (tmp_path / "report" / "report.html").read_text()
    assert "Which should I use?" in page


def test_split_deals_people_and_says_how_many(tmp_path):
    rows = [f"p{n % 6}-{n},{'ab'[n % 2]},p{n % 6},{n}.5" for n in range(24)]
    (tmp_path / "mine.csv").write_text("\n".join(["clip,label,subject,wrist.x", *rows]))
    other = ["x1,a,q1,0.5", "x2,b,q2,1.5"]
    (tmp_path / "later.csv").write_text("\n".join(["clip,label,subject,wrist.x", *other]))
    mine, later = tmp_path / "mine.csv", tmp_path / "later.csv"
    dealt, by_id, apart, misspelled, both = mmalign_many(
        [
            ["data", "split", mine, tmp_path / name, *words]
            for name, words in (
                ("dealt", ["--by", "subject", "--test", "0.2"]),
                ("ids", ["--by", "^(p.)-", "--valid", "0.3"]),
                ("apart", ["--test-from", later]),
                ("no", ["--by", "subjct"]),
                ("no", ["--test", "0.1", "--test-from", later]),
            )
        ]
    )
    assert dealt.returncode == 0, dealt.stderr
    assert "test  4 clips, 1 group\n" in dealt.stdout
    for name in ("dealt", "ids"):
        data = load_dataset(tmp_path / name)
        people = [{i.split("-")[0] for i in split.ids} for split in data.splits.values()]
        assert len(people) == 3
        assert sum(map(len, people)) == 6
    assert by_id.returncode == apart.returncode == 0, apart.stderr
    assert load_dataset(tmp_path / "apart")["test"].ids == ("x1", "x2")
    assert misspelled.stderr.endswith("ids such as '^(.*?)-'; did you mean 'subject'?\n")
    assert "not both" in both.stderr
    assert misspelled.returncode == both.returncode == 2
