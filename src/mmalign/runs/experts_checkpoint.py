"""Experts that are learned so far, in one file: a run that was stopped goes on after them."""

import json
from dataclasses import dataclass
from pathlib import Path

from mmalign.errors import CorruptArtifactError
from mmalign.experts.model import Experts
from mmalign.runs.checkpoint import read_checked, write_checked

SIZE_BYTES = 8


@dataclass
class Progress:
    """A model of which some modalities are learned.

    Attributes:
        experts: The model as far as it is.
        seconds: How long that took.
    """

    experts: Experts
    seconds: float = 0.0

    def save(self, file: Path) -> None:
        """Replace the file; a kill leaves the old one or the new."""
        weights, card = self.experts.packed()
        head = json.dumps({"card": card, "seconds": self.seconds}).encode()
        write_checked(file, len(head).to_bytes(SIZE_BYTES, "little") + head + weights)

    @staticmethod
    def load(file: Path) -> "Progress":
        """What `save` wrote.

        Raises:
            CorruptArtifactError: If the bytes are not those that were written.
        """
        payload = read_checked(file)
        end = SIZE_BYTES + int.from_bytes(payload[:SIZE_BYTES], "little")
        try:
            head = json.loads(payload[SIZE_BYTES:end])
            return Progress(Experts.unpacked(payload[end:], head["card"]), float(head["seconds"]))
        except (ValueError, KeyError, TypeError) as error:
            raise CorruptArtifactError(f"{file}: does not fit this run ({error})") from error
