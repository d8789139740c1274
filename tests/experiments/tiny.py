"""Grids whose runs take a fraction of a second."""

from collections.abc import Sequence
from pathlib import Path

from mmalign.data import write_native
from mmalign.experiments.grid import Grid, extend_grid
from mmalign.experiments.scope import Scope
from mmalign.experiments.source import Source
from mmalign.experiments.suites import list_entries
from mmalign.experiments.systems import find_systems
from tests.training.small import small_dataset

PAIR = ("visible", "victim")
SETTINGS = {"dim": 8, "heads": 2, "window": 2, "batch_size": 16, "epochs": 3, "warm_up": 1}


def tiny_scope(**changes) -> Scope:
    defaults = {
        "pairs": [PAIR],
        "survivals": [0.5],
        "seeds": [0, 1],
        "methods": ["zero-fill", "mmalign"],
        "settings": SETTINGS,
    }
    chosen = defaults | changes
    return Scope(systems=find_systems(chosen.pop("methods")), **chosen)


def write_data(folder: Path) -> Path:
    """The small twin as a native dataset, unless it is there."""
    if not folder.exists():
        write_native(small_dataset(), folder)
    return folder


def tiny_grid(
    folder: Path, data: Path | str = "data", suites: Sequence[str] = ("main",), **changes
) -> Grid:
    """A grid on the small twin; `data` is where workers find it."""
    dataset = small_dataset()
    entries = list_entries(dataset, tiny_scope(**changes), suites)
    return extend_grid(folder, dataset, Source(str(data)), entries).only(entries)
