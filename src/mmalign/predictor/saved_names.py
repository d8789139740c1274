"""Names of a model's parts in a file: the paper's pair keeps the names that it always had."""

from collections.abc import Mapping

from torch import Tensor

PAIR = {
    "backbone.encoders.0.": "backbone.encode_visible.",
    "backbone.encoders.1.": "backbone.encode_victim.",
    "backbone.fuse.readers.0.": "backbone.fuse.visible_reads_victim.",
    "backbone.fuse.readers.1.": "backbone.fuse.victim_reads_visible.",
    "scalers.0.": "visible_scaler.",
    "scalers.1.": "victim_scaler.",
    "bank.ways.0.imputer.": "imputer.",
    "bank.ways.0.length_ratio": "length_ratio",
}
"""From the start of a name in memory to the one in a file."""


def to_pair_file(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A pair's weights under the names of its file."""
    return {_renamed(name, PAIR): tensor for name, tensor in state.items()}


def from_pair_file(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A pair's weights under the names of the model in memory."""
    back = {filed: known for known, filed in PAIR.items()}
    return {_renamed(name, back): tensor for name, tensor in tensors.items()}


def _renamed(name: str, starts: Mapping[str, str]) -> str:
    for start, other in starts.items():
        if name.startswith(start):
            return other + name.removeprefix(start)
    return name
