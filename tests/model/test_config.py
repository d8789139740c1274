"""The backbone's config refuses nonsense."""

import pytest

from mmalign.errors import ConfigError
from mmalign.model.config import BackboneConfig


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dim": 10, "heads": 4}, "must divide"),
        ({"dropout": 1.0}, "dropout must be in"),
        ({"kernel": 2}, "kernel must be odd"),
        ({"encoder_layers": 0}, "encoder_layers"),
        ({"norm": "post"}, "norm must be paper or pre, got .post."),
        ({"pool": "mean"}, "pool must be cls or"),
        ({"attention_band": -1}, "attention_band must be >= 0"),
    ],
)
def test_nonsense_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        BackboneConfig(**changes)
