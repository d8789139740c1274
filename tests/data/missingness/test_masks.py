"""Files of masks stay as they are: bytes are compared by those who publish them."""

from mmalign.data import Protocol
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
