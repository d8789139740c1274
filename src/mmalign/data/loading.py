"""Open a dataset by path or name."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from mmalign.data.dataset import Dataset
from mmalign.data.non_finite import Policy, apply_policy
from mmalign.data.readers import ReadOptions, read
from mmalign.data.smartwatch import smartwatch
from mmalign.data.twin import synthetic_twin
from mmalign.errors import DataError, located
from mmalign.spelling import meant

BUILT_IN: Mapping[str, Callable[[], Dataset]] = {
    "smartwatch": smartwatch,
    "twin": lambda: synthetic_twin().dataset,
}
"""Datasets that need no file, by name."""


def open_dataset(path: str | PathLike[str], options: ReadOptions | None = None) -> Dataset:
    """Open a dataset as it is stored, non-finite values included.

    Raises:
        DataError: If there is no such dataset, or it is not sound.
    """
    place = Path(path)
    if not place.exists() and str(path) in BUILT_IN:
        chosen = options or ReadOptions()
        chosen.require_no_label()
        chosen.require_no_vectors()
        return BUILT_IN[str(path)]()
    if not place.exists():
        raise DataError("there is no such file or directory", file=place, fix=_hint(place))
    return read(place, options or ReadOptions())


def _hint(path: Path) -> str:
    """Which file beside it, or which built-in dataset, was probably meant."""
    beside = [str(path.with_name(file.name)) for file in path.parent.glob("*")]
    near = meant(str(path), [*BUILT_IN, *beside])
    return "Check the path." if near is None else f"Did you mean {near}?"


def load_dataset(
    path: str | PathLike[str],
    *,
    non_finite: Policy = "reject",
    label: str | None = None,
    vectors: str | PathLike[str] | None = None,
) -> Dataset:
    """Load a dataset: a native directory, a file of any supported format, or a built-in name.

    Args:
        path: Directory or file; or `smartwatch` or `twin`, which come with the install.
        non_finite: How to treat NaN and infinity: `reject`, `zero` or `clip`, or
            `gap`, which counts such steps as missing.
        label: Label to use if a file has several.
        vectors: Word vectors, for layouts that store only words.

    Raises:
        DataError: If it cannot be read, is not sound, or is not finite under `reject`.

    >>> data = load_dataset("twin")
    >>> data.modalities
    ('visible', 'victim')
    """
    options = ReadOptions(label=label, vectors=None if vectors is None else Path(vectors))
    with located(file=Path(path)):
        return apply_policy(open_dataset(path, options), non_finite)
