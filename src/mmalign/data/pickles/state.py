"""State of a pickle machine: a buffer, a stack, a memo, and a table of allowed names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmalign.allowance import SPARE_BYTES, memory_allowed
from mmalign.data.pickles.rebuild import PendingArray, PendingDtype, UnsafeError

PLACE_BYTES = 10  # a pointer in a list that grows
ENTRY_BYTES = 112  # of a dict or set that grows
SMALL_BYTES = 64
SET_BYTES = 224
OBJECT_BYTES = 256

MOST_NESTING = 1000
"""Arrays of objects that hold containers, which may hold such arrays: Python and numpy free them by
recursion, and some ten thousand levels overflow the stack."""

CONTAINERS = (list, tuple, dict, set, frozenset)

Rebuilders = Mapping[tuple[str, str], Callable[..., Any]]


@dataclass(frozen=True)
class Global:
    """A name in the pickle; it is never looked up in Python."""

    module: str
    name: str


class Python2Text(str):
    """A byte string of Python 2 as Latin-1: text, or the raw bytes of an array."""

    __slots__ = ()


class MachineState:
    """Buffer, stack and memo of one running pickle.

    Args:
        data: The buffer; the pickle begins at `start`.
        start: Position of the first opcode.
        rebuilders: What each allowed (module, name) does with its arguments.
        persistent: Value of a persistent id (how torch files refer to storages).
    """

    def __init__(
        self,
        data: memoryview,
        start: int,
        rebuilders: Rebuilders,
        persistent: Callable[[Any], Any] | None,
    ) -> None:
        self.data = data
        self.position = start
        self.rebuilders = rebuilders
        self.persistent = persistent
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo = Memo(self.pay)
        self.budget = memory_allowed(len(data)) - SPARE_BYTES // 2  # half is for its reader
        self.nesting = 0

    # --- reading the buffer ---------------------------------------------------------------

    def take(self, size: int) -> memoryview:
        """The next bytes; fails before it allocates where there are not as many."""
        start, stop = self.position, self.position + size
        if size < 0 or stop > len(self.data):
            raise ValueError(f"{size} bytes announced, {len(self.data) - start} left")
        self.position = stop
        return self.data[start:stop]

    def number(self, size: int) -> int:
        """The next unsigned little-endian integer."""
        return int.from_bytes(self.take(size), "little")

    def line(self) -> bytes:
        """The bytes up to the next newline."""
        start, size = self.position, 64  # most lines are short
        while True:
            block = bytes(self.data[self.position : self.position + size])
            found = block.find(b"\n")
            if found >= 0:
                self.position += found + 1
                return bytes(self.data[start : self.position - 1])
            if not block:
                raise ValueError("a line does not end")
            self.position += len(block)
            size = 4096

    # --- stack and memo -------------------------------------------------------------------

    def push(self, value: Any) -> None:
        """Put a value that exists already on the stack."""
        self.pay(PLACE_BYTES)
        self.stack.append(value)

    def push_new(self, value: Any) -> None:
        """Put a new value on the stack: a byte or two in the file, many here."""
        self.pay(PLACE_BYTES + _memory(value))
        self.stack.append(value)

    def mark(self) -> None:
        """Begin a group of values."""
        self.pay(PLACE_BYTES + SMALL_BYTES)  # of an empty list
        self.marks.append(self.stack)
        self.stack = []

    def pop_mark(self) -> list[Any]:
        """The values since the last mark."""
        values = self.stack
        self.stack = self.marks.pop()
        return values

    def put(self, key: int) -> None:
        """Remember the top of the stack."""
        value = self.stack[-1]
        if isinstance(value, PendingArray):
            value.keys.append(key)
        self.memo.put(key, value)

    # --- names ----------------------------------------------------------------------------

    def call(self, function: Any, arguments: Any) -> Any:
        """Apply the table's entry for a name; names that are not in it are refused."""
        if not isinstance(function, Global):
            raise UnsafeError(f"a call of {type(function).__name__}")
        rebuild = self.rebuilders.get((function.module, function.name))
        if rebuild is None:
            raise UnsafeError(f"{function.module}.{function.name}"[:200])
        if not isinstance(arguments, tuple):
            raise UnsafeError("a call without a tuple of arguments")
        return self.paid(rebuild(*arguments))

    def build(self) -> None:
        """Give the object on the stack its state."""
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, PendingArray):
            array = self.stack[-1] = self.paid(PendingArray.build(state))
            for key in target.keys:
                self.memo.put(key, array)
            target.keys.clear()  # other references to it may be built again and again
        elif isinstance(target, PendingDtype):
            target.build(state)
        elif not (isinstance(target, dict) and not state):
            raise UnsafeError(f"a state for {type(target).__name__}")

    def paid(self, value: Any) -> Any:
        """The value, its memory charged to the budget.

        One opcode takes no more than a constant or a copy of what the file holds, but a few
        bytes can ask for the same copy again and again.
        """
        self.pay(_memory(value))
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            self.nesting += any(isinstance(item, CONTAINERS) for item in value.flat)
            if self.nesting > MOST_NESTING:
                raise UnsafeError(f"more than {MOST_NESTING:,} arrays that hold lists or the like")
        return value

    def pay(self, memory: int) -> None:
        """Charge memory to the budget, which grows with the file.

        Raises:
            UnsafeError: If the budget is spent.
        """
        self.budget -= memory
        if self.budget < 0:
            raise UnsafeError("far more than the file holds")


class Memo:
    """Values by number; numbers that count up, as all picklers count, take a pointer each."""

    def __init__(self, pay: Callable[[int], None]) -> None:
        self._pay = pay
        self._counted: list[Any] = []
        self._others: dict[int, Any] = {}

    def __len__(self) -> int:
        return len(self._counted) + len(self._others)

    def __getitem__(self, key: int) -> Any:
        return self._counted[key] if 0 <= key < len(self._counted) else self._others[key]

    def put(self, key: int, value: Any) -> None:
        """Remember a value."""
        if 0 <= key < len(self._counted):
            self._counted[key] = value
        elif key == len(self):
            self._pay(PLACE_BYTES)
            self._counted.append(value)
        else:
            self._pay(ENTRY_BYTES)
            self._others[key] = value


def _memory(value: Any) -> int:
    """Bytes that a new value takes, those of its parts not counted."""
    kind = type(value)  # asked of every value: the common kinds come first, each by one comparison
    if kind is str:
        return SMALL_BYTES + (1 if value.isascii() else 4) * len(value)
    if kind is list or kind is tuple:
        return SMALL_BYTES + 8 * len(value)
    if kind is int or kind is bool:
        return 32 + int(value.bit_length()) // 7
    if kind is float:
        return 32
    if kind is Python2Text:
        return 2 * SMALL_BYTES + (1 if value.isascii() else 4) * len(value)
    if value is None:
        return OBJECT_BYTES
    return _memory_of_others(value)


def _memory_of_others(value: Any) -> int:
    if isinstance(value, np.ndarray):
        owner: Any = value
        while isinstance(owner, np.ndarray) and owner.base is not None:
            owner = owner.base
        return OBJECT_BYTES + (0 if isinstance(owner, memoryview) else int(value.nbytes))
    if isinstance(value, dict | set | frozenset):
        return SET_BYTES + ENTRY_BYTES * len(value)
    if isinstance(value, str):  # a text scalar of numpy
        return 2 * SMALL_BYTES + (1 if value.isascii() else 4) * len(value)
    if isinstance(value, int | float):
        return 32
    return OBJECT_BYTES + (len(value) if isinstance(value, bytes) else 0)
