"""Files of masks stay as they are: bytes are compared by those who publish them."""

import pytest

from mmalign.data import GapProtocol, Protocol, RandomMissing
from mmalign.data.missingness.masks import Masks

FILE = """{
 "protocol": {
  "visible": "a",
  "victim": "b",
  "survival": 0.5,
  "setting": "A",
  "seed": 0
 },
 "missing": {
  "train": [
   "x",
   "y"
  ],
  "valid": []
 }
}
"""


def test_a_file_of_masks_is_written_as_ever(tmp_path):
    protocol = Protocol(visible="a", victim="b", survival=0.5)
    Masks(protocol, {"train": ("x", "y"), "valid": ()}).save(tmp_path / "masks.json")
    assert (tmp_path / "masks.json").read_text() == FILE
    assert Masks.load(tmp_path / "masks.json").protocol == protocol


@pytest.mark.parametrize(
    ("protocol", "lost"),
    [
        (Protocol(visible="a", victim="b", survival=0.5), ("x", "y")),
        (RandomMissing(rate=0.3), {"a": ("x",), "b": ("y", "x")}),
        (GapProtocol(rate=0.2, mean_length=5), {"a": {"x": [[0, 2]]}, "b": {"x": [], "y": []}}),
    ],
)
def test_masks_count_clips_and_do_not_print_them(protocol, lost):
    shown = repr(Masks(protocol, {"train": lost, "valid": type(lost)()}))
    assert shown == f"Masks({protocol!r}; clips that lost something: train 2, valid 0)"
