"""Kernels that were compiled ahead: kept in a file, and run without Numba.

`kernel` names one. It is Numba's where Numba is in use already, or where no code is kept.
"""

import contextlib
import ctypes
import json
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import sha256
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from mmalign.align.kernels.private import is_private, private_folder
from mmalign.align.kernels.sources import sources_digest
from mmalign.files import read_regular, write_atomically

PARTS = ("experts", "network")
"""Which kernels are kept, in a file each: they are compiled by processes of their own."""

DIGEST = sha256().digest_size
CODES = {"b": "?", "i": "bhiq", "u": "BHIQ", "f": " efd"}
"""How `struct` writes numbers of a kind, of 1, 2, 4 and 8 bytes."""

Kinds = list[tuple[str, int]]
"""Of each argument the type, and the dimensions of an array; -1 for a number."""


class Kernel:
    """A kernel by name; whose it is, is decided at the first call.

    Args:
        module: Where it is defined, as a name in this package.
        name: Its name there.
    """

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name
        self._run: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> None:
        """Run it."""
        if self._run is None:
            found = None if "numba" in sys.modules else kept().get(f"{self.module}.{self.name}")
            self._run = self.of_numba() if found is None else found
        self._run(*arguments)

    def of_numba(self) -> Callable[..., Any]:
        """The one that Numba compiles; it takes arguments of any type."""
        found: Callable[..., Any] = getattr(import_module(f"mmalign.{self.module}"), self.name)
        return found


class Entry:
    """Machine code of a kernel, for arguments of one type each.

    Args:
        address: Where it is.
        kinds: What it takes.
        otherwise: Gives the kernel that is called for other arguments, or at an error.
    """

    def __init__(
        self, address: int, kinds: Kinds, otherwise: Callable[[], Callable[..., Any]]
    ) -> None:
        self._enter = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(address)
        self._types = [(np.dtype(name), dims) for name, dims in kinds]
        self._layout = struct.Struct("=" + "".join(_code(*kind) for kind in self._types))
        self._otherwise = otherwise

    def __call__(self, *arguments: Any) -> None:
        """Run it; errors are those that Numba raises."""
        table = self._table(arguments)
        if table is None or self._enter(table):
            self._otherwise()(*arguments)

    def _table(self, arguments: tuple[Any, ...]) -> bytes | None:
        """Arguments as 64-bit numbers; None where one is of another type."""
        numbers: list[Any] = []
        for given, (dtype, dims) in zip(arguments, self._types, strict=True):
            if dims < 0:
                numbers.append(given)
            elif given.dtype == dtype and given.ndim == dims and given.flags.c_contiguous:
                numbers.append(_address(given))
                numbers += given.shape
            else:
                return None
        try:
            return self._layout.pack(*numbers)
        except struct.error:  # another kind of number
            return None


def _code(dtype: np.dtype, dims: int) -> str:
    """How `struct` writes an argument: an array by address and shape, a number in 64 bits."""
    if dims >= 0:
        return "Q" + "q" * dims
    code = CODES[dtype.kind][dtype.itemsize.bit_length() - 1]
    return f"{code}{8 - dtype.itemsize}x"


def _told_address(array: np.ndarray) -> int:
    """Where the numbers of an array are, as NumPy tells."""
    return int(array.__array_interface__["data"][0])


def _read_address(array: np.ndarray) -> int:
    """The same, read from behind the head of the object, as C code does: a fifth of the time."""
    return ctypes.c_void_p.from_address(id(array) + object.__basicsize__).value or 0


_TRIAL = np.zeros(3)
_address = _read_address if _read_address(_TRIAL) == _told_address(_TRIAL) else _told_address


@cache
def kept() -> Mapping[str, Entry]:
    """Kernels by module and name, from the code that is kept for this machine and version."""
    found: dict[str, Entry] = {}
    for part in PARTS:
        files = (p for p in _places(part) if p.is_file() and is_private(str(p.parent)))
        found |= _loaded(part, read_regular(path)) if (path := next(files, None)) else {}
    return found


def keep_for_reading(part: str, used: Sequence[Kernel]) -> bool:
    """Keep kernels of a prediction as code that runs without Numba; tells whether that went.

    The code is made with parts of Numba that may change from release to release, and is first
    loaded in a process of its own. Where either fails, kernels stay with Numba.
    """
    path = None
    with contextlib.suppress(Exception):
        path = keep(part, {f"{one.module}.{one.name}": one.of_numba() for one in used})
    if path is None:
        return False
    trial = get_context("spawn").Process(target=kept)
    trial.start()
    trial.join()
    if trial.exitcode != 0:
        path.unlink(missing_ok=True)
    return trial.exitcode == 0


def keep(part: str, kernels: Mapping[str, Any]) -> Path | None:
    """Write the code of kernels that were used before to where `kept` looks, if there is a place.

    Raises:
        ValueError: If one of them cannot run without Numba.
    """
    from mmalign.align.kernels.ahead import object_code

    content = packed(*object_code(kernels))
    for path in _places(part):
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if is_private(str(path.parent)):
                write_atomically(path, content)
                return path
        except OSError:
            continue
    return None


def packed(code: bytes, symbols: Mapping[str, tuple[str, Kinds]]) -> bytes:
    """Code and what is in it, behind a digest of both."""
    head = json.dumps(symbols).encode() + b"\n"
    return sha256(head + code).digest() + head + code


def _loaded(part: str, content: bytes) -> dict[str, Entry]:
    """The kernels that `packed` gave; none of a file that is damaged."""
    digest, rest = content[:DIGEST], content[DIGEST:]
    if sha256(rest).digest() != digest:
        return {}
    head, code = rest.split(b"\n", 1)
    import llvmlite.binding as llvm

    engine = _engine(part)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found = {}
    for name, (symbol, kinds) in json.loads(head).items():
        address = engine.get_function_address(symbol)
        found[name] = Entry(address, list(map(tuple, kinds)), Kernel(*name.rsplit(".", 1)).of_numba)
    return found


@cache
def _engine(_part: str) -> Any:
    """What holds the code of a part for as long as the process lives."""
    import llvmlite.binding as llvm

    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), native_machine())


def native_machine() -> Any:
    """The processor that code is made for."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, jit=True
    )


def _places(part: str) -> list[Path]:
    """Where code may be kept; the name tells the source, the compiler and the processor."""
    import llvmlite
    import llvmlite.binding as llvm

    digest = sha256(f"{llvmlite.__version__} {llvm.get_host_cpu_name()}".encode())
    digest.update(llvm.get_host_cpu_features().flatten().encode())
    digest.update(sources_digest().encode())
    name = f"{part}-{digest.hexdigest()[:32]}.code"
    folders = [Path(__file__).parent / "__pycache__", private_folder()]
    return [folder / name for folder in folders if folder is not None]
