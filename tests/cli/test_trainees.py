"""What the options of `mmalign train` ask for."""

import pytest
import torch

from mmalign.cli.trainees import Asked
from mmalign.errors import ConfigError, DataError
from mmalign.runs.experts_training import ExpertsTraining
from mmalign.runs.network_training import NetworkTraining
from mmalign.runs.pair_training import PairTraining
from mmalign.training.distributed import World
from tests.training.small import small_dataset

NOTHING = dict.fromkeys(("visible", "victim", "modalities", "survival", "setting"))


def trainee(**options):
    asked = Asked(**{**NOTHING, "settings": {}, "device": "auto", **options})
    return asked.trainee()(small_dataset(), torch.device("cpu"), World())


def test_data_as_it_is_by_default():
    made = trainee(settings={"seed": 3, "epochs": 2})
    assert isinstance(made, ExpertsTraining)
    assert (made.modalities, dict(made.protocols), made.seed, made.epochs) == (None, {}, 3, 2)
    assert trainee(modalities="victim , visible").modalities == ("victim", "visible")


def test_a_pair_is_the_paper_s():
    made = trainee(visible="visible", victim="victim")
    assert isinstance(made, PairTraining)
    (protocol,) = made.protocols
    assert (protocol.survival, protocol.setting, made.config.method) == (0.1, "A", "mmalign")


def test_any_method_takes_data_as_it_is():
    made = trainee(settings={"method": "dynamic-window", "seed": 3}, survival="victim=0.5")
    assert isinstance(made, NetworkTraining)
    (protocol,) = made.protocols.values()
    assert (dict(protocol.survival), protocol.seed) == ({"victim": 0.5}, 3)
    assert (made.modalities, made.config.seed, made.config.gate) == (None, 3, True)
    made.check()
    chosen = trainee(settings={"method": "lb"}, modalities="victim")
    assert (chosen.modalities, dict(chosen.protocols)) == (("victim",), {})
    with pytest.raises(DataError, match="no modality 'smell'"):
        trainee(settings={"method": "ub"}, survival="smell=0.5").check()


def test_experts_take_the_paper_s_protocol():
    pair = {"visible": "visible", "victim": "victim", "survival": "0.5", "setting": "B"}
    made = trainee(**pair, settings={"method": "experts", "seed": 4})
    assert made.modalities == ("visible", "victim")
    ((setting, protocol),) = made.protocols.items()
    assert (setting, protocol.survival, protocol.seed) == ("B", 0.5, 4)
    made.check()


def test_rates_take_modalities_away():
    made = trainee(survival="visible=0.9, victim=0.5", settings={"seed": 4})
    (protocol,) = made.protocols.values()
    assert dict(protocol.survival) == {"visible": 0.9, "victim": 0.5}
    assert protocol.seed == 4
    made.check()
    with pytest.raises(DataError, match="no modality 'smell'"):
        trainee(survival="smell=0.5").check()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"visible": "a"}, "both --visible and --victim"),
        ({"visible": "a", "victim": "b", "modalities": "a"}, "--modalities does not go with"),
        ({"visible": "a", "victim": "b", "survival": "half"}, "'half' is not a number"),
        ({"settings": {"method": "smli"}}, "unknown method 'smli'; did you mean 'smil'"),
        ({"settings": {"method": "smil"}, "modalities": "a,a"}, "one or more different names"),
        ({"settings": {"method": "smil"}, "survival": "0.5"}, "not of the form modality=rate"),
        ({"settings": {"seed": -1}}, "seed must be"),
        ({"survival": "0.5"}, "not of the form modality=rate.*a rate alone needs --visible"),
        ({"survival": "text=much"}, "'text=much' is not of the form"),
        ({"survival": "text=1.5"}, r"survival of text must be in \[0, 1\]"),
        ({"modalities": ","}, "one or more different names"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        trainee(**options)
