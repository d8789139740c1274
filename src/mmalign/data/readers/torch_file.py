"""Tensors in files of `torch.save`, zip and legacy, without torch and without its unpickler."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.data.arrays import Archive, Array
from mmalign.data.pickles import REBUILDERS, Global, PickleMachine, map_file
from mmalign.errors import DataError, damaged, located

LEGACY_START = b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."
STORAGES: Mapping[str, np.dtype[Any]] = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
}


@dataclass
class Storage:
    """The numbers that tensors look at; a legacy file brings them after the tensors."""

    key: str
    dtype: np.dtype[Any]
    size: int
    content: memoryview | None = None


@dataclass(frozen=True)
class Tensor:
    """A tensor as the file describes it."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    def array(self) -> Array:
        """The numbers, as a view on the file.

        Raises:
            DataError: If the tensor is not a plain block of its storage.
        """
        content, dtype = self.storage.content, self.storage.dtype
        if content is None or len(content) != self.storage.size * dtype.itemsize:
            raise damaged(f"tensor storage {self.storage.key!r} is not whole")
        count = int(np.prod(self.shape, dtype=object)) if self.shape else 1
        contiguous = tuple(int(np.prod(self.shape[i + 1 :])) for i in range(len(self.shape)))
        if self.strides != contiguous or self.offset + count > self.storage.size:
            raise DataError("a tensor that does not lie in one piece", fix="Save a .contiguous().")
        flat = np.frombuffer(content, dtype)[self.offset : self.offset + count]
        return flat.reshape(self.shape)


@dataclass
class _Storages:
    """Storages by key, in the order of their first mention."""

    found: dict[str, Storage] = field(default_factory=dict)

    def __call__(self, identity: Any) -> Storage:
        match identity:
            case ("storage", Global(module="torch", name=kind), str(key), _, int(size), *_) if (
                kind in STORAGES and 0 <= size < 1 << 48
            ):
                return self.found.setdefault(key, Storage(key, STORAGES[kind], size))
        raise DataError("a tensor of an unknown type", fix="Save float32 tensors.")


def read_torch(file: Path) -> Any:
    """The value of a torch file, with a `Tensor` for every tensor in it.

    Raises:
        DataError: If it is no such file, is damaged, or holds anything but data.
    """
    data = map_file(file)
    with located(file=file):
        return _read_legacy(data) if is_legacy_torch(data) else _read_zip(file)


def is_legacy_torch(data: memoryview) -> bool:
    """Whether a file begins as torch wrote files before it used zip archives."""
    return bytes(data[: len(LEGACY_START)]) == LEGACY_START


def _read_zip(file: Path) -> Any:
    with Archive(file) as archive:
        pickles = [name for name in archive.names if name.split("/")[1:] == ["data.pkl"]]
        if len(pickles) != 1:
            raise damaged("not a torch file: there is no data.pkl in the archive")
        folder = pickles[0].split("/")[0]
        storages = _Storages()
        value = _machine(archive.read(pickles[0]), 0, storages).run()
        for key, storage in storages.found.items():
            storage.content = archive.read(f"{folder}/data/{key}")
        return value


def _read_legacy(data: memoryview) -> Any:
    at = 0
    for _ in ("magic", "protocol version", "system information"):
        header = PickleMachine(data, at)
        header.run()
        at = header.position
    storages = _Storages()
    machine = _machine(data, at, storages)
    value = machine.run()
    order = PickleMachine(data, machine.position)
    keys = order.run()
    at = order.position
    for key in keys if isinstance(keys, list) else ():
        storage = storages.found.get(key) if isinstance(key, str) else None
        if storage is None:
            raise damaged("the file names a storage that no tensor uses")
        at += 8  # the number of elements, once more
        storage.content = data[at : at + storage.size * storage.dtype.itemsize]
        at += storage.size * storage.dtype.itemsize
    return value


def _machine(data: memoryview, start: int, storages: _Storages) -> PickleMachine:
    table = {**REBUILDERS, ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor}
    return PickleMachine(data, start, rebuilders=table, persistent=storages)


def _rebuild_tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, Storage) or len(shape) != len(strides) or len(shape) > 32:
        raise ValueError("not a tensor")
    if not all(isinstance(n, int) and 0 <= n < 1 << 48 for n in numbers):
        raise ValueError("no tensor has such a shape")
    return Tensor(storage, offset, tuple(shape), tuple(strides))
