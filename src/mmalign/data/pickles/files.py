"""Files mapped into memory, and pickles in them."""

import mmap
from pathlib import Path
from typing import Any

from mmalign.data.pickles.machine import MEGABYTE, PickleMachine
from mmalign.errors import DataError, damaged, located
from mmalign.files import open_regular
from mmalign.progress import track


def map_file(file: Path) -> memoryview:
    """The file's bytes, mapped into memory.

    Raises:
        DataError: If it cannot be opened, is no regular file or has no bytes.
    """
    if not file.is_file():
        reason = "not a regular file" if file.exists() else "there is no such file"
        raise DataError(reason, file=file, fix="Check the path.")
    try:
        with open_regular(file) as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = "the file is empty" if isinstance(error, ValueError) else str(error)
        raise damaged(f"cannot be read: {reason}", file=file) from error


def read_pickle(file: Path) -> Any:
    """The value of a pickle file; large arrays are views on the mapped file.

    Raises:
        DataError: If it is no pickle, is damaged, or holds anything but data.
    """
    data = map_file(file)
    machine = PickleMachine(data)
    with located(file=file):
        total = len(data) // MEGABYTE
        for _ in track(machine.megabytes(), f"reading {file.name} (MB)", total=total):
            pass
        return machine.value()
