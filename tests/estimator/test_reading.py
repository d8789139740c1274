"""A saved network gives the table of the whole model, and leaves the rest to it."""

import subprocess
import sys

import numpy as np
import pytest

import mmalign
from mmalign.data import Clip, Split, write_native
from mmalign.errors import DataError, MMAlignError
from mmalign.estimator.reading import saved_network
from tests.training.joint import TINY, restless, whole_twin, with_holes

TWO = whole_twin(2)
HOLES = with_holes(whole_twin())


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    model = mmalign.MMAlign("m2", "m1", non_finite="gap", **TINY)
    model = restless(model.fit(TWO["train"], valid=TWO["valid"]))
    folder = tmp_path_factory.mktemp("run") / "pair"
    model.save(folder)
    return model, folder


def not_asked():
    pytest.fail("the whole model was loaded")


def assert_same(table, expected) -> None:
    assert table.column_names == expected.column_names
    for name in table.column_names:
        found, wanted = (t.column(name).to_pylist() for t in (table, expected))
        if name.startswith("probability"):
            np.testing.assert_allclose(found, wanted, atol=1e-5)
        else:
            assert found == wanted


def test_the_table_of_a_pair(pair):
    model, folder = pair
    network = saved_network(folder, not_asked)
    assert network.reads == ("m2", "m1")
    assert network.needs == ("m2",)
    test = TWO["test"]
    torn = np.full_like(test[0].sequences["m1"], np.nan)
    clips = [*test, Clip("torn", None, {"m2": test[0].sequences["m2"], "m1": torn})]
    some = Split.features_of(clips, ["m2", "m1"], TWO.task)
    splits = {"test": test, "without": test.without("m1", test.ids), "torn": some}
    splits["alone"] = test.only(["m2"])
    assert_same(network.table(splits), model.table(splits))


def test_the_table_of_three_modalities(tmp_path):
    model = restless(mmalign.MMAlign(method="mmalign", **TINY).fit(HOLES))
    model.save(tmp_path / "run")
    network = saved_network(tmp_path / "run", not_asked)
    assert network.needs == ()
    assert_same(network.table({"test": HOLES["test"]}), model.table({"test": HOLES["test"]}))


def test_a_watch_sees_the_clips_of_a_table(pair):
    network, seen = saved_network(pair[1], not_asked), []

    def watch(groups, total):
        for group in groups:
            seen.append((len(group), total))
            yield group

    network.watch_with(watch)
    network.table({"test": TWO["test"]})
    assert seen == [(len(TWO["test"]), 1)]


def test_the_rest_is_left_to_the_whole_model(pair):
    model, folder = pair
    network = saved_network(folder, lambda: model)
    long = Split.features_of(
        [Clip("long", None, {"m2": np.ones((600, 3), np.float32)})], ["m2"], TWO.task
    )
    assert_same(network.table({"test": long}), model.table({"test": long}))
    with pytest.raises(DataError, match="visible modality is missing"):
        network.table({"test": TWO["test"].without("m2", TWO["test"].ids)})


def test_folders_without_such_a_network(tmp_path):
    with pytest.raises(MMAlignError, match="not a finished run"):
        saved_network(tmp_path / "nothing", not_asked)
    mmalign.MMAlign(epochs=1).fit(TWO["train"]).save(tmp_path / "experts")
    assert saved_network(tmp_path / "experts", not_asked) is None


SCRIPT = """
import sys
from mmalign.cli.main import app
app(sys.argv[1:], standalone_mode=False)
assert "torch" not in sys.modules
"""


def test_the_command_does_not_import_torch(pair, tmp_path):
    write_native(TWO, tmp_path / "data")
    asked = ["predict", pair[1], tmp_path / "data", "--out", tmp_path / "out.csv"]
    command = [sys.executable, "-c", SCRIPT, *map(str, asked)]
    subprocess.run(command, check=True, timeout=300, stdout=subprocess.DEVNULL)
    count = sum(len(split) for split in TWO.splits.values())
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 1 + count
