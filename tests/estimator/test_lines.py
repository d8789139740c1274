"""Lines about a training, as they are printed."""

import pytest

from mmalign.estimator.lines import epoch_line


@pytest.mark.parametrize(("setting", "told"), [("valid", "valid"), ("A", "valid A")])
def test_an_epoch_names_its_validation_clips_once(setting, told):
    record = {"epoch": 2, "valid": {setting: {"accuracy": 0.5}}, "losses": {"main": 1.0}}
    assert epoch_line(record, warm_up=1) == f"epoch 2: {told} accuracy 0.500 | main 1.000"
