"""Zip archives of arrays (`.npz`, torch's `.pt`): checked sizes, checked sums, no unpacking."""

import struct
import zipfile
import zlib
from pathlib import Path
from types import TracebackType

from mmalign.allowance import memory_allowed
from mmalign.data.pickles import map_file
from mmalign.errors import DataError, damaged

LOCAL_HEADER = struct.Struct("<4s22xHH")
UNREADABLE = (
    *(zipfile.BadZipFile, OSError, ValueError, LookupError, struct.error),
    *(NotImplementedError, RuntimeError, OverflowError),
)
"""Errors that the standard library raises on a damaged directory."""


class Archive:
    """A zip file whose entries are read into memory, or stay views where they are not packed.

    Raises:
        DataError: If it is no zip file, or its entries would fill far more memory than it has
            bytes.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.data = map_file(file)
        try:
            self._zip = zipfile.ZipFile(file)
        except UNREADABLE as error:
            raise damaged(f"not a readable zip archive ({error})", file=file) from error
        self._entries = {entry.filename: entry for entry in self._zip.infolist()}
        self._refuse_bombs()

    def __enter__(self) -> "Archive":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    @property
    def names(self) -> list[str]:
        """Names of the entries, in the order of the archive."""
        return list(self._entries)

    def read(self, name: str) -> memoryview:
        """The bytes of an entry, checked against its size and its sum.

        Raises:
            DataError: If there is no such entry, or it is damaged.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise damaged(f"there is no entry {name!r} in the archive", file=self.file)
        packed = self._packed(entry)
        content = memoryview(_unpacked(packed, entry, self.file))
        if len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
            raise damaged(
                f"entry {name!r} does not have the bytes that were stored", file=self.file
            )
        return content

    def _refuse_bombs(self) -> None:
        total = sum(entry.file_size for entry in self._entries.values())
        if total > memory_allowed(len(self.data)):
            raise DataError(
                f"an archive of {len(self.data):,} bytes that unpacks to {total:,}",
                file=self.file,
                fix="That looks like a bomb. If it is yours, store it without compression.",
            )

    def _packed(self, entry: zipfile.ZipInfo) -> memoryview:
        start = entry.header_offset
        try:
            magic, name, extra = LOCAL_HEADER.unpack(self.data[start : start + 30])
        except struct.error as error:
            raise damaged("an entry lies outside the archive", file=self.file) from error
        first = start + 30 + name + extra
        packed = self.data[first : first + entry.compress_size]
        if magic != b"PK\x03\x04" or len(packed) != entry.compress_size:
            raise damaged(f"entry {entry.filename!r} is damaged", file=self.file)
        return packed


def _unpacked(packed: memoryview, entry: zipfile.ZipInfo, file: Path) -> bytes | memoryview:
    if entry.flag_bits & 1:
        raise DataError(
            f"entry {entry.filename!r} is encrypted", file=file, fix="Store it without a password."
        )
    if entry.compress_type == zipfile.ZIP_STORED:
        return packed
    if entry.compress_type != zipfile.ZIP_DEFLATED:
        raise DataError(
            f"entry {entry.filename!r} is packed by an unusual method",
            file=file,
            fix="Write it with numpy.savez or numpy.savez_compressed.",
        )
    try:
        # One byte more than announced is enough to see that the announcement is wrong.
        return zlib.decompressobj(-15).decompress(packed, entry.file_size + 1)
    except (zlib.error, MemoryError, OverflowError) as error:
        raise damaged(f"entry {entry.filename!r} is damaged ({error})", file=file) from error
