"""Prediction from parallel sequences when a whole modality is missing.

Names are imported when they are first used: `import mmalign` alone stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mmalign.version import __version__

if TYPE_CHECKING:
    from mmalign import align
    from mmalign.data import Clip, Dataset, Protocol, load_dataset

__all__ = ["Clip", "Dataset", "Protocol", "__version__", "align", "load_dataset"]

_HOMES = {
    "Clip": "mmalign.data",
    "Dataset": "mmalign.data",
    "Protocol": "mmalign.data",
    "load_dataset": "mmalign.data",
}


def __getattr__(name: str) -> Any:
    if name == "align":
        return import_module("mmalign.align")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mmalign' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
