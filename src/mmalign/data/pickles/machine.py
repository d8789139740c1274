"""A pickle machine that builds values and can call nothing."""

import codecs
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mmalign.data.pickles.rebuild import (
    REBUILDERS,
    PendingArray,
    PendingDtype,
    UnsafeError,
    check_key,
)
from mmalign.errors import DataError

SMALL_BYTES = 1 << 16


@dataclass(frozen=True)
class Global:
    """A name in the pickle; it is never looked up in Python."""

    module: str
    name: str


class StopOpcode(Exception):  # noqa: N818 - it ends a pickle, it is no error
    """The pickle has ended."""


class PickleMachine:
    """Runs the opcodes of one pickle, protocols 0 to 5, over a buffer.

    Long byte strings stay views on the buffer, so a mapped file is not copied.

    Args:
        data: The buffer; the pickle begins at `start`.
        start: Position of the first opcode.
        rebuilders: What each allowed (module, name) does with its arguments.
        persistent: Value of a persistent id (how torch files refer to storages).
    """

    def __init__(
        self,
        data: memoryview,
        start: int = 0,
        *,
        rebuilders: Mapping[tuple[str, str], Callable[..., Any]] = REBUILDERS,
        persistent: Callable[[Any], Any] | None = None,
    ) -> None:
        self.data = data
        self.position = start
        self.rebuilders = rebuilders
        self.persistent = persistent
        self.stack: list[Any] = []
        self.marks: list[list[Any]] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        """The pickled value.

        Raises:
            DataError: If the pickle is damaged, or asks for anything but data.
        """
        opcode_at = self.position
        try:
            while True:
                opcode_at = self.position
                opcode = self.data[opcode_at]
                self.position = opcode_at + 1
                OPCODES[opcode](self)
        except StopOpcode:
            return self.stack.pop()
        except UnsafeError as error:
            raise DataError(
                f"refused to unpickle {error} at byte {opcode_at}",
                fix="A data file needs arrays, numbers, text, lists and dicts only.",
            ) from None
        except DataError:
            raise
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
            what = _reason(error, self.data, opcode_at)
            raise DataError(
                f"not a readable pickle: {what} at byte {opcode_at}",
                fix="The file may be truncated or of another kind; copy it again.",
            ) from error
        except (struct.error, MemoryError, RecursionError) as error:
            raise DataError(f"not a readable pickle: {error} at byte {opcode_at}") from error

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
        start = self.position
        while True:
            block = bytes(self.data[self.position : self.position + 4096])
            found = block.find(b"\n")
            if found >= 0:
                self.position += found + 1
                return bytes(self.data[start : self.position - 1])
            if not block:
                raise ValueError("a line does not end")
            self.position += len(block)

    # --- stack and memo -------------------------------------------------------------------

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

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
        self.memo[key] = value

    def call(self, function: Any, arguments: Any) -> Any:
        """What the table says about this name; names that are not in it are refused."""
        if not isinstance(function, Global):
            raise UnsafeError(f"a call of {type(function).__name__}")
        rebuild = self.rebuilders.get((function.module, function.name))
        if rebuild is None:
            raise UnsafeError(f"{function.module}.{function.name}"[:200])
        if not isinstance(arguments, tuple):
            raise UnsafeError("a call without a tuple of arguments")
        return rebuild(*arguments)

    def build(self) -> None:
        """Give the object on the stack its state."""
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(target, PendingArray):
            array = self.stack[-1] = PendingArray.build(state)
            for key in target.keys:
                self.memo[key] = array
        elif isinstance(target, PendingDtype):
            target.build(state)
        elif not (isinstance(target, dict) and not state):
            raise UnsafeError(f"a state for {type(target).__name__}")


def _reason(error: Exception, data: memoryview, at: int) -> str:
    if at >= len(data):
        return "it ends too early"
    if isinstance(error, LookupError):
        return f"opcode {data[at]:#04x} does not fit here"
    return str(error)[:200]


def _insert(target: Any, items: list[Any]) -> None:
    if not isinstance(target, dict) or len(items) % 2:
        raise ValueError("items for something that is no dict")
    for key, value in zip(items[::2], items[1::2], strict=True):
        target[check_key(key)] = value


def _extend(target: Any, items: list[Any]) -> None:
    if not isinstance(target, list):
        raise ValueError("items for something that is no list")
    target.extend(items)


def _add(target: Any, items: list[Any]) -> None:
    if not isinstance(target, set):
        raise ValueError("items for something that is no set")
    target.update(map(check_key, items))


def _bytes(machine: PickleMachine, size: int) -> None:
    content = machine.take(size)
    machine.push(bytes(content) if size < SMALL_BYTES else content)


def _text(machine: PickleMachine, size: int) -> None:
    machine.push(str(machine.take(size), "utf-8", "surrogatepass"))


def _python2_string(machine: PickleMachine, size: int) -> None:
    # Text or the bytes of an array: nobody can tell yet. Latin-1 keeps both; long ones are bytes.
    content = machine.take(size)
    machine.push(str(content, "latin-1") if size < SMALL_BYTES else content)


def _quoted_string(machine: PickleMachine) -> None:
    content = machine.line().strip()
    if len(content) < 2 or content[0] != content[-1] or content[0] not in b"\"'":
        raise ValueError("a string without quotes")
    machine.push(codecs.escape_decode(content[1:-1])[0].decode("latin-1"))


def _integer_line(machine: PickleMachine) -> None:
    content = machine.line()
    machine.push(content == b"01" if content in (b"00", b"01") else int(content))


def _long(machine: PickleMachine, size: int) -> None:
    machine.push(int.from_bytes(machine.take(size), "little", signed=True))


def _global(machine: PickleMachine) -> None:
    module, name = machine.line().decode(), machine.line().decode()
    machine.push(Global(module, name))


def _stack_global(machine: PickleMachine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise UnsafeError("a name that is no text")
    machine.push(Global(module, name))


def _reduce(machine: PickleMachine) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    machine.push(machine.call(function, arguments))


def _inst(machine: PickleMachine) -> None:
    function = Global(machine.line().decode(), machine.line().decode())
    machine.push(machine.call(function, tuple(machine.pop_mark())))


def _obj(machine: PickleMachine) -> None:
    function, *arguments = machine.pop_mark()
    machine.push(machine.call(function, tuple(arguments)))


def _mark(machine: PickleMachine) -> None:
    machine.marks.append(machine.stack)
    machine.stack = []


def _pop(machine: PickleMachine) -> None:
    if machine.stack:
        machine.stack.pop()
    else:
        machine.pop_mark()


def _tuple(machine: PickleMachine, size: int) -> None:
    if len(machine.stack) < size:
        raise ValueError("too few values for a tuple")
    values = tuple(machine.stack[-size:]) if size else ()
    del machine.stack[len(machine.stack) - size :]
    machine.push(values)


def _with_marked(act: Callable[[Any, list[Any]], None]) -> "Opcode":
    def run(machine: PickleMachine) -> None:
        items = machine.pop_mark()
        act(machine.stack[-1], items)

    return run


def _append(machine: PickleMachine) -> None:
    item = machine.stack.pop()
    _extend(machine.stack[-1], [item])


def _set_item(machine: PickleMachine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _insert(machine.stack[-1], [key, value])


def _dict(machine: PickleMachine) -> None:
    items = machine.pop_mark()
    machine.push({})
    _insert(machine.stack[-1], items)


def _pop_mark(machine: PickleMachine) -> None:
    machine.pop_mark()


def _frame(machine: PickleMachine) -> None:
    machine.take(8)


def _persistent(machine: PickleMachine, identity: Any) -> None:
    if machine.persistent is None:
        raise UnsafeError("a persistent id")
    machine.push(machine.persistent(identity))


def _protocol(machine: PickleMachine) -> None:
    version = machine.number(1)
    if version > 5:
        raise ValueError(f"protocol {version} is not known")


def _stop(_: PickleMachine) -> None:
    raise StopOpcode


Opcode = Callable[[PickleMachine], None]

OPCODES: dict[int, Opcode] = {
    ord(code): action
    for code, action in {
        "(": _mark,
        ".": _stop,
        "0": _pop,
        "1": _pop_mark,
        "2": lambda m: m.push(m.stack[-1]),
        # numbers
        "N": lambda m: m.push(None),
        "\x88": lambda m: m.push(True),
        "\x89": lambda m: m.push(False),
        "I": _integer_line,
        "L": lambda m: m.push(int(m.line().rstrip(b"L"))),
        "J": lambda m: m.push(int.from_bytes(m.take(4), "little", signed=True)),
        "K": lambda m: m.push(m.number(1)),
        "M": lambda m: m.push(m.number(2)),
        "\x8a": lambda m: _long(m, m.number(1)),
        "\x8b": lambda m: _long(m, m.number(4)),
        "F": lambda m: m.push(float(m.line())),
        "G": lambda m: m.push(struct.unpack(">d", m.take(8))[0]),
        # text and bytes
        "S": _quoted_string,
        "T": lambda m: _python2_string(m, m.number(4)),
        "U": lambda m: _python2_string(m, m.number(1)),
        "V": lambda m: m.push(m.line().decode("raw-unicode-escape")),
        "X": lambda m: _text(m, m.number(4)),
        "\x8c": lambda m: _text(m, m.number(1)),
        "\x8d": lambda m: _text(m, m.number(8)),
        "B": lambda m: _bytes(m, m.number(4)),
        "C": lambda m: _bytes(m, m.number(1)),
        "\x8e": lambda m: _bytes(m, m.number(8)),
        "\x96": lambda m: _bytes(m, m.number(8)),
        "\x98": lambda _: None,  # READONLY_BUFFER: all our buffers are read-only
        # containers
        ")": lambda m: _tuple(m, 0),
        "\x85": lambda m: _tuple(m, 1),
        "\x86": lambda m: _tuple(m, 2),
        "\x87": lambda m: _tuple(m, 3),
        "t": lambda m: m.push(tuple(m.pop_mark())),
        "]": lambda m: m.push([]),
        "l": lambda m: m.push(m.pop_mark()),
        "a": _append,
        "e": _with_marked(_extend),
        "}": lambda m: m.push({}),
        "d": _dict,
        "s": _set_item,
        "u": _with_marked(_insert),
        "\x8f": lambda m: m.push(set()),
        "\x90": _with_marked(_add),
        "\x91": lambda m: m.push(frozenset(map(check_key, m.pop_mark()))),
        # memo
        "p": lambda m: m.put(int(m.line())),
        "q": lambda m: m.put(m.number(1)),
        "r": lambda m: m.put(m.number(4)),
        "\x94": lambda m: m.put(len(m.memo)),
        "g": lambda m: m.push(m.memo[int(m.line())]),
        "h": lambda m: m.push(m.memo[m.number(1)]),
        "j": lambda m: m.push(m.memo[m.number(4)]),
        # names, which only the table can answer
        "c": _global,
        "\x93": _stack_global,
        "R": _reduce,
        "\x81": _reduce,
        "i": _inst,
        "o": _obj,
        "b": PickleMachine.build,
        "P": lambda m: _persistent(m, m.line().decode()),
        "Q": lambda m: _persistent(m, m.stack.pop()),
        # framing
        "\x80": _protocol,
        "\x95": _frame,
    }.items()
}
