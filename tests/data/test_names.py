"""Names of a file do nothing but be shown: on terminals, and in spreadsheets."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mmalign
from mmalign.data import Classification, load_dataset
from mmalign.data.validation import validate
from mmalign.errors import DataError, MMAlignError
from mmalign.files import csv_bytes
from mmalign.runs.manifest import seal
from tests.data.datasets import small_dataset

EARLIER = Path(__file__).parents[1] / "runs" / "format1"
HOSTILE = ["b\x1b]0;HACK\x07", "two\nlines", "\u202eback", "\x9b2J", "half \ud800", "x" * 5000]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_do_more_than_be_shown_are_refused(name):
    data = small_dataset()
    train = data.splits["train"]
    first = data.modalities[0]
    renamed = {name if m == first else m: column for m, column in train.sequences.items()}
    dims = {name if m == first else m: dim for m, dim in data.dims.items()}
    for bad in (
        replace(data, dims=dims, splits={"train": replace(train, sequences=renamed)}),
        replace(data, splits={"train": replace(train, ids=(name, *train.ids[1:]))}),
        replace(data, splits={"train": replace(train, groups=(name,) * len(train))}),
        replace(data, task=Classification((name, "b"))),
    ):
        with pytest.raises(DataError, match=r"holds control characters|is too long") as caught:
            validate(bad)
        assert str(caught.value).isprintable()


@pytest.mark.parametrize("name", HOSTILE[:3])
def test_names_of_arrays_reach_no_terminal(tmp_path, name):
    file = tmp_path / "data.npz"
    arrays = {"label": np.arange(4.0), name: np.zeros((4, 2, 3)), "other": np.zeros((4, 2, 3))}
    np.savez(file, **arrays)
    with pytest.raises(DataError, match="modality '") as caught:
        load_dataset(file)
    assert str(caught.value).isprintable()
    np.savez(file, **{"label": np.arange(4.0), name: np.zeros(7), "m": np.zeros((4, 2, 3))})
    notes = load_dataset(file).notes
    assert any("fit no clip" in note for note in notes)  # the note names it
    assert all(note.isprintable() for note in notes)


@pytest.mark.parametrize("name", HOSTILE[:3])
def test_a_model_with_hostile_names_is_refused(tmp_path, name):
    folder = shutil.copytree(EARLIER, tmp_path / "model")
    settings = json.loads((folder / "config.json").read_text())
    features = {**settings["features"], name: settings["features"]["visible"]}
    (folder / "config.json").write_text(
        json.dumps({**settings, "visible": name, "features": features})
    )
    seal(folder, {})
    with pytest.raises(MMAlignError, match="modality '") as caught:
        mmalign.load(folder)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "cell",
    [
        *("=1+1", "=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "=", "@"),
        *("+SUM(A1:A2)", '-HYPERLINK("x")', "-2+3+cmd|'x'!A0"),
        *("-1 +cmd|' /C calc'!A0", "+1 =A1"),
    ],
)
def test_a_spreadsheet_computes_nothing(cell):
    content = csv_bytes([cell], [[cell]]).decode()
    assert "'" + cell.split("\r")[-1].split("\t")[-1] in content or content.count("'") >= 2
    assert not content.startswith(("=", "+", "-", "@", "\t", "\r"))


@pytest.mark.parametrize(
    "cell", ["-3g5yACwYnA", "-3g5y[1]", "-1", "+0.5", "-1e-05", "-", "a=b", "+1 ± 2"]
)
def test_ids_and_numbers_stay_as_they_are(cell):
    assert csv_bytes(["x"], [[cell]]).decode() == f"x\n{cell}\n"
    assert csv_bytes(["x"], [[-1.5]]) == b"x\n-1.5\n"
