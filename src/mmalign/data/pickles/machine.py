"""A pickle machine that builds values and can call nothing."""

import struct
from collections.abc import Callable, Iterator
from typing import Any

from mmalign.data.pickles.opcodes import OPCODES, StopOpcode
from mmalign.data.pickles.rebuild import REBUILDERS, UnsafeError
from mmalign.data.pickles.state import MachineState, Rebuilders
from mmalign.errors import DataError, damaged

MEGABYTE = 1 << 20
UNREADABLE = (
    *(LookupError, ValueError, TypeError, AttributeError, ArithmeticError),
    *(struct.error, MemoryError, RecursionError),
)
"""Errors that opcodes raise on bytes that do not fit them."""


class PickleMachine:
    """Runs the opcodes of one pickle, protocols 0 to 5, over a buffer.

    Long byte strings stay views on the buffer, so a mapped file is not copied.

    Args:
        data: The buffer; the pickle begins at `start`.
        start: Position of the first opcode.
        rebuilders: What each allowed (module, name) does with its arguments.
        persistent: Value of a persistent id (how torch files refer to storages).

    >>> import pickle
    >>> PickleMachine(memoryview(pickle.dumps({"a": [1, 2.5]}))).run()
    {'a': [1, 2.5]}
    """

    def __init__(
        self,
        data: memoryview,
        start: int = 0,
        *,
        rebuilders: Rebuilders = REBUILDERS,
        persistent: Callable[[Any], Any] | None = None,
    ) -> None:
        self.state = MachineState(data, start, rebuilders, persistent)

    @property
    def position(self) -> int:
        """The byte after the last opcode that ran."""
        return self.state.position

    def run(self) -> Any:
        """The pickled value.

        Raises:
            DataError: If the pickle is damaged, or asks for anything but data.
        """
        for _ in self.megabytes():
            pass
        return self.value()

    def value(self) -> Any:
        """The pickled value, once `megabytes` is exhausted.

        Raises:
            DataError: If the pickle ends without a value.
        """
        if not self.state.stack:
            raise damaged(f"not a readable pickle: no value at byte {self.position}")
        return self.state.stack[-1]

    def megabytes(self) -> Iterator[int]:
        """Run to the end, yielding whenever another megabyte of the buffer is behind.

        Raises:
            DataError: If the pickle is damaged, or asks for anything but data.
        """
        state, data = self.state, self.state.data
        opcode_at = milestone = state.position
        try:
            while True:
                opcode_at = state.position
                opcode = data[opcode_at]
                state.position = opcode_at + 1
                OPCODES[opcode](state)
                while state.position - milestone >= MEGABYTE:
                    milestone += MEGABYTE
                    yield milestone
        except StopOpcode:
            return
        except UnsafeError as error:
            raise DataError(
                f"refused to unpickle {error} at byte {opcode_at}",
                fix="A data file needs arrays, numbers, text, lists and dicts only.",
            ) from None
        except UNREADABLE as error:
            reason = _reason(error, data, opcode_at)
            raise damaged(f"not a readable pickle: {reason} at byte {opcode_at}") from error


def _reason(error: Exception, data: memoryview, at: int) -> str:
    if at >= len(data):
        return "it ends too early"
    if isinstance(error, LookupError):
        return f"opcode {data[at]:#04x} does not fit here"
    return str(error)[:200]
