"""The page that shows strangers how to bring their data does what it says."""

import ast

import numpy as np
import pytest

from mmalign.data import load_dataset
from mmalign.experts import recipe
from mmalign.experts.recipe import Recipe
from tests.docs.pages import ROOT
from tests.docs.pages import blocks as blocks_of

PAGE = ROOT / "docs" / "own-data.md"


@pytest.fixture
def blocks():
    return blocks_of(PAGE, "python")


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """What the names of the page stand for after its blocks were run, and the folder."""
    folder = tmp_path_factory.mktemp("own-data")
    names: dict = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(recipe, "Recipe", lambda **_: Recipe(epochs=1))
        for number, block in enumerate(blocks_of(PAGE, "python")):
            quick = block.replace("people=10", "people=5").replace("GroupKFold(3)", "GroupKFold(2)")
            exec(compile(quick, f"{PAGE}, block {number}", "exec"), names)
    return names, folder


def test_every_block_of_python_runs(followed):
    names, folder = followed
    native = load_dataset(folder / "my_data")
    assert set(native.splits) == {"train", "valid", "test"}
    assert {clip_id.split("-")[0] for clip_id in names["data"]["test"].ids} == {"p0"}
    archive = load_dataset(folder / "my_data.npz")
    assert archive["train"][0].sequences["wrist"].shape == (50, 6)


def test_frames_have_all_that_real_data_has(followed):
    names, folder = followed
    clips = names["clips"]
    assert {clip.label for clip in clips} == {"walk", "run"}
    data = load_dataset(folder / "my_data")
    assert data.dims == {"wrist": 3, "pose": 12, "voice": 2}
    splits = [data[name] for name in data.splits]
    owners = [set(split.groups) for split in splits]
    assert sum(map(len, owners)) == len(set.union(*owners))
    for name in data.modalities:
        there = np.concatenate([split.is_present(name) for split in splits])
        assert 0.5 < there.mean() < 0.9
        lengths = np.concatenate([split.lengths(name) for split in splits])
        assert len(set(lengths[lengths > 0])) > 1
        gaps = [o for split in splits for o in split.observed(name) if o is not None]
        assert not all(observed.all() for observed in gaps)
    assert set(names["model"].predict(clips)) <= {"walk", "run"}


def test_the_first_way_takes_ten_statements_or_fewer(blocks):
    assert len(ast.parse(blocks[0]).body) <= 10


def test_the_examples_say_what_is_printed(blocks, followed):
    names, folder = followed
    shown = 0
    for block in blocks:
        for line in block.splitlines():
            code, mark, comment = line.partition("  # ")
            if mark and comment.startswith(("Dataset(", "Clip(", "(50")):
                with pytest.MonkeyPatch.context() as patch:
                    patch.chdir(folder)
                    assert repr(eval(code.strip(), names)) == comment
                shown += 1
    assert shown == 3
