"""The Python of the README runs, block after block."""

from dataclasses import replace

import numpy as np

import mmalign
from mmalign.data import Dataset, Masks, load_dataset
from mmalign.experts import recipe
from mmalign.experts.recipe import Recipe
from tests.docs.pages import ROOT, blocks

README = ROOT / "README.md"


def test_every_block_of_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mmalign, "load_dataset", few_clips)
    monkeypatch.setattr(recipe, "Recipe", lambda **_: Recipe(epochs=1))
    names: dict = {}
    for block in blocks(README, "python"):
        quick = block.replace("window=8)", "window=8, epochs=1, warm_up=0)")
        exec(compile(quick, str(README), "exec"), names)
    assert names["paper"].get_params()["epochs"] == 1
    assert names["model"].reads == ("wrist", "pose", "voice")
    asked = [{"voice": np.full((35, 8), value)} for value in (0.0, 1.0)]
    assert list(names["model"].predict(asked)) == ["walk", "run"]  # it has something to learn
    test = names["masked"]["test"]
    assert not test.is_present("gyroscope").any()
    assert Masks.load(tmp_path / "masks.json").apply(names["data"])["test"].ids == test.ids


def few_clips(name: str) -> Dataset:
    """Every twelfth clip of a dataset: enough to run the code on."""
    whole = load_dataset(name)
    splits = {name: split.select(range(0, len(split), 12)) for name, split in whole.splits.items()}
    return replace(whole, splits=splits)
