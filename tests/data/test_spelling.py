"""A modality under a misspelt name is refused, another one is left out."""

import numpy as np
import pytest

from mmalign.data import Classification, Clip
from mmalign.data.spelling import require_known
from mmalign.data.split import Split
from mmalign.errors import DataError

STEPS = np.zeros((2, 1), np.float32)
KNOWN = ["wrist", "pose"]


def rows(*contents: str) -> list[Clip]:
    """Clips with these modalities, named between spaces."""
    return [
        Clip(f"clip{n}", sequences=dict.fromkeys(content.split(), STEPS))
        for n, content in enumerate(contents)
    ]


def columns(clips: list[Clip]) -> Split:
    names = list(dict.fromkeys(name for clip in clips for name in clip.sequences))
    return Split.features_of(clips, names, Classification(("a", "b")))


@pytest.mark.parametrize("given", [rows, lambda *names: columns(rows(*names))])
def test_a_misspelt_modality_is_refused_where_the_right_one_is_missing(given):
    require_known(given("wrist pose", "wrist", "wrist gps"), KNOWN)
    require_known(given("wrist wrsit"), KNOWN)  # it has both: two modalities
    with pytest.raises(DataError, match=r"clip clip1: the model does not know 'wrsit'\. Did you "):
        require_known(given("wrist pose", "wrsit pose"), KNOWN)


@pytest.mark.parametrize(("given", "meant"), [("vision", "visual"), ("audio", "acoustic")])
def test_what_another_corpus_calls_a_modality_is_not_left_out_in_silence(given, meant):
    with pytest.raises(DataError, match=f"does not know '{given}'. Did you mean '{meant}'"):
        require_known(rows(f"text {given}"), ["text", "visual", "acoustic"])
    require_known(rows("text visual acoustic vision audio"), ["text", "visual", "acoustic"])


def test_a_name_without_features_is_nothing():
    clip = Clip("a", sequences={"wrsit": None, "pose": STEPS})
    for given in ([clip], columns([clip])):
        require_known(given, KNOWN)
