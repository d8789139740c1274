"""One long CSV: a row for each step of a clip, and columns such as `wrist.x` for features."""

from dataclasses import replace
from pathlib import Path

from mmalign.data.building import built
from mmalign.data.dataset import Dataset
from mmalign.data.frames import clips_from_frames
from mmalign.data.readers.groups import group_column
from mmalign.data.readers.options import ReadOptions
from mmalign.data.readers.tables import read_header
from mmalign.data.split_names import ALL_TRAIN, SPLITS, in_order, split_of
from mmalign.data.tabular import require_column, to_table, values_of
from mmalign.errors import DataError

CLIP, LABEL, SPLIT = "clip", "label", "split"


def recognises(file: Path) -> bool:
    """Whether the header names clips, and features of modalities."""
    header = read_header(file)
    return CLIP in header and any(0 < name.find(".") < len(name) - 1 for name in header)


def read_file(file: Path, options: ReadOptions) -> Dataset:
    """Read clips, with labels, groups and splits where there are such columns.

    Raises:
        DataError: If it is no such file, has no rows or no such label, or a clip has two labels.
    """
    options.require_no_vectors()
    table = to_table(file)
    names = table.column_names
    if not len(table):
        raise DataError("there are no rows below the header", fix="Write one row per step.")
    if options.label is not None:
        require_column(table, options.label)
    clips = clips_from_frames(
        table,
        clip=CLIP,
        label=options.label or LABEL,
        group=group_column(names),
    )
    if SPLIT not in names:
        name = split_of(file.stem)
        return replace(built({name or "train": clips}), notes=() if name else (ALL_TRAIN,))
    pairs = zip(values_of(table, CLIP), values_of(table, SPLIT), strict=True)
    places = {str(clip): split_of(str(split)) or str(split) for clip, split in pairs}
    parts = {
        name: [clip for clip in clips if places[clip.id] == name]
        for name in dict.fromkeys(places.values())
    }
    return built(in_order(parts) if set(parts) <= set(SPLITS) else parts)
