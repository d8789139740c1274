"""The layout that writer and reader of the native format share."""

import base64
import hashlib
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Int64

from mmalign.data.split_names import SPLITS

FORMAT_VERSION = 1
GAPS_VERSION = 2  # a file with gaps: what does not know of them must not read it
METADATA_KEY = b"mmalign"
RESERVED = ("id", "label", "words", "times", "group")
OBSERVED = "_observed"

Lengths = Int64[np.ndarray, " clips"]


def shards(path: Path, split: str) -> list[Path]:
    """The Parquet files of one split, in order."""
    return sorted([*path.glob(f"{split}-*.parquet"), *path.glob(f"{split}.parquet")])


def is_native(path: Path) -> bool:
    """Whether path is a directory with Parquet files of at least one split."""
    return path.is_dir() and any(shards(path, split) for split in SPLITS)


def steps_type(dim: int) -> pa.DataType:
    """Type of a modality's column: a list of steps, each a fixed-size list of float32."""
    step = pa.list_(pa.field("element", pa.float32(), nullable=False), dim)
    return pa.list_(pa.field("element", step, nullable=False))


def observed_columns(schema: pa.Schema) -> dict[str, str]:
    """For each modality with gaps, the column that tells which of its steps are there.

    That of `text` is `text_observed`: a list of booleans, which no modality is.
    """
    names = {name: name + OBSERVED for name in schema.names if name not in RESERVED}
    return {
        modality: name
        for modality, name in names.items()
        if name in schema.names
        and pa.types.is_boolean(getattr(schema.field(name).type, "value_type", pa.null()))
    }


def fingerprint(ids: Iterable[str]) -> str:
    """Hash of the ids in their order: stored lengths hold for these rows and no others."""
    digest = hashlib.blake2b(digest_size=16)
    for clip_id in ids:
        digest.update(clip_id.encode() + b"\0")
    return digest.hexdigest()


def pack_lengths(lengths: Lengths) -> str:
    """Lengths as text for the schema metadata."""
    return base64.b64encode(lengths.astype("<i4").tobytes()).decode()


def unpack_lengths(text: str) -> Lengths:
    """The lengths that `pack_lengths` wrote."""
    return np.frombuffer(base64.b64decode(text), dtype="<i4").astype(np.int64)
