"""Anchors as runs."""

import pytest

from mmalign.data import GapProtocol
from mmalign.errors import ConfigError
from mmalign.experiments.anchors import minirocket
from mmalign.experiments.anchors.training import AnchorTraining
from mmalign.experiments.systems import CANDIDATES
from mmalign.runs.run import Run
from mmalign.training.config import config_from
from mmalign.training.methods import configure
from tests.experiments.anchors.made import holed
from tests.experts.made import NAMES, made_clips, made_dataset

SMALL = {"dim": 8, "heads": 2, "epochs": 1, "warm_up": 0, "window": 16}
DATA = made_dataset(train=made_clips(18, seed=0), test=made_clips(9, seed=3))


def test_minirocket_leaves_a_result_with_every_subset(tmp_path):
    pytest.importorskip("sktime")
    config = config_from({"method": "minirocket"})
    trainee = AnchorTraining(dataset=holed(), modalities=("pose", "wrist"), config=config)
    result = Run(trainee, tmp_path / "run").execute()
    assert result["method"] == "minirocket"
    found = {tuple(one["modalities"]): one["test"] for one in result["subsets"]}
    assert list(found) == [("pose",), ("wrist",), ("pose", "wrist")]
    for one in found.values():
        assert one["metrics"]["accuracy"] > one["floor"]["accuracy"]
    assert (tmp_path / "run" / "manifest.json").exists()


@pytest.mark.parametrize("name", ["lb-strong", "zero-fill"])
def test_networks_answer_for_every_subset_and_rate(name, tmp_path):
    config = configure({**CANDIDATES[name][1], **SMALL})
    rates = {f"{rate:g}": GapProtocol(rate=rate, mean_length=2) for rate in (0.0, 0.5)}
    names = ("pose", "wrist")
    trainee = AnchorTraining(dataset=DATA, modalities=names, protocols=rates, config=config)
    result = Run(trainee, tmp_path / "run").execute()
    assert len(result["subsets"]) == 3
    assert list(result["settings"]) == ["0", "0.5"]
    assert all("test" in found["metrics"] for found in result["settings"].values())


def test_what_minirocket_needs_is_said_before_training(monkeypatch):
    monkeypatch.setattr(minirocket, "find_spec", lambda name: None)
    config = config_from({"method": "minirocket"})
    with pytest.raises(ConfigError, match="MiniRocket needs"):
        AnchorTraining(dataset=DATA, modalities=NAMES, config=config).check()
