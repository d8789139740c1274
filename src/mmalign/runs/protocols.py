"""What goes missing in a run, by setting; without any protocol the data stay as they are."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mmalign.data.dataset import Dataset
from mmalign.data.missingness import Missingness
from mmalign.runs.manifest import MASKS

AS_IS = "as-is"
"""The setting in which nothing is taken away."""

Protocols = Mapping[str, Missingness]
"""What goes missing, by setting. The first one is that of the training clips."""


def seen_under(protocols: Protocols, dataset: Dataset) -> dict[str, Dataset]:
    """What each setting leaves of the data.

    Raises:
        DataError: If a protocol does not fit the data.
    """
    seen = {setting: protocol.apply(dataset) for setting, protocol in protocols.items()}
    return seen or {AS_IS: dataset}


def protocol_facts(protocols: Protocols) -> dict[str, Any] | None:
    """The training's protocol as plain values; none if nothing is taken away."""
    for first in protocols.values():
        return {**vars(first), "setting": "".join(protocols)}
    return None


def save_masks(protocols: Protocols, dataset: Dataset, folder: Path) -> None:
    """Write what the training's protocol takes away, if there is one."""
    for first in list(protocols.values())[:1]:
        first.masks(dataset).save(folder / MASKS)
