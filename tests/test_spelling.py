"""Slips and short forms of a name are told from other names."""

import pytest

from mmalign.spelling import meant, nearest


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


def test_what_was_meant_is_the_closest_name_or_the_one_that_is_shortened():
    assert meant("wrsit", ["wristband", "wrist"]) == "wrist"
    assert meant("acc", ["pose", "accelerometer"]) == "accelerometer"
    assert meant("text", ["pose", "wrist"]) is None
