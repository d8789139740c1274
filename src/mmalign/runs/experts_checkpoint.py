"""Experts that are learned so far, in one file: a run that was stopped goes on after them."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

from safetensors.numpy import load as load_arrays
from safetensors.numpy import save as save_arrays

from mmalign.data.inputs import Sense
from mmalign.data.names import under
from mmalign.documents import parse_json
from mmalign.errors import CorruptArtifactError
from mmalign.experts.modality import ModalityExperts
from mmalign.experts.saving import numbered_states, restored_member
from mmalign.runs.checkpoint import UNFIT, read_checked, write_checked

SIZE_BYTES = 8


@dataclass
class Progress:
    """What is learned so far.

    Attributes:
        members: Experts, by the name they were learned under.
        seconds: How long that took.
    """

    members: dict[str, ModalityExperts] = field(default_factory=dict)
    seconds: float = 0.0

    def save(self, file: Path) -> None:
        """Replace the file; a kill leaves the old one or the new."""
        described = [
            {"name": name, "sense": asdict(one.sense), "skill": one.skill}
            for name, one in self.members.items()
        ]
        head = json.dumps({"members": described, "seconds": self.seconds}).encode()
        size = len(head).to_bytes(SIZE_BYTES, "little")
        write_checked(file, size + head + save_arrays(numbered_states(self.members.values())))

    @staticmethod
    def load(file: Path) -> "Progress":
        """What `save` wrote.

        Raises:
            CorruptArtifactError: If the bytes are not those that were written.
        """
        payload = read_checked(file)
        end = SIZE_BYTES + int.from_bytes(payload[:SIZE_BYTES], "little")
        try:
            head = parse_json(payload[SIZE_BYTES:end])
            arrays = load_arrays(payload[end:])
            members = {
                one["name"]: restored_member(
                    under(arrays, f"{number}/"), Sense(**one["sense"]), one["skill"]
                )
                for number, one in enumerate(head["members"])
            }
            return Progress(members, float(head["seconds"]))
        except UNFIT as error:
            raise CorruptArtifactError(f"{file}: does not fit this run ({error})") from error
