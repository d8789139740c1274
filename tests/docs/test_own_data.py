"""The page that shows strangers how to bring their data does what it says."""

import re
from pathlib import Path

import pytest

from mmalign.data import load_dataset
from mmalign.experts import recipe
from mmalign.experts.recipe import Recipe

PAGE = Path(__file__).parents[2] / "docs" / "own-data.md"


@pytest.fixture
def blocks():
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_every_block_of_python_runs(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(recipe, "Recipe", lambda **_: Recipe(epochs=1))
    names: dict = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    native = load_dataset(tmp_path / "my_data")
    assert set(native.splits) == {"train", "valid", "test"}
    assert {clip_id.split("-")[0] for clip_id in names["data"]["test"].ids} == {"person0"}
    archive = load_dataset(tmp_path / "my_data.npz")
    assert archive["train"][0].sequences["wrist"].shape == (50, 6)


def test_the_first_way_takes_ten_statements_or_fewer(blocks):
    import ast

    assert len(ast.parse(blocks[0]).body) <= 10
