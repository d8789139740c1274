"""Kinds of files, told apart by content; and files that are not data at all."""

import re
from codecs import getincrementaldecoder
from enum import Enum, auto
from pathlib import Path

from mmalign.data.arrays import MAGIC, Archive
from mmalign.data.pickles import map_file
from mmalign.data.readers.torch_file import is_legacy_torch
from mmalign.errors import DataError


class Kind(Enum):
    """Containers that a reader can open."""

    PICKLE = auto()
    NPZ = auto()
    NPY = auto()
    TORCH = auto()
    HDF5 = auto()
    CSV = auto()


STARTS: tuple[tuple[bytes, Kind], ...] = (
    (MAGIC, Kind.NPY),
    (b"\x89HDF\r\n\x1a\n", Kind.HDF5),
)

COPY_AGAIN = "Download the file itself, and check its size."

NAME = rb"[\"']?[A-Za-z][^;\x00-\x1f]*"
"""A column of a header, as semicolons and tabs leave it: `wrist.x (m,s)` may have a comma."""

NO_NAME = b"@%<"
"""What ARFF, LaTeX and XML begin with, and no column does."""

NEAR_MISSES: tuple[tuple[re.Pattern[bytes], str, str], ...] = (
    (
        re.compile(rb"version https://git-lfs\.github\.com/spec/"),
        "this is a Git LFS pointer, not the data",
        "Run `git lfs pull` in its repository, or download the file itself.",
    ),
    (
        re.compile(rb"\s*<(!doctype|html|head|\?xml)", re.IGNORECASE),
        "this is a web page, not the data (shared drives send one to ask for confirmation)",
        COPY_AGAIN,
    ),
    (
        re.compile(rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd"),
        "this is a packed archive",
        "Unpack it first.",
    ),
    (re.compile(rb"PAR1"), "this is one Parquet file", "Give the directory it lies in."),
    (
        # Whichever of comma and semicolon comes first separates; a tab is in no name.
        re.compile(
            rb"(\xef\xbb\xbf)?(?=[^,\r\n]*;|[^;\r\n]*\t)"
            rb"%b([;\t]%b)+([\r\n]|\Z)" % (NAME, NAME)
        ),
        "this table separates its columns by semicolons or tabs",
        "Save it as CSV with commas, and with points in numbers.",
    ),
    (re.compile(rb"MATLAB"), "this is a MATLAB file", "Save its arrays with numpy.savez."),
    (re.compile(rb"\s*[{\[]\s*[\"{\[\d]"), "this is a JSON file", "Save its arrays as npz."),
)


def kind_of(file: Path) -> Kind:
    """The kind of container.

    Raises:
        DataError: If it is no regular file, is empty, or is something else than data.
    """
    data = map_file(file)
    start = bytes(data[:512])
    for pattern, problem, fix in NEAR_MISSES:
        if pattern.match(start):
            raise DataError(problem, file=file, fix=fix)
    if start[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        return _kind_of_zip(file)
    for magic, kind in STARTS:
        if start.startswith(magic):
            return kind
    if is_legacy_torch(data):
        return Kind.TORCH
    return Kind.CSV if _is_csv(start) else Kind.PICKLE


def _kind_of_zip(file: Path) -> Kind:
    with Archive(file) as archive:
        names = archive.names
    if any(name.endswith("/data.pkl") for name in names):
        return Kind.TORCH
    if any(name.endswith(".npy") for name in names) and not any("/" in name for name in names):
        return Kind.NPZ
    raise DataError("this is a zip archive that was not unpacked", file=file, fix="Unpack it.")


def _is_csv(start: bytes) -> bool:
    """Whether the first line is text with commas: a header of column names."""
    line = start.splitlines()[0] if start.strip() else b""
    text = _text_of(line).replace("\t", " ")
    return b"," in line and line[0] not in NO_NAME and text.isprintable()


def _text_of(line: bytes) -> str:
    """The line in UTF-8, its last letter perhaps cut off; else in Latin-1, as old tools write."""
    try:
        return getincrementaldecoder("utf-8-sig")().decode(line)
    except UnicodeDecodeError:
        return line.decode("latin-1")
