"""The notebooks run from their first cell to their last: `make notebooks`."""

import os

import pytest

from tests.docs.pages import ROOT

nbformat = pytest.importorskip("nbformat", reason="pip install 'mmalign[notebooks]'")
nbclient = pytest.importorskip("nbclient", reason="pip install 'mmalign[notebooks]'")
pytest.importorskip("ipykernel", reason="pip install 'mmalign[notebooks]'")
FOLDER = ROOT / "notebooks"


def executed(name, monkeypatch, **environment):
    """The notebook after all its cells; few epochs, as its figures are not looked at."""
    for key, value in ({"EPOCHS": "1"} | environment).items():
        monkeypatch.setenv(key, str(value))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src")]))
    notebook = nbformat.read(FOLDER / name, as_version=4)
    resources = {"metadata": {"path": str(FOLDER)}}
    return nbclient.NotebookClient(notebook, timeout=600, resources=resources).execute()


def text_of(notebook):
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    return "\n".join(str(out.get("data", {}).get("text/plain", "")) for out in outputs)


@pytest.mark.nightly
def test_a_sensor_dies(monkeypatch):
    text = text_of(executed("a-sensor-that-dies.ipynb", monkeypatch))
    assert "'without gyroscope'" in text
    assert "Dataset(train" in text


@pytest.mark.nightly
def test_mosi_end_to_end(monkeypatch, shared_data):
    text = text_of(executed("mosi.ipynb", monkeypatch, MOSI=shared_data / "mosi"))
    assert "'mae'" in text


def test_notebooks_are_stored_without_outputs():
    names = sorted(file.name for file in FOLDER.glob("*.ipynb"))
    assert names == ["a-sensor-that-dies.ipynb", "mosi.ipynb"]
    for name in names:
        cells = nbformat.read(FOLDER / name, as_version=4).cells
        assert all(not cell.get("outputs") for cell in cells)
