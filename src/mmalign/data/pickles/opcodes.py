"""Opcodes of a pickle, and what each does to the machine's state."""

import codecs
import struct
from collections.abc import Callable
from typing import Any

from mmalign.data.pickles.rebuild import UnsafeError, check_key
from mmalign.data.pickles.state import (
    ENTRY_BYTES,
    PLACE_BYTES,
    Global,
    MachineState,
    Python2Text,
)

VIEW_BYTES = 512
"""Byte strings at least this long stay views on the file; shorter ones are cheaper to copy."""

PYTHON2_VIEW_BYTES = 4096
"""Python 2 has one type for text and bytes; nothing this long is text."""


class StopOpcode(Exception):  # noqa: N818 - it ends a pickle, it is no error
    """The pickle has ended."""


def _fill(state: MachineState, items: list[Any]) -> None:
    """Add items to the list or set on the stack, or keys and values by turns to the dict."""
    target = state.stack[-1]
    state.pay((PLACE_BYTES if isinstance(target, list) else ENTRY_BYTES) * len(items))
    if isinstance(target, list):
        target.extend(items)
    elif isinstance(target, set):
        target.update(map(check_key, items))
    elif isinstance(target, dict) and len(items) % 2 == 0:
        target.update(zip(map(check_key, items[::2]), items[1::2], strict=True))
    else:
        raise ValueError("items for something that cannot hold them")


def _bytes(state: MachineState, size: int) -> None:
    content = state.take(size)
    state.push_new(bytes(content) if size < VIEW_BYTES else content)


def _text(state: MachineState, size: int) -> None:
    state.push_new(str(state.take(size), "utf-8", "surrogatepass"))


def _python2_string(state: MachineState, size: int) -> None:
    # Text or the bytes of an array: too early to tell. Latin-1 keeps both; long ones are bytes.
    content = state.take(size)
    if size < PYTHON2_VIEW_BYTES:
        state.push_new(Python2Text(content, "latin-1"))
    else:
        state.push_new(content)


def _quoted_string(state: MachineState) -> None:
    content = state.line().strip()
    if len(content) < 2 or content[0] != content[-1] or content[0] not in b"\"'":
        raise ValueError("a string without quotes")
    state.push_new(Python2Text(codecs.escape_decode(content[1:-1])[0], "latin-1"))


def _integer_line(state: MachineState) -> None:
    content = state.line()
    state.push_new(content == b"01" if content in (b"00", b"01") else int(content))


def _long(state: MachineState, size: int) -> None:
    state.push_new(int.from_bytes(state.take(size), "little", signed=True))


def _global(state: MachineState) -> None:
    module, name = state.line().decode(), state.line().decode()
    state.push_new(Global(module, name))


def _stack_global(state: MachineState) -> None:
    name, module = state.stack.pop(), state.stack.pop()
    if not (isinstance(name, str) and isinstance(module, str)):
        raise UnsafeError("a name that is not text")
    state.push_new(Global(module, name))


def _reduce(state: MachineState) -> None:
    arguments, function = state.stack.pop(), state.stack.pop()
    state.push(state.call(function, arguments))


def _inst(state: MachineState) -> None:
    function = Global(state.line().decode(), state.line().decode())
    state.push(state.call(function, tuple(state.pop_mark())))


def _obj(state: MachineState) -> None:
    function, *arguments = state.pop_mark()
    state.push(state.call(function, tuple(arguments)))


def _pop(state: MachineState) -> None:
    if state.stack:
        state.stack.pop()
    else:
        state.pop_mark()


def _tuple(state: MachineState, size: int) -> None:
    if len(state.stack) < size:
        raise ValueError("too few values for a tuple")
    values = tuple(state.stack[-size:]) if size else ()
    del state.stack[len(state.stack) - size :]
    state.push_new(values)


def _fill_marked(state: MachineState) -> None:
    _fill(state, state.pop_mark())


def _fill_popped(state: MachineState, count: int) -> None:
    items = [state.stack.pop() for _ in range(count)]
    _fill(state, items[::-1])


def _dict(state: MachineState) -> None:
    items = state.pop_mark()
    state.push_new({})
    _fill(state, items)


def _persistent(state: MachineState, identity: Any) -> None:
    if state.persistent is None:
        raise UnsafeError("a persistent id")
    state.push(state.persistent(identity))


def _protocol(state: MachineState) -> None:
    version = state.number(1)
    if version > 5:
        raise ValueError(f"protocol {version} is not known")


def _stop(_: MachineState) -> None:
    raise StopOpcode


Opcode = Callable[[MachineState], object]

OPCODES: dict[int, Opcode] = {
    ord(code): action
    for code, action in {
        "(": MachineState.mark,
        ".": _stop,
        "0": _pop,
        "1": MachineState.pop_mark,
        "2": lambda state: state.push(state.stack[-1]),
        # numbers
        "N": lambda state: state.push(None),
        "\x88": lambda state: state.push(True),
        "\x89": lambda state: state.push(False),
        "I": _integer_line,
        "L": lambda state: state.push_new(int(state.line().rstrip(b"L"))),
        "J": lambda state: state.push_new(int.from_bytes(state.take(4), "little", signed=True)),
        "K": lambda state: state.push(state.number(1)),
        "M": lambda state: state.push_new(state.number(2)),
        "\x8a": lambda state: _long(state, state.number(1)),
        "\x8b": lambda state: _long(state, state.number(4)),
        "F": lambda state: state.push_new(float(state.line())),
        "G": lambda state: state.push_new(struct.unpack(">d", state.take(8))[0]),
        # text and bytes
        "S": _quoted_string,
        "T": lambda state: _python2_string(state, state.number(4)),
        "U": lambda state: _python2_string(state, state.number(1)),
        "V": lambda state: state.push_new(codecs.raw_unicode_escape_decode(state.line())[0]),
        "X": lambda state: _text(state, state.number(4)),
        "\x8c": lambda state: _text(state, state.number(1)),
        "\x8d": lambda state: _text(state, state.number(8)),
        "B": lambda state: _bytes(state, state.number(4)),
        "C": lambda state: _bytes(state, state.number(1)),
        "\x8e": lambda state: _bytes(state, state.number(8)),
        "\x96": lambda state: _bytes(state, state.number(8)),
        "\x98": lambda _: None,  # READONLY_BUFFER: all our buffers are read-only
        # containers
        ")": lambda state: _tuple(state, 0),
        "\x85": lambda state: _tuple(state, 1),
        "\x86": lambda state: _tuple(state, 2),
        "\x87": lambda state: _tuple(state, 3),
        "t": lambda state: state.push_new(tuple(state.pop_mark())),
        "]": lambda state: state.push_new([]),
        "l": lambda state: state.push_new(state.pop_mark()),
        "a": lambda state: _fill_popped(state, 1),
        "e": _fill_marked,
        "}": lambda state: state.push_new({}),
        "d": _dict,
        "s": lambda state: _fill_popped(state, 2),
        "u": _fill_marked,
        "\x8f": lambda state: state.push_new(set()),
        "\x90": _fill_marked,
        "\x91": lambda state: state.push_new(frozenset(map(check_key, state.pop_mark()))),
        # memo
        "p": lambda state: state.put(int(state.line())),
        "q": lambda state: state.put(state.number(1)),
        "r": lambda state: state.put(state.number(4)),
        "\x94": lambda state: state.put(len(state.memo)),
        "g": lambda state: state.push(state.memo[int(state.line())]),
        "h": lambda state: state.push(state.memo[state.number(1)]),
        "j": lambda state: state.push(state.memo[state.number(4)]),
        # names, which only the table can answer
        "c": _global,
        "\x93": _stack_global,
        "R": _reduce,
        "\x81": _reduce,
        "i": _inst,
        "o": _obj,
        "b": MachineState.build,
        "P": lambda state: _persistent(state, state.line().decode()),
        "Q": lambda state: _persistent(state, state.stack.pop()),
        # framing
        "\x80": _protocol,
        "\x95": lambda state: state.take(8),
    }.items()
}
