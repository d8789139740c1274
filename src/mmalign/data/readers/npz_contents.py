"""The arrays of an npz file by their role: modalities with lengths, and facts about clips."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mmalign.data.arrays import Array, read_npz
from mmalign.data.clip import Steps, StepsColumn
from mmalign.data.columns import MadeColumn, to_float32
from mmalign.data.readers.values import to_texts
from mmalign.errors import DataError, counted, located

LENGTHS = ("_len", "_length", "_lengths", "_lens")
SHARED_LENGTHS = ("len", "length", "lengths", "lens")
CLASSES = ("classes", "class_names")
LABELS = ("label", "labels", "y", "target", "targets")
IDS = ("id", "ids", "clip_id", "clip_ids")
SPLITS = ("split", "splits")
FACTS = (
    *("subject", "participant", "person", "user", "speaker", "gender", "age"),
    *("trial", "session", "recording", "repetition", "video", "dialogue"),
    *("fold", "group", "index"),
)
"""Names of arrays that tell clips apart and are no labels, in the singular."""


@dataclass(frozen=True)
class Contents:
    """The arrays of one file by their role; all but `classes` speak of the same clips."""

    file: Path
    features: Mapping[str, StepsColumn]
    dims: Mapping[str, int]
    facts: Mapping[str, Array]
    classes: tuple[str, ...]
    unused: tuple[str, ...]

    @property
    def clips(self) -> int:
        """Number of clips."""
        return len(next(iter(self.features.values())))


def read_contents(file: Path, label: str | None = None) -> Contents:
    """The arrays of a file by their role.

    Args:
        file: The file.
        label: Array that is asked for as the label.

    Raises:
        DataError: If there is no modality, or an array does not fit the number of clips.
    """
    arrays = _with_feature_axis(read_npz(file))
    with located(file=file):
        lengths = _lengths_of(arrays)
        taken = {name for names in lengths.values() for name in names}
        features = {
            name: _column(name, arrays[name], _only(arrays, lengths[name])) for name in lengths
        }
        clips = _common_count(features)
        classes = named(arrays, CLASSES)
        facts = {
            name: array
            for name, array in arrays.items()
            if name not in lengths and name not in taken and array.shape in ((clips,), (clips, 1))
        }
        unused = tuple(set(arrays).difference(features, taken, facts, CLASSES))
        _require_one_each({name: arrays[name] for name in unused}, clips, label)
        return Contents(
            file,
            features,
            {name: int(arrays[name].shape[-1]) for name in features},
            {name: array.reshape(-1) for name, array in facts.items()},
            tuple(to_texts(arrays[classes])) if classes else (),
            unused,
        )


def _require_one_each(unused: Mapping[str, Array], clips: int, label: str | None) -> None:
    """Check that no array that speaks of each clip is left over for its length.

    Raises:
        DataError: If one is.
    """
    spoken = {*LABELS, *IDS, *SPLITS, *FACTS, *(f"{fact}s" for fact in FACTS)}
    for name, array in unused.items():
        if name.lower() in spoken or name == label:
            size = " x ".join(map(str, array.shape)) or "1"
            raise DataError(
                f"array {name!r} has {size} values for {counted(clips, 'clip')}",
                fix="Store one for each clip, in the order of the clips.",
            )


def _lengths_of(arrays: Mapping[str, Array]) -> dict[str, tuple[str, ...]]:
    """For every modality, the name of its lengths, if it has any."""
    shared = named(arrays, SHARED_LENGTHS)
    steps = arrays[shared].sum() if shared and arrays[shared].dtype.kind in "iu" else None
    found: dict[str, tuple[str, ...]] = {}
    for name, array in arrays.items():
        if array.ndim not in (2, 3) or array.dtype.kind not in "fiu":
            continue
        own = next((name + suffix for suffix in LENGTHS if name + suffix in arrays), None)
        if own is not None:
            found[name] = (own,)
        elif shared is not None and (array.ndim == 3 or len(array) == steps):
            found[name] = (shared,)
        elif array.ndim == 3:
            found[name] = ()
    if not found:
        raise DataError(
            f"no modality among the arrays {', '.join(list(arrays)[:8]) or '(none)'}",
            fix="Give each modality X as [steps, dim] with X_len, or as [clips, time, dim].",
        )
    return found


def _with_feature_axis(arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays; one number a step, with lengths beside it, is a modality of one feature."""
    return {
        name: array.reshape(-1, 1)
        if array.ndim == 1 and any(name + suffix in arrays for suffix in LENGTHS)
        else array
        for name, array in arrays.items()
    }


def _only(arrays: Mapping[str, Array], names: tuple[str, ...]) -> Array | None:
    return arrays[names[0]] if names else None


def _column(name: str, array: Array, lengths: Array | None) -> MadeColumn:
    """The clips of one modality; a clip of length 0 lacks it."""
    if lengths is None:
        stops = np.full(len(array), array.shape[1], dtype=np.int64)
    elif lengths.ndim == 1 and lengths.dtype.kind in "iu":
        stops = lengths.astype(np.int64)
    else:
        raise _no_lengths("lengths must be integers, one a clip", name)
    longest = array.shape[1] if array.ndim == 3 else len(array)
    if len(stops) and not (stops.min() >= 0 and stops.max() <= longest):
        raise _no_lengths(f"a length is outside 0..{longest}", name)
    if array.ndim == 3:
        if len(stops) != len(array):
            raise _no_lengths(f"{len(array)} clips but {len(stops)} lengths", name)
        return MadeColumn(len(stops), lambda i: _steps(array[i, : stops[i]]))
    if stops.sum() != len(array):
        raise _no_lengths(f"{len(array)} steps, but lengths add to {stops.sum()}", name)
    ends = np.cumsum(stops)
    return MadeColumn(len(stops), lambda i: _steps(array[ends[i] - stops[i] : ends[i]]))


def _no_lengths(problem: str, modality: str) -> DataError:
    fix = "Store one length a clip, in the order of the clips; 0 where the modality is missing."
    return DataError(problem, modality=modality, fix=fix)


def _steps(array: Array) -> Steps | None:
    return to_float32(array) if len(array) else None


def _common_count(features: Mapping[str, StepsColumn]) -> int:
    counts = {name: len(column) for name, column in features.items()}
    if len(set(counts.values())) != 1:
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise DataError(
            f"different numbers of clips: {told}", fix="Give a clip that lacks a modality length 0."
        )
    return next(iter(counts.values()))


def named(arrays: Mapping[str, Array], names: Sequence[str]) -> str | None:
    """The first array that has one of these names."""
    return next((name for name in arrays if name.lower() in names), None)
