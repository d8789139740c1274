"""The smartwatch data: split by subject, scaled on train, read without running its pickle."""

import subprocess
import sys

import numpy as np
import pytest

from mmalign.data import smartwatch
from mmalign.data.smartwatch import SUBJECTS
from mmalign.errors import DataError


@pytest.fixture(scope="module")
def dataset():
    return smartwatch()


def test_windows_and_subjects(dataset):
    assert {name: len(split) for name, split in dataset.splits.items()} == {
        "train": 589,
        "valid": 250,
        "test": 310,
    }
    for name, split in dataset.splits.items():
        assert {int(clip.id[7:9]) for clip in split} <= SUBJECTS[name]
        assert (split.lengths("gyroscope") == 40).all()
        assert split.groups == tuple(clip_id[:9] for clip_id in split.ids)
    assert dataset.task.classes == ("PEN", "ABD", "FEL", "IR", "ER", "TRAP", "ROW")


def test_scaling_comes_from_train_alone(dataset):
    for modality in dataset.dims:
        steps = np.concatenate(dataset["train"].sequences[modality])
        assert np.allclose(steps.mean(axis=0), 0, atol=1e-5)
        assert np.allclose(steps.std(axis=0), 1, atol=1e-5)
    assert abs(np.concatenate(dataset["test"].sequences["accelerometer"]).mean()) > 1e-3


def test_values_agree_with_numpy_reading_the_file(dataset):
    from importlib.util import find_spec
    from pathlib import Path

    root = Path(find_spec("seglearn").submodule_search_locations[0])
    content = np.load(root / "data" / "watch_dataset.npy", allow_pickle=True).item()
    first = content["X"][0][:200].reshape(40, 5, 6).mean(axis=1)
    train = np.concatenate(
        [
            x[: len(x) // 200 * 200].reshape(-1, 5, 6).mean(axis=1)
            for x, subject in zip(content["X"], content["subject"], strict=True)
            if subject in SUBJECTS["train"]
        ]
    )
    scaled = (first - train.mean(axis=0)) / train.std(axis=0)
    clip = next(c for c in dataset["train"] if "recording000-window00" in c.id)
    assert np.allclose(clip.sequences["accelerometer"], scaled[:, :3], atol=1e-5)
    assert np.allclose(clip.sequences["gyroscope"], scaled[:, 3:], atol=1e-5)


def test_neither_seglearn_nor_pickle_runs():
    code = (
        "import sys\n"
        "def watch(event, arguments):\n"
        "    if event.startswith('pickle'): raise SystemExit('unpickled')\n"
        "sys.addaudithook(watch)\n"
        "from mmalign.data import smartwatch\n"
        "smartwatch()\n"
        "sys.exit('seglearn' in sys.modules or 'torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_file_that_is_not_the_recordings_is_refused(tmp_path):
    file = tmp_path / "other.npy"
    np.save(file, np.array({"X": 1}, dtype=object), allow_pickle=True)
    with pytest.raises(DataError, match="unexpected content"):
        smartwatch(file)
    file.write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"not an \.npy array"):
        smartwatch(file)
