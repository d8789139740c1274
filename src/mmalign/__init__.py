"""Predict from parallel sequences when modalities are missing.

Names are imported when they are first used: `import mmalign` alone stays light.
"""

from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any

from mmalign.version import __version__

if TYPE_CHECKING:
    from mmalign import align
    from mmalign.data import Clip, Dataset, Protocol, load_dataset
    from mmalign.estimator import MMAlign
    from mmalign.experts import Experts
    from mmalign.export.writing import export_onnx
    from mmalign.serving.client import Client

__all__ = [
    "Client",
    "Clip",
    "Dataset",
    "Experts",
    "MMAlign",
    "Protocol",
    "__version__",
    "align",
    "export_onnx",
    "from_pretrained",
    "load",
    "load_dataset",
]

_HOMES = {
    "Client": "mmalign.serving.client",
    "Clip": "mmalign.data",
    "Dataset": "mmalign.data",
    "Experts": "mmalign.experts",
    "MMAlign": "mmalign.estimator",
    "Protocol": "mmalign.data",
    "export_onnx": "mmalign.export.writing",
    "load_dataset": "mmalign.data",
}


def load(path: "str | PathLike[str]", *, device: str = "auto") -> "MMAlign":
    """Load the model in a run directory: see `mmalign.MMAlign.load`."""
    from mmalign.estimator import MMAlign

    return MMAlign.load(path, device=device)


def from_pretrained(name: "str | PathLike[str]", *, device: str = "auto") -> "MMAlign":
    """Load a model by path or Hub name: see `mmalign.MMAlign.from_pretrained`."""
    from mmalign.estimator import MMAlign

    return MMAlign.from_pretrained(name, device=device)


def __getattr__(name: str) -> Any:
    if name == "align":
        return import_module("mmalign.align")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mmalign' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
