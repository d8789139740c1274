"""Names in a network's file. The paper's pair keeps the words that its files always had."""

from collections.abc import Mapping
from typing import Any

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
"""From the start of a name in memory to the one in a pair's file."""

Ends = tuple[str, str]
"""Source and target of an imputer."""


def described(settings: Mapping[str, Any]) -> tuple[tuple[str, ...], list[Ends], dict[str, str]]:
    """Modalities, directions, and how names of the file become names in memory.

    Raises:
        KeyError, TypeError, ValueError: If the settings are not those of a network.
    """
    if "visible" in settings:
        pair = settings["visible"], settings["victim"]
        return pair, [pair], {filed: known for known, filed in PAIR.items()}
    directions = [(source, target) for source, target in settings["directions"]]
    return tuple(settings["modalities"]), directions, {}


def renamed(name: str, starts: Mapping[str, str]) -> str:
    """The name with another start, if one of these is its own."""
    for start, other in starts.items():
        if name.startswith(start):
            return other + name.removeprefix(start)
    return name
