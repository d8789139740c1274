"""Pickles as they lie on disk: plain, or inside an `.npy` file of objects."""

import mmap
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.pickles.machine import MEGABYTE, PickleMachine
from mmalign.errors import DataError
from mmalign.progress import track

NPY_MAGIC = b"\x93NUMPY"


def map_file(file: Path) -> memoryview:
    """The file's bytes, mapped into memory.

    Raises:
        DataError: If it cannot be opened, is no regular file or has no bytes.
    """
    if not file.is_file():  # asked before opening: to open a FIFO would wait for its writer
        reason = "not a regular file" if file.exists() else "there is no such file"
        raise DataError(reason, file=file)
    try:
        with file.open("rb") as stream:
            return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        reason = "the file is empty" if isinstance(error, ValueError) else str(error)
        raise DataError(f"cannot be read: {reason}", file=file) from error


def read_pickle(file: Path) -> Any:
    """The value of a pickle file; large arrays are views on the mapped file.

    Raises:
        DataError: If it is no pickle, is damaged, or holds anything but data.
    """
    data = map_file(file)
    machine = PickleMachine(data)
    try:
        total = len(data) // MEGABYTE
        for _ in track(machine.megabytes(), f"reading {file.name} (MB)", total=total):
            pass
        return machine.value()
    except DataError as error:
        raise error.located(file=file) from None


def read_npy_object(file: Path) -> Any:
    """The one object inside an `.npy` file of dtype object and shape ().

    Raises:
        DataError: If it is no such file, or its pickle is refused.
    """
    data = map_file(file)
    try:
        if bytes(data[:6]) != NPY_MAGIC:
            raise DataError("not an .npy file")
        size = 2 if data[6] == 1 else 4
        start = 8 + size + int.from_bytes(data[8 : 8 + size], "little")
        array = PickleMachine(data, start).run()
        if not isinstance(array, np.ndarray) or array.dtype != object or array.size != 1:
            raise DataError("expected one pickled object in the .npy file")
        return array.reshape(())[()]
    except IndexError as error:
        raise DataError("the .npy file ends too early", file=file) from error
    except DataError as error:
        raise error.located(file=file) from None
