"""A modality under a misspelt name is refused; another one is told of."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from mmalign.data import Classification, Clip
from mmalign.data.spelling import nearest, require_known, warn_of_twins, warn_of_unknown
from mmalign.data.split import Split
from mmalign.errors import DataError, UnknownModalityWarning

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


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("wrsit", "wrist"),
        ("Wrist", "wrist"),
        ("wrists", "wrist"),
        ("wist", "wrist"),
        ("left-wrist", "left_wrist"),
        ("leftwrist", "left_wrist"),
        ("left_wrsit", "left_wrist"),
        ("acelerometr", "accelerometer"),
        ("acc", "accelerometer"),
        ("gyroscope", "gyro"),
        ("IMU 2", "imu2"),
    ],
)
def test_slips_and_short_forms_are_recognised(name, known):
    assert nearest(name, ["something", known]) == known


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("imu1", "imu2"),
        ("imu", "imu2"),
        ("left_wrist", "right_wrist"),
        ("wrist_l", "wrist_r"),
        ("wrist_gyro", "wrist"),
        ("audio", "video"),
        ("x", "y"),
        ("m1", "m2"),
        ("wrist", "wrist"),
    ],
)
def test_other_modalities_are_not_taken_for_slips(name, known):
    assert nearest(name, [known]) is None


@pytest.mark.parametrize("given", [rows, lambda *names: columns(rows(*names))])
def test_a_misspelt_modality_is_refused_where_the_right_one_is_missing(given):
    require_known(given("wrist pose", "wrist", "wrist gps"), KNOWN)
    require_known(given("wrist wrsit"), KNOWN)  # it has both: two modalities
    with pytest.raises(DataError, match=r"clip clip1: the model does not know 'wrsit'\. Did you "):
        require_known(given("wrist pose", "wrsit pose"), KNOWN)


def test_a_name_without_features_is_nothing():
    clip = Clip("a", sequences={"wrsit": None, "pose": STEPS})
    for given in ([clip], columns([clip])):
        require_known(given, KNOWN)
        warn_of_unknown(given, KNOWN)


def test_what_is_left_out_is_told_once_where_mmalign_was_called():
    told = "the model does not know 'gps', 'heart': left out. It uses wrist, pose."
    for given in (rows("wrist gps", "heart pose"), columns(rows("wrist gps", "heart pose"))):
        with pytest.warns(UnknownModalityWarning) as found:
            warn_of_unknown(given, KNOWN)
        assert [str(one.message) for one in found] == [told]
        assert found[0].filename == __file__


def test_two_names_for_one_modality_are_told_of():
    apart = rows("wrist pose", "wrsit pose", "pose")
    for given in (apart, columns(apart)):
        with pytest.warns(UnknownModalityWarning, match="no clip has both 'wrist' and 'wrsit'"):
            warn_of_twins(given)
    together = [*apart, replace(apart[0], sequences={"wrist": STEPS, "wrsit": STEPS})]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_twins(together)
        warn_of_twins(columns(together))
