"""The Python of the first page runs."""

import mmalign
from mmalign.experts import recipe
from mmalign.experts.recipe import Recipe
from tests.docs.pages import ROOT, blocks
from tests.docs.test_readme import few_clips

PAGE = ROOT / "docs" / "quick-start.md"


def test_every_block_of_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mmalign, "load_dataset", few_clips)
    monkeypatch.setattr(recipe, "Recipe", lambda **_: Recipe(epochs=1))
    names: dict = {}
    for block in blocks(PAGE, "python"):
        exec(compile(block, str(PAGE), "exec"), names)
    assert names["model"].reads == ("accelerometer", "gyroscope")
